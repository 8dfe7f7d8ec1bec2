//! A scenario is data: a pool, the programs of its tasks and futures, and the actors that use it
//! from outside.
//!
//! Scenarios are stored in JSON files together with the schedules that fail, so the names of fields
//! and variants are a file format.

mod future_steps;
mod futures;
mod gated;
mod generate;
mod generate_futures;
mod generate_gated;
mod library;
mod validate;
mod validate_futures;

pub use future_steps::{FutureStep, Handle, Use};
pub use generate::{generate, shrink};
pub use library::{by_name, names, standard};

use serde::{Deserialize, Serialize};

/// The number of gates that a scenario can name. Tasks that meet wait at the one after these.
pub const GATES_MAX: usize = 64;

/// Everything about a run except its schedule.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The name, which says what the scenario is about.
    pub name: String,
    /// The configuration of the pool.
    #[serde(default)]
    pub pool: Pool,
    /// The programs of tasks. A task is identified by the number of its program.
    pub programs: Vec<Vec<Step>>,
    /// The programs of futures, numbered separately.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub futures: Vec<Vec<FutureStep>>,
    /// The actors. Each runs on its own thread outside of the pool, and the first one owns the
    /// pool.
    pub actors: Vec<Vec<Act>>,
    /// How the owner ends the pool after its acts.
    #[serde(default)]
    pub end: End,
    /// The number of tasks that may hold a permit at a time; see [`Act::Spawn`].
    #[serde(default)]
    pub permits: usize,
    /// Gated queues, which schedule their own consumers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queues: Vec<Queue>,
    /// The initial total of each budget.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub budgets: Vec<u64>,
    /// Devices, each with slots and a lane.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<Device>,
    /// Queues behind raw signal gates: the position of each in its waker.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signals: Vec<usize>,
    /// The capacity of each lane, if it has a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane_capacity: Option<u64>,
    /// A queued task or future must run before any worker has begun this many others. This only
    /// applies to scenarios in which no worker runs out of work: tasks that a worker has moved to
    /// its own queue have no such bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starvation_bound: Option<u64>,
}

/// The configuration of the pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Pool {
    /// The number of workers.
    pub workers: usize,
    /// Whether workers steal.
    pub stealing: bool,
    /// The number of rounds of stealing in one search.
    pub steal_tries: u32,
    /// The largest number of tasks that one steal takes.
    pub steal_batch: usize,
    /// The largest number of tasks that one look takes from the injector.
    pub injector_batch: usize,
    /// How often a worker looks again before it parks.
    pub looks: u32,
    /// The timeout of the park backstop, if there is one.
    pub backstop_ns: Option<u64>,
    /// Where a future goes that was woken by a task or future on the same worker.
    pub lifo: Lifo,
    /// Whether a panic ends only its task.
    pub isolate_panics: bool,
    /// The seed of the workers' random numbers.
    pub seed: u64,
}

impl Default for Pool {
    fn default() -> Self {
        Self {
            workers: 2,
            stealing: true,
            steal_tries: 1,
            steal_batch: 64,
            injector_batch: 64,
            looks: 0,
            backstop_ns: None,
            lifo: Lifo::Stealable,
            isolate_panics: false,
            seed: 1,
        }
    }
}

/// Where a future goes that was woken by a task or future on the same worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lifo {
    /// To the back of the queue.
    Off,
    /// Into the LIFO slot, from which only its worker takes it.
    Private,
    /// Into the LIFO slot, from which other workers may steal it after a while.
    Stealable,
}

/// A gated queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Queue {
    /// The program that its consumer runs for each item.
    pub program: usize,
    /// The capacity, if it has a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<u64>,
    /// The largest number of items in a turn.
    pub batch: usize,
    /// The number of items after which the consumer ends its turn, whatever is left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub takes: Option<usize>,
}

