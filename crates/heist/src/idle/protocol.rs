//! The shipping protocol: the push rule, and how a worker searches and parks.

use super::parked_set::ParkedSet;
use crate::metrics::SharedCounter;
use crate::sync::plant::{self, Plant, planted};
use crate::sync::{AtomicUsize, CachePadded, Ordering, Parker, Unparker, heavy_fence, light_fence};
use std::time::Duration;

/// Why [`Idle::park`] returned. The worker is awake; unless the pool is done, it is also counted as
/// a searcher and its bit is clear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unparked {
    /// The worker found work in its last look and never slept.
    FoundWork,
    /// The worker received its token: from a waker, or because the pool is done.
    Token,
    /// The configured backstop expired twice with unannounced work in a queue: a lost wake-up.
    Backstop,
}

/// The shared half of the idle protocol.
#[derive(Debug)]
pub struct Idle {
    pub(super) parked: CachePadded<ParkedSet>,
    pub(super) searchers: CachePadded<AtomicUsize>,
    searcher_limit: usize,
    pub(super) unparkers: Box<[Unparker]>,
    pub(super) wakes_sent: SharedCounter,
}

impl Idle {
    /// Creates the protocol for `workers` workers, all of them running, and each worker's parker.
    pub fn new(workers: usize) -> (Self, Vec<Parker>) {
        let parkers: Vec<_> = (0..workers).map(|_| Parker::new()).collect();
        let idle = Self {
            parked: CachePadded::new(ParkedSet::new(workers)),
            searchers: CachePadded::new(AtomicUsize::new(0)),
            // Half of the pool: enough to find work fast, few enough not to compete for it.
            searcher_limit: (workers / 2).max(1),
            unparkers: parkers.iter().map(Parker::unparker).collect(),
            wakes_sent: SharedCounter::default(),
        };
        (idle, parkers)
    }

    /// Applies the push rule: wakes workers for `pushed` tasks. Call it after the tasks were
    /// published where other workers can take them. Returns how many workers were woken.
    #[inline]
    pub fn notify_pushed(&self, pushed: usize) -> usize {
        // Pairs with the heavy fences of `park` and `found_work`. Either this thread sees the
        // parked bit (or that the last searcher has left), or that worker sees the push in its last
        // look.
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

    /// Wakes one parked worker. Returns `false` if no worker is parked.
    fn wake_one(&self) -> bool {
        plant::instead!(
            CountBeforeClear => self.wake_one_counting_first(),
            WakeIgnoresParked => self.wake_next_in_turn(),
            WakesCountedLate => self.wake_one_uncounted(),
        );
        let Some(worker) = self.parked.take_lowest() else { return false };
        // Count after the bit is cleared and before the token is delivered. A waker that counts
        // first, and undoes it when the bit is already clear, shows for a moment a searcher that
        // never searches, and a pusher would rely on it.
        self.searchers.fetch_add(1, Ordering::AcqRel);
        // Also before the token, so that no reader sees more wake-ups received than sent.
        self.wakes_sent.add(1);
        self.unparkers[worker].unpark();
        true
    }

    /// Returns how many wake-ups were sent so far, without the tokens that end the pool.
    pub fn wakes_sent(&self) -> u64 {
        self.wakes_sent.get()
    }

    /// Counts the calling worker as a searcher. Returns `false` if half of the pool searches
    /// already; the worker then parks, and `park` makes up for the look that it was refused.
    #[must_use]
    pub fn try_start_searching(&self) -> bool {
        self.searchers
            .fetch_update(Ordering::AcqRel, Ordering::Relaxed, |searchers| {
                (searchers < self.searcher_limit).then_some(searchers + 1)
            })
            .is_ok()
    }

    /// Ends the search of a worker that found work. The last searcher passes the search on: it
    /// wakes another worker if any queue is non-empty. Returns how many workers were woken.
    pub fn found_work(&self, any_work: impl Fn() -> bool) -> usize {
        // AcqRel: a searcher that is *not* the last leaves without a fence. The last searcher sees
        // the batch which that one has moved only through this read-modify-write.
        let order = plant::order(Plant::SearchersRelaxed, Ordering::AcqRel);
        let was_last = self.searchers.fetch_sub(1, order) == 1;
        if !was_last {
            return 0;
        }
        // Pairs with the light fence of `notify_pushed`: a pusher that still saw this searcher has
        // woken no worker.
        heavy_fence();
        // If no worker is parked there is none to wake, and each worker looks before it parks.
        usize::from(!self.parked.is_empty() && any_work() && self.wake_one())
    }

    /// Parks worker `me` until it has a reason to search. When this returns the worker is a counted
    /// searcher, unless the pool is done, which the caller must check.
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
        // A searcher looks in this worker's place: its search ends here or in `found_work`.
        if self.searchers.load(Ordering::Relaxed) == 0 && any_work() {
            return self.search_again(me, parker, Unparked::FoundWork);
        }
        match backstop {
            None => parker.park(),
            Some(timeout) => {
                if self.wait_with_backstop(parker, timeout, any_work) {
                    return self.search_again(me, parker, Unparked::Backstop);
                }
            }
        }
        Unparked::Token
    }

