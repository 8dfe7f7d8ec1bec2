//! What futures do, and what is done with their handles.

use super::To;
use serde::{Deserialize, Serialize};

/// What happens to the handle of a future.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Handle {
    /// Kept where all actors, tasks and futures reach it.
    Kept,
    /// Dropped at once.
    Detached,
}

/// What to do with the oldest kept handle of a kind of future. If there is none, nothing happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Use {
    /// Aborts the future and keeps the handle. If this future was aborted before, the next one is.
    Abort,
    /// Awaits the future.
    Await,
    /// Drops the handle.
    Detach,
}

/// A step of a future.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum FutureStep {
    /// Computes for a while without yielding.
    Run {
        /// The time.
        ns: u64,
    },
    /// Waits until the gate is opened, without holding a worker.
    Wait {
        /// The gate.
        gate: usize,
    },
    /// Opens a gate, for good.
    Open {
        /// The gate.
        gate: usize,
    },
    /// Wakes the futures that wait at a gate without opening it.
    Wake {
        /// The gate.
        gate: usize,
    },
    /// Yields.
    Yield {
        /// How often.
        times: u32,
    },
    /// Makes operations that count against the budget of the poll.
    Operate {
        /// The number of operations.
        count: u32,
    },
    /// Spawns futures of a later program.
    Spawn {
        /// The program of the futures.
        future: usize,
        /// The number of futures.
        count: usize,
        /// What happens to their handles.
        handle: Handle,
    },
    /// Spawns a task through a handle. The task, and all tasks that result from it, must not spawn
    /// futures.
    SpawnTask {
        /// The program of the task.
        program: usize,
    },
    /// Uses a kept handle of a later future.
    UseHandle {
        /// The program of the future.
        future: usize,
        /// What to do with the handle.
        how: Use,
    },
    /// Pushes an item into a queue or a lane if there is room. The tasks that result from it must
    /// not spawn futures.
    Push {
        /// The queue or lane.
        to: To,
    },
    /// Awaits a permit, and holds it until the future has ended.
    Acquire {
        /// The budget.
        budget: usize,
        /// The size of the permit.
        count: u64,
    },
    /// Panics.
    Panic,
    /// Makes the future's value panic when it is dropped, unless the future was refused.
    PanicOnDrop,
    /// Makes the future's value spawn a later future when it is dropped, unless the future was
    /// refused.
    SpawnOnDrop {
        /// The program of that future.
        future: usize,
    },
}