/// A device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// The program that a job of its lane runs.
    pub program: usize,
    /// The number of jobs that may use the device at a time.
    pub slots: usize,
}

/// Where an item goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum To {
    /// Into this gated queue.
    Queue(usize),
    /// Into the lane of this device.
    Lane(usize),
}

/// What a producer does if the queue is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Push {
    /// It gives up.
    Try,
    /// It waits, or gives up if it is a task.
    Wait,
    /// The thread that makes room pushes the item, and then spawns a task of this program.
    Then(usize),
}

/// How a task spawns another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum How {
    /// Into its worker's own queue, one by one.
    Local,
    /// Into its worker's own queue, all in one call.
    Batch,
    /// Into the injector.
    Global,
    /// Behind everything that is queued.
    Yielded,
}

/// A step of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Step {
    /// Computes for a while.
    Run {
        /// The time.
        ns: u64,
    },
    /// Spawns tasks of a later program.
    Spawn {
        /// The program.
        program: usize,
        /// The number of tasks.
        count: usize,
        /// How to spawn them.
        how: How,
    },
    /// Spawns itself again, this many times in all.
    Again {
        /// The number of times.
        times: u32,
        /// How to spawn it.
        how: How,
    },
    /// Waits until this many tasks wait here, or the pool is stopped. Each of them holds a worker.
    Meet {
        /// The number of tasks.
        parties: usize,
    },
    /// Waits until the gate is opened, or the pool is stopped. Holds its worker meanwhile.
    Block {
        /// The gate.
        gate: usize,
    },
    /// Opens a gate, for good.
    Open {
        /// The gate.
        gate: usize,
    },
    /// Panics.
    Panic,
    /// Panics in the middle of handing over a batch of tasks of a later program.
    PanicInBatch {
        /// The program.
        program: usize,
        /// The number of tasks before the panic.
        after: usize,
    },
    /// Makes the task's value panic when it is dropped, whether the task ran or not, unless it was
    /// refused.
    PanicOnDrop,
    /// Pushes an item into a queue or a lane whose program is a later one.
    Push {
        /// The queue or lane.
        to: To,
        /// What to do if it is full.
        push: Push,
    },
    /// Requests a permit. As soon as it is granted, a task of a later program is spawned, which
    /// holds the permit until it has ended.
    AcquireThen {
        /// The budget.
        budget: usize,
        /// The size of the permit.
        count: u64,
        /// The program.
        program: usize,
    },
    /// Takes a permit if it is available, and holds it until the task has ended.
    TryAcquire {
        /// The budget.
        budget: usize,
        /// The size of the permit.
        count: u64,
    },
    /// Spawns futures onto its own worker.
    SpawnFuture {
        /// The program of the futures.
        future: usize,
        /// The number of futures.
        count: usize,
        /// What happens to their handles.
        handle: Handle,
    },
    /// Uses a kept handle. A task must not await it.
    UseHandle {
        /// The program of the future.
        future: usize,
        /// What to do with the handle.
        how: Use,
    },
    /// Wakes the futures that wait at a gate without opening it.
    Wake {
        /// The gate.
        gate: usize,
    },
}

