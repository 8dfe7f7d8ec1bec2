//! The consumer's turn: a value that lives inside a task, and the guard that it becomes when it is run.

use super::GatedQueue;
use super::core::QueueCore;
use super::hand::Hand;
use crate::sync::Arc;
use std::fmt;
use std::marker::PhantomData;

/// The right to consume a [`GatedQueue`] for one turn. There is at most one of it for each queue, so nobody consumes
/// beside its holder.
///
/// It comes to the executor inside a task, when there is something to consume, and [`QueueTurn::run`] is what the task
/// should do, before it ends: the task is what the executor counts, so a turn that is kept elsewhere keeps no `join`
/// waiting, and what it leaves to be consumed after that is dropped.
///
/// Dropped instead of run, by a panic on the way or by a task that ignores it, it drops the oldest item, counted, and
/// comes again in another task if there are more. So a task that never runs its turns loses the items one by one, but
/// no executor for ever. In an executor that was stopped all items are dropped with it.
#[must_use = "a turn that is dropped drops an item"]
pub struct QueueTurn<T> {
    /// `None` once it has begun.
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

    /// Consumes items, in order, and says how many: a batch; and as long as there are more and nothing else waits for
    /// this worker, another one. What is left then comes with another turn, behind everything else that waits in the
    /// executor.
    ///
    /// A busy queue on an idle executor is consumed in one call that may not return for long. For exactly one batch, to
    /// do something after each, use [`QueueTurn::begin`].
    ///
    /// If `each` panics, the item that it had is gone; those after it are not.
    pub fn run(self, mut each: impl FnMut(T)) -> usize {
        let mut consumer = self.begin();
        let mut consumed = 0;
        loop {
            while let Some(item) = consumer.try_pop() {
                each(item);
                consumed += 1;
            }
            if !consumer.queue.next_batch(&mut consumer.hand) {
                return consumed;
            }
        }
    }

    /// Begins the turn. It ends when the guard is dropped.
    pub fn begin(self) -> QueueConsumer<T> {
        self.begin_with(usize::MAX)
    }

    /// Begins a turn of at most `most` items.
    pub(crate) fn begin_with(mut self, most: usize) -> QueueConsumer<T> {
        let queue = self.queue.take().expect("a turn begins once, and is gone then");
        let hand = queue.begin_turn(most.min(queue.batch));
        QueueConsumer { queue, hand, _this_thread_only: PhantomData }
    }

    /// The queue.
    pub fn queue(&self) -> GatedQueue<T> {
        let queue = self.queue.as_ref().expect("a turn begins once, and is gone then");
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

/// The one consumer of a queue, for one turn. Dropping it, also by a panic, ends the turn; what it has not popped stays
/// in the queue.
pub struct QueueConsumer<T> {
    queue: Arc<QueueCore<T>>,
    hand: Hand<T>,
    /// Not `Send`: the turn belongs to the task that runs here, and ends with it.
    _this_thread_only: PhantomData<*const ()>,
}

impl<T> fmt::Debug for QueueConsumer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueueConsumer").field("left_in_turn", &self.hand.allowed()).finish()
    }
}

impl<T> QueueConsumer<T> {
    /// Takes the oldest item. `None` when the turn has no more: the queue was empty when it began, or the batch is used
    /// up. Either way the next turn brings the rest.
    #[inline]
    pub fn try_pop(&mut self) -> Option<T> {
        self.hand.pop()
    }

    /// How many items there are: those that this turn may still take, and those behind them.
    pub fn len(&self) -> usize {
        self.hand.allowed() + self.queue.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T> Drop for QueueConsumer<T> {
    fn drop(&mut self) {
        QueueCore::end_turn(&self.queue, &mut self.hand);
    }
}