    /// Waits for the token. Returns `true` if the token did not come although there is work. A
    /// pusher may be about to announce work that shows at one timeout, so the work must still be
    /// unannounced at the next.
    fn wait_with_backstop(
        &self,
        parker: &Parker,
        timeout: Duration,
        any_work: impl Fn() -> bool,
    ) -> bool {
        let mut suspicious = false;
        while !parker.park_timeout(timeout) {
            let unannounced = self.searchers.load(Ordering::Relaxed) == 0 && any_work();
            if suspicious && unannounced {
                return true;
            }
            suspicious = unannounced;
        }
        false
    }

    /// Makes a worker that has set its bit, but not taken a token, a counted searcher.
    fn search_again(&self, me: usize, parker: &Parker, reason: Unparked) -> Unparked {
        if self.parked.remove(me) {
            self.searchers.fetch_add(1, Ordering::AcqRel);
            return reason;
        }
        // A waker was faster: it has counted this worker, or is about to, and its token is on the
        // way. Left untaken, that token would end a later park, and the worker would search
        // uncounted.
        if !planted(Plant::TokenLeftUntaken) {
            parker.park();
        }
        Unparked::Token
    }

    /// Gives every worker a token, parked or not. Only for the end of the pool.
    pub fn wake_all_for_exit(&self) {
        for unparker in &self.unparkers {
            unparker.unpark();
        }
    }
}

#[cfg(all(test, not(heist_loom)))]
mod tests {
    use super::*;
    use std::cell::{Cell, RefCell};
    use std::thread;

    /// Takes a worker's token. Returns `true` if there was one.
    fn has_token(parker: &Parker) -> bool {
        parker.park_timeout(Duration::ZERO)
    }

    /// Delivers a token that the test does not need: a worker that waits for one by mistake then
    /// fails its test instead of hanging in it.
    fn deliver_token(idle: &Idle, worker: usize) {
        idle.unparkers[worker].unpark();
    }

    #[test]
    fn a_backstop_ends_a_sleep_beside_unannounced_work() {
        let (idle, parkers) = Idle::new(1);
        // Nothing at the last look; later a task appears, and its pusher forgets to announce it.
        let looks = Cell::new(0);
        let any_work = || {
            looks.set(looks.get() + 1);
            if looks.get() == 3 {
                // Too late: this look is the confirmation.
                deliver_token(&idle, 0);
            }
            looks.get() > 1
        };
        let unparked = idle.park(0, false, &parkers[0], Some(Duration::from_millis(1)), any_work);
        assert_eq!(unparked, Unparked::Backstop);
        assert_eq!(looks.get(), 3, "the last look, a suspicion, and its confirmation");
        assert!(idle.parked.is_empty());
        assert_eq!(idle.searchers.load(Ordering::Relaxed), 1, "it counts as a searcher now");
    }

    #[test]
    fn a_suspicion_that_is_not_confirmed_at_the_next_timeout_is_dropped() {
        let (idle, parkers) = Idle::new(1);
        // The second sight is a new suspicion, not the confirmation of the first.
        let sights = RefCell::new([false, true, false, true, true].into_iter());
        let any_work = || {
            let sight = sights.borrow_mut().next().expect("the last sight is the confirmation");
            if sights.borrow().len() == 0 {
                deliver_token(&idle, 0);
            }
            sight
        };
        let unparked = idle.park(0, false, &parkers[0], Some(Duration::from_millis(1)), any_work);
        assert_eq!(unparked, Unparked::Backstop);
        assert_eq!(sights.borrow().len(), 0, "it has used every sight");
    }

