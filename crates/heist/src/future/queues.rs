//! Where futures wait to be polled, as far as others than their worker can take them.

use super::live::LiveSet;
use super::raw::Runnable;
use super::seat::Seat;
use crate::queue::{Injector, LifoSlot, LocalQueue, Stealer};
use crate::sync::plant::{Plant, planted};
use crate::sync::{AtomicBool, CachePadded, Ordering};

/// What becomes of a future that is woken by its worker's own doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lifo {
    /// It goes to the back of the queue.
    Off,
    /// It is polled next, by that worker.
    Private,
    /// It is polled next, by that worker or by one that has waited for it a little.
    Stealable,
}

/// A pool's queues of futures, beside those of its typed tasks.
#[derive(Debug)]
pub(crate) struct FutureQueues {
    /// Set by the first future. Until then nobody need look here: a pool of typed tasks pays one load.
    in_use: AtomicBool,
    pub(crate) injector: Injector<Runnable>,
    pub(crate) stealers: Box<[Stealer<Runnable>]>,
    pub(crate) slots: Box<[CachePadded<LifoSlot<Runnable>>]>,
    pub(crate) lifo: Lifo,
    pub(crate) live: LiveSet,
}

impl FutureQueues {
    /// The queues for `workers` workers, and each one's own end.
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

    /// Whether a future was ever spawned.
    #[inline]
    pub(crate) fn in_use(&self) -> bool {
        // Relaxed: it is set before the future is pushed, so whoever must not miss the push does not miss this.
        self.in_use.load(Ordering::Relaxed)
    }

    /// Notes that a future is about to be spawned.
    #[inline]
    pub(crate) fn use_them(&self) {
        if !self.in_use() {
            self.in_use.store(true, Ordering::Release);
        }
    }

    /// Whether anything waits that an idle worker could take; from another one only if `stealing`.
    pub(crate) fn any_work(&self, stealing: bool) -> bool {
        self.in_use()
            && (!self.injector.is_empty()
                || stealing
                    && (self.stealers.iter().any(|stealer| !stealer.is_empty())
                        || self.any_slot_occupied() && !planted(Plant::SleeperIgnoresSlots)))
    }

    /// Whether any future waits that worker `worker` would come across. (Not one in a private slot.)
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
