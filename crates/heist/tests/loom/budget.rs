//! Budgets under loom: whatever makes a request fit wakes its waiter, no waiter is overtaken,
//! nothing is granted twice or lost, and each holder sees what the one before it did.
//!
//! Loom's clock stands still, so a timeout of zero has always expired and any other never does.

use crate::support::{DEADLOCK, Size, Tally, check, must_fail};
use heist::__internal::budget::{Amount, BudgetCore, core_of};
use heist::__internal::sync::plant::Plant;
use heist::__internal::sync::{Arc, AtomicU64, Mutex, Ordering, Parker, Unparker};
use heist::budget::{Acquire, ReadAmount};
use heist::{AcquireError, CountBudget, CountPermit, ReadTokens};
use loom::thread;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

const GRANTED_TWICE: &str = "more is in use than there is";
const OVERTAKEN: &str = "a waiter was overtaken";
const LOST: &str = "not everything came back";

/// A budget that has been used up once. Setting a new high-water mark takes the lock, which is not
/// what these models are about.
fn budget(total: u64) -> CountBudget {
    let budget = CountBudget::new(total).unwrap();
    drop(budget.try_acquire(total).unwrap());
    budget
}

#[track_caller]
fn check_all_came_back(budget: &CountBudget) {
    let found = (budget.available(), budget.in_use(), budget.waiting());
    assert_eq!(found, (budget.total(), 0, 0), "{LOST}");
}

struct Unpark(Unparker);

impl Wake for Unpark {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.unpark();
    }
}

/// Polls the future once.
fn poll_once(
    future: &mut Acquire<CountPermit>,
    waker: &Waker,
) -> Poll<Result<CountPermit, AcquireError>> {
    Pin::new(future).poll(&mut Context::from_waker(waker))
}

/// Polls the future until it is ready, and only when it was woken.
fn block_on(mut future: Acquire<CountPermit>) -> Result<CountPermit, AcquireError> {
    let parker = Parker::new();
    let waker = Waker::from(std::sync::Arc::new(Unpark(parker.unparker())));
    loop {
        match poll_once(&mut future, &waker) {
            Poll::Ready(outcome) => return outcome,
            Poll::Pending => parker.park(),
        }
    }
}

/// A future that was polled once, with a waker that does nothing.
fn queued(budget: &CountBudget, wanted: u64) -> Acquire<CountPermit> {
    let mut future = budget.acquire_async(wanted);
    assert!(poll_once(&mut future, Waker::noop()).is_pending());
    future
}

/// The holder writes and then releases; the next holder reads.
fn release_against_acquire() {
    let budget = budget(1);
    let permit = budget.try_acquire(1).unwrap();
    let written = Arc::new(AtomicU64::new(0));
    let waiter = {
        let (budget, written) = (budget.clone(), Arc::clone(&written));
        thread::spawn(move || {
            let _permit = budget.acquire(1).unwrap();
            // Relaxed: only the budget can make the value visible.
            assert_eq!(written.load(Ordering::Relaxed), 1);
        })
    };
    written.store(1, Ordering::Relaxed);
    drop(permit);
    waiter.join().unwrap();
    check_all_came_back(&budget);
}

#[test]
fn a_release_against_an_acquire() {
    check(Size::Small, release_against_acquire);
}

#[test]
fn a_release_against_a_future() {
    check(Size::Small, || {
        let budget = budget(1);
        let permit = budget.try_acquire(1).unwrap();
        let waiter = {
            let budget = budget.clone();
            thread::spawn(move || drop(block_on(budget.acquire_async(1)).unwrap()))
        };
        drop(permit);
        waiter.join().unwrap();
        check_all_came_back(&budget);
    });
}

/// Without waiters, so that everything stays on the fast path.
#[test]
fn a_release_against_a_try() {
    check(Size::Small, || {
        let budget = budget(1);
        let permit = budget.try_acquire(1).unwrap();
        let written = Arc::new(AtomicU64::new(0));
        let taker = {
            let (budget, written) = (budget.clone(), Arc::clone(&written));
            thread::spawn(move || match budget.try_acquire(1) {
                Ok(_permit) => assert_eq!(written.load(Ordering::Relaxed), 1),
                Err(error) => assert_eq!(error, AcquireError::NotNow),
            })
        };
        written.store(1, Ordering::Relaxed);
        drop(permit);
        taker.join().unwrap();
        check_all_came_back(&budget);
    });
}

