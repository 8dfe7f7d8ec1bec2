//! What futures do, and what is done with their handles.

use super::To;
use serde::{Deserialize, Serialize};

/// What becomes of a future's handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Handle {
    /// It is kept where everybody reaches it.
    Kept,
    /// It is dropped at once.
    Detached,
}

/// What is done with the oldest handle that is kept of some futures; nothing, if there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Use {
    /// Its future is aborted, unless it was before: then that of the next. It is still kept.
    Abort,
    /// It is awaited.
    Await,
    /// It is dropped.
    Detach,
}

/// What a future does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum FutureStep {
    /// Computes for a while, without giving way.
    Run {
        /// For how long.
        ns: u64,
    },
    /// Waits until somebody opens the gate. Holds no worker meanwhile.
    Wait {
        /// Which gate.
        gate: usize,
    },
    /// Opens a gate, for good.
    Open {
        /// Which gate.
        gate: usize,
    },
    /// Wakes the futures that wait at a gate, for nothing.
    Wake {
        /// Which gate.
        gate: usize,
    },
    /// Gives way.
    Yield {
        /// How often.
        times: u32,
    },
    /// Does operations that count against the budget of its poll.
    Operate {
        /// How many.
        count: u32,
    },
    /// Spawns later futures.
    Spawn {
        /// What they do.
        future: usize,
        /// How many.
        count: usize,
        /// What becomes of their handles.
        handle: Handle,
    },
    /// Spawns a task through a handle. Nothing that comes of it spawns futures.
    SpawnTask {
        /// What it does.
        program: usize,
    },
    /// Does something with a kept handle. Only of later futures.
    UseHandle {
        /// Of what futures.
        future: usize,
        /// What.
        how: Use,
    },
    /// Puts an item into a queue or a lane, if there is room. Nothing that comes of it spawns futures.
    Push {
        /// Where to.
        to: To,
    },
    /// Awaits something, and holds it until the future has ended.
    Acquire {
        /// Which budget.
        budget: usize,
        /// How much of it.
        count: u64,
    },
    /// Panics.
    Panic,
    /// The future's value panics when it is dropped, whenever that is, but for one that was refused.
    PanicOnDrop,
    /// The future's value spawns a later future when it is dropped, whenever that is, but for one that was refused.
    SpawnOnDrop {
        /// What that does.
        future: usize,
    },
}