/// An act of an actor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Act {
    /// Spawns one task.
    Spawn {
        /// The program.
        program: usize,
        /// Whether to wait for a permit first, which the task holds until it has ended or is
        /// dropped.
        #[serde(default)]
        hold: bool,
    },
    /// Spawns tasks in one call.
    Batch {
        /// The program.
        program: usize,
        /// The number of tasks.
        count: usize,
    },
    /// Computes for a while.
    Run {
        /// The time.
        ns: u64,
    },
    /// Sleeps. Most drivers let all other threads come to rest first.
    Sleep {
        /// The time.
        ns: u64,
    },
    /// Waits until the gate is opened, or the pool is stopped.
    Block {
        /// The gate.
        gate: usize,
    },
    /// Opens a gate, for good.
    Open {
        /// The gate.
        gate: usize,
    },
    /// Shuts the pool down.
    Shutdown,
    /// Cancels the pool.
    Cancel,
    /// Vanishes: the actor makes no further calls, and holds what it has forever. It never vanishes
    /// inside a call.
    Vanish,
    /// Pushes items into a queue or a lane, one by one.
    Push {
        /// The queue or lane.
        to: To,
        /// The number of items.
        count: usize,
        /// What to do if it is full.
        push: Push,
    },
    /// Closes a queue.
    CloseQueue {
        /// The queue.
        queue: usize,
        /// Whether to drop the items in it.
        drops: bool,
    },
    /// Closes all lanes.
    CloseLanes {
        /// Whether to drop the jobs in them.
        drops: bool,
    },
    /// Waits for a permit, and holds it.
    Acquire {
        /// The budget.
        budget: usize,
        /// The size of the permit.
        count: u64,
        /// The timeout, or `None` to wait without one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timeout_ns: Option<u64>,
    },
    /// Awaits a permit, and holds it.
    Await {
        /// The budget.
        budget: usize,
        /// The size of the permit.
        count: u64,
        /// The time after which to drop the future without polling it again, or `None` to await it
        /// to the end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        patience_ns: Option<u64>,
    },
    /// Takes a permit if it is available, and holds it.
    TryAcquire {
        /// The budget.
        budget: usize,
        /// The size of the permit.
        count: u64,
    },
    /// Requests a permit. As soon as it is granted, a task is spawned, which holds the permit until
    /// it has ended.
    AcquireThen {
        /// The budget.
        budget: usize,
        /// The size of the permit.
        count: u64,
        /// The program.
        program: usize,
        /// Whether the creation of the task panics.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        panics: bool,
    },
    /// Waits for a device slot, and holds it.
    AcquireSlot {
        /// The device.
        device: usize,
    },
    /// Gives back what the actor has held longest. At its end an actor gives back everything; the
    /// owner does so after the end of the pool.
    Release,
    /// Changes the total of a budget.
    Resize {
        /// The budget.
        budget: usize,
        /// The new total.
        total: u64,
    },
    /// Changes the number of slots of a device.
    SetSlots {
        /// The device.
        device: usize,
        /// The new number of slots.
        slots: usize,
    },
    /// Closes a budget.
    CloseBudget {
        /// The budget.
        budget: usize,
    },
    /// Publishes and announces items in a queue behind a signal gate, one by one.
    Publish {
        /// The queue, as an index of `signals`.
        queue: usize,
        /// The number of items.
        count: usize,
    },
    /// Consumes items behind signal gates until all items are consumed.
    Consume {
        /// The largest number of items at a time.
        batch: usize,
        /// Whether to drop the guard, as a panic would, when items are left.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        drops_guard: bool,
    },
    /// Spawns a future.
    SpawnFuture {
        /// The program of the future.
        future: usize,
        /// What happens to its handle.
        handle: Handle,
    },
    /// Spawns a future that counts as the pool's and polls it on this thread, as a thread for
    /// blocking calls does. The future must not wait.
    RunFuture {
        /// The program of the future.
        future: usize,
        /// What happens to its handle.
        handle: Handle,
    },
    /// Uses a kept handle. Awaiting blocks the actor until the future has ended.
    UseHandle {
        /// The program of the future.
        future: usize,
        /// What to do with the handle.
        how: Use,
    },
    /// Wakes the futures that wait at a gate without opening it.
    Wake {
        /// The gate.
        gate: usize,
    },
}

/// How the owner ends the pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum End {
    /// Joins the pool, which runs everything to its end.
    #[default]
    Join,
    /// Closes the pool, waits for at most this long, then joins it.
    JoinTimeout {
        /// The time.
        ns: u64,
    },
    /// Drops the pool.
    Drop,
    /// Shuts the pool down, then waits for the tasks that run.
    ShutdownAndJoin,
}
