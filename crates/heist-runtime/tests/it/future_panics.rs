//! Proves that a panic ends only its own future. The handle returns the panic, the pool counts and
//! reports it, and everything else continues, even if the pool stops when a task panics. The same
//! holds for a panic in the drop of a future, of its output, or of a panic payload.

use crate::support::event::{Event, Live};
use crate::support::{
    SILENT, check_all_run, job, join_rethrows, panic_text, silence_panics, silent, start_jobs,
    wait_until, watched, workers,
};
use heist::{JoinError, OnPanic};
use heist_runtime::Runtime;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn start(workers: usize) -> Runtime {
    silence_panics();
    Runtime::builder().threads(workers).thread_name(SILENT).build().unwrap()
}

/// Panics when it is dropped.
struct Explosive(&'static str);

impl Drop for Explosive {
    fn drop(&mut self) {
        panic!("{}", self.0);
    }
}

#[track_caller]
fn check_panicked<T: std::fmt::Debug>(ended: Result<T, JoinError>, expected: &str) {
    match ended {
        Err(error @ JoinError::Panicked(_)) => {
            assert!(error.is_panic());
            assert_eq!(error.to_string(), format!("the future panicked: {expected}"));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_panic_is_returned_counted_and_reported() {
    watched(|| {
        let runtime = start(2);
        let at_once = runtime.spawn(async { panic!("at once") });
        check_panicked::<()>(heist_runtime::block_on(at_once), "at once");
        let later = runtime.spawn(async {
            heist::yield_now().await;
            panic!("number {}", 2);
        });
        check_panicked::<()>(heist_runtime::block_on(later), "number 2");
        let no_text = runtime.spawn(async { std::panic::panic_any(3_u32) });
        check_panicked::<()>(heist_runtime::block_on(no_text), "a panic whose payload is not text");
        let detached = runtime.spawn(async { panic!("not awaited") });
        detached.detach();
        wait_until("the panic is reported", || runtime.panics().len() == 4);
        let reports = runtime.panics();
        assert!(reports.iter().all(|report| report.worker.is_some()));
        let messages: Vec<_> = reports.iter().map(|report| report.message.as_str()).collect();
        let no_text = "a panic whose payload is not text";
        assert_eq!(messages, ["at once", "number 2", no_text, "not awaited"]);
        assert_eq!(
            runtime.block_on(runtime.spawn(async { 5 })).unwrap(),
            5,
            "the runtime continues"
        );
        let metrics = runtime.join();
        assert_eq!((metrics.futures_ended, metrics.panics), (5, 4));
    });
}

#[test]
fn a_thread_that_awaits_a_future_can_resume_its_panic() {
    watched(|| {
        let runtime = start(1);
        let handle = runtime.spawn(async { panic!("passed on") });
        let error = heist_runtime::block_on(handle).map(|(): ()| ()).unwrap_err();
        let resumed = catch_unwind(AssertUnwindSafe(|| drop(error.resume_panic())));
        assert_eq!(panic_text(&*resumed.unwrap_err()), "passed on");
        let other = runtime.spawn(std::future::pending::<()>());
        other.abort();
        let error = heist_runtime::block_on(other).unwrap_err().resume_panic();
        assert!(matches!(error, JoinError::Aborted), "an abort is not a panic");
    });
}

/// Holds even if the pool stops when a task panics.
#[test]
fn a_futures_panic_does_not_stop_a_pool_of_tasks() {
    watched(|| {
        for on_panic in [OnPanic::StopPool, OnPanic::Isolate] {
            let executor = start_jobs(silent(workers(1)).on_panic(on_panic));
            let handle = executor.handle();
            executor
                .spawn(job(|ctx| {
                    ctx.spawn_future(async { panic!("of a task's future") });
                }))
                .unwrap();
            let panicked = handle.spawn_future(async { panic!("from outside") }).unwrap();
            check_panicked::<()>(heist_runtime::block_on(panicked), "from outside");
            executor.spawn(job(|_| {})).unwrap();
            let metrics = executor.join();
            assert_eq!((metrics.tasks_run(), metrics.tasks_dropped), (2, 0));
            assert_eq!((metrics.futures_ended, metrics.panics), (2, 2));
            assert_eq!(handle.panics().len(), 2);
        }
    });
}

/// If a task's panic stops the pool, the pool drops its futures.
#[test]
fn a_tasks_panic_also_stops_the_futures() {
    watched(|| {
        let executor = start_jobs(silent(workers(2)));
        let event = Event::default();
        let live = Arc::new(AtomicUsize::new(0));
        let handles: Vec<_> = (0..10)
            .map(|_| {
                let (event, guard) = (event.clone(), Live::new(&live));
                let future = async move {
                    let _guard = guard;
                    event.wait().await;
                };
                executor.handle().spawn_future(future).unwrap()
            })
            .collect();
        wait_until("all futures wait", || event.waiting() == 10);
        executor.spawn(job(|_| panic!("of a task"))).unwrap();
        for handle in handles {
            assert!(matches!(heist_runtime::block_on(handle), Err(JoinError::Stopped)));
        }
        assert_eq!(live.load(Ordering::Acquire), 0);
        assert_eq!(join_rethrows(executor), "of a task");
    });
}

#[test]
fn a_panic_in_the_drop_of_a_future_is_contained() {
    watched(|| {
        let runtime = start(1);
        let handle = runtime.handle();
        // Dropped because it completed, because it panicked, or because it was aborted.
        let completes = runtime.spawn(async {
            let explosive = Explosive("in its last poll");
            heist::yield_now().await;
            drop(explosive);
        });
        check_panicked(heist_runtime::block_on(completes), "in its last poll");
        let event = Event::default();
        let waits = event.clone();
        let aborted = runtime.spawn(async move {
            let _explosive = Explosive("aborted");
            waits.wait().await;
        });
        wait_until("the future waits", || event.waiting() == 1);
        aborted.abort();
        assert!(matches!(heist_runtime::block_on(aborted), Err(JoinError::Aborted)));
        // Dropped because the runtime ends: a waiting future, and one that never ran.
        let waits = event.clone();
        runtime.spawn(async move {
            let _explosive = Explosive("stopped");
            waits.wait().await;
        });
        wait_until("the future waits", || event.waiting() == 2);
        assert_eq!(
            runtime.block_on(runtime.spawn(async { 5 })).unwrap(),
            5,
            "the runtime continues"
        );
        drop(runtime);
        assert_eq!(handle.metrics().futures_live(), 0);
    });
}

#[test]
fn a_panic_in_the_drop_of_an_output_that_is_not_taken_is_contained() {
    watched(|| {
        let runtime = start(1);
        runtime.spawn(async { Explosive("output of a future") }).detach();
        runtime.spawn_blocking(|| Explosive("output of a call")).detach();
        // A payload that is not taken, and whose own drop panics.
        runtime.spawn(async { std::panic::panic_any(Explosive("payload")) }).detach();
        // The handle exists when the future completes, and is dropped without being awaited.
        let untaken = runtime.spawn(async { Explosive("untaken") });
        wait_until("the future has completed", || untaken.is_finished());
        let dropped = catch_unwind(AssertUnwindSafe(|| drop(untaken)));
        assert!(dropped.is_ok(), "the panic is contained");
        assert_eq!(
            runtime.block_on(runtime.spawn(async { 5 })).unwrap(),
            5,
            "the runtime continues"
        );
        let metrics = runtime.join();
        assert_eq!(metrics.futures_live(), 0);
        assert_eq!(metrics.panics, 1, "only the panics of futures themselves are counted");
    });
}

/// Many futures panic at once, and no panic is lost.
#[test]
fn no_panic_is_lost_when_all_workers_panic() {
    watched(|| {
        let runtime = start(4);
        let handles: Vec<_> = (0..2_000)
            .map(|number| {
                runtime.spawn(async move {
                    heist::yield_now().await;
                    assert!(number % 2 == 0, "odd");
                    number
                })
            })
            .collect();
        for (number, handle) in handles.into_iter().enumerate() {
            match heist_runtime::block_on(handle) {
                Ok(even) => assert_eq!(even, number),
                Err(error) => assert!(error.is_panic() && number % 2 == 1, "{error}"),
            }
        }
        assert_eq!(runtime.panics().len(), 1_000);
        assert_eq!(runtime.join().panics, 1_000);
    });
}

/// A pool that isolates the panics of its tasks treats futures in the same way.
#[test]
fn tasks_and_futures_that_panic_side_by_side_are_counted_together() {
    watched(|| {
        let config = silent(workers(2)).on_panic(OnPanic::Isolate);
        let executor = start_jobs(config);
        for _ in 0..100 {
            executor.spawn(job(|_| panic!("task"))).unwrap();
            executor.handle().spawn_future(async { panic!("future") }).unwrap().detach();
        }
        let metrics = executor.join();
        assert_eq!((metrics.panics, metrics.tasks_run(), metrics.futures_ended), (200, 100, 100));
        let executor = start_jobs(workers(1));
        executor.spawn(job(|_| {})).unwrap();
        check_all_run(&executor.join(), 1);
    });
}
