//! Proves that a pool that is ended on one of its own workers never waits for itself: dropped there, joined
//! there, or dropped with the runner that owns it.
#![cfg(not(any(heist_loom, heist_shuttle, heist_sim)))]

mod support;

use heist::{Executor, Runtime, RuntimeHandle, WorkerCtx};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use support::event::Event;
use support::sync::Mutex;
use support::{
    Gate, Job, check_all_run, check_finished, job, start_jobs, wait_until, watched, workers,
};

/// Where a test leaves an executor for one of its own tasks to find.
type Slot = Arc<Mutex<Option<Executor<Job>>>>;

/// Runs `end` on one of the executor's own workers, with 10 tasks queued behind it.
fn end_on_own_worker(end: impl FnOnce(Executor<Job>) + Send + 'static) -> heist::MetricsSnapshot {
    let executor = start_jobs(workers(1));
    let handle = executor.handle();
    let slot = Slot::default();
    let (found, placed, ended) = (Arc::clone(&slot), Gate::default(), Gate::default());
    let (may_begin, has_ended) = (placed.clone(), ended.clone());
    let ending = job(move |_| {
        may_begin.wait();
        let executor = found.lock().unwrap().take().expect("the test has placed it");
        end(executor);
        has_ended.open();
    });
    let queued = (0..10).map(|_| job(|_| {}));
    executor.spawn_batch(std::iter::once(ending).chain(queued)).unwrap();
    *slot.lock().unwrap() = Some(executor);
    placed.open();
    ended.wait();
    wait_until("every task has ended", || handle.metrics().tasks_ended() == 11);
    handle.metrics()
}

#[test]
fn an_executor_dropped_on_its_own_worker_shuts_down_without_waiting() {
    watched(|| {
        let metrics = end_on_own_worker(drop);
        check_finished(&metrics, 11);
        assert_eq!(metrics.tasks_dropped, 10);
    });
}

#[test]
fn an_executor_joined_on_its_own_worker_runs_out_without_being_waited_for() {
    watched(|| {
        let metrics = end_on_own_worker(|executor| {
            let so_far = executor.join();
            assert_eq!(so_far.tasks_run(), 0, "the joining task itself is still running");
        });
        check_all_run(&metrics, 11);
    });
}

#[test]
fn a_worker_may_wait_for_another_pool() {
    watched(|| {
        let executor = start_jobs(workers(1));
        executor
            .spawn(job(|_| {
                let inner = start_jobs(workers(2));
                inner.spawn_batch((0..100).map(|_| job(|_| {}))).unwrap();
                check_all_run(&inner.join(), 100);
                drop(start_jobs(workers(2)));
            }))
            .unwrap();
        check_all_run(&executor.join(), 1);
    });
}

/// A pool whose runner holds the state that holds the pool: when the last worker lets go of the runner, it
/// drops the executor too, on its own thread.
#[test]
fn an_executor_that_its_own_runner_owns_ends_in_silence() {
    struct State {
        executor: Mutex<Option<Executor<u32>>>,
        panicked: Arc<AtomicBool>,
    }
    /// Notices if the thread that drops it is unwinding, or starts to.
    impl Drop for State {
        fn drop(&mut self) {
            let executor = self.executor.get_mut().unwrap().take();
            let dropped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(executor)));
            self.panicked.store(dropped.is_err(), Ordering::Release);
        }
    }
    watched(|| {
        let panicked = Arc::new(AtomicBool::new(false));
        let state = Arc::new(State { executor: Mutex::default(), panicked: Arc::clone(&panicked) });
        let owned = Arc::clone(&state);
        let runner = move |_task: u32, _ctx: &mut WorkerCtx<'_, u32, ()>| {
            assert!(owned.executor.lock().unwrap().is_some());
        };
        let executor = Executor::new(workers(2), |_| (), runner).unwrap();
        let handle = executor.handle();
        *state.executor.lock().unwrap() = Some(executor);
        handle.spawn(1).unwrap();
        wait_until("the task has run", || handle.metrics().tasks_run() == 1);
        drop(state);
        handle.shutdown();
        wait_until("the state is gone", || Arc::strong_count(&panicked) == 1);
        assert!(!panicked.load(Ordering::Acquire), "the worker tried to wait for itself");
    });
}

/// Runs `end` in a future on one of the runtime's own workers, with another future that waits.
fn end_runtime_on_own_worker(end: impl FnOnce(Runtime) + Send + 'static) -> RuntimeHandle {
    let runtime = Runtime::builder().workers(2).build().unwrap();
    let handle = runtime.handle();
    let slot: Arc<Mutex<Option<Runtime>>> = Arc::default();
    let (found, placed) = (Arc::clone(&slot), Event::default());
    let may_begin = placed.clone();
    let ending = runtime.spawn(async move {
        may_begin.wait().await;
        let runtime = found.lock().unwrap().take().expect("the test has placed it");
        end(runtime);
    });
    *slot.lock().unwrap() = Some(runtime);
    placed.set();
    heist::block_on(ending).expect("it did not wait for itself");
    handle
}

#[test]
fn a_runtime_that_is_ended_on_its_own_worker_does_not_wait_for_itself() {
    watched(|| {
        let ends: [fn(Runtime); 4] = [
            drop,
            |runtime| {
                let waits = runtime.spawn(std::future::pending::<()>());
                let timeout = runtime.shutdown_timeout(Duration::from_secs(50)).unwrap_err();
                assert_eq!(timeout.blocking_calls(), 0);
                assert!(timeout.futures() >= 1, "the future itself");
                drop(waits);
            },
            |runtime| {
                let so_far = runtime.join();
                assert_eq!(so_far.futures_live(), 1, "the joining future itself");
            },
            |runtime| {
                let timeout = runtime.join_timeout(Duration::from_secs(50)).unwrap_err();
                drop(timeout.into_runtime());
            },
        ];
        for end in ends {
            let began = Instant::now();
            let handle = end_runtime_on_own_worker(end);
            wait_until("nothing lives", || handle.metrics().futures_live() == 0);
            assert!(!handle.is_accepting());
            assert!(began.elapsed() < Duration::from_secs(25), "at once");
        }
    });
}

/// A worker may block on another runtime: it holds itself up, but that other one goes on.
#[test]
fn a_worker_may_block_on_another_runtime() {
    watched(|| {
        let runtime = Runtime::builder().workers(1).build().unwrap();
        let sum = runtime.spawn(async {
            let inner = Runtime::builder().workers(1).build().unwrap();
            let sum = inner.block_on(async { heist::spawn(async { 1 }).await.unwrap() + 1 });
            assert_eq!(inner.join().futures_ended, 1);
            // And is back where it was.
            sum + heist::spawn(async { 1 }).await.unwrap()
        });
        assert_eq!(runtime.block_on(sum).unwrap(), 3);
    });
}