/// A release that finds a waiter takes the lock; a thread that acquires when no waiter is left does
/// not. It still sees what the holder did.
#[test]
fn a_release_under_the_lock_against_a_try() {
    check(Size::Medium, || {
        let budget = budget(1);
        let permit = budget.try_acquire(1).unwrap();
        let written = Arc::new(AtomicU64::new(0));
        let waiter = queued(&budget, 1);
        let taker = {
            let (budget, written) = (budget.clone(), Arc::clone(&written));
            thread::spawn(move || match budget.try_acquire(1) {
                Ok(_permit) => assert_eq!(written.load(Ordering::Relaxed), 1),
                Err(error) => assert_eq!(error, AcquireError::NotNow),
            })
        };
        let gives_up = thread::spawn(move || drop(waiter));
        written.store(1, Ordering::Relaxed);
        drop(permit);
        taker.join().unwrap();
        gives_up.join().unwrap();
        check_all_came_back(&budget);
    });
}

/// Two threads wait for the same permit and hold it one after the other.
fn two_waiters() {
    let budget = budget(1);
    let permit = budget.try_acquire(1).unwrap();
    let in_use = Arc::new(AtomicU64::new(0));
    let waiters = [(); 2].map(|()| {
        let (budget, in_use) = (budget.clone(), Arc::clone(&in_use));
        thread::spawn(move || {
            let permit = budget.acquire(1).unwrap();
            assert_eq!(in_use.fetch_add(1, Ordering::Relaxed), 0, "{GRANTED_TWICE}");
            in_use.fetch_sub(1, Ordering::Relaxed);
            drop(permit);
        })
    });
    drop(permit);
    waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
    check_all_came_back(&budget);
}

#[test]
fn two_waiters_have_it_in_turn() {
    check(Size::Medium, two_waiters);
}

/// Two threads release one after the other, which makes a request for both permits fit.
#[test]
fn two_releases_against_one_waiter_of_two() {
    check(Size::Medium, || {
        let budget = budget(2);
        let releases = [(); 2].map(|()| {
            let permit = budget.try_acquire(1).unwrap();
            thread::spawn(move || drop(permit))
        });
        drop(budget.acquire(2).unwrap());
        releases.into_iter().for_each(|release| release.join().unwrap());
        check_all_came_back(&budget);
    });
}

fn close_against_acquire() {
    let budget = budget(1);
    // Nothing will be released: only the closer ends the waiting.
    budget.try_acquire(1).unwrap().forget();
    let waiter = {
        let budget = budget.clone();
        thread::spawn(move || budget.acquire(1).unwrap_err())
    };
    budget.close();
    assert_eq!(waiter.join().unwrap(), AcquireError::Closed);
    assert_eq!(budget.waiting(), 0);
}

#[test]
fn a_close_against_an_acquire() {
    check(Size::Small, close_against_acquire);
}

/// A future is polled once and dropped, while the permit that it waits for is released.
fn drop_against_hand_over() {
    let budget = budget(1);
    let permit = budget.try_acquire(1).unwrap();
    let future = queued(&budget, 1);
    let cancelled = thread::spawn(move || drop(future));
    drop(permit);
    cancelled.join().unwrap();
    check_all_came_back(&budget);
}

#[test]
fn a_dropped_future_against_a_hand_over() {
    check(Size::Small, drop_against_hand_over);
}

/// One of two permits is free, and the first waiter wants both. When it gives up, the second one
/// gets the free permit.
fn give_up_against_the_one_behind() {
    let budget = budget(2);
    let permit = budget.try_acquire(1).unwrap();
    let front = queued(&budget, 2);
    let gives_up = thread::spawn(move || drop(front));
    drop(budget.acquire(1).unwrap());
    gives_up.join().unwrap();
    drop(permit);
    check_all_came_back(&budget);
}

#[test]
fn one_in_front_that_gives_up_against_the_one_behind() {
    check(Size::Small, give_up_against_the_one_behind);
}

