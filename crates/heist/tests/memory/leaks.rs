//! Proves that pools leave nothing behind: after a thousand of them, started and ended in every
//! possible way, the process has neither more threads nor more memory than before.

use crate::ALLOCATOR;
use crate::support::leaks;
use crate::support::{check_all_run, check_finished, silent, workers};
use heist::{Executor, ExecutorConfig, WorkerCtx};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A task that owns memory.
type Task = Vec<u64>;

fn start(config: ExecutorConfig) -> Executor<Task> {
    Executor::new(config, |_worker| vec![0_u64; 100], run_task).unwrap()
}

fn run_task(mut task: Task, ctx: &mut WorkerCtx<'_, Task, Vec<u64>>) {
    assert_ne!(task, [13], "deliberate panic");
    ctx.scratch.extend(&task);
    if task.len() > 1 {
        let right = task.split_off(task.len() / 2);
        ctx.spawn_local(task);
        ctx.spawn_global(right);
    }
}

/// The number of tasks from one root of 20 numbers, which is halved down to single numbers.
const TASKS: u64 = 2 * 20 - 1;

fn check_no_leak(cycle: impl Fn() + Send + 'static) {
    leaks::check_no_leak(&ALLOCATOR, cycle);
}

fn pool() -> ExecutorConfig {
    workers(2).thread_name("ended")
}

#[test]
fn joined_pools_leak_nothing() {
    check_no_leak(|| {
        let executor = start(pool());
        executor.spawn((20..40).collect()).unwrap();
        check_all_run(&executor.join(), TASKS);
    });
}

#[test]
fn pools_dropped_with_work_left_leak_nothing() {
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
fn pools_ended_by_a_panic_leak_nothing() {
    let config = silent(pool());
    check_no_leak(move || {
        let executor = start(config.clone());
        executor.spawn((5..25).collect()).unwrap();
        catch_unwind(AssertUnwindSafe(|| executor.join())).expect_err("task 13 panics");
    });
}
