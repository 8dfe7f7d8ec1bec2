//! Counters of a queue.

/// Counts of what has happened to the items of a queue so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueueStats {
    /// Items that the queue accepted.
    pub pushed: u64,
    /// Items that a consumer has popped.
    pub consumed: u64,
    /// Items that were dropped: because the queue was closed, because the executor was stopped,
    /// because a turn was dropped, or because making a task for the turn panicked.
    pub dropped: u64,
    /// The number of times that a consumer took a ring of items. A consumer that continues because
    /// no other work waits has several turns in one task.
    pub turns: u64,
}

impl std::ops::Add for QueueStats {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            pushed: self.pushed + other.pushed,
            consumed: self.consumed + other.consumed,
            dropped: self.dropped + other.dropped,
            turns: self.turns + other.turns,
        }
    }
}
