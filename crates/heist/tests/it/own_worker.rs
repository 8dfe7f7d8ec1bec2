//! Proves that a pool that is ended on one of its own workers never waits for itself: when it is
//! dropped there, joined there, or dropped together with the runner that owns it.

use crate::support::sync::Mutex;
use crate::support::{
    Job, Latch, check_all_run, check_finished, job, start_jobs, wait_until, watched, workers,
};
use heist::{Executor, WorkerCtx};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Where a test leaves an executor for one of the executor's own tasks.
type ExecutorCell = Arc<Mutex<Option<Executor<Job>>>>;

/// Runs `end` on one of the executor's own workers, with 10 tasks queued behind it.
fn end_on_own_worker(end: impl FnOnce(Executor<Job>) + Send + 'static) -> heist::MetricsSnapshot {
    let executor = start_jobs(workers(1));
    let handle = executor.handle();
    let cell = ExecutorCell::default();
    let (found, placed, ended) = (Arc::clone(&cell), Latch::default(), Latch::default());
    let (may_begin, has_ended) = (placed.clone(), ended.clone());
    let ending = job(move |_| {
        may_begin.wait();
        let executor = found.lock().unwrap().take().expect("the test has stored the executor");
        end(executor);
        has_ended.open();
    });
    let queued = (0..10).map(|_| job(|_| {}));
    executor.spawn_batch(std::iter::once(ending).chain(queued)).unwrap();
    *cell.lock().unwrap() = Some(executor);
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
fn an_executor_joined_on_its_own_worker_finishes_its_tasks_without_waiting() {
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

/// The pool's runner holds the state that holds the pool. When the last worker drops the runner, it
/// also drops the executor, on its own thread.
#[test]
fn an_executor_owned_by_its_own_runner_ends_without_a_panic() {
    struct State {
        executor: Mutex<Option<Executor<u32>>>,
        panicked: Arc<AtomicBool>,
    }
    /// Records whether the thread that drops it is unwinding, or starts to.
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
        wait_until("the state is dropped", || Arc::strong_count(&panicked) == 1);
        assert!(!panicked.load(Ordering::Acquire), "the worker tried to wait for itself");
    });
}
