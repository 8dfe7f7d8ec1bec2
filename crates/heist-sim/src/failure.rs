//! What the oracles can say.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Which promise was broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A task or future was accepted, and neither run to its end nor dropped.
    Lost,
    /// A task or future was dropped although nobody had stopped the pool or aborted it.
    DroppedForNoReason,
    /// A worker sleeps, work waits that it could take, and nobody searches.
    AsleepBesideWork,
    /// A worker left, or `join` returned, before everything had ended.
    DoneTooEarly,
    /// Everything has ended, the pool is closed, and nobody notices.
    DoneNeverFound,
    /// A task or future was accepted by a pool that had been closed before.
    AcceptedAfterClose,
    /// A task or future was refused by a pool that nobody had closed, or one of its own by any.
    RefusedForNoReason,
    /// A task was run, or a future polled, after a worker had left.
    RanAfterDone,
    /// A task or future waited longer than it may.
    Starved,
    /// The pool was stopped, and a running task that asked was not told.
    StopUnheard,
    /// The metrics do not add up.
    MetricsWrong,
    /// A thief that lost a race looked elsewhere without asking again.
    RetryIgnored,
    /// Two consume a queue at the same time.
    TwoConsumers,
    /// Items of a producer came out in another order.
    OutOfOrder,
    /// An item was consumed twice.
    ItemTwice,
    /// An item is in a queue, and nobody will come for it; or `join` returned before it was consumed.
    Stranded,
    /// More is in use than there is of a budget, or in a queue than it holds.
    OverGranted,
    /// Somebody was granted what another had waited for.
    Overtaken,
    /// Something is in use, and nobody holds it.
    PermitLost,
    /// Somebody waits for what is there, and nobody tells.
    WaiterForgotten,
    /// A future was spawned or woken, or what it awaits has ended, and nobody polls it.
    WakeLost,
    /// A future was polled by two at a time, or after it had ended or was aborted.
    PolledWrongly,
    /// A future was polled before those that it had given way to.
    PolledTooSoon,
    /// A future did more in one poll than its budget allows.
    PollTooLong,
    /// A handle says something else than what became of its future.
    WrongAnswer,
    /// The code under test panicked.
    EnginePanicked,
    /// Threads wait for each other.
    Stuck,
    /// The schedule does not come to an end.
    NoEnd,
}

impl Kind {
    /// All of them.
    pub const ALL: &[Self] = &[
        Self::Lost,
        Self::DroppedForNoReason,
        Self::AsleepBesideWork,
        Self::DoneTooEarly,
        Self::DoneNeverFound,
        Self::AcceptedAfterClose,
        Self::RefusedForNoReason,
        Self::RanAfterDone,
        Self::Starved,
        Self::StopUnheard,
        Self::MetricsWrong,
        Self::RetryIgnored,
        Self::TwoConsumers,
        Self::OutOfOrder,
        Self::ItemTwice,
        Self::Stranded,
        Self::OverGranted,
        Self::Overtaken,
        Self::PermitLost,
        Self::WaiterForgotten,
        Self::WakeLost,
        Self::PolledWrongly,
        Self::PolledTooSoon,
        Self::PollTooLong,
        Self::WrongAnswer,
        Self::EnginePanicked,
        Self::Stuck,
        Self::NoEnd,
    ];
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = serde_json::to_value(self).expect("a name is always a value");
        f.write_str(text.as_str().expect("a unit variant is a string"))
    }
}

/// A broken promise, and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Which promise.
    pub kind: Kind,
    /// How it was broken.
    pub text: String,
}

impl Failure {
    /// A failure.
    pub fn new(kind: Kind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.text)
    }
}