/// The first waiter leaves while it is granted its permit, which then goes to the second.
#[test]
fn a_dropped_future_against_a_hand_over_and_the_one_behind() {
    check(Size::Medium, || {
        let budget = budget(1);
        let permit = budget.try_acquire(1).unwrap();
        let front = queued(&budget, 1);
        let behind = queued(&budget, 1);
        let gives_up = thread::spawn(move || drop(front));
        let waiter = thread::spawn(move || drop(block_on(behind).unwrap()));
        drop(permit);
        gives_up.join().unwrap();
        waiter.join().unwrap();
        check_all_came_back(&budget);
    });
}

#[test]
fn one_in_front_that_runs_out_of_time_against_the_one_behind() {
    check(Size::Medium, || {
        let budget = budget(2);
        let permit = budget.try_acquire(1).unwrap();
        let front = {
            let budget = budget.clone();
            thread::spawn(move || budget.acquire_timeout(2, Duration::ZERO).unwrap_err())
        };
        drop(budget.acquire(1).unwrap());
        assert_eq!(front.join().unwrap(), AcquireError::TimedOut);
        drop(permit);
        check_all_came_back(&budget);
    });
}

#[test]
fn a_timeout_against_a_hand_over() {
    check(Size::Small, || {
        let budget = budget(1);
        let permit = budget.try_acquire(1).unwrap();
        let waiter = {
            let budget = budget.clone();
            thread::spawn(move || budget.acquire_timeout(1, Duration::ZERO).map(drop))
        };
        drop(permit);
        let outcome = waiter.join().unwrap();
        assert!(matches!(outcome, Ok(()) | Err(AcquireError::TimedOut)), "{outcome:?}");
        check_all_came_back(&budget);
    });
}

/// One of two permits is free, and a waiter wants both: until it has them, no other thread gets
/// any.
fn try_against_release() {
    let budget = budget(2);
    let permit = budget.try_acquire(1).unwrap();
    let mut waiter = queued(&budget, 2);
    let overtaker = {
        let budget = budget.clone();
        thread::spawn(move || assert!(budget.try_acquire(1).is_err(), "{OVERTAKEN}"))
    };
    drop(permit);
    overtaker.join().unwrap();
    assert!(poll_once(&mut waiter, Waker::noop()).is_ready(), "{OVERTAKEN}");
    check_all_came_back(&budget);
}

#[test]
fn a_try_against_a_release_with_a_waiter() {
    check(Size::Small, try_against_release);
}

/// The future moves to another task: the last task that polled it is woken.
#[test]
fn a_change_of_the_waker_against_a_release() {
    check(Size::Small, || {
        let budget = budget(1);
        let permit = budget.try_acquire(1).unwrap();
        let future = queued(&budget, 1);
        let waiter = thread::spawn(move || drop(block_on(future).unwrap()));
        drop(permit);
        waiter.join().unwrap();
        check_all_came_back(&budget);
    });
}

/// A callback is called exactly once, by the thread that asks or by the thread that releases.
#[test]
fn a_callback_against_a_release() {
    check(Size::Small, || {
        let budget = budget(1);
        let permit = budget.try_acquire(1).unwrap();
        let granted = Arc::new(Mutex::new(Vec::new()));
        let asker = {
            let (budget, granted) = (budget.clone(), Arc::clone(&granted));
            let then = Box::new(move |outcome| granted.lock().push(outcome));
            thread::spawn(move || {
                BudgetCore::acquire_with(core_of(&budget), Amount::counted(1), then)
            })
        };
        drop(permit);
        asker.join().unwrap();
        let mut granted = std::mem::take(&mut *granted.lock());
        let permit = granted.pop().expect("called").expect("granted");
        assert!(granted.is_empty(), "called twice");
        drop(permit);
        check_all_came_back(&budget);
    });
}

/// Two threads release to two callbacks, each of which releases to the next. A thread that finds
/// another one calling leaves its callbacks to that one, which must not miss them.
#[test]
fn callbacks_that_release_against_two_releases() {
    check(Size::Medium, || {
        let budget = budget(2);
        let releases = [(); 2].map(|()| budget.try_acquire(1).unwrap());
        let calls = Tally::default();
        for _ in 0..3 {
            let calls = calls.clone();
            let then = Box::new(move |permit| {
                calls.add();
                drop(permit);
            });
            BudgetCore::acquire_with(core_of(&budget), Amount::counted(1), then);
        }
        let releases = releases.map(|permit| thread::spawn(move || drop(permit)));
        releases.into_iter().for_each(|release| release.join().unwrap());
        assert_eq!(calls.get(), 3, "a callback was missed");
        check_all_came_back(&budget);
    });
}

