//! Proves what the budgets promise on real threads: waiting requests are granted in order, by
//! whatever makes that possible; permits can be split, merged and forgotten; totals can change
//! while permits exist; closing refuses all requests.

use crate::support::sync::Mutex;
use crate::support::{job, start_jobs, wait_until, watched, workers};
use heist::budget::{Acquire, BudgetError, BudgetUnit, ReadAmount};
use heist::rng::XorShift64;
use heist::{
    AcquireError, ByteBudget, BytePermit, CountBudget, CountPermit, ReadPermit, ReadTokens,
};
use std::future::Future;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

const SHORT: Duration = Duration::from_millis(20);

/// Counts how often it was woken, and panics each time if `panics` is set.
#[derive(Default)]
struct CountingWaker {
    wake_ups: AtomicU64,
    panics: bool,
}

impl CountingWaker {
    fn count(&self) -> u64 {
        self.wake_ups.load(Ordering::SeqCst)
    }
}

impl Wake for CountingWaker {
    fn wake(self: Arc<Self>) {
        self.wake_ups.fetch_add(1, Ordering::SeqCst);
        if self.panics {
            // Not `panic!`, which would call the panic hook.
            resume_unwind(Box::new("deliberate panic in a waker"));
        }
    }
}

struct UnparkThread(thread::Thread);

