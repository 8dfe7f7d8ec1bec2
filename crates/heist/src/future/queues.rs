//! The queues in which futures wait to be polled, as far as other workers can reach them.

use super::live::LiveSet;
use super::raw::Runnable;
use super::seat::Seat;
use crate::queue::{Injector, LifoSlot, LocalQueue, Stealer};
use crate::sync::plant::{Plant, planted};
use crate::sync::{AtomicBool, CachePadded, Ordering};

/// How a worker treats a future that it has woken itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lifo {
    /// The future goes to the back of the queue.
    Off,
    /// The worker polls the future next.
    Private,
    /// The worker polls the future next, unless another worker takes it after a short wait.
    Stealable,
}

/// A pool's queues of futures, beside those of its typed tasks.
#[derive(Debug)]
pub(crate) struct FutureQueues {
    /// Set by the first future. Until then no worker checks these queues: a pool of typed tasks
    /// pays for one load.
    in_use: AtomicBool,
    pub(crate) injector: Injector<Runnable>,
    pub(crate) stealers: Box<[Stealer<Runnable>]>,
    pub(crate) slots: Box<[CachePadded<LifoSlot<Runnable>>]>,
    pub(crate) lifo: Lifo,
    pub(crate) live: LiveSet,
}

impl FutureQueues {
    /// Creates the queues for `workers` workers, and each worker's own end.
    pub(crate) fn new(workers: usize, lifo: Lifo) -> (Self, Vec<Seat>) {
        let locals: Vec<_> = (0..workers).map(|_| LocalQueue::new_fifo()).collect();
        let queues = Self {
            in_use: AtomicBool::new(false),
            injector: Injector::new(),
            stealers: locals.iter().map(LocalQueue::stealer).collect(),
            slots: (0..workers).map(|_| CachePadded::default()).collect(),
            lifo,
            live: LiveSet::new(workers),
        };
        (queues, locals.into_iter().map(Seat::new).collect())
    }

    /// Returns `true` if a future was ever spawned.
    #[inline]
    pub(crate) fn in_use(&self) -> bool {
        // Relaxed: it is set before the future is pushed, so a worker that sees the push sees this.
        self.in_use.load(Ordering::Relaxed)
    }

    /// Records that a future is about to be spawned.
    #[inline]
    pub(crate) fn use_them(&self) {
        if !self.in_use() {
            self.in_use.store(true, Ordering::Release);
        }
    }

    /// Returns `true` if an idle worker could take a future; from another worker only if
    /// `stealing`.
    pub(crate) fn any_work(&self, stealing: bool) -> bool {
        self.in_use()
            && (!self.injector.is_empty()
                || stealing
                    && (self.stealers.iter().any(|stealer| !stealer.is_empty())
                        || self.any_slot_occupied() && !planted(Plant::SleeperIgnoresSlots)))
    }

    /// Returns `true` if a future waits that worker `worker` would take next, except in a private
    /// LIFO slot.
    pub(crate) fn wait_for(&self, worker: usize) -> bool {
        self.in_use()
            && !(self.stealers[worker].is_empty()
                && self.slots[worker].occupied().is_none()
                && self.injector.is_empty())
    }

    fn any_slot_occupied(&self) -> bool {
        self.lifo == Lifo::Stealable && self.slots.iter().any(|slot| slot.occupied().is_some())
    }
}
