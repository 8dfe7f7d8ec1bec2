//! One step of a worker.

use super::{Context, Popped, Source, Work, pop_task};
use crate::sync::plant::{Plant, planted};
use crate::trace::TraceHooks;
use std::any::Any;
use std::panic::resume_unwind;

/// What a worker that found nothing does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleAction {
    /// Look again.
    Search,
    /// Park.
    Park,
}

/// Decides how long a worker without work keeps searching.
pub trait IdleHooks {
    /// Called when a task was found: the next idle period starts anew.
    fn on_work(&mut self);

    /// Called when a searcher has found nothing. Returns what it does next.
    fn on_no_work(&mut self) -> IdleAction;
}

/// Runs tasks.
///
/// A trait instead of a closure, so that an implementation can force inlining: a small task then
/// stays in registers from the queue to the code that does the work.
pub trait RunTask<C: Context> {
    /// Runs `task`. It may panic: the step then unwinds, and the loop around the steps catches the
    /// panic. So a panic costs a little more, and a task that does not panic pays nothing.
    fn run(&mut self, ctx: &mut C, task: C::Task);

    /// Cleans up after a task that has panicked.
    fn after_panic(&mut self, ctx: &mut C, payload: Box<dyn Any + Send>);

    /// Called before the worker goes quiet and parks: it must give back what others may wait for.
    /// Work that becomes runnable by that is found, because the worker looks once more after it has
    /// set its parked bit.
    fn before_park(&mut self, ctx: &mut C) {
        let _ = ctx;
    }
}

impl<C: Context, F: FnMut(&mut C, C::Task)> RunTask<C> for F {
    #[inline(always)]
    fn run(&mut self, ctx: &mut C, task: C::Task) {
        self(ctx, task);
    }

    /// Resumes the panic: a closure has nothing to clean up.
    fn after_panic(&mut self, _ctx: &mut C, payload: Box<dyn Any + Send>) {
        resume_unwind(payload);
    }
}

/// The result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepResult {
    /// The worker ran one task or polled one future (or dropped it, in a pool that was stopped).
    RanTask {
        /// The place where the task was found.
        source: Source,
        /// The worker from which it was stolen, if it was.
        victim: Option<usize>,
    },
    /// The worker found nothing and may look again.
    NoWork,
    /// The worker found nothing and should park.
    ShouldPark,
    /// The pool is done: the worker must leave.
    ExitDone,
    /// The pool is done after a panic that stopped it: the worker must leave.
    ExitPanicked,
}

/// Runs one step: takes a piece of work and runs it, or returns what to do instead.
#[inline(always)]
pub(crate) fn worker_step<C, I, H>(
    ctx: &mut C,
    idle: &mut I,
    trace: &mut H,
    runner: &mut impl RunTask<C>,
) -> StepResult
where
    C: Context,
    I: IdleHooks,
    H: TraceHooks,
{
    let ran = pop_task(
        ctx,
        (&mut *idle, trace, runner),
        |ctx, (idle, trace, runner), task| {
            run_task(ctx, idle, trace, runner, Source::Local, task);
            (Source::Local, None)
        },
        |ctx, (idle, trace, _runner), future| {
            poll_future(ctx, idle, trace, Source::Local, future);
            (Source::Local, None)
        },
        |ctx, (idle, trace, runner), popped| {
            run_task_from_elsewhere(ctx, idle, trace, runner, popped)
        },
    );
    let Some((source, victim)) = ran else { return step_without_work(ctx, idle) };
    StepResult::RanTask { source, victim }
}

/// Out of line, because the compiler would merge it with the common case and copy every task for
/// that.
#[inline(never)]
fn run_task_from_elsewhere<C: Context>(
    ctx: &mut C,
    idle: &mut impl IdleHooks,
    trace: &mut impl TraceHooks,
    runner: &mut impl RunTask<C>,
    Popped { work, source, victim }: Popped<C::Task, C::Future>,
) -> (Source, Option<usize>) {
    if let Some(victim) = victim {
        trace.steal(victim);
    }
    match work {
        Work::Task(task) => run_task(ctx, idle, trace, runner, source, task),
        Work::Future(future) => poll_future(ctx, idle, trace, source, future),
    }
    (source, victim)
}

#[inline(always)]
fn run_task<C: Context>(
    ctx: &mut C,
    idle: &mut impl IdleHooks,
    trace: &mut impl TraceHooks,
    runner: &mut impl RunTask<C>,
    source: Source,
    task: C::Task,
) {
    idle.on_work();
    trace.task_start(source);
    // A panic between `begin_task` and `end_task` counts as the task's.
    ctx.begin_task(source);
    runner.run(ctx, task);
    ctx.end_task();
    trace.task_end();
}

/// Out of line: inlined twice into the step, it would slow the typed tasks down.
#[inline(never)]
fn poll_future<C: Context>(
    ctx: &mut C,
    idle: &mut impl IdleHooks,
    trace: &mut impl TraceHooks,
    source: Source,
    future: C::Future,
) {
    idle.on_work();
    trace.poll_start(source);
    ctx.begin_poll();
    ctx.poll(future);
    ctx.end_poll();
    trace.poll_end();
}

/// Completes a step that a panicking task has cut short.
pub(crate) fn end_panicked_task<C: Context>(
    ctx: &mut C,
    trace: &mut impl TraceHooks,
    runner: &mut impl RunTask<C>,
    payload: Box<dyn Any + Send>,
) {
    runner.after_panic(ctx, payload);
    if planted(Plant::PanicCountedTwice) {
        ctx.end_task();
    }
    ctx.end_task();
    trace.task_end();
}

#[inline(never)]
fn step_without_work<C: Context, I: IdleHooks>(ctx: &mut C, idle: &mut I) -> StepResult {
    if ctx.is_done() {
        return if ctx.has_panicked() { StepResult::ExitPanicked } else { StepResult::ExitDone };
    }
    // A worker that may not search can only wait for its token.
    if !ctx.try_search() {
        return StepResult::ShouldPark;
    }
    match idle.on_no_work() {
        IdleAction::Search => StepResult::NoWork,
        IdleAction::Park => StepResult::ShouldPark,
    }
}
