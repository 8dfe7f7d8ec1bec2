//! Proves that a panic in the caller's code around tasks (making a scratch, dropping it, tracing)
//! ends the pool like a panic of a task, with every task accounted for, and never hangs it.

use crate::support::{check_finished, join_rethrows, silent, wait_until, watched, workers};
use heist::trace::{Source, TraceHooks, Tracer};
use heist::{Executor, ExecutorBuilder, ExecutorConfig, OnPanic, SpawnErrorKind, WorkerCtx};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

fn silent_pool(workers_wanted: usize, on_panic: OnPanic) -> ExecutorConfig {
    silent(workers(workers_wanted).on_panic(on_panic))
}

#[test]
fn a_panic_in_scratch_init_ends_the_pool() {
    watched(|| {
        for (workers_wanted, on_panic) in
            [(1, OnPanic::StopPool), (3, OnPanic::StopPool), (3, OnPanic::Isolate)]
        {
            let executor = Executor::new(
                silent_pool(workers_wanted, on_panic),
                |worker| assert_ne!(worker, 0, "no scratch"),
                |_task: u32, _ctx| thread::yield_now(),
            )
            .unwrap();
            let handle = executor.handle();
            let mut accepted = 0;
            let error = loop {
                match handle.spawn(accepted) {
                    Ok(()) => accepted += 1,
                    Err(error) => break error,
                }
            };
            assert_eq!(error.kind(), SpawnErrorKind::Panicked);
            assert!(join_rethrows(executor).contains("no scratch"));
            check_finished(&handle.metrics(), u64::from(accepted));
        }
    });
}

#[test]
fn a_panic_while_rebuilding_the_scratch_ends_even_an_isolating_pool() {
    watched(|| {
        let made = AtomicUsize::new(0);
        let executor = Executor::new(
            silent_pool(1, OnPanic::Isolate),
            move |_worker| assert_eq!(made.fetch_add(1, Ordering::Relaxed), 0, "only once"),
            |task: u32, _ctx| assert_ne!(task, 2, "the task panics"),
        )
        .unwrap();
        let handle = executor.handle();
        executor.spawn_batch(0..10).unwrap();
        assert!(join_rethrows(executor).contains("only once"));
        let metrics = handle.metrics();
        check_finished(&metrics, 10);
        assert_eq!((metrics.tasks_run(), metrics.tasks_dropped), (3, 7));
        let reports = handle.panics();
        assert!(reports.iter().any(|panic| panic.message.contains("the task panics")));
    });
}

/// A scratch whose `drop` panics.
struct BadScratch(Arc<AtomicUsize>);

impl Drop for BadScratch {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
        assert!(thread::panicking(), "the scratch explodes");
    }
}

#[test]
fn a_panic_while_dropping_the_last_scratch_is_contained() {
    watched(|| {
        let dropped = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&dropped);
        let executor = Executor::new(
            silent_pool(3, OnPanic::StopPool),
            move |_worker| BadScratch(Arc::clone(&counter)),
            |_task: u32, _ctx| {},
        )
        .unwrap();
        executor.spawn_batch(0..100).unwrap();
        check_finished(&executor.join(), 100);
        assert_eq!(dropped.load(Ordering::Relaxed), 3);
    });
}

#[test]
fn a_panic_while_dropping_the_scratch_of_a_task_that_panicked_ends_the_pool() {
    watched(|| {
        let dropped = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&dropped);
        let executor = Executor::new(
            silent_pool(1, OnPanic::Isolate),
            move |_worker| BadScratch(Arc::clone(&counter)),
            |task: u32, _ctx| assert_ne!(task, 5, "the task panics"),
        )
        .unwrap();
        let handle = executor.handle();
        executor.spawn_batch(0..10).unwrap();
        assert_eq!(join_rethrows(executor), "the scratch explodes");
        check_finished(&handle.metrics(), 10);
        assert_eq!(dropped.load(Ordering::Relaxed), 1);
    });
}

/// Hooks that panic at the end of a given task.
struct BadTrace {
    tasks_left: usize,
}

impl TraceHooks for BadTrace {
    fn task_start(&mut self, _source: Source) {
        self.tasks_left -= 1;
    }

    fn task_end(&mut self) {
        assert_ne!(self.tasks_left, 0, "the trace gives up");
    }
}

struct BadTracer;

impl Tracer for BadTracer {
    type Hooks = BadTrace;

    fn worker(&self, _worker: usize) -> BadTrace {
        BadTrace { tasks_left: 10 }
    }
}

#[test]
fn a_panic_in_a_trace_hook_ends_the_pool_and_is_rethrown() {
    watched(|| {
        let alive = Arc::new(());
        let executor = ExecutorBuilder::new(silent(workers(3)))
            .trace(BadTracer)
            .build(
                |_| (),
                |_task: Arc<()>, ctx: &mut WorkerCtx<'_, _, ()>| {
                    assert_eq!(heist::current_worker_id(), Some(ctx.worker_id()));
                },
            )
            .unwrap();
        let handle = executor.handle();
        let tasks = (0..1_000).map(|_| Arc::clone(&alive));
        executor.spawn_batch(tasks).unwrap();
        assert!(join_rethrows(executor).contains("the trace gives up"));
        assert_eq!(handle.spawn(Arc::clone(&alive)).unwrap_err().kind(), SpawnErrorKind::Panicked);
        drop(handle);
        wait_until("all tasks are dropped", || Arc::strong_count(&alive) == 1);
    });
}
