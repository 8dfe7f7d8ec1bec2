//! Proves what a panic does. With `StopPool` it ends the pool, releases the producers that wait for
//! it, and `join` rethrows it. With `Isolate` it ends only its task, is counted and reported, and
//! the worker gets a new scratch.

use crate::support::sync::{Condvar, Mutex};
use crate::support::{
    SILENT, check_finished, job, join_rethrows, occupy_worker, silent, start_jobs, wait_until,
    watched, workers,
};
use heist::{Executor, ExecutorConfig, OnPanic, SpawnErrorKind, WorkerCtx};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError};
use std::thread;

fn silent_pool(workers_wanted: usize, on_panic: OnPanic) -> ExecutorConfig {
    silent(workers(workers_wanted).on_panic(on_panic))
}

/// A bound on the tasks in flight. A permit lives in its task and comes back when the task is run
/// or dropped.
#[derive(Clone)]
struct InFlightLimit(Arc<(Mutex<usize>, Condvar)>);

struct InFlightPermit(InFlightLimit);

impl InFlightLimit {
    fn new(permits: usize) -> Self {
        Self(Arc::new((Mutex::new(permits), Condvar::new())))
    }

    fn acquire(&self) -> InFlightPermit {
        let free = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free = self.0.1.wait_while(free, |free| *free == 0).unwrap();
        *free -= 1;
        drop(free);
        InFlightPermit(self.clone())
    }

    fn free(&self) -> usize {
        *self.0.0.lock().unwrap()
    }
}

impl Drop for InFlightPermit {
    fn drop(&mut self) {
        *self.0.0.0.lock().unwrap() += 1;
        self.0.0.1.notify_one();
    }
}

#[test]
fn a_panic_releases_a_blocked_producer_and_is_rethrown() {
    const PERMITS: usize = 4;
    watched(|| {
        for workers_wanted in [1, 2] {
            let budget = InFlightLimit::new(PERMITS);
            let executor = Executor::new(
                silent_pool(workers_wanted, OnPanic::StopPool),
                |_| (),
                |(task, _permit): (u64, InFlightPermit), _ctx| {
                    // Slow enough that the producer mostly waits for permits.
                    thread::sleep(std::time::Duration::from_micros(200));
                    assert_ne!(task, 100, "task 100 panics");
                },
            )
            .unwrap();
            let handle = executor.handle();
            let permits = budget.clone();
            let producer = thread::spawn(move || {
                for task in 0.. {
                    if let Err(error) = handle.spawn((task, permits.acquire())) {
                        assert_eq!(error.kind(), SpawnErrorKind::Panicked);
                        assert_eq!(error.into_inner().0, task);
                        return (task, handle);
                    }
                }
                unreachable!("the input is endless");
            });
            // Not joined yet: the panic alone must release the producer.
            let (accepted, handle) = producer.join().unwrap();
            assert!(accepted > 100);
            assert!(join_rethrows(executor).contains("task 100 panics"));
            let metrics = handle.metrics();
            check_finished(&metrics, accepted);
            assert_eq!(metrics.panics, 1);
            assert_eq!(budget.free(), PERMITS, "every permit has come back");
        }
    });
}

#[test]
fn abort_drops_queued_tasks_and_rethrows_only_the_first_panic() {
    watched(|| {
        let executor = start_jobs(silent_pool(1, OnPanic::StopPool));
        let handle = executor.handle();
        let latch = occupy_worker(&executor);
        executor.spawn(job(|_| panic!("the first"))).unwrap();
        executor.spawn(job(|_| panic!("the second"))).unwrap();
        executor.spawn(job(|_| unreachable!("a task ran after a panic"))).unwrap();
        latch.open();
        assert_eq!(join_rethrows(executor), "the first");
        let metrics = handle.metrics();
        check_finished(&metrics, 4);
        assert_eq!((metrics.panics, metrics.tasks_dropped), (1, 2));
        let reports: Vec<_> = handle.panics().into_iter().map(|panic| panic.message).collect();
        assert_eq!(reports, ["the first"], "the report remains after `join`");
    });
}

#[test]
fn dropping_an_aborted_pool_does_not_rethrow() {
    watched(|| {
        let executor = start_jobs(silent_pool(2, OnPanic::StopPool));
        let handle = executor.handle();
        executor.spawn(job(|_| panic!("not rethrown"))).unwrap();
        wait_until("the panic has been noticed", || !handle.is_accepting());
        assert_eq!(handle.panics()[0].message, "not rethrown");
        drop(executor);
        check_finished(&handle.metrics(), 1);
    });
}

/// A scratch that counts its uses. The test counts how many were made.
struct Scratch {
    generation: usize,
    uses: usize,
}

