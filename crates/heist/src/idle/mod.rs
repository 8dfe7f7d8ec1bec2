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
#[cfg(heist_plant)]
pub(crate) mod rejected;

pub(crate) use parked_set::ParkedSet;

use crate::metrics::SharedCounter;
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
    /// The configured backstop ran out twice with work in a queue that nobody announced: a lost wake-up.
    Backstop,
}

/// The shared half of the idle protocol.
#[derive(Debug)]
pub struct Idle {
    parked: CachePadded<ParkedSet>,
    searchers: CachePadded<AtomicUsize>,
    searcher_limit: usize,
    unparkers: Box<[Unparker]>,
    wakes_sent: SharedCounter,
    #[cfg(heist_plant)]
    next_in_turn: CachePadded<AtomicUsize>,
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
            wakes_sent: SharedCounter::default(),
            #[cfg(heist_plant)]
            next_in_turn: CachePadded::new(AtomicUsize::new(0)),
        };
        (idle, parkers)
    }

    /// The push rule: to be called after `pushed` tasks were published where others can take them. Returns
    /// how many workers were woken.
    #[inline]
    pub fn notify_pushed(&self, pushed: usize) -> usize {
        #[cfg(heist_plant)]
        if rejected::is_seed() {
            return self.wake_in_turn(pushed);
        }
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
        let woken = (0..wanted).take_while(|_| self.wake_one()).count();
        self.count_late(woken);
        woken
    }

    /// Wakes one parked worker, if there is one.
    fn wake_one(&self) -> bool {
        if planted(Plant::CountBeforeClear) {
            return self.wake_one_counting_first();
        }
        #[cfg(heist_plant)]
        if planted(Plant::WakeRoundRobin) {
            return self.wake_next_in_turn();
        }
        let Some(worker) = self.parked.take_lowest() else { return false };
        // Count after the bit is cleared and before the token: counting first and undoing it when the bit is
        // gone would, for a moment, show a searcher that never searches, and a pusher would rely on it.
        self.searchers.fetch_add(1, Ordering::AcqRel);
        // Before the token, too: a wake-up that was received was sent, whoever looks and whenever.
        if !planted(Plant::WakesCountedLate) {
            self.wakes_sent.add(1);
        }
        self.unparkers[worker].unpark();
        true
    }

    fn count_late(&self, woken: usize) {
        if planted(Plant::WakesCountedLate) {
            self.wakes_sent.add(woken as u64);
        }
    }

    /// How many wake-ups were sent so far. The tokens that end the pool are none.
    pub fn wakes_sent(&self) -> u64 {
        self.wakes_sent.get()
    }

    fn wake_one_counting_first(&self) -> bool {
        let Some(worker) = self.parked.peek() else { return false };
        self.searchers.fetch_add(1, Ordering::AcqRel);
        if self.parked.remove(worker) {
            self.wakes_sent.add(1);
            self.unparkers[worker].unpark();
            true
        } else {
            self.searchers.fetch_sub(1, Ordering::AcqRel);
            false
        }
    }

    #[cfg(heist_plant)]
    fn wake_next_in_turn(&self) -> bool {
        let worker = self.next_in_turn.fetch_add(1, Ordering::Relaxed) % self.unparkers.len();
        self.parked.remove(worker);
        self.searchers.fetch_add(1, Ordering::AcqRel);
        self.wakes_sent.add(1);
        self.unparkers[worker].unpark()
    }

    /// Asks to become a searcher. Refused when half of the pool searches already; the worker then parks,
    /// and `park` makes the last look that being refused might have cost.
    #[must_use]
    pub fn try_start_searching(&self) -> bool {
        #[cfg(heist_plant)]
        if rejected::is_seed() {
            return true;
        }
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
        #[cfg(heist_plant)]
        if rejected::is_seed() {
            return 0;
        }
        let order =
            if planted(Plant::SearchersRelaxed) { Ordering::Relaxed } else { Ordering::AcqRel };
        let was_last = self.searchers.fetch_sub(1, order) == 1;
        if !was_last || planted(Plant::LastSearcherSilent) {
            return 0;
        }
        // Pairs with the light fence of `notify_pushed`: a pusher that still saw us searching woke nobody.
        heavy_fence();
        // With nobody parked there is nobody to wake, and whoever parks next looks for itself.
        let woken = usize::from(!self.parked.is_empty() && any_work() && self.wake_one());
        self.count_late(woken);
        woken
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
        #[cfg(heist_plant)]
        if rejected::is_seed() {
            return Self::park_for_a_while(parker);
        }
        self.parked.insert(me);
        if searching {
            self.searchers.fetch_sub(1, Ordering::AcqRel);
        }
        // Pairs with the light fence of `notify_pushed`; without it both sides may miss each other.
        heavy_fence();
        // If somebody searches, the look is that worker's duty: it ends its search here or in `found_work`.
        let must_look = self.searchers.load(Ordering::Relaxed) == 0
            && !planted(Plant::NoLookAfterBit)
            && (searching || !planted(Plant::RefusedDoesNotLook));
        if must_look && any_work() {
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

    /// Waits for the token; says whether it was waited for in vain although there is work. Work that shows at one
    /// timeout may be about to be announced, so it must still be unannounced at the next.
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

    /// Turns a worker whose bit is set, but who has not taken a token, into a counted searcher.
    fn search_again(&self, me: usize, parker: &Parker, reason: Unparked) -> Unparked {
        if self.parked.remove(me) {
            self.searchers.fetch_add(1, Ordering::AcqRel);
            reason
        } else {
            // A waker was faster: it has counted us, or is about to, and its token is on the way. Left
            // untaken, that token would end a later park that nobody has counted.
            if !planted(Plant::TokenLeftUntaken) {
                parker.park();
            }
            Unparked::Token
        }
    }

    /// Gives every worker a token, whatever its bit says. Only for the end of the pool.
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

    /// Takes a worker's token, if it was delivered.
    fn has_token(parker: &Parker) -> bool {
        parker.park_timeout(Duration::ZERO)
    }

    /// Delivers a token that nobody needs: a worker that waits for one all the same fails its test, and does not
    /// hang in it.
    fn deliver_token(idle: &Idle, worker: usize) {
        idle.unparkers[worker].unpark();
    }

    #[test]
    fn a_backstop_ends_a_sleep_beside_work_that_nobody_announced() {
        let (idle, parkers) = Idle::new(1);
        // Nothing at the last look; afterwards a task appears, and its pusher forgets to say so.
        let looks = Cell::new(0);
        let any_work = || {
            looks.set(looks.get() + 1);
            if looks.get() == 3 {
                // Too late: this look was the confirmation.
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
        // The second task is a new suspicion, not the confirmation of the first.
        let sights = RefCell::new([false, true, false, true, true].into_iter());
        let any_work = || {
            let sight = sights.borrow_mut().next().expect("the last one was the confirmation");
            if sights.borrow().len() == 0 {
                deliver_token(&idle, 0);
            }
            sight
        };
        let unparked = idle.park(0, false, &parkers[0], Some(Duration::from_millis(1)), any_work);
        assert_eq!(unparked, Unparked::Backstop);
        assert_eq!(sights.borrow().len(), 0, "it has seen them all");
    }

    #[test]
    fn a_backstop_leaves_work_to_the_one_who_searches() {
        let (idle, parkers) = Idle::new(2);
        assert!(idle.try_start_searching());
        let unparked = thread::scope(|scope| {
            scope.spawn(|| {
                // Some twenty timeouts.
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
        assert_eq!(woken, 6, "each of the woken has a token, and nobody else");
        assert_eq!(idle.wakes_sent(), 6, "and each was counted");
    }

    #[test]
    fn a_searcher_that_is_not_the_last_wakes_nobody() {
        let (idle, _parkers) = Idle::new(4);
        idle.parked.insert(3);
        assert!(idle.try_start_searching());
        assert!(idle.try_start_searching());
        assert_eq!(idle.found_work(|| true), 0, "the other one still searches");
        assert_eq!(idle.found_work(|| true), 1);
    }

    #[test]
    fn the_last_searcher_does_not_look_when_nobody_is_there_to_be_woken() {
        let (idle, _parkers) = Idle::new(2);
        assert!(idle.try_start_searching());
        assert_eq!(idle.found_work(|| unreachable!("nobody is parked")), 0);
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
    fn the_last_look_is_left_to_the_one_who_searches() {
        let (idle, parkers) = Idle::new(2);
        assert!(idle.try_start_searching());
        deliver_token(&idle, 1);
        let any_work = || unreachable!("worker 0 searches");
        assert_eq!(idle.park(1, false, &parkers[1], None, any_work), Unparked::Token);
    }

    #[test]
    fn a_worker_that_is_woken_while_it_looks_takes_that_token_and_is_counted_once() {
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
    fn at_the_end_everybody_gets_a_token_parked_or_not() {
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