    #[test]
    fn a_backstop_leaves_work_to_a_searcher() {
        let (idle, parkers) = Idle::new(2);
        assert!(idle.try_start_searching());
        let unparked = thread::scope(|scope| {
            scope.spawn(|| {
                // About twenty timeouts.
                thread::sleep(Duration::from_millis(20));
                deliver_token(&idle, 1);
            });
            idle.park(1, false, &parkers[1], Some(Duration::from_millis(1)), || true)
        });
        assert_eq!(unparked, Unparked::Token);
    }

    #[test]
    fn a_push_wakes_one_of_two_and_a_batch_no_more_than_may_search() {
        let (idle, parkers) = Idle::new(8);
        for worker in 0..8 {
            idle.parked.insert(worker);
        }
        assert_eq!(idle.notify_pushed(1), 1);
        assert_eq!(idle.notify_pushed(1), 0, "the woken one searches");
        assert_eq!(idle.found_work(|| true), 1, "the last searcher passes it on");
        assert_eq!(idle.found_work(|| false), 0);
        assert_eq!(idle.notify_pushed(100), 4, "half of the pool");
        let woken = parkers.iter().filter(|parker| has_token(parker)).count();
        assert_eq!(woken, 6, "each woken worker has a token, and no other");
        assert_eq!(idle.wakes_sent(), 6, "and each was counted");
    }

    #[test]
    fn a_searcher_that_is_not_the_last_wakes_no_other() {
        let (idle, _parkers) = Idle::new(4);
        idle.parked.insert(3);
        assert!(idle.try_start_searching());
        assert!(idle.try_start_searching());
        assert_eq!(idle.found_work(|| true), 0, "the other one still searches");
        assert_eq!(idle.found_work(|| true), 1);
    }

    #[test]
    fn the_last_searcher_does_not_look_when_no_worker_is_parked() {
        let (idle, _parkers) = Idle::new(2);
        assert!(idle.try_start_searching());
        assert_eq!(idle.found_work(|| unreachable!("no worker is parked")), 0);
    }

    #[test]
    fn a_worker_that_finds_work_in_its_last_look_searches_on() {
        let (idle, parkers) = Idle::new(1);
        assert!(idle.try_start_searching());
        deliver_token(&idle, 0);
        assert_eq!(idle.park(0, true, &parkers[0], None, || true), Unparked::FoundWork);
        assert!(idle.parked.is_empty());
        assert_eq!(idle.searchers.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn the_last_look_is_left_to_a_searcher() {
        let (idle, parkers) = Idle::new(2);
        assert!(idle.try_start_searching());
        deliver_token(&idle, 1);
        let any_work = || unreachable!("worker 0 searches");
        assert_eq!(idle.park(1, false, &parkers[1], None, any_work), Unparked::Token);
    }

    #[test]
    fn a_worker_that_is_woken_while_it_looks_takes_the_token_and_is_counted_once() {
        let (idle, parkers) = Idle::new(1);
        deliver_token(&idle, 0);
        let any_work = || {
            assert_eq!(idle.notify_pushed(1), 1);
            true
        };
        assert_eq!(idle.park(0, false, &parkers[0], None, any_work), Unparked::Token);
        assert!(!has_token(&parkers[0]), "none is left to end a later sleep");
        assert_eq!(idle.searchers.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn at_the_end_every_worker_gets_a_token_parked_or_not() {
        let (idle, parkers) = Idle::new(3);
        idle.parked.insert(1);
        idle.wake_all_for_exit();
        assert!(parkers.iter().all(has_token));
    }

    #[test]
    fn half_of_the_pool_may_search() {
        for (workers, limit) in [(1, 1), (2, 1), (3, 1), (4, 2), (200, 100)] {
            let (idle, _parkers) = Idle::new(workers);
            let started = (0..workers).filter(|_| idle.try_start_searching()).count();
            assert_eq!(started, limit, "{workers} workers");
        }
    }
}