#[test]
fn isolate_continues_and_counts_and_reports_and_rebuilds_the_scratch() {
    watched(|| {
        let made = Arc::new(AtomicUsize::new(0));
        let log = Arc::new(Mutex::new(Vec::new()));
        let (counter, entries) = (Arc::clone(&made), Arc::clone(&log));
        let executor = Executor::new(
            silent_pool(1, OnPanic::Isolate),
            move |_worker| Scratch { generation: counter.fetch_add(1, Ordering::Relaxed), uses: 0 },
            move |task: u32, ctx: &mut WorkerCtx<'_, u32, Scratch>| {
                ctx.scratch.uses += 1;
                entries.lock().unwrap().push((task, ctx.scratch.generation, ctx.scratch.uses));
                match task {
                    1 => panic!("one"),
                    3 => panic!("{}", "three".to_owned()),
                    4 => panic_any(4),
                    _ => {}
                }
            },
        )
        .unwrap();
        let handle = executor.handle();
        executor.spawn_batch(0..6).unwrap();
        let metrics = executor.join();
        check_finished(&metrics, 6);
        assert_eq!((metrics.panics, metrics.tasks_run(), metrics.tasks_dropped), (3, 6, 0));
        let expected = [(0, 0, 1), (1, 0, 2), (2, 1, 1), (3, 1, 2), (4, 2, 1), (5, 3, 1)];
        assert_eq!(*log.lock().unwrap(), expected);
        assert_eq!(made.load(Ordering::Relaxed), 4);
        let reports: Vec<_> = handle.panics().into_iter().map(|panic| panic.message).collect();
        assert_eq!(reports, ["one", "three", "a panic whose payload is not text"]);
    });
}

#[test]
fn two_thousand_isolated_panics_are_counted_and_the_first_thousand_kept() {
    watched(|| {
        let executor = Executor::new(
            silent_pool(3, OnPanic::Isolate),
            |_| Box::new(0),
            |task: u32, ctx: &mut WorkerCtx<'_, u32, Box<u32>>| {
                if task < 2_000 {
                    ctx.spawn_local(task + 2_000);
                    panic!("{task}");
                }
            },
        )
        .unwrap();
        let handle = executor.handle();
        executor.spawn_batch(0..2_000).unwrap();
        let metrics = executor.join();
        check_finished(&metrics, 4_000);
        assert_eq!((metrics.panics, metrics.tasks_dropped), (2_000, 0));
        assert_eq!(handle.panics().len(), 1_000);
    });
}

/// A value whose `drop` panics, unless the thread is already unwinding.
struct Bomb(&'static str);

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(thread::panicking(), "{}", self.0);
    }
}

#[test]
fn a_panic_in_the_drop_of_a_task_that_ran_counts_as_the_tasks_panic() {
    watched(|| {
        let executor = start_jobs(silent_pool(2, OnPanic::Isolate));
        let handle = executor.handle();
        let bomb = Bomb("dropped at the end");
        executor.spawn(job(move |_| drop(bomb))).unwrap();
        executor.spawn(job(|_| {})).unwrap();
        let metrics = executor.join();
        check_finished(&metrics, 2);
        assert_eq!(metrics.panics, 1);
        assert_eq!(handle.panics()[0].message, "dropped at the end");
    });
}

/// Shuts down a pool with one worker while a bomb and another task are queued.
fn shut_down_over_a_bomb(on_panic: OnPanic) -> Executor<crate::support::Job> {
    let executor = start_jobs(silent_pool(1, on_panic));
    let latch = occupy_worker(&executor);
    let bomb = Bomb("dropped unrun");
    executor.spawn(job(move |_| drop(bomb))).unwrap();
    executor.spawn(job(|_| {})).unwrap();
    executor.shutdown();
    latch.open();
    executor
}

#[test]
fn a_panic_in_the_drop_of_a_queued_task_is_rethrown_by_an_aborting_pool() {
    watched(|| {
        let executor = shut_down_over_a_bomb(OnPanic::StopPool);
        let handle = executor.handle();
        assert_eq!(join_rethrows(executor), "dropped unrun");
        let metrics = handle.metrics();
        check_finished(&metrics, 3);
        assert_eq!((metrics.panics, metrics.tasks_dropped), (1, 2));
    });
}

#[test]
fn a_panic_in_the_drop_of_a_queued_task_is_isolated_by_an_isolating_pool() {
    watched(|| {
        let executor = shut_down_over_a_bomb(OnPanic::Isolate);
        let handle = executor.handle();
        let joined = catch_unwind(AssertUnwindSafe(|| executor.join()));
        let metrics = joined.expect("the panic ends only its task");
        check_finished(&metrics, 3);
        assert_eq!((metrics.panics, metrics.tasks_dropped), (1, 2));
        assert_eq!(handle.panics()[0].message, "dropped unrun");
    });
}

#[test]
fn a_payload_whose_drop_panics_does_no_harm() {
    watched(|| {
        let executor = start_jobs(silent_pool(2, OnPanic::Isolate));
        for _ in 0..10 {
            executor.spawn(job(|_| panic_any(Bomb("the payload explodes")))).unwrap();
        }
        let metrics = executor.join();
        check_finished(&metrics, 10);
        assert_eq!(metrics.panics, 10);

        let executor = start_jobs(silent_pool(2, OnPanic::StopPool));
        let handle = executor.handle();
        executor
            .spawn_batch((0..10).map(|_| job(|_| panic_any(Bomb("the payload explodes")))))
            .unwrap();
        assert_eq!(join_rethrows(executor), "(not text)");
        check_finished(&handle.metrics(), 10);
    });
}

#[test]
fn dropping_an_aborted_pool_survives_a_payload_whose_drop_panics() {
    watched(|| {
        let executor = start_jobs(silent_pool(2, OnPanic::StopPool));
        executor.spawn(job(|_| panic_any(Bomb("the payload explodes")))).unwrap();
        wait_until("the panic has been noticed", || !executor.handle().is_accepting());
        // On a thread whose panics are silent, and without a handle, which would keep the payload
        // alive.
        let dropper = thread::Builder::new().name(SILENT.to_owned());
        let dropped = dropper.spawn(move || drop(executor)).unwrap().join();
        assert!(dropped.is_ok(), "drop(executor) panicked");
    });
}
