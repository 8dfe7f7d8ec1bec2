//! The shipping local queue: crossbeam's deque.

use super::Steal;

/// The owner's end.
#[derive(Debug)]
pub struct LocalQueue<T>(crossbeam_deque::Worker<T>);

/// A thief's end.
#[derive(Debug)]
pub struct Stealer<T>(crossbeam_deque::Stealer<T>);

impl<T> Default for LocalQueue<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> LocalQueue<T> {
    /// Creates an empty queue whose owner takes the newest task first.
    pub fn new() -> Self {
        Self(crossbeam_deque::Worker::new_lifo())
    }

    /// Creates an empty queue whose owner takes the oldest task first.
    pub fn new_fifo() -> Self {
        Self(crossbeam_deque::Worker::new_fifo())
    }

    /// Returns a thief's end of this queue.
    pub fn stealer(&self) -> Stealer<T> {
        Stealer(self.0.stealer())
    }

    /// Adds a task at the owner's end.
    #[inline(always)]
    pub fn push(&self, task: T) {
        self.0.push(task);
    }

    /// Takes the owner's next task.
    #[inline(always)]
    pub fn pop(&self) -> Option<T> {
        self.0.pop()
    }

    /// Returns the number of queued tasks.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns `true` if the queue is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T> Stealer<T> {
    /// Returns `true` if the queue looks empty.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Moves the older half of the tasks, rounded up and at most `limit`, into `into`. Returns one
    /// of them.
    pub fn steal_half(&self, into: &LocalQueue<T>, limit: usize) -> Steal<T> {
        self.0.steal_batch_with_limit_and_pop(&into.0, limit)
    }
}
