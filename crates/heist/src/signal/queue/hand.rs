//! What a consumer holds: a ring that it has taken whole, and how much of it is its own.
//!
//! Invariant: the oldest `allowed` items of the ring are the consumer's; the others wait, like those in the queue.

use std::collections::VecDeque;

/// What a consumer has in hand during its turn.
pub(super) struct Hand<T> {
    pub(super) ring: VecDeque<T>,
    /// How many of them it may take now.
    allowed: usize,
    /// How many it might take when the batch began.
    batch: usize,
    /// How many it has taken in earlier batches, since the queue was last told.
    taken_before: usize,
    /// Items that are gone and whose room was not given back yet, without those of this batch.
    pub(super) room_owed: usize,
}

impl<T> Hand<T> {
    pub(super) fn new(ring: VecDeque<T>) -> Self {
        Self { ring, allowed: 0, batch: 0, taken_before: 0, room_owed: 0 }
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<T> {
        self.allowed = self.allowed.checked_sub(1)?;
        self.ring.pop_front()
    }

    /// How many it may still take.
    pub(super) fn allowed(&self) -> usize {
        self.allowed
    }

    /// The batch is over.
    pub(super) fn end_batch(&mut self) {
        let taken = self.batch - self.allowed;
        self.taken_before += taken;
        self.room_owed += taken;
        self.allowed = 0;
        self.batch = 0;
    }

    /// How many it has taken since this was last asked. Between two batches only.
    pub(super) fn take_count(&mut self) -> u64 {
        std::mem::take(&mut self.taken_before) as u64
    }

    /// How many are its own, or were, since the queue was last told.
    pub(super) fn count(&self) -> usize {
        self.taken_before + self.batch
    }

    /// Another batch of the same ring.
    pub(super) fn begin_batch(&mut self, allowed: usize) {
        self.allowed = allowed;
        self.batch = allowed;
    }
}
