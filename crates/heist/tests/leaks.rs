//! Proves that pools leave nothing behind: after a thousand of them, started and ended in every way there is, the
//! process has no thread and no memory more than before.
#![cfg(not(any(heist_loom, heist_shuttle, heist_sim)))]

mod support;

use heist::{Executor, ExecutorConfig, WorkerCtx};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};
use support::counting::CountingAllocator;
use support::{SILENT, check_all_run, check_finished, silent, wait_until, watched, workers};

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
        executor.spawn_external((20..40).collect()).unwrap();
        check_all_run(&executor.join(), TASKS);
    });
}

#[test]
fn pools_that_are_dropped_with_work_left_leak_nothing() {
    check_no_leak(|| {
        let executor = start(pool());
        let handle = executor.handle();
        executor.spawn_external_batch(vec![(20..40).collect(); 10]).unwrap();
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
        executor.spawn_external((5..25).collect()).unwrap();
        catch_unwind(AssertUnwindSafe(|| executor.join())).expect_err("13 is unlucky");
    });
}
