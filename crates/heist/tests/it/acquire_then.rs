//! Proves that a task can wait for a permit without holding a worker: the executor counts the task
//! from the first moment, the task runs when it is granted the permit, in order, and leaves the
//! queue when its executor is stopped.

use crate::support::queued::{Log, Tracked};
use crate::support::{
    Job, Latch, Runs, check_all_run, check_finished, job, join_rethrows, occupy_worker, silent,
    start_jobs, wait_until, watched, workers,
};
use heist::{
    AcquireError, ByteBudget, CancelToken, CountBudget, CountPermit, Executor, ExecutorHandle,
    OnPanic, ReadTokens, SpawnErrorKind,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

type Granted = Result<CountPermit, AcquireError>;

/// Spawns a job that waits for one unit of `budget`. `body` gets the permit or the error.
#[track_caller]
fn wait_then(
    budget: &CountBudget,
    handle: &ExecutorHandle<Job>,
    body: impl FnOnce(Granted) + Send + 'static,
) {
    let make = move |granted| job(move |_ctx| body(granted));
    assert!(budget.acquire_then(1, handle, make).is_ok(), "the pool is open");
}

#[test]
fn an_available_permit_is_granted_at_once() {
    watched(|| {
        let executor = start_jobs(workers(1));
        let budget = CountBudget::new(2).unwrap();
        let (log, checked) = (Log::default(), budget.clone());
        let seen = log.clone();
        wait_then(&budget, &executor.handle(), move |granted| {
            seen.add((granted.unwrap().count(), checked.available()));
        });
        check_all_run(&executor.join(), 1);
        assert_eq!(log.entries(), [(1, 1)], "the task holds the permit while it runs");
        assert_eq!(budget.available(), 2);
    });
}

#[test]
fn a_task_waits_in_the_queue_and_holds_no_worker() {
    watched(|| {
        let executor = start_jobs(workers(1));
        let handle = executor.handle();
        let budget = CountBudget::new(1).unwrap();
        let held = budget.acquire(1).unwrap();
        let order = Log::default();
        for number in 0..100 {
            let log = order.clone();
            wait_then(&budget, &handle, move |granted| {
                assert!(granted.is_ok());
                log.add(number);
            });
        }
        assert_eq!((budget.waiting(), executor.metrics().tasks_waiting), (100, 100));
        // The only worker is free for other tasks.
        let ran = Latch::default();
        let opened = ran.clone();
        executor.spawn(job(move |_| opened.open())).unwrap();
        ran.wait();
        assert_eq!(order.len(), 0);
        drop(held);
        let metrics = executor.join();
        assert_eq!(order.entries(), (0..100).collect::<Vec<_>>());
        check_all_run(&metrics, 101);
        assert_eq!((metrics.tasks_waiting, budget.available(), budget.high_water()), (0, 1, 1));
    });
}

/// A run accepts nothing from outside, but its own tasks may wait.
#[test]
fn a_task_of_a_run_waits_and_the_run_waits_for_it() {
    enum Step {
        Ask,
        Go(Granted),
    }
    watched(|| {
        let budget = CountBudget::new(1).unwrap();
        let roots = (0..100).map(|_| Step::Ask);
        let output = heist::run(
            workers(2),
            roots,
            |_worker| 0,
            |step, ctx| match step {
                Step::Ask => {
                    let handle = ctx.handle();
                    let from_outside =
                        thread::scope(|scope| scope.spawn(|| handle.spawn(Step::Ask)).join());
                    let refused = from_outside.unwrap().unwrap_err();
                    assert_eq!(refused.kind(), SpawnErrorKind::Closed);
                    assert!(
                        budget.acquire_then(1, &handle, Step::Go).is_ok(),
                        "called from inside"
                    );
                }
                Step::Go(granted) => *ctx.scratch += granted.unwrap().count(),
            },
        );
        let output = output.unwrap();
        assert_eq!(output.scratch.iter().sum::<u64>(), 100);
        check_all_run(&output.metrics, 200);
        assert_eq!((budget.available(), budget.high_water()), (1, 1));
    });
}

/// Returns a task that holds the only permit and waits for the next one, which is granted when the
/// task has ended.
fn link(budget: &CountBudget, held: Option<CountPermit>, left: usize, ran: &Log<usize>) -> Job {
    let (budget, ran) = (budget.clone(), ran.clone());
    job(move |ctx| {
        ran.add(left);
        if left > 0 {
            let next = (budget.clone(), ran.clone());
            let make = move |granted: Granted| link(&next.0, granted.ok(), left - 1, &next.1);
            assert!(budget.acquire_then(1, &ctx.handle(), make).is_ok());
        }
        drop(held);
    })
}

#[test]
fn a_chain_of_tasks_passes_one_permit_on() {
    watched(|| {
        let executor = start_jobs(workers(1));
        let budget = CountBudget::new(1).unwrap();
        let ran = Log::default();
        executor.spawn(link(&budget, None, 1_000, &ran)).unwrap();
        check_all_run(&executor.join(), 1_001);
        assert_eq!(ran.entries(), (0..=1_000).rev().collect::<Vec<_>>());
        assert_eq!((budget.available(), budget.high_water()), (1, 1));
    });
}

#[test]
fn join_waits_for_waiting_tasks() {
    watched(|| {
        let executor = start_jobs(workers(2));
        let handle = executor.handle();
        let budget = CountBudget::new(1).unwrap();
        let held = budget.acquire(1).unwrap();
        let ran = Arc::new(AtomicUsize::new(0));
        for _ in 0..10 {
            let ran = Arc::clone(&ran);
            wait_then(&budget, &handle, move |_permit| {
                ran.fetch_add(1, Ordering::Relaxed);
            });
        }
        let returner = thread::spawn(move || {
            wait_until("the pool is closed", || !handle.is_accepting());
            thread::sleep(Duration::from_millis(50));
            drop(held);
            handle
        });
        check_all_run(&executor.join(), 10);
        assert_eq!(ran.load(Ordering::Relaxed), 10);
        let handle = returner.join().unwrap();
        let refused = budget.acquire_then(1, &handle, |_granted| job(|_| {})).unwrap_err();
        assert_eq!(refused.kind(), SpawnErrorKind::Closed);
        let make = refused.into_inner();
        drop(make(Err(AcquireError::Closed)));
        assert_eq!(budget.available(), 1, "a refused request takes nothing");
    });
}

#[test]
fn tasks_of_a_pool_that_is_being_joined_may_still_wait() {
    watched(|| {
        let executor = start_jobs(workers(1));
        let handle = executor.handle();
        let budget = CountBudget::new(1).unwrap();
        let ran = Latch::default();
        let (opened, inner) = (ran.clone(), budget.clone());
        executor
            .spawn(job(move |ctx| {
                let handle = ctx.handle();
                wait_until("the pool is closed", || !handle.is_accepting());
                let held = inner.acquire(1).unwrap();
                wait_then(&inner, &handle, move |permit| {
                    assert!(permit.is_ok());
                    opened.open();
                });
                drop(held);
            }))
            .unwrap();
        check_all_run(&executor.join(), 2);
        ran.wait();
        drop(handle);
    });
}

#[test]
fn a_request_that_can_never_be_granted_is_a_task_with_an_error() {
    watched(|| {
        let executor = start_jobs(workers(1));
        let handle = executor.handle();
        let errors = Log::default();
        let note = |budget: &CountBudget, wanted: u64| {
            let errors = errors.clone();
            let make = move |granted: Granted| job(move |_| errors.add(granted.unwrap_err()));
            assert!(budget.acquire_then(wanted, &handle, make).is_ok());
        };
        let budget = CountBudget::new(3).unwrap();
        note(&budget, 4);
        note(&budget, u64::MAX);
        let held = budget.acquire(3).unwrap();
        note(&budget, 3);
        budget.set_total(2).unwrap();
        note(&budget, 1);
        budget.close();
        note(&budget, 1);
        check_all_run(&executor.join(), 5);
        let errors = errors.entries();
        let too_large = |error: &AcquireError| matches!(error, AcquireError::TooLarge { .. });
        assert!(errors[..3].iter().all(too_large), "{errors:?}");
        assert_eq!(errors[3..], [AcquireError::Closed; 2]);
        drop(held);
    });
}

#[test]
fn tasks_wait_for_bytes_and_read_tokens_in_the_same_way() {
    watched(|| {
        let executor = start_jobs(workers(1));
        let handle = executor.handle();
        let log = Log::default();
        let bytes = ByteBudget::new(100).unwrap();
        let held = bytes.acquire(60).unwrap();
        let seen = log.clone();
        let make = move |granted: Result<heist::BytePermit, _>| {
            let permit = granted.unwrap();
            job(move |_| seen.add(permit.bytes()))
        };
        assert!(bytes.acquire_then(50, &handle, make).is_ok());
        let tokens = ReadTokens::new(1, 1_000).unwrap();
        let reading = tokens.acquire(700).unwrap();
        let seen = log.clone();
        let make = move |granted: Result<heist::ReadPermit, _>| {
            let permit = granted.unwrap();
            job(move |_| seen.add(permit.bytes()))
        };
        assert!(tokens.acquire_then(700, &handle, make).is_ok());
        wait_until("both wait", || executor.metrics().tasks_waiting == 2);
        drop(held);
        wait_until("the first has run", || log.len() == 1);
        drop(reading);
        check_all_run(&executor.join(), 2);
        assert_eq!(log.entries(), [50, 700]);
    });
}

#[test]
fn a_panic_while_making_the_task_gives_the_permit_back() {
    watched(|| {
        for on_panic in [OnPanic::Isolate, OnPanic::StopPool] {
            let executor = start_jobs(silent(workers(1).on_panic(on_panic)));
            let handle = executor.handle();
            let budget = CountBudget::new(1).unwrap();
            let held = budget.acquire(1).unwrap();
            let make = |_granted: Granted| -> Job { panic!("deliberate panic") };
            assert!(budget.acquire_then(1, &handle, make).is_ok());
            wait_then(&budget, &handle, drop);
            let name = crate::support::SILENT.to_owned();
            let returner = thread::Builder::new().name(name).spawn(move || drop(held));
            returner.unwrap().join().unwrap();
            match on_panic {
                OnPanic::Isolate => {
                    let metrics = executor.join();
                    check_finished(&metrics, 2);
                    assert_eq!((metrics.tasks_run(), metrics.panics), (1, 1));
                }
                _ => assert_eq!(join_rethrows(executor), "deliberate panic"),
            }
            assert_eq!((budget.available(), budget.waiting()), (1, 0));
            assert_eq!(handle.panics()[0].worker, None);
        }
    });
}

#[derive(Clone, Copy, Debug)]
enum End {
    ShutDown,
    Cancel,
    CancelParent,
    CancelWhileJoining,
    Drop,
    Panic,
}

const WAITING: usize = 1_000;

/// Checks that a pool in which everything waits ends at once, although the permits are never
/// granted.
fn ends_at_once(end: End) {
    let parent = CancelToken::new();
    let config = workers(2).cancel(parent.child());
    let cancel = config.cancel.clone();
    let executor = start_jobs(silent(config));
    let handle = executor.handle();
    let budget = CountBudget::new(1).unwrap();
    let held = budget.acquire(1).unwrap();
    let ends = Runs::of(WAITING);
    let errors = Log::default();
    for number in 0..WAITING {
        let (item, errors) = (Tracked::new(number, &ends), errors.clone());
        let make = move |granted: Granted| {
            errors.add(granted.err());
            job(move |_| panic!("task {} ran", item.number))
        };
        assert!(budget.acquire_then(1, &handle, make).is_ok());
    }
    let began = Instant::now();
    match end {
        End::ShutDown => executor.shutdown(),
        End::Cancel => cancel.cancel(),
        End::CancelParent => parent.cancel(),
        End::CancelWhileJoining | End::Drop => {}
        End::Panic => executor.spawn(job(|_| panic!("deliberate panic"))).unwrap(),
    }
    let run = match end {
        End::Drop => {
            drop(executor);
            0
        }
        End::Panic => {
            assert_eq!(join_rethrows(executor), "deliberate panic");
            1
        }
        End::CancelWhileJoining => {
            let joined = handle.clone();
            let canceller = thread::spawn(move || {
                wait_until("the pool is closed", || !joined.is_accepting());
                thread::sleep(Duration::from_millis(20));
                cancel.cancel();
            });
            executor.join();
            canceller.join().unwrap();
            0
        }
        _ => {
            executor.join();
            0
        }
    };
    assert!(began.elapsed() < Duration::from_secs(10), "{end:?} took {:?}", began.elapsed());
    let metrics = handle.metrics();
    check_finished(&metrics, WAITING as u64 + run);
    assert_eq!((metrics.tasks_dropped, metrics.tasks_waiting), (WAITING as u64, 0), "{end:?}");
    ends.check_each_once();
    assert_eq!(errors.entries(), vec![Some(AcquireError::Stopped); WAITING]);
    assert_eq!((budget.waiting(), budget.available()), (0, 0), "the requests left the queue");
    drop(held);
    assert_eq!(budget.available(), 1);
}

#[test]
fn the_waiting_tasks_of_a_stopped_pool_leave_the_queue() {
    watched(|| {
        let ends = [End::ShutDown, End::Cancel, End::CancelParent, End::Drop, End::Panic];
        ends.into_iter().for_each(ends_at_once);
    });
}

/// No worker checks the token then, so the cancelling thread must wake the pool.
#[test]
fn a_cancellation_reaches_a_pool_that_is_joined_and_sleeps() {
    watched(|| ends_at_once(End::CancelWhileJoining));
}

/// The requests behind them move up.
#[test]
fn requests_behind_those_of_a_stopped_pool_are_granted() {
    watched(|| {
        let (stopped, going) = (start_jobs(workers(1)), start_jobs(workers(1)));
        let budget = CountBudget::new(2).unwrap();
        let held = budget.acquire(1).unwrap();
        // Requests both units, so that no request behind it gets the free one.
        let make = |_granted: Granted| job(|_| {});
        assert!(budget.acquire_then(2, &stopped.handle(), make).is_ok());
        let ran = Latch::default();
        let opened = ran.clone();
        wait_then(&budget, &going.handle(), move |granted| {
            assert!(granted.is_ok());
            opened.open();
        });
        assert_eq!(budget.waiting(), 2);
        stopped.shutdown();
        ran.wait();
        check_all_run(&going.join(), 1);
        check_finished(&stopped.join(), 1);
        drop(held);
        assert_eq!(budget.available(), 2);
    });
}

/// Threads and the tasks of two pools share one budget: the limit holds, and all requests are
/// granted.
#[test]
fn tasks_and_threads_share_a_budget_and_never_exceed_it() {
    const TASKS: usize = 2_000;
    const LIMIT: usize = 3;
    watched(|| {
        let pools: Vec<Executor<Job>> = (0..2).map(|_| start_jobs(workers(2))).collect();
        let budget = CountBudget::new(LIMIT as u64).unwrap();
        let (inside, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let use_it = {
            let (inside, most) = (Arc::clone(&inside), Arc::clone(&most));
            move || {
                let now = inside.fetch_add(1, Ordering::AcqRel) + 1;
                most.fetch_max(now, Ordering::Relaxed);
                thread::yield_now();
                inside.fetch_sub(1, Ordering::AcqRel);
            }
        };
        let blocking: Vec<_> = (0..3)
            .map(|_| {
                let (budget, use_it) = (budget.clone(), use_it.clone());
                thread::spawn(move || {
                    for _ in 0..TASKS / 4 {
                        let _permit = budget.acquire(1).unwrap();
                        use_it();
                    }
                })
            })
            .collect();
        for number in 0..TASKS {
            let use_it = use_it.clone();
            wait_then(&budget, &pools[number % 2].handle(), move |permit| {
                let _permit = permit.unwrap();
                use_it();
            });
        }
        blocking.into_iter().for_each(|thread| thread.join().unwrap());
        pools.into_iter().for_each(|pool| check_all_run(&pool.join(), TASKS as u64 / 2));
        assert!(most.load(Ordering::Relaxed) <= LIMIT);
        assert_eq!((budget.available(), budget.waiting()), (LIMIT as u64, 0));
        assert_eq!(budget.high_water(), LIMIT as u64);
    });
}

/// A blocked worker does not delay a shutdown.
#[test]
fn a_shutdown_with_a_busy_worker_empties_the_queue_first() {
    watched(|| {
        let executor = start_jobs(workers(1));
        let budget = CountBudget::new(1).unwrap();
        let held = budget.acquire(1).unwrap();
        let latch = occupy_worker(&executor);
        wait_then(&budget, &executor.handle(), drop);
        executor.shutdown();
        assert_eq!(budget.waiting(), 0, "the request leaves the queue before the task is dropped");
        assert_eq!(executor.metrics().tasks_waiting, 0);
        latch.open();
        check_finished(&executor.join(), 2);
        drop(held);
    });
}

/// A budget without handles or permits can never grant anything: it refuses the waiting requests,
/// and the executor ends.
#[test]
fn a_dropped_budget_refuses_waiting_requests() {
    watched(|| {
        let executor = start_jobs(workers(1));
        let budget = CountBudget::new(1).unwrap();
        budget.try_acquire(1).unwrap().forget();
        let log = Log::default();
        let seen = log.clone();
        budget
            .acquire_then(1, &executor.handle(), move |permit| {
                job(move |_| seen.add(permit.is_err()))
            })
            .unwrap();
        drop(budget);
        executor.join();
        assert_eq!(log.entries(), [true]);
    });
}
