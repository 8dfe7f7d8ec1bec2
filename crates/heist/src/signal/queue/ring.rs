//! The ring that a consumer takes from its queue, and the part of it that the consumer may pop.
//!
//! Invariant: the oldest `allowed` items of the ring belong to the consumer. The others still wait,
//! like those in the queue.

use std::collections::VecDeque;

/// The ring that a consumer holds during its turn.
pub(super) struct ConsumerRing<T> {
    pub(super) ring: VecDeque<T>,
    /// The number of items that the consumer may pop now.
    allowed: usize,
    /// The size of the current batch when it began.
    batch: usize,
    /// Items popped in earlier batches, since they were last added to the queue's statistics.
    taken_before: usize,
    /// Items that were popped in earlier batches and whose room has not been given back yet.
    pub(super) room_owed: usize,
}

impl<T> ConsumerRing<T> {
    pub(super) fn new(ring: VecDeque<T>) -> Self {
        Self { ring, allowed: 0, batch: 0, taken_before: 0, room_owed: 0 }
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<T> {
        self.allowed = self.allowed.checked_sub(1)?;
        self.ring.pop_front()
    }

    /// Returns the number of items that the consumer may still pop.
    pub(super) fn allowed(&self) -> usize {
        self.allowed
    }

    /// Ends the batch.
    pub(super) fn end_batch(&mut self) {
        let taken = self.batch - self.allowed;
        self.taken_before += taken;
        self.room_owed += taken;
        self.allowed = 0;
        self.batch = 0;
    }

    /// Returns the number of items popped since the last call. Call this only between two batches.
    pub(super) fn take_count(&mut self) -> u64 {
        std::mem::take(&mut self.taken_before) as u64
    }

    /// Returns the number of items that belong or belonged to the consumer, since the queue's
    /// statistics were last updated.
    pub(super) fn count(&self) -> usize {
        self.taken_before + self.batch
    }

    /// Begins another batch of the same ring.
    pub(super) fn begin_batch(&mut self, allowed: usize) {
        self.allowed = allowed;
        self.batch = allowed;
    }
}
