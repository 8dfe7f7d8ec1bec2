//! A scenario is data: a pool, what its tasks do, and who uses it from outside.

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

/// Gates that a scenario can name. Those who meet wait at the one beyond.
pub const GATES_MAX: usize = 64;

/// Everything about one run but its schedule.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// What it is about.
    pub name: String,
    /// The pool.
    #[serde(default)]
    pub pool: Pool,
    /// What tasks do: a task is the number of its program.
    pub programs: Vec<Vec<Step>>,
    /// What futures do, apart from the tasks' programs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub futures: Vec<Vec<FutureStep>>,
    /// What happens outside, on a thread each. The first one owns the pool.
    pub actors: Vec<Vec<Act>>,
    /// How the owner ends the pool when it has done its part.
    #[serde(default)]
    pub end: End,
    /// How many tasks may hold a permit at a time; see [`Act::Spawn`].
    #[serde(default)]
    pub permits: usize,
    /// Queues that schedule their own consumers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queues: Vec<Queue>,
    /// Budgets: how much of each there is at the beginning.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub budgets: Vec<u64>,
    /// Devices with slots, and a lane each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<Device>,
    /// Queues behind raw gates: the place of each in its waker.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signals: Vec<usize>,
    /// How many jobs a lane holds at most, if there is a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane_capacity: Option<u64>,
    /// A task or future that is queued is run before any worker has begun this many others. Only for scenarios in which
    /// no worker runs dry: what was moved to a worker's own queue has no such promise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starvation_bound: Option<u64>,
}

/// The pool's configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Pool {
    /// How many workers.
    pub workers: usize,
    /// Whether they steal.
    pub stealing: bool,
    /// Rounds of stealing in one search.
    pub steal_tries: u32,
    /// Tasks that one steal takes at most.
    pub steal_batch: usize,
    /// Tasks taken from the injector at a time, at most.
    pub injector_batch: usize,
    /// How often a worker looks again before it parks.
    pub looks: u32,
    /// The park backstop, if there is one.
    pub backstop_ns: Option<u64>,
    /// What becomes of a future that its worker's own doing has woken.
    pub lifo: Lifo,
    /// Whether a panic ends its task alone.
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

/// What becomes of a future that its worker's own doing has woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lifo {
    /// It goes to the back of the queue.
    Off,
    /// It is that worker's next.
    Private,
    /// It is that worker's next, or that of one who has waited for it.
    Stealable,
}

/// A gated queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Queue {
    /// What its consumer does for each item.
    pub program: usize,
    /// How many items it holds at most, if there is a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<u64>,
    /// How many items a turn is given at most.
    pub batch: usize,
    /// After how many items the consumer ends its turn, whatever is left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub takes: Option<usize>,
}

/// A device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// What a job of its lane does.
    pub program: usize,
    /// How many jobs may use it at a time.
    pub slots: usize,
}

/// Where an item goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum To {
    /// Into a gated queue.
    Queue(usize),
    /// Into the lane of a device.
    Lane(usize),
}

/// What a producer does about a queue that is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Push {
    /// Gives up.
    Try,
    /// Waits, or gives up if it is a task.
    Wait,
    /// Leaves the item to whoever makes room, and a task of this program to be spawned then.
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
    /// So that everything that is queued goes first.
    Yielded,
}

/// What a task does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Step {
    /// Computes for a while.
    Run {
        /// For how long.
        ns: u64,
    },
    /// Spawns tasks of a later program.
    Spawn {
        /// Which program.
        program: usize,
        /// How many.
        count: usize,
        /// How.
        how: How,
    },
    /// Spawns itself again, so many times in all.
    Again {
        /// How many times.
        times: u32,
        /// How.
        how: How,
    },
    /// Waits until this many tasks wait here, or the pool is stopped. They need a worker each.
    Meet {
        /// How many.
        parties: usize,
    },
    /// Waits until somebody opens the gate, or the pool is stopped. Holds its worker meanwhile.
    Block {
        /// Which gate.
        gate: usize,
    },
    /// Opens a gate, for good.
    Open {
        /// Which gate.
        gate: usize,
    },
    /// Panics.
    Panic,
    /// Panics in the middle of handing over a batch of tasks of a later program.
    PanicInBatch {
        /// Which program.
        program: usize,
        /// After how many.
        after: usize,
    },
    /// The task's value panics when it is dropped, run or not, but for a task that was refused.
    PanicOnDrop,
    /// Puts an item into a queue or a lane, for a later program.
    Push {
        /// Where to.
        to: To,
        /// What if it is full.
        push: Push,
    },
    /// Has a task of a later program spawned as soon as it is granted something, which it holds until it has ended.
    AcquireThen {
        /// Which budget.
        budget: usize,
        /// How much of it.
        count: u64,
        /// Which program.
        program: usize,
    },
    /// Takes something if it is there, and holds it until the task has ended.
    TryAcquire {
        /// Which budget.
        budget: usize,
        /// How much of it.
        count: u64,
    },
    /// Spawns futures onto its own worker.
    SpawnFuture {
        /// What they do.
        future: usize,
        /// How many.
        count: usize,
        /// What becomes of their handles.
        handle: Handle,
    },
    /// Does something with a kept handle. A task does not await.
    UseHandle {
        /// Of what futures.
        future: usize,
        /// What.
        how: Use,
    },
    /// Wakes the futures that wait at a gate, for nothing.
    Wake {
        /// Which gate.
        gate: usize,
    },
}

