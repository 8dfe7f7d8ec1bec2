//! Who sleeps, who searches, and whom to wake.
//!
//! A worker is *running*, *searching* or *parked*. The rules here guarantee that **no task waits in a queue
//! while every worker that could take it is parked**, without a timeout anywhere; and they keep the number
//! of searchers small, so that an idle pool is silent and a busy one is not swamped by wake-ups. States,
//! pairings and the proof sketch are in `PROTOCOL.md` beside this file.
//!
//! Not guaranteed: that the woken worker gets the task that it was woken for (a running one may be faster),
//! or that as many workers are awake as there are tasks. The awake ones wake more, one after the other.

mod parked_set;

pub use parked_set::ParkedSet;

use crate::sync::plant::{Plant, planted};
use crate::sync::{AtomicUsize, CachePadded, Ordering, Parker, Unparker, heavy_fence, light_fence};
use std::time::Duration;

/// How a worker came back from [`Idle::park`]. In every case it is awake; unless the pool is done it is also
/// counted as a searcher and its bit is clear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unparked {
    /// A last look found work: it never slept.
    FoundWork,
    /// Somebody delivered its token: a waker, or whoever found the pool done.
    Token,
    /// The configured backstop ran out. Finding work after this would be a lost wake-up.
    Backstop,
}

/// The shared half of the idle protocol.
#[derive(Debug)]
pub struct Idle {
    parked: CachePadded<ParkedSet>,
    searchers: CachePadded<AtomicUsize>,
    searcher_limit: usize,
    unparkers: Box<[Unparker]>,
}

impl Idle {
    /// The protocol for `workers` workers, and each one's parker. All start out running.
    pub fn new(workers: usize) -> (Self, Vec<Parker>) {
        let parkers: Vec<_> = (0..workers).map(|_| Parker::new()).collect();
        let idle = Self {
            parked: CachePadded::new(ParkedSet::new(workers)),
            searchers: CachePadded::new(AtomicUsize::new(0)),
            // Half of the pool: enough to find any work fast, few enough not to fight over it.
            searcher_limit: (workers / 2).max(1),
            unparkers: parkers.iter().map(Parker::unparker).collect(),
        };
        (idle, parkers)
    }

    /// The push rule: to be called after `pushed` tasks were published where others can take them. Returns
    /// how many workers were woken.
    #[inline]
    pub fn notify_pushed(&self, pushed: usize) -> usize {
        // Pairs with the heavy fences of `park` and `found_work`: either we see the sleeper's bit (or that
        // the last searcher has left), or it sees our push in its last look.
        light_fence();
        if self.searchers.load(Ordering::Relaxed) != 0 || self.parked.is_empty() {
            return 0;
        }
        self.wake_up_to(pushed.min(self.searcher_limit))
    }

    #[cold]
    fn wake_up_to(&self, wanted: usize) -> usize {
        (0..wanted).take_while(|_| self.wake_one()).count()
    }

    /// Wakes one parked worker, if there is one.
    fn wake_one(&self) -> bool {
        if planted(Plant::CountBeforeClear) {
            return self.wake_one_counting_first();
        }
        let Some(worker) = self.parked.take_lowest() else { return false };
        // Count after the bit is cleared and before the token: counting first and undoing it when the bit is
        // gone would, for a moment, show a searcher that never searches, and a pusher would rely on it.
        self.searchers.fetch_add(1, Ordering::AcqRel);
        self.unparkers[worker].unpark();
        true
    }

    fn wake_one_counting_first(&self) -> bool {
        let Some(worker) = self.parked.peek() else { return false };
        self.searchers.fetch_add(1, Ordering::AcqRel);
        if self.parked.remove(worker) {
            self.unparkers[worker].unpark();
            true
        } else {
            self.searchers.fetch_sub(1, Ordering::AcqRel);
            false
        }
    }

    /// Asks to become a searcher. Refused when half of the pool searches already; the worker then parks,
    /// and `park` makes the last look that being refused might have cost.
    #[must_use]
    pub fn try_start_searching(&self) -> bool {
        self.searchers
            .fetch_update(Ordering::AcqRel, Ordering::Relaxed, |searchers| {
                (searchers < self.searcher_limit).then_some(searchers + 1)
            })
            .is_ok()
    }

    /// A searcher has found work and leaves the count. The last one passes the search on: it wakes another
    /// worker if any queue is non-empty. Returns how many were woken.
    ///
    /// AcqRel on the count: a searcher that is *not* the last leaves without a fence, and this alone shows
    /// the batch that it moved to the one that is.
    pub fn found_work(&self, any_work: impl Fn() -> bool) -> usize {
        let was_last = self.searchers.fetch_sub(1, Ordering::AcqRel) == 1;
        if !was_last || planted(Plant::LastSearcherSilent) {
            return 0;
        }
        // Pairs with the light fence of `notify_pushed`: a pusher that still saw us searching woke nobody.
        heavy_fence();
        // With nobody parked there is nobody to wake, and whoever parks next looks for itself.
        usize::from(!self.parked.is_empty() && any_work() && self.wake_one())
    }

    /// Parks worker `me` until there is a reason not to. On return it is a counted searcher, unless the pool
    /// is done, which the caller must check.
    pub fn park(
        &self,
        me: usize,
        searching: bool,
        parker: &Parker,
        backstop: Option<Duration>,
        any_work: impl Fn() -> bool,
    ) -> Unparked {
        self.parked.insert(me);
        if searching {
            self.searchers.fetch_sub(1, Ordering::AcqRel);
        }
        // Pairs with the light fence of `notify_pushed`; without it both sides may miss each other.
        heavy_fence();
        // If somebody searches, the look is that worker's duty: it ends its search here or in `found_work`.
        let must_look =
            self.searchers.load(Ordering::Relaxed) == 0 && !planted(Plant::NoLookAfterBit);
        if must_look && any_work() {
            self.search_again(me, parker);
            return Unparked::FoundWork;
        }
        match backstop {
            None => parker.park(),
            Some(timeout) => {
                if !parker.park_timeout(timeout) {
                    self.search_again(me, parker);
                    return Unparked::Backstop;
                }
            }
        }
        Unparked::Token
    }

    /// Turns a worker whose bit is set, but who has not taken a token, into a counted searcher.
    fn search_again(&self, me: usize, parker: &Parker) {
        if self.parked.remove(me) {
            self.searchers.fetch_add(1, Ordering::AcqRel);
        } else {
            // A waker was faster: it has counted us, or is about to, and its token is on the way. Left
            // untaken, that token would end a later park that nobody has counted.
            parker.park();
        }
    }

    /// Gives every worker a token, whatever its bit says. Only for the end of the pool.
    pub fn wake_all_for_exit(&self) {
        for unparker in &self.unparkers {
            unparker.unpark();
        }
    }
}