impl Wake for UnparkThread {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn poll<P>(future: &mut Acquire<P>, waker: &Waker) -> Poll<Result<P, AcquireError>> {
    Pin::new(future).poll(&mut Context::from_waker(waker))
}

/// A runtime for one future: polls it when it was woken, and only then.
fn block_on<P>(mut future: Acquire<P>) -> Result<P, AcquireError> {
    let waker = Waker::from(Arc::new(UnparkThread(thread::current())));
    loop {
        match poll(&mut future, &waker) {
            Poll::Ready(outcome) => return outcome,
            Poll::Pending => thread::park(),
        }
    }
}

/// Returns a future that is already in the queue.
fn queued<P>(mut future: Acquire<P>) -> Acquire<P> {
    assert!(poll(&mut future, Waker::noop()).is_pending());
    future
}

#[track_caller]
fn granted<P>(future: &mut Acquire<P>) -> P {
    match poll(future, Waker::noop()) {
        Poll::Ready(Ok(permit)) => permit,
        Poll::Ready(Err(error)) => panic!("refused: {error}"),
        Poll::Pending => panic!("not granted"),
    }
}

#[track_caller]
fn refused<P>(future: &mut Acquire<P>) -> AcquireError {
    match poll(future, Waker::noop()) {
        Poll::Ready(Ok(_)) => panic!("granted"),
        Poll::Ready(Err(error)) => error,
        Poll::Pending => panic!("not refused"),
    }
}

#[test]
fn permits_are_two_words_and_can_be_sent_and_shared() {
    assert_eq!(size_of::<CountPermit>(), 16);
    assert_eq!(size_of::<BytePermit>(), 16);
    assert_eq!(size_of::<ReadPermit>(), 16);
    assert_eq!(size_of::<Option<CountPermit>>(), 16);
    fn check<T: Send + Sync + std::fmt::Debug + 'static>() {}
    check::<(CountBudget, ByteBudget, ReadTokens)>();
    check::<(CountPermit, BytePermit, ReadPermit)>();
    check::<(Acquire<CountPermit>, AcquireError, BudgetError)>();
}

#[test]
fn threads_are_granted_in_the_order_in_which_they_arrived() {
    watched(|| {
        let budget = CountBudget::new(1).unwrap();
        let permit = budget.acquire(1).unwrap();
        let order = Arc::new(Mutex::new(Vec::new()));
        let threads: Vec<_> = (0..8)
            .map(|number| {
                let (own, order) = (budget.clone(), Arc::clone(&order));
                let waiter = thread::spawn(move || {
                    let permit = own.acquire(1).unwrap();
                    order.lock().unwrap().push(number);
                    drop(permit);
                });
                wait_until("it waits", || budget.waiting() == number + 1);
                waiter
            })
            .collect();
        assert_eq!(budget.try_acquire(1).unwrap_err(), AcquireError::NotNow);
        drop(permit);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(*order.lock().unwrap(), (0..8).collect::<Vec<_>>());
        assert_eq!((budget.available(), budget.waiting(), budget.high_water()), (1, 0, 1));
    });
}

#[test]
fn no_request_overtakes_another() {
    let budget = CountBudget::new(3).unwrap();
    let held = budget.try_acquire(2).unwrap();
    let mut large = queued(budget.acquire_async(2));
    // One unit is available, which is not enough for the request at the front.
    for wanted in [0, 1] {
        assert_eq!(budget.try_acquire(wanted).unwrap_err(), AcquireError::NotNow);
    }
    let mut small = queued(budget.acquire_async(1));
    let mut nothing = queued(budget.acquire_async(0));
    drop(held);
    assert_eq!(granted(&mut large).count(), 2);
    assert_eq!(granted(&mut small).count(), 1);
    assert_eq!(granted(&mut nothing).count(), 0);
    assert_eq!((budget.available(), budget.high_water()), (3, 3));
    assert_eq!(budget.try_acquire(0).unwrap().count(), 0, "no request waits");
}

#[test]
fn a_request_that_times_out_lets_others_through() {
    watched(|| {
        let budget = CountBudget::new(2).unwrap();
        let permit = budget.try_acquire(1).unwrap();
        let front = {
            let budget = budget.clone();
            thread::spawn(move || {
                let begun = Instant::now();
                let outcome = budget.acquire_timeout(2, SHORT);
                (outcome.map(drop), begun.elapsed())
            })
        };
        wait_until("it waits", || budget.waiting() == 1 || front.is_finished());
        let behind = budget.acquire(1).unwrap();
        let (outcome, waited) = front.join().unwrap();
        assert_eq!(outcome, Err(AcquireError::TimedOut));
        assert!(waited >= SHORT, "{waited:?}");
        let no_time = budget.acquire_timeout(1, Duration::ZERO);
        assert_eq!(no_time.unwrap_err(), AcquireError::TimedOut);
        assert_eq!(budget.waiting(), 0);
        drop((permit, behind));
        assert_eq!(budget.acquire_timeout(2, Duration::ZERO).unwrap().count(), 2);
    });
}

#[test]
fn a_timeout_beyond_the_range_of_the_clock_never_expires() {
    watched(|| {
        let budget = CountBudget::new(1).unwrap();
        let permit = budget.try_acquire(1).unwrap();
        let waiter = {
            let budget = budget.clone();
            thread::spawn(move || budget.acquire_timeout(1, Duration::MAX).unwrap().count())
        };
        wait_until("it waits", || budget.waiting() == 1);
        drop(permit);
        assert_eq!(waiter.join().unwrap(), 1);
    });
}

#[test]
fn a_future_is_woken_once_and_by_its_latest_waker() {
    let budget = CountBudget::new(1).unwrap();
    let permit = budget.try_acquire(1).unwrap();
    let wakers = [(); 2].map(|()| Arc::new(CountingWaker::default()));
    let mut future = budget.acquire_async(1);
    assert_eq!(budget.waiting(), 0, "the future has not made its request yet");
    for waker in [&wakers[0], &wakers[0], &wakers[1], &wakers[0], &wakers[1]] {
        assert!(poll(&mut future, &Waker::from(Arc::clone(waker))).is_pending());
    }
    assert_eq!(budget.waiting(), 1);
    drop(permit);
    assert_eq!(wakers.each_ref().map(|waker| waker.count()), [0, 1]);
    assert_eq!(budget.in_use(), 1, "granted, although not yet returned by the future");
    let permit = granted(&mut future);
    assert!(poll(&mut future, Waker::noop()).is_pending(), "it has already returned its permit");
    drop(future);
    assert_eq!(budget.in_use(), 1, "the permit no longer belongs to the future");
    drop(permit);
    assert_eq!(budget.available(), 1);
    assert_eq!(wakers.map(|waker| Arc::strong_count(&waker)), [1, 1], "no waker is kept");
}

#[test]
fn a_dropped_future_leaves_nothing_behind() {
    let budget = CountBudget::new(2).unwrap();
    drop(budget.acquire_async(1));
    let permit = budget.try_acquire(2).unwrap();
    let waiters = [(); 4].map(|()| queued(budget.acquire_async(1)));
    let [first, second, mut third, fourth] = waiters;
    drop(second);
    assert_eq!(budget.waiting(), 3);
    drop(permit);
    // The first and the third were granted. When the first is dropped, its grant goes to the
    // fourth.
    assert_eq!((budget.waiting(), budget.in_use()), (1, 2));
    drop(first);
    assert_eq!((budget.waiting(), budget.in_use()), (0, 2));
    drop(granted(&mut third));
    drop(fourth);
    assert_eq!((budget.available(), budget.in_use(), budget.high_water()), (2, 0, 2));
}

#[test]
fn futures_run_on_any_runtime() {
    watched(|| {
        let bytes = ByteBudget::new(100).unwrap();
        let permit = block_on(bytes.acquire_async(60)).unwrap();
        let waiter = {
            let bytes = bytes.clone();
            thread::spawn(move || block_on(bytes.acquire_async(50)).unwrap().bytes())
        };
        wait_until("it waits", || bytes.waiting() == 1);
        drop(permit);
        assert_eq!(waiter.join().unwrap(), 50);
        assert_eq!(bytes.available(), 100);
    });
}

#[test]
fn a_waker_that_panics_does_not_keep_others_asleep() {
    let budget = CountBudget::new(2).unwrap();
    let permit = budget.try_acquire(2).unwrap();
    let bad = Arc::new(CountingWaker { panics: true, ..CountingWaker::default() });
    let good = Arc::new(CountingWaker::default());
    let mut futures = [(); 2].map(|()| budget.acquire_async(1));
    assert!(poll(&mut futures[0], &Waker::from(Arc::clone(&bad))).is_pending());
    assert!(poll(&mut futures[1], &Waker::from(Arc::clone(&good))).is_pending());
    drop(permit);
    assert_eq!((bad.count(), good.count()), (1, 1));
    drop(futures);
    assert_eq!(budget.available(), 2);
}

#[test]
fn permits_are_split_and_merged() {
    let budget = CountBudget::new(10).unwrap();
    let mut permit = budget.try_acquire(5).unwrap();
    assert!(permit.split(6).is_none());
    assert!(permit.split(u64::MAX).is_none());
    let mut part = permit.split(2).unwrap();
    let all_of_it = part.split(2).unwrap();
    assert_eq!([&permit, &part, &all_of_it].map(CountPermit::count), [3, 0, 2]);
    assert_eq!(budget.in_use(), 5);
    drop(part);
    assert_eq!(budget.in_use(), 5, "the permit held nothing");
    permit.merge(all_of_it).unwrap();
    assert_eq!(permit.count(), 5);

    let other_budget = CountBudget::new(10).unwrap();
    let foreign = other_budget.try_acquire(1).unwrap();
    let foreign = permit.merge(foreign).unwrap_err();
    assert_eq!((permit.count(), foreign.count(), other_budget.in_use()), (5, 1, 1));
    drop((permit, foreign));
    assert_eq!((budget.available(), other_budget.available()), (10, 10));
}

#[test]
fn a_forgotten_permit_never_comes_back() {
    let budget = CountBudget::new(3).unwrap();
    budget.try_acquire(2).unwrap().forget();
    let figures = |budget: &CountBudget| {
        (budget.total(), budget.available(), budget.in_use(), budget.forgotten())
    };
    assert_eq!(figures(&budget), (3, 1, 0, 2));
    let permit = budget.try_acquire(1).unwrap();
    assert_eq!(budget.high_water(), 2, "not 3: a forgotten amount is not in use");
    let mut waiter = queued(budget.acquire_async(3));
    drop(permit);
    assert!(poll(&mut waiter, Waker::noop()).is_pending());
    budget.set_total(5).unwrap();
    let permit = granted(&mut waiter);
    assert_eq!(figures(&budget), (5, 0, 3, 2));
    assert_eq!(budget.high_water(), 3);
    drop(permit);
    assert_eq!(figures(&budget), (5, 3, 0, 2));
}

#[test]
fn raising_the_total_grants_waiting_requests() {
    let budget = CountBudget::new(1).unwrap();
    let permit = budget.try_acquire(1).unwrap();
    let mut waiters = [(); 3].map(|()| queued(budget.acquire_async(1)));
    budget.set_total(3).unwrap();
    let [first, second, third] = &mut waiters;
    let permits = (permit, granted(first), granted(second));
    assert!(poll(third, Waker::noop()).is_pending());
    assert_eq!((budget.in_use(), budget.available(), budget.high_water()), (3, 0, 3));
    drop(permits);
    drop(granted(third));
    assert_eq!((budget.in_use(), budget.available()), (0, 3));
}

#[test]
fn after_lowering_the_total_requests_wait_until_enough_came_back() {
    let budget = CountBudget::new(4).unwrap();
    let permits = [(); 4].map(|()| budget.try_acquire(1).unwrap());
    let mut large = queued(budget.acquire_async(3));
    let mut small = queued(budget.acquire_async(1));
    budget.set_total(2).unwrap();
    let error = AcquireError::TooLarge { unit: BudgetUnit::Count, wanted: 3, total: 2 };
    assert_eq!(refused(&mut large), error);
    assert_eq!(budget.try_acquire(3).unwrap_err(), error);
    assert_eq!((budget.in_use(), budget.available(), budget.waiting()), (4, 0, 1));
    let [first, second, third, fourth] = permits;
    drop((first, second));
    assert!(poll(&mut small, Waker::noop()).is_pending(), "two units are still in use");
    drop(third);
    let permit = granted(&mut small);
    assert_eq!((budget.in_use(), budget.available()), (2, 0));
    // Raising the total while there is a debt pays the debt first.
    budget.set_total(0).unwrap();
    budget.set_total(3).unwrap();
    assert_eq!((budget.in_use(), budget.available()), (2, 1));
    drop((permit, fourth));
    assert_eq!((budget.in_use(), budget.available(), budget.high_water()), (0, 3, 4));
    let most = (1 << 62) - 1;
    let error = BudgetError::TotalTooLarge { unit: BudgetUnit::Count, total: u64::MAX, most };
    assert_eq!(budget.set_total(u64::MAX).unwrap_err(), error);
    assert_eq!(budget.total(), 3);
}

#[test]
fn closing_refuses_all_requests_and_permits_can_be_given_back() {
    watched(|| {
        let budget = CountBudget::new(2).unwrap();
        let permits = [(); 2].map(|()| budget.try_acquire(1).unwrap());
        let threads = [(); 2].map(|()| {
            let budget = budget.clone();
            thread::spawn(move || budget.acquire(1).unwrap_err())
        });
        wait_until("both wait", || budget.waiting() == 2);
        let mut future = queued(budget.acquire_async(1));
        assert!(!budget.is_closed());
        budget.close();
        budget.close();
        assert!(budget.is_closed());
        assert_eq!(refused(&mut future), AcquireError::Closed);
        for thread in threads {
            assert_eq!(thread.join().unwrap(), AcquireError::Closed);
        }
        assert_eq!((budget.in_use(), budget.waiting()), (2, 0));
        drop(permits);
        assert_eq!(budget.available(), 2);
        assert_eq!(budget.try_acquire(1).unwrap_err(), AcquireError::Closed);
        assert_eq!(budget.acquire(1).unwrap_err(), AcquireError::Closed);
        assert_eq!(budget.acquire_timeout(1, SHORT).unwrap_err(), AcquireError::Closed);
        assert_eq!(refused(&mut budget.acquire_async(0)), AcquireError::Closed);
    });
}

#[test]
fn a_request_above_the_total_is_refused_at_once() {
    let budget = CountBudget::new(2).unwrap();
    for wanted in [3, 1 << 62, u64::MAX] {
        let error = AcquireError::TooLarge { unit: BudgetUnit::Count, wanted, total: 2 };
        assert_eq!(budget.try_acquire(wanted).unwrap_err(), error);
        assert_eq!(budget.acquire(wanted).unwrap_err(), error);
        assert_eq!(budget.acquire_timeout(wanted, Duration::MAX).unwrap_err(), error);
        assert_eq!(refused(&mut budget.acquire_async(wanted)), error);
    }
    let nothing = ByteBudget::new(0).unwrap();
    let error = AcquireError::TooLarge { unit: BudgetUnit::Bytes, wanted: 1, total: 0 };
    assert_eq!(nothing.try_acquire(1).unwrap_err(), error);
    assert_eq!(nothing.acquire(0).unwrap().bytes(), 0);
}

#[test]
fn a_blocking_acquire_on_a_worker_is_an_error() {
    watched(|| {
        let budget = CountBudget::new(1).unwrap();
        let reads = ReadTokens::new(1, 8).unwrap();
        let (in_task, reads_in_task) = (budget.clone(), reads.clone());
        let executor = start_jobs(workers(1));
        let errors = Arc::new(Mutex::new(Vec::new()));
        let found = Arc::clone(&errors);
        let task = job(move |_ctx| {
            let permit = in_task.acquire(1).expect("no need to wait");
            let read = reads_in_task.acquire(8).expect("no need to wait");
            *found.lock().unwrap() = vec![
                in_task.acquire(1).unwrap_err(),
                in_task.acquire_timeout(1, SHORT).unwrap_err(),
                reads_in_task.acquire(1).unwrap_err(),
                in_task.acquire(2).unwrap_err(),
            ];
            drop((permit, read));
        });
        executor.spawn(task).unwrap();
        executor.join();
        let too_large = AcquireError::TooLarge { unit: BudgetUnit::Count, wanted: 2, total: 1 };
        let on_worker = AcquireError::OnWorker;
        assert_eq!(*errors.lock().unwrap(), [on_worker, on_worker, on_worker, too_large]);
        assert_eq!((budget.available(), budget.waiting()), (1, 0));
    });
}

#[test]
fn reads_take_both_units_or_neither() {
    let reads = ReadTokens::new(2, 100).unwrap();
    let amount = |count, bytes| ReadAmount { count, bytes };
    let mut first = reads.try_acquire(60).unwrap();
    assert_eq!(reads.try_acquire(41).unwrap_err(), AcquireError::NotNow);
    assert_eq!(reads.available(), amount(1, 40));
    let second = reads.try_acquire(40).unwrap();
    assert_eq!(reads.try_acquire(0).unwrap_err(), AcquireError::NotNow, "a third read");
    drop(second);
    let error = AcquireError::TooLarge { unit: BudgetUnit::Bytes, wanted: 101, total: 100 };
    assert_eq!(reads.acquire(101).unwrap_err(), error);

    // A short read gives the remaining bytes back.
    assert!(first.split(amount(2, 0)).is_none());
    assert!(first.split(amount(0, 61)).is_none());
    drop(first.split(amount(0, 50)));
    assert_eq!((first.amount(), reads.available()), (amount(1, 10), amount(1, 90)));
    first.merge(reads.try_acquire(5).unwrap()).unwrap();
    assert_eq!((first.count(), first.bytes(), reads.waiting()), (2, 15, 0));
    assert_eq!(reads.high_water(), amount(2, 100));

    let mut waiter = queued(reads.acquire_async(10));
    reads.set_total(3, 20).unwrap();
    assert!(poll(&mut waiter, Waker::noop()).is_pending(), "only five bytes are left");
    reads.set_total(3, 25).unwrap();
    drop(granted(&mut waiter));
    reads.set_total(0, 25).unwrap();
    let error = AcquireError::TooLarge { unit: BudgetUnit::Count, wanted: 1, total: 0 };
    assert_eq!(reads.try_acquire(0).unwrap_err(), error);
    first.forget();
    assert_eq!((reads.forgotten(), reads.in_use()), (amount(2, 15), amount(0, 0)));
    reads.set_total(3, 25).unwrap();
    assert_eq!(reads.available(), amount(1, 10));
    reads.close();
    assert!(reads.is_closed());
    assert_eq!(reads.acquire_timeout(1, SHORT).unwrap_err(), AcquireError::Closed);
}

#[test]
fn error_messages_say_what_to_do() {
    let too_large = AcquireError::TooLarge { unit: BudgetUnit::Bytes, wanted: 5, total: 4 };
    let text = too_large.to_string();
    for part in ["5", "bytes", "4", "raise the total"] {
        assert!(text.contains(part), "{text}");
    }
    for error in [AcquireError::NotNow, AcquireError::OnWorker] {
        let text = error.to_string();
        assert!(text.contains("`acquire_then` (for device slots: `DeviceLanes`)"), "{text}");
        assert!(!text.contains("async"), "awaiting would block a worker: {text}");
    }
    assert!(AcquireError::OnWorker.to_string().contains("try_acquire"));
    assert!(ReadTokens::new(1 << 20, 0).unwrap_err().to_string().contains("1048575"));
    let budget = CountBudget::new(3).unwrap();
    let permit = budget.try_acquire(1).unwrap();
    let shown = format!("{budget:?} {permit:?}");
    assert!(
        shown.contains("total: 3, available: 2") && shown.contains("CountPermit(1)"),
        "{shown}"
    );
}

/// All ways to acquire at once, on several threads, while the total changes: nothing is lost, and
/// every request is granted.
#[test]
fn a_busy_budget_loses_nothing() {
    const THREADS: u64 = 4;
    const ROUNDS: u64 = 4_000;
    watched(|| {
        let budget = CountBudget::new(4).unwrap();
        let granted = Arc::new(AtomicU64::new(0));
        let threads: Vec<_> = (0..THREADS)
            .map(|seed| {
                let (budget, granted) = (budget.clone(), Arc::clone(&granted));
                thread::spawn(move || {
                    let mut rng = XorShift64::new(seed + 1);
                    for _ in 0..ROUNDS {
                        // Never more than the smallest total, so no request is refused.
                        let wanted = 1 + rng.next_u64() % 2;
                        let permit = match rng.next_u64() % 5 {
                            0 => budget.try_acquire(wanted).ok(),
                            1 => Some(budget.acquire(wanted).unwrap()),
                            2 => budget.acquire_timeout(wanted, Duration::from_micros(20)).ok(),
                            3 => Some(block_on(budget.acquire_async(wanted)).unwrap()),
                            _ => {
                                let mut future = budget.acquire_async(wanted);
                                let outcome = poll(&mut future, Waker::noop());
                                drop(future);
                                match outcome {
                                    Poll::Ready(outcome) => Some(outcome.unwrap()),
                                    Poll::Pending => None,
                                }
                            }
                        };
                        if let Some(mut permit) = permit {
                            granted.fetch_add(permit.count(), Ordering::Relaxed);
                            // The total was never larger than this.
                            assert!(budget.in_use() <= 6);
                            drop(permit.split(1));
                        }
                    }
                })
            })
            .collect();
        while !threads.iter().all(thread::JoinHandle::is_finished) {
            for total in [6, 2, 4] {
                budget.set_total(total).unwrap();
                thread::yield_now();
            }
        }
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!((budget.available(), budget.in_use(), budget.waiting()), (4, 0, 0));
        assert!(budget.high_water() <= 6);
        assert!(granted.load(Ordering::Relaxed) >= THREADS * ROUNDS / 5);
    });
}

#[test]
fn a_borrowed_permit_is_given_back_like_an_owned_one() {
    let budget = CountBudget::new(3).unwrap();
    let borrowed = budget.try_acquire_ref(2).unwrap();
    assert_eq!((budget.available(), budget.in_use(), budget.high_water()), (1, 2, 2));
    assert_eq!(budget.try_acquire_ref(2).unwrap_err(), AcquireError::NotNow);
    assert!(matches!(budget.try_acquire_ref(4).unwrap_err(), AcquireError::TooLarge { .. }));
    drop(borrowed);
    assert_eq!(budget.available(), 3);
    let reads = ReadTokens::new(1, 100).unwrap();
    let borrowed = reads.try_acquire_ref(60).unwrap();
    assert_eq!(format!("{borrowed:?}"), "PermitRef { count: 1, bytes: 60 }");
    assert_eq!(reads.try_acquire_ref(10).unwrap_err(), AcquireError::NotNow);
    drop(borrowed);
    assert_eq!(reads.available().bytes, 100);
}
