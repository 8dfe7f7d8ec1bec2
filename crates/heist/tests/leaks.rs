//! Proves that pools leave nothing behind: after a thousand of them, started and ended in every way there is, the
//! process has no thread and no memory more than before.
#![cfg(not(any(heist_loom, heist_shuttle, heist_sim)))]

mod support;

use heist::{Executor, ExecutorConfig, Runtime, WorkerCtx};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use support::counting::CountingAllocator;
use support::{
    SILENT, check_all_run, check_finished, silence_panics, silent, wait_until, watched, workers,
};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();

/// Garbage that the queues' memory reclamation holds back, and what the test harness allocates. A leak of 64
/// bytes per pool would be beyond it.
const GROWTH_BYTES_MAX: isize = 60_000;

/// The allocator counts for the whole process, so one test at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// A task with memory of its own.
type Task = Vec<u64>;

fn start(config: ExecutorConfig) -> Executor<Task> {
    Executor::new(config, |_worker| vec![0_u64; 100], run_task).unwrap()
}

fn run_task(mut task: Task, ctx: &mut WorkerCtx<'_, Task, Vec<u64>>) {
    assert_ne!(task, [13], "unlucky");
    ctx.scratch.extend(&task);
    if task.len() > 1 {
        let right = task.split_off(task.len() / 2);
        ctx.spawn_local(task);
        ctx.spawn_global(right);
    }
}

/// Tasks from one root of 20 numbers: each is halved until it is one.
const TASKS: u64 = 2 * 20 - 1;

/// Goes through `cycle` a hundred times to warm up and a thousand times more, and compares.
fn check_no_leak(cycle: impl Fn() + Send + 'static) {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    watched(move || compare(cycle));
}

fn compare(cycle: impl Fn()) {
    (0..100).for_each(|_| cycle());
    let before = ALLOCATOR.live_bytes();
    (0..1_000).for_each(|_| cycle());
    // A thread is joined a moment before the system has forgotten it, and it frees its last bytes then.
    #[cfg(target_os = "linux")]
    for thread_name in ["ended-", SILENT] {
        wait_until("no thread of the pools is left", || {
            support::threads_named(thread_name).is_empty()
        });
    }
    let growth = || ALLOCATOR.live_bytes() - before;
    println!("{} bytes more after 1,000 pools", growth());
    wait_until("the memory is back to what it was", || growth() < GROWTH_BYTES_MAX);
}

fn pool() -> ExecutorConfig {
    ExecutorConfig { thread_name: "ended".to_owned(), ..workers(2) }
}

#[test]
fn pools_that_are_joined_leak_nothing() {
    check_no_leak(|| {
        let executor = start(pool());
        executor.spawn((20..40).collect()).unwrap();
        check_all_run(&executor.join(), TASKS);
    });
}

#[test]
fn pools_that_are_dropped_with_work_left_leak_nothing() {
    check_no_leak(|| {
        let executor = start(pool());
        let handle = executor.handle();
        executor.spawn_batch(vec![(20..40).collect(); 10]).unwrap();
        drop(executor);
        let metrics = handle.metrics();
        check_finished(&metrics, metrics.tasks_run() + metrics.tasks_dropped);
    });
}

#[test]
fn runs_leak_nothing() {
    check_no_leak(|| {
        let roots = [(20..40).collect::<Task>()];
        let output = heist::run(pool(), roots, |_worker| Vec::new(), run_task).unwrap();
        check_all_run(&output.metrics, TASKS);
    });
}

#[test]
fn pools_that_a_panic_ends_leak_nothing() {
    let config = silent(pool());
    check_no_leak(move || {
        let executor = start(config.clone());
        executor.spawn((5..25).collect()).unwrap();
        catch_unwind(AssertUnwindSafe(|| executor.join())).expect_err("13 is unlucky");
    });
}

/// A runtime that is used in every way that there is, with one of each that lives on, waits, panics, is aborted.
fn used_runtime() -> Runtime {
    let builder = Runtime::builder().workers(2).max_blocking_threads(2);
    let runtime = builder.thread_name(SILENT).build().unwrap();
    let squares: Vec<_> = (0..10_u64).map(|n| runtime.spawn(async move { n * n })).collect();
    let mut group = runtime.handle().group();
    for number in 0..5_u64 {
        group.spawn(async move {
            heist::yield_now().await;
            number
        });
    }
    let calls = runtime.spawn_blocking_batch((0..3_u64).map(|call| move || vec![call; 100]));
    let sum = runtime.block_on(async {
        let mut sum = 0;
        for square in squares {
            sum += square.await.unwrap();
        }
        while let Some(number) = group.join_next().await {
            sum += number.unwrap();
        }
        for call in calls {
            sum += call.await.unwrap()[0];
        }
        sum
    });
    assert_eq!(sum, 285 + 10 + 3);
    let panicked = runtime.block_on(runtime.spawn(async { panic!("unlucky") }));
    assert!(panicked.map(|(): ()| ()).unwrap_err().is_panic());
    let aborted = runtime.spawn(std::future::pending::<Vec<u64>>());
    aborted.abort();
    // And a group that is dropped with its members.
    group.spawn(std::future::pending());
    runtime
}

#[test]
fn runtimes_that_are_joined_leak_nothing() {
    silence_panics();
    check_no_leak(|| {
        let metrics = used_runtime().join();
        assert_eq!(metrics.futures_live(), 0);
    });
}

#[test]
fn runtimes_that_are_dropped_with_futures_that_wait_leak_nothing() {
    silence_panics();
    check_no_leak(|| {
        let runtime = used_runtime();
        let handle = runtime.handle();
        for number in 0..20_u64 {
            runtime.spawn(async move {
                let data = vec![number; 10];
                std::future::pending::<()>().await;
                drop(data);
            });
        }
        // One that is never polled, perhaps, and one whose output nobody takes.
        let untaken = runtime.spawn(async { vec![1_u64; 10] });
        let metrics = runtime.shutdown_timeout(Duration::from_secs(30)).unwrap();
        assert_eq!(metrics.futures_live(), 0);
        drop((untaken, handle));
    });
}
