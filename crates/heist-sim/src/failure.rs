//! The failures that the oracles report.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The promise that was broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A task or future was accepted, but neither ran to its end nor was dropped.
    Lost,
    /// A task or future was dropped although it was not aborted and the pool was not stopped.
    DroppedForNoReason,
    /// A worker sleeps beside work that it could take, and no worker is searching.
    AsleepBesideWork,
    /// A worker left, or `join` returned, before everything had ended.
    DoneTooEarly,
    /// Everything has ended and the pool is closed, but no thread notices.
    DoneNeverFound,
    /// A task or future was accepted by a pool that had already been closed.
    AcceptedAfterClose,
    /// An open pool refused a task or future, or a pool refused one from its own tasks or futures.
    RefusedForNoReason,
    /// A task ran, or a future was polled, after a worker had left.
    RanAfterDone,
    /// A task or future waited longer than its bound allows.
    Starved,
    /// The pool was stopped, but a running task asked and got the answer that it was not.
    StopUnheard,
    /// The metrics do not add up.
    MetricsWrong,
    /// A thief lost a race for a queue and did not try that queue again.
    RetryIgnored,
    /// A queue has two consumers at the same time.
    TwoConsumers,
    /// The items of one producer came out of a queue in a different order.
    OutOfOrder,
    /// An item was consumed twice.
    ItemTwice,
    /// An item is left in a queue and no consumer will come for it, or `join` returned before it
    /// was consumed.
    Stranded,
    /// A budget granted more than its total, or a queue holds more than its capacity.
    OverGranted,
    /// A request was granted before an earlier request for the same budget.
    Overtaken,
    /// Part of a budget is in use, but no holder has it.
    PermitLost,
    /// A request waits although the budget has enough for it, and no thread will grant it.
    WaiterForgotten,
    /// A future was spawned or woken, or the future that it awaits has ended, but no worker polls
    /// it.
    WakeLost,
    /// Two threads polled a future at the same time, or it was polled after it had ended or was
    /// aborted.
    PolledWrongly,
    /// A future that yielded was polled before the futures that were queued ahead of it.
    PolledTooSoon,
    /// A future made more operations in one poll than its budget allows.
    PollTooLong,
    /// A `JoinHandle` reports a different result from what happened to its future.
    WrongAnswer,
    /// The code under test panicked.
    EnginePanicked,
    /// Threads wait for each other.
    Stuck,
    /// The schedule exceeds its limit of steps.
    NoEnd,
}

impl Kind {
    /// All kinds of failure.
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

/// A broken promise, with details.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The promise that was broken.
    pub kind: Kind,
    /// What happened, for a person to read.
    pub text: String,
}

impl Failure {
    /// Creates a failure.
    pub fn new(kind: Kind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.text)
    }
}