/// What somebody outside of the pool does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Act {
    /// Spawns one task.
    Spawn {
        /// Which program.
        program: usize,
        /// Whether to wait for a permit first, which the task holds until it has ended or is dropped.
        #[serde(default)]
        hold: bool,
    },
    /// Spawns tasks in one call.
    Batch {
        /// Which program.
        program: usize,
        /// How many.
        count: usize,
    },
    /// Does something else for a while.
    Run {
        /// For how long.
        ns: u64,
    },
    /// Sleeps: most drivers let everybody else come to rest first.
    Sleep {
        /// For how long.
        ns: u64,
    },
    /// Waits until somebody opens the gate, or the pool is stopped.
    Block {
        /// Which gate.
        gate: usize,
    },
    /// Opens a gate, for good.
    Open {
        /// Which gate.
        gate: usize,
    },
    /// Shuts the pool down.
    Shutdown,
    /// Cancels the pool.
    Cancel,
    /// Is never heard of again: between two calls, not inside one. What it holds is held for ever.
    Vanish,
    /// Puts items into a queue or a lane, one by one.
    Push {
        /// Where to.
        to: To,
        /// How many.
        count: usize,
        /// What if it is full.
        push: Push,
    },
    /// Takes no more items into a queue.
    CloseQueue {
        /// Which queue.
        queue: usize,
        /// Whether those that wait are dropped.
        drops: bool,
    },
    /// Takes no more jobs into any lane.
    CloseLanes {
        /// Whether those that wait are dropped.
        drops: bool,
    },
    /// Waits for something, and holds it.
    Acquire {
        /// Which budget.
        budget: usize,
        /// How much of it.
        count: u64,
        /// For how long to wait; `None` for as long as it takes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timeout_ns: Option<u64>,
    },
    /// Awaits something, and holds it.
    Await {
        /// Which budget.
        budget: usize,
        /// How much of it.
        count: u64,
        /// Drops the future after this long without another look at it; `None`: awaits it to the end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        patience_ns: Option<u64>,
    },
    /// Takes something if it is there, and holds it.
    TryAcquire {
        /// Which budget.
        budget: usize,
        /// How much of it.
        count: u64,
    },
    /// Has a task spawned as soon as it is granted something, which it holds until it has ended.
    AcquireThen {
        /// Which budget.
        budget: usize,
        /// How much of it.
        count: u64,
        /// Which program.
        program: usize,
        /// Whether the making of the task panics.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        panics: bool,
    },
    /// Waits for a slot, and holds it.
    AcquireSlot {
        /// Which device.
        device: usize,
    },
    /// Gives back what it has held longest. At its end an actor gives back everything, and the owner after the pool's.
    Release,
    /// Changes how much of a budget there is.
    Resize {
        /// Which budget.
        budget: usize,
        /// How much.
        total: u64,
    },
    /// Changes how many slots a device has.
    SetSlots {
        /// Which device.
        device: usize,
        /// How many.
        slots: usize,
    },
    /// Closes a budget.
    CloseBudget {
        /// Which one.
        budget: usize,
    },
    /// Publishes items in a queue behind a raw gate, and says so, one by one.
    Publish {
        /// Which queue: an index of `signals`.
        queue: usize,
        /// How many.
        count: usize,
    },
    /// Consumes what is published behind raw gates, until all of it is consumed.
    Consume {
        /// How many items at a time, at most.
        batch: usize,
        /// Whether its guard is dropped, as by a panic, when it leaves something behind.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        drops_guard: bool,
    },
    /// Spawns a future.
    SpawnFuture {
        /// What it does.
        future: usize,
        /// What becomes of its handle.
        handle: Handle,
    },
    /// Spawns a future that counts as the pool's, and polls it here, as a thread for blocking calls does. It must not
    /// wait.
    RunFuture {
        /// What it does.
        future: usize,
        /// What becomes of its handle.
        handle: Handle,
    },
    /// Does something with a kept handle. Awaiting holds the actor up until the future has ended.
    UseHandle {
        /// Of what futures.
        future: usize,
        /// What.
        how: Use,
    },
    /// Wakes the futures that wait at a gate, for nothing.
    Wake {
        /// Which gate.
        gate: usize,
    },
}

/// How the owner ends the pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum End {
    /// Runs everything to the end.
    #[default]
    Join,
    /// Closes the pool, waits for a while, then runs everything to the end.
    JoinTimeout {
        /// For how long.
        ns: u64,
    },
    /// Drops it.
    Drop,
    /// Shuts it down, then waits for what runs.
    ShutdownAndJoin,
}
