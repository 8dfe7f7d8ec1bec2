//! Proves that a pool ends exactly when it should: `join` returns after the last task and not
//! before, even on an idle pool; `drop` and `shutdown` wait for the running tasks and free the
//! queued ones.

use crate::support::{
    Job, Latch, check_all_run, check_finished, job, occupy_worker, start_jobs, wait_until, watched,
    workers,
};
use heist::{Executor, SpawnErrorKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn an_idle_pool_can_be_joined_at_once_and_after_a_pause() {
    watched(|| {
        for round in 0..300 {
            let executor = start_jobs(workers(1 + round % 4));
            if round % 10 == 0 {
                thread::sleep(Duration::from_millis(2));
            }
            check_all_run(&executor.join(), 0);
        }
    });
}

#[test]
fn join_waits_for_the_last_task_of_a_chain() {
    watched(|| {
        let executor = start_jobs(workers(3));
        let ended = Arc::new(AtomicBool::new(false));
        let last = Arc::clone(&ended);
        executor
            .spawn(job(move |ctx| {
                thread::sleep(Duration::from_millis(20));
                ctx.spawn_local(job(move |ctx| {
                    thread::sleep(Duration::from_millis(20));
                    ctx.spawn_yielded(job(move |_| {
                        thread::sleep(Duration::from_millis(20));
                        last.store(true, Ordering::Relaxed);
                    }));
                }));
            }))
            .unwrap();
        check_all_run(&executor.join(), 3);
        assert!(ended.load(Ordering::Relaxed));
    });
}

#[test]
fn a_join_that_times_out_returns_the_executor() {
    watched(|| {
        let executor = start_jobs(workers(2));
        let latch = occupy_worker(&executor);
        executor.spawn(job(|_| {})).unwrap();
        let handle = executor.handle();

        let began = Instant::now();
        let timeout = executor.join_timeout(Duration::from_millis(30)).unwrap_err();
        assert!(began.elapsed() >= Duration::from_millis(30));
        assert_eq!(timeout.to_string(), "the executor's tasks did not finish in time");
        let executor = timeout.into_executor();
        let error = executor.spawn(job(|_| {})).unwrap_err();
        assert_eq!(error.kind(), SpawnErrorKind::Closed, "the intake stays closed");
        let executor = executor.join_timeout(Duration::ZERO).unwrap_err().into_executor();
        assert!(!handle.is_accepting());

        latch.open();
        // A timeout beyond the range of the clock means no limit.
        check_all_run(&executor.join_timeout(Duration::MAX).unwrap(), 2);
    });
}

#[test]
fn a_timed_out_executor_can_be_dropped() {
    watched(|| {
        let executor = start_jobs(workers(1));
        let latch = occupy_worker(&executor);
        let handle = executor.handle();
        executor.spawn(job(|_| panic!("this task must be dropped, not run"))).unwrap();
        let timeout = executor.join_timeout(Duration::from_millis(1)).unwrap_err();
        let opener = thread::spawn(move || {
            wait_until("the drop has shut the pool down", || {
                handle.spawn(job(|_| {})).unwrap_err().kind() == SpawnErrorKind::ShutDown
            });
            latch.open();
            handle
        });
        drop(timeout);
        check_finished(&opener.join().unwrap().metrics(), 2);
    });
}

/// Counts how many values of its kind are alive.
struct Alive(Arc<AtomicUsize>);

impl Alive {
    fn new(alive: &Arc<AtomicUsize>) -> Self {
        alive.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(alive))
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Starts a pool with two blocked workers, with `queued` tasks from outside and as many in a
/// worker's own queue. Returns the latch that unblocks the workers.
fn pool_with_queued_tasks(queued: usize, alive: &Arc<AtomicUsize>) -> (Executor<Job>, Latch) {
    let executor = start_jobs(workers(2));
    let (entered, latch) = (Latch::default(), Latch::default());
    let held = (entered.clone(), latch.clone(), Arc::clone(alive));
    let other = occupy_worker(&executor);
    executor
        .spawn(job(move |ctx| {
            ctx.spawn_local_batch((0..queued).map(|_| queued_job(&held.2)));
            held.0.open();
            held.1.wait();
            other.open();
        }))
        .unwrap();
    entered.wait();
    executor.spawn_batch((0..queued).map(|_| queued_job(alive))).unwrap();
    (executor, latch)
}

fn queued_job(alive: &Arc<AtomicUsize>) -> Job {
    let value = Alive::new(alive);
    job(move |_| {
        unreachable!("run after the pool was shut down; {} alive", Arc::strong_count(&value.0))
    })
}

#[test]
fn dropping_an_executor_frees_the_values_of_queued_tasks() {
    const QUEUED: usize = 500;
    watched(|| {
        let alive = Arc::new(AtomicUsize::new(0));
        let (executor, latch) = pool_with_queued_tasks(QUEUED, &alive);
        assert_eq!(alive.load(Ordering::Relaxed), 2 * QUEUED);
        let handle = executor.handle();
        let opener = thread::spawn({
            let handle = handle.clone();
            move || {
                wait_until("the drop has begun", || !handle.is_accepting());
                latch.open();
            }
        });
        drop(executor);
        opener.join().unwrap();
        assert_eq!(alive.load(Ordering::Relaxed), 0);
        assert_eq!(Arc::strong_count(&alive), 1, "all tasks were freed");
        let metrics = handle.metrics();
        check_finished(&metrics, 2 * QUEUED as u64 + 2);
        assert_eq!(metrics.tasks_dropped, 2 * QUEUED as u64);
    });
}

#[test]
fn shutdown_drops_queued_tasks_and_running_tasks_can_see_it() {
    watched(|| {
        let alive = Arc::new(AtomicUsize::new(0));
        let (executor, latch) = pool_with_queued_tasks(10, &alive);
        executor.shutdown();
        latch.open();
        let metrics = executor.join();
        check_finished(&metrics, 22);
        assert_eq!((metrics.tasks_dropped, alive.load(Ordering::Relaxed)), (20, 0));

        let executor = start_jobs(workers(1));
        let running = Latch::default();
        let entered = running.clone();
        executor
            .spawn(job(move |ctx| {
                assert!(!ctx.is_cancelled());
                entered.open();
                while !ctx.is_cancelled() {
                    thread::yield_now();
                }
            }))
            .unwrap();
        running.wait();
        executor.handle().shutdown();
        check_finished(&executor.join(), 1);
    });
}

#[test]
fn endless_tasks_end_with_the_pool() {
    fn forever_local(ctx: &mut crate::support::JobCtx<'_>) {
        ctx.spawn_local(job(forever_local));
    }
    fn forever_yielding(ctx: &mut crate::support::JobCtx<'_>) {
        ctx.spawn_yielded(job(forever_yielding));
    }
    watched(|| {
        let executor = start_jobs(workers(2));
        let handle = executor.handle();
        executor.spawn(job(forever_local)).unwrap();
        executor.spawn(job(forever_yielding)).unwrap();
        wait_until("both have run for a while", || handle.metrics().tasks_run() > 1_000);
        drop(executor);
        let metrics = handle.metrics();
        assert_eq!(metrics.tasks_dropped, 2);
        check_finished(&metrics, metrics.tasks_run() + 2);
    });
}

#[test]
fn a_handle_outlives_its_executor() {
    watched(|| {
        let executor = start_jobs(workers(2));
        let handle = executor.handle();
        executor.spawn(job(|_| {})).unwrap();
        executor.join();
        assert!(!handle.is_accepting());
        assert_eq!(handle.spawn(job(|_| {})).unwrap_err().kind(), SpawnErrorKind::Closed);
        handle.shutdown();
        assert_eq!(handle.spawn(job(|_| {})).unwrap_err().kind(), SpawnErrorKind::ShutDown);
        check_all_run(&handle.clone().metrics(), 1);
        assert_eq!(handle.panics(), []);
        assert_eq!(format!("{handle:?}"), "ExecutorHandle { accepting: false, .. }");
    });
}
