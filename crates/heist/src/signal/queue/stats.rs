//! What a queue has done, in figures.

/// What a queue has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueueStats {
    /// Items that were taken in.
    pub pushed: u64,
    /// Items that a consumer has taken out.
    pub consumed: u64,
    /// Items that were dropped: by closing the queue, because the executor was stopped, with a turn that was dropped,
    /// or because the making of a turn's task panicked.
    pub dropped: u64,
    /// Times a consumer took what was there in hand. One that goes on in place, because nothing else waits, has one
    /// turn after the other in the same task.
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