#[test]
fn a_raised_total_against_an_acquire() {
    check(Size::Small, || {
        let budget = budget(1);
        let permit = budget.try_acquire(1).unwrap();
        let waiter = {
            let budget = budget.clone();
            thread::spawn(move || drop(budget.acquire(1).unwrap()))
        };
        budget.set_total(2).unwrap();
        waiter.join().unwrap();
        drop(permit);
        check_all_came_back(&budget);
    });
}

#[test]
fn a_lowered_total_against_a_release() {
    check(Size::Small, || {
        let budget = budget(2);
        let permit = budget.try_acquire(2).unwrap();
        let release = thread::spawn(move || drop(permit));
        budget.set_total(1).unwrap();
        assert!(budget.available() <= 1);
        release.join().unwrap();
        check_all_came_back(&budget);
    });
}

/// A waiter that wants more than the new total is refused, whether it waits before or after the
/// change.
#[test]
fn a_lowered_total_against_an_acquire() {
    check(Size::Small, || {
        let budget = budget(2);
        let permit = budget.try_acquire(1).unwrap();
        let waiter = {
            let budget = budget.clone();
            thread::spawn(move || budget.acquire(2).unwrap_err())
        };
        budget.set_total(1).unwrap();
        let error = waiter.join().unwrap();
        assert!(matches!(error, AcquireError::TooLarge { wanted: 2, total: 1, .. }), "{error:?}");
        drop(permit);
        check_all_came_back(&budget);
    });
}

/// Both units are taken in one step: of two threads that cannot both have them, one gets both.
#[test]
fn two_tries_for_two_units() {
    check(Size::Small, || {
        let reads = ReadTokens::new(2, 3).unwrap();
        let other = {
            let reads = reads.clone();
            thread::spawn(move || reads.try_acquire(2))
        };
        let own = reads.try_acquire(2);
        let other = other.join().unwrap();
        assert_eq!(u8::from(own.is_ok()) + u8::from(other.is_ok()), 1);
        assert_eq!(reads.available(), ReadAmount { count: 1, bytes: 1 });
        assert_eq!(reads.high_water(), ReadAmount { count: 1, bytes: 2 });
    });
}

#[test]
fn the_high_water_mark_misses_no_peak() {
    check(Size::Small, || {
        let budget = CountBudget::new(3).unwrap();
        drop(budget.try_acquire(1).unwrap());
        let other = {
            let budget = budget.clone();
            thread::spawn(move || budget.try_acquire(1).unwrap())
        };
        let own = budget.try_acquire(1).unwrap();
        let other = other.join().unwrap();
        assert_eq!((budget.in_use(), budget.high_water()), (2, 2));
        drop((own, other));
        assert_eq!((budget.in_use(), budget.high_water()), (0, 2));
    });
}

#[test]
fn bites_granting_without_counting() {
    must_fail(Plant::GrantBeyondTotal, 2, GRANTED_TWICE, two_waiters);
}

#[test]
fn bites_a_try_that_overtakes() {
    must_fail(Plant::TryOvertakes, 2, OVERTAKEN, try_against_release);
}

#[test]
fn bites_a_dropped_future_that_keeps_its_grant() {
    must_fail(Plant::CancelLosesGrant, 2, LOST, drop_against_hand_over);
}

#[test]
fn bites_giving_up_in_silence() {
    must_fail(Plant::GiveUpSilent, 2, DEADLOCK, give_up_against_the_one_behind);
}

#[test]
fn bites_closing_without_a_word() {
    must_fail(Plant::CloseForgetsWaiters, 2, DEADLOCK, close_against_acquire);
}

#[test]
fn bites_a_release_that_ignores_waiters() {
    must_fail(Plant::ReleaseIgnoresWaiters, 2, DEADLOCK, release_against_acquire);
}
