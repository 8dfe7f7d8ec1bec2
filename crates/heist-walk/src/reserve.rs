//! [`Reserve`]: workers that are there but do not work until they are needed.
//!
//! How many threads are best depends on the cache. If everything is in it, a walk only computes, and more threads
//! than cores get into each other's way. If it is not, a walk only waits, and then 32 threads that wait at the same
//! time are twice as fast as 2. Nobody knows beforehand. So a walk begins with as many workers as there are
//! cores; the others are held back before their first step. The thread that called the walk has nothing to do but to
//! wait for its end, so it looks from time to time how much of the time the workers compute; if that is less than
//! half, or nothing is visited at all (by workers that do nothing but visit), it calls the reserve.
//!
//! The reserve is called in any case when all of the first workers run out of work: a walk ends when every worker
//! says that there is nothing left. No worker is held back longer than that, whatever becomes of the others: a worker
//! that ends calls the reserve, too.

use crate::counters::Progress;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How often the caller looks. A walk that waits for its disk does a few hundred steps in that time, so not much is
/// lost.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Reserve {
    /// How many workers begin at once: those with the lowest numbers.
    first: usize,
    /// Whether the workers may compute for long without visiting anything.
    computes: bool,
    called: Mutex<bool>,
    call: Condvar,
    /// How many of the first are out of work.
    resting: AtomicUsize,
}

impl Reserve {
    /// Of `all` workers, `first` begin at once.
    pub(crate) fn new(first: usize, all: usize, computes: bool) -> Self {
        Self {
            first,
            computes,
            called: Mutex::new(first >= all),
            call: Condvar::new(),
            resting: AtomicUsize::new(0),
        }
    }

    fn lock(&self) -> MutexGuard<'_, bool> {
        self.called.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Holds a worker of the reserve back until it is called.
    pub(crate) fn hold_back(&self, worker: usize) {
        if worker >= self.first {
            let held_back = self.call.wait_while(self.lock(), |called| !*called);
            drop(held_back);
        }
    }

    /// Lets every worker work.
    pub(crate) fn call(&self) {
        *self.lock() = true;
        self.call.notify_all();
    }

    /// A worker of the first has run out of work. `resting` is whether it was so already.
    pub(crate) fn rest(&self, worker: usize, resting: &mut bool) {
        if worker < self.first && !*resting {
            *resting = true;
            // AcqRel, as everything that is decided by a count is; the last one sees all others.
            if self.resting.fetch_add(1, Ordering::AcqRel) + 1 == self.first {
                self.call();
            }
        }
    }

    /// It has found some again.
    pub(crate) fn work_again(&self, resting: &mut bool) {
        if *resting {
            *resting = false;
            self.resting.fetch_sub(1, Ordering::AcqRel);
        }
    }

    /// Looks after the workers until the reserve is called. On the thread that waits for the walk anyway.
    pub(crate) fn watch(&self, progress: &Progress) {
        let mut before = Look::now(progress);
        let mut called = self.lock();
        while !*called {
            let waited = self.call.wait_timeout(called, LOOK_EVERY);
            called = waited.unwrap_or_else(PoisonError::into_inner).0;
            if *called {
                return;
            }
            let now = Look::now(progress);
            if now.shows_waiting_since(&before, self.first, self.computes) {
                *called = true;
                self.call.notify_all();
            }
            before = now;
        }
    }
}

/// What the caller sees when it looks.
#[derive(Clone, Copy, Debug)]
struct Look {
    at: Instant,
    computed: Option<Duration>,
    visited: u64,
}

impl Look {
    fn now(progress: &Progress) -> Self {
        let totals = progress.totals();
        let visited = totals.entries() + totals.errors;
        Self { at: Instant::now(), computed: crate::sys::time_computed(), visited }
    }

    /// Whether `workers` have waited more than computed since `before`.
    fn shows_waiting_since(&self, before: &Self, workers: usize, computes: bool) -> bool {
        if !computes && self.visited == before.visited {
            return true;
        }
        let (Some(now), Some(then)) = (self.computed, before.computed) else { return true };
        let time = (self.at - before.at).saturating_mul(u32::try_from(workers).unwrap_or(u32::MAX));
        now.saturating_sub(then) * 2 < time
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn look(at: Instant, after_ms: u64, computed_ms: u64, visited: u64) -> Look {
        let computed = Some(Duration::from_millis(computed_ms));
        Look { at: at + Duration::from_millis(after_ms), computed, visited }
    }

    #[test]
    fn waiting_is_computing_less_than_half_of_the_time_or_standing_still() {
        let start = Instant::now();
        let before = look(start, 0, 10, 100);
        assert!(!look(start, 10, 30, 200).shows_waiting_since(&before, 2, false));
        assert!(!look(start, 10, 21, 200).shows_waiting_since(&before, 2, false));
        assert!(look(start, 10, 19, 200).shows_waiting_since(&before, 2, false));
        assert!(look(start, 10, 30, 100).shows_waiting_since(&before, 2, false));
        assert!(!look(start, 10, 30, 100).shows_waiting_since(&before, 2, true));
        assert!(look(start, 10, 19, 100).shows_waiting_since(&before, 2, true));
    }

    #[test]
    fn the_reserve_comes_when_all_others_rest() {
        let reserve = Arc::new(Reserve::new(2, 3, false));
        let third = std::thread::spawn({
            let reserve = Arc::clone(&reserve);
            move || reserve.hold_back(2)
        });
        let (mut first, mut second) = (false, false);
        reserve.hold_back(0);
        reserve.rest(0, &mut first);
        reserve.rest(0, &mut first);
        assert!(!third.is_finished());
        reserve.work_again(&mut first);
        reserve.rest(1, &mut second);
        std::thread::sleep(Duration::from_millis(20));
        assert!(!third.is_finished());
        reserve.rest(0, &mut first);
        third.join().unwrap();
    }

    #[test]
    fn without_a_reserve_nobody_is_held_back_and_nobody_watches() {
        let reserve = Reserve::new(4, 4, false);
        reserve.hold_back(3);
        reserve.watch(&Progress::default());
    }

    #[test]
    fn the_reserve_comes_when_nothing_moves() {
        let reserve = Reserve::new(2, 3, false);
        reserve.watch(&Progress::default());
        reserve.hold_back(2);
    }
}
