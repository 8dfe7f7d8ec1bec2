//! The consumer's turn: a value inside a task, which becomes a consumer when the task runs it.

use super::GatedQueue;
use super::core::QueueCore;
use super::ring::ConsumerRing;
use crate::sync::Arc;
use std::fmt;
use std::marker::PhantomData;

/// The right to consume a [`GatedQueue`] for one turn. A queue has at most one turn at a time, so
/// its holder is the only consumer.
///
/// When there is something to consume, the queue puts a task with a turn on its executor. The task
/// should call [`QueueTurn::run`] before it ends. The executor counts the task, not the turn:
/// `join` does not wait for a turn that was moved out of its task, and the items that such a turn
/// leaves behind after the join are dropped.
///
/// If a turn is dropped and not run, by an early panic or by a task that ignores it, then the queue
/// drops its oldest item, counts it as dropped, and sends another turn if it has more. So a task
/// that never runs its turns loses the items one by one, but does not keep its executor busy
/// forever. In a stopped executor, dropping the turn drops all items.
#[must_use = "dropping a turn drops an item"]
pub struct QueueTurn<T> {
    /// `None` once the turn has begun.
    queue: Option<Arc<QueueCore<T>>>,
}

impl<T> fmt::Debug for QueueTurn<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueueTurn").finish_non_exhaustive()
    }
}

impl<T> QueueTurn<T> {
    pub(super) fn new(queue: &Arc<QueueCore<T>>) -> Self {
        Self { queue: Some(Arc::clone(queue)) }
    }

    /// Makes the caller's task out of this turn.
    pub(crate) fn make<R>(self, make: impl FnOnce(Self) -> R) -> R {
        match self.queue.clone() {
            Some(queue) => QueueCore::making(&queue, || make(self)),
            None => make(self),
        }
    }

    /// Consumes items in order and returns how many.
    ///
    /// The turn ends after one batch, unless more items are there and no other work waits for this
    /// worker; then it continues with another batch. Items that are left come with another turn,
    /// behind all other work that waits in the executor.
    ///
    /// On an idle executor, one call consumes a busy queue and may not return for a long time. To
    /// do something after each batch, use [`QueueTurn::begin`], which takes exactly one.
    ///
    /// If `each` panics, only the item that was passed to it is lost.
    pub fn run(self, mut each: impl FnMut(T)) -> usize {
        let mut consumer = self.begin();
        let mut consumed = 0;
        loop {
            while let Some(item) = consumer.try_pop() {
                each(item);
                consumed += 1;
            }
            if !consumer.queue.next_batch(&mut consumer.held) {
                return consumed;
            }
        }
    }

    /// Begins the turn. It ends when the returned consumer is dropped.
    pub fn begin(self) -> QueueConsumer<T> {
        self.begin_with(usize::MAX)
    }

    /// Begins a turn of at most `most` items.
    pub(crate) fn begin_with(mut self, most: usize) -> QueueConsumer<T> {
        let queue = self.queue.take().expect("`begin` consumes the turn");
        let held = queue.begin_turn(most.min(queue.batch));
        QueueConsumer { queue, held, _this_thread_only: PhantomData }
    }

    /// Returns the queue of this turn.
    pub fn queue(&self) -> GatedQueue<T> {
        let queue = self.queue.as_ref().expect("`begin` consumes the turn");
        GatedQueue::from_core(Arc::clone(queue))
    }
}

impl<T> Drop for QueueTurn<T> {
    fn drop(&mut self) {
        if let Some(queue) = self.queue.take() {
            QueueCore::turn_dropped(&queue);
        }
    }
}

/// The one consumer of a queue, for one turn. Dropping it ends the turn, even during a panic; items
/// that it has not popped stay in the queue.
pub struct QueueConsumer<T> {
    queue: Arc<QueueCore<T>>,
    held: ConsumerRing<T>,
    /// Not `Send`: the turn belongs to the task that runs on this thread, and ends with it.
    _this_thread_only: PhantomData<*const ()>,
}

impl<T> fmt::Debug for QueueConsumer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueueConsumer").field("left_in_turn", &self.held.allowed()).finish()
    }
}

impl<T> QueueConsumer<T> {
    /// Pops the oldest item. Returns `None` if the queue was empty when the turn began or if the
    /// batch is used up. In both cases the next turn brings the rest.
    #[inline]
    pub fn try_pop(&mut self) -> Option<T> {
        self.held.pop()
    }

    /// Returns the number of items: those that this turn may still pop, and those behind them.
    pub fn len(&self) -> usize {
        self.held.allowed() + self.queue.len()
    }

    /// Returns `true` if there are no items.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T> Drop for QueueConsumer<T> {
    fn drop(&mut self) {
        QueueCore::end_turn(&self.queue, &mut self.held);
    }
}
