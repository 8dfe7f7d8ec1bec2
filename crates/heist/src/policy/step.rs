//! One step of a worker.

use super::{Context, Popped, Source, pop_task};
use crate::trace::TraceHooks;

/// What a worker that found nothing does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleAction {
    /// Look again.
    Search,
    /// Park.
    Park,
}

/// Decides how long a worker without work goes on searching.
pub trait IdleHooks {
    /// A task was found: the next idle spell starts afresh.
    fn on_work(&mut self);

    /// Nothing was found once more by a searcher.
    fn on_no_work(&mut self) -> IdleAction;
}

/// What a step came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepResult {
    /// It ran (or, in a pool that was stopped, dropped) one task.
    RanTask {
        /// Where the task was found.
        source: Source,
        /// From whom it was stolen, if it was.
        victim: Option<usize>,
    },
    /// It found nothing and may look again.
    NoWork,
    /// It found nothing and should park.
    ShouldPark,
    /// Everything is done: the worker must leave.
    ExitDone,
    /// Everything is done after a panic that stopped the pool: the worker must leave.
    ExitPanicked,
}

/// Runs one step: takes a task and runs it, or says what to do instead.
///
/// `run` gets the context and the task; it must contain the task's panics.
#[inline(always)]
pub fn worker_step<C, I, H>(
    ctx: &mut C,
    idle: &mut I,
    trace: &mut H,
    run: &mut impl FnMut(&mut C, C::Task),
) -> StepResult
where
    C: Context,
    I: IdleHooks,
    H: TraceHooks,
{
    let ran = pop_task(
        ctx,
        (trace, run),
        |ctx, (trace, run), task| {
            run_task(ctx, trace, run, Source::Local, task);
            (Source::Local, None)
        },
        |ctx, (trace, run), Popped { task, source, victim }| {
            if let Some(victim) = victim {
                trace.steal(victim);
            }
            run_task(ctx, trace, run, source, task);
            (source, victim)
        },
    );
    let Some((source, victim)) = ran else { return step_without_work(ctx, idle) };
    idle.on_work();
    StepResult::RanTask { source, victim }
}

#[inline(always)]
fn run_task<C: Context>(
    ctx: &mut C,
    trace: &mut impl TraceHooks,
    run: &mut impl FnMut(&mut C, C::Task),
    source: Source,
    task: C::Task,
) {
    ctx.begin_task(source);
    trace.task_start(source);
    run(ctx, task);
    trace.task_end();
    ctx.end_task();
}

#[inline(never)]
fn step_without_work<C: Context, I: IdleHooks>(ctx: &mut C, idle: &mut I) -> StepResult {
    if ctx.is_done() {
        return if ctx.has_panicked() { StepResult::ExitPanicked } else { StepResult::ExitDone };
    }
    // A worker that may not search has nothing to wait for but its token.
    if !ctx.try_search() {
        return StepResult::ShouldPark;
    }
    match idle.on_no_work() {
        IdleAction::Search => StepResult::NoWork,
        IdleAction::Park => StepResult::ShouldPark,
    }
}
