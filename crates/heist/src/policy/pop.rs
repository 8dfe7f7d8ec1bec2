//! The pop order.

use super::Context;
use crate::queue::{Order, Steal};
use crate::sync::plant::{self, Plant, planted};

/// The place where a task was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Source {
    /// The worker's own queue.
    Local,
    /// The shared injector.
    Injector,
    /// Another worker's queue.
    Steal,
}

/// A piece of work.
#[derive(Debug)]
pub(crate) enum Work<T, F> {
    /// A typed task to run.
    Task(T),
    /// A future to poll.
    Future(F),
}

/// A piece of work, and where it was found.
#[derive(Debug)]
pub(crate) struct Popped<T, F> {
    /// The work.
    pub work: Work<T, F>,
    /// The place where it was found.
    pub source: Source,
    /// The worker from which it was stolen, if it was.
    pub victim: Option<usize>,
}

/// What a worker finds in its context `C`.
pub(super) type PoppedFor<C> = Popped<<C as Context>::Task, <C as Context>::Future>;

impl<T, F> Popped<T, F> {
    fn injected(work: Work<T, F>) -> Self {
        Self { work, source: Source::Injector, victim: None }
    }

    pub(super) fn stolen(work: Work<T, F>, victim: usize) -> Self {
        Self { work, source: Source::Steal, victim: Some(victim) }
    }
}

/// Takes the next piece of work in pop order and passes it, with `state`, to one of the three
/// continuations. Returns `None` if there is no work.
///
/// A worker that finds nothing in its own queues, in the injectors or in a first round of stealing
/// becomes a searcher here, and stays one if it finds nothing at all.
///
/// Continuations instead of a return value keep a task from the worker's own queue, as nearly all
/// are, in registers on its way to the runner. That makes running a small task twice as fast.
#[inline(always)]
pub(crate) fn pop_task<C: Context, S, R>(
    ctx: &mut C,
    state: S,
    found_task: impl FnOnce(&mut C, S, C::Task) -> R,
    found_future: impl FnOnce(&mut C, S, C::Future) -> R,
    found_elsewhere: impl FnOnce(&mut C, S, PoppedFor<C>) -> R,
) -> Option<R> {
    let is_due = ctx.injector_is_due() && !planted(Plant::InjectorNeverDue);
    let mut elsewhere = if is_due { look_at_injectors(ctx) } else { None };
    if elsewhere.is_none() {
        let has_futures = ctx.has_futures();
        let futures_first = has_futures && ctx.is_futures_turn();
        if futures_first && let Some(future) = ctx.pop_future() {
            return Some(found_future(ctx, state, future));
        }
        if let Some(task) = ctx.pop_local() {
            return Some(found_task(ctx, state, task));
        }
        if has_futures
            && !futures_first
            && let Some(future) = ctx.pop_future()
        {
            return Some(found_future(ctx, state, future));
        }
        elsewhere = search(ctx);
    }
    elsewhere.map(|popped| found_elsewhere(ctx, state, popped))
}

#[cold]
fn look_at_injectors<C: Context>(ctx: &mut C) -> Option<PoppedFor<C>> {
    // One is enough to be fair to the tasks there: this worker usually has work of its own.
    take_injected(ctx, ctx.due_order(), 1)
}

/// Takes a task or a future from the injectors, first the kind whose turn it is.
fn take_injected<C: Context>(ctx: &mut C, order: Order, most: usize) -> Option<PoppedFor<C>> {
    if !ctx.has_futures() {
        return Some(Popped::injected(Work::Task(ctx.pop_injector(order, most)?)));
    }
    let futures_first = ctx.is_injected_futures_turn();
    let work = if futures_first {
        let future = ctx.pop_injected_future(most).map(Work::Future);
        future.or_else(|| ctx.pop_injector(order, most).map(Work::Task))
    } else {
        let task = ctx.pop_injector(order, most).map(Work::Task);
        task.or_else(|| ctx.pop_injected_future(most).map(Work::Future))
    };
    work.map(Popped::injected)
}

#[inline(never)]
fn search<C: Context>(ctx: &mut C) -> Option<PoppedFor<C>> {
    // Without stealing there are no older tasks elsewhere, so yielded tasks may go at once.
    let order = if ctx.steal_rounds() == 0 { Order::All } else { Order::YieldedWhenOvertaken };
    if let Some(popped) = take_injected(ctx, order, usize::MAX) {
        return Some(popped);
    }
    if planted(Plant::CountBeforeLooking) && !ctx.try_search() {
        return None;
    }
    let rounds = ctx.steal_rounds();
    for _ in 0..rounds {
        if ctx.is_done() {
            return None;
        }
        if let Some(popped) = steal_round(ctx) {
            return Some(popped);
        }
        // Only after the first round: a worker that finds something at once need not write the
        // searcher count, which every pusher reads. With 64 workers and small tasks, that cache
        // line would never come to rest.
        if !ctx.try_search() {
            return None;
        }
    }
    if rounds > 0
        && ctx.has_futures()
        && let Some((future, victim)) = ctx.steal_from_slot()
    {
        return Some(Popped::stolen(Work::Future(future), victim));
    }
    // Nothing to steal: now the yielded tasks may go.
    take_injected(ctx, Order::All, usize::MAX)
}

/// Tries every other worker once, starting at a random one.
fn steal_round<C: Context>(ctx: &mut C) -> Option<PoppedFor<C>> {
    let others = ctx.workers() - 1;
    if others == 0 {
        return None;
    }
    plant::instead!(RoundRobinWake => super::rejected::steal_from_a_few(ctx, others));
    let first = ctx.random_below(others);
    for offset in 0..others {
        let mut victim = (first + offset) % others;
        if victim >= ctx.worker() {
            victim += 1;
        }
        if let Some(work) = steal_from(ctx, victim) {
            return Some(Popped::stolen(work, victim));
        }
    }
    None
}

pub(super) fn steal_from<C: Context>(
    ctx: &mut C,
    victim: usize,
) -> Option<Work<C::Task, C::Future>> {
    if let Some(task) = steal_until_certain(|| ctx.steal_from(victim)) {
        return Some(Work::Task(task));
    }
    if !ctx.has_futures() {
        return None;
    }
    steal_until_certain(|| ctx.steal_future_from(victim)).map(Work::Future)
}

/// Steals until the answer is certain: `Retry` means that another thread took something, not that
/// the queue is empty. The loop ends, because each retry is another thread's progress.
fn steal_until_certain<W>(mut steal: impl FnMut() -> Steal<W>) -> Option<W> {
    loop {
        match steal() {
            Steal::Success(work) => return Some(work),
            Steal::Empty if planted(Plant::EmptyIsRetry) => crate::sync::spin_loop(),
            Steal::Empty => return None,
            Steal::Retry if planted(Plant::RetryIsEmpty) => return None,
            Steal::Retry => crate::sync::spin_loop(),
        }
    }
}
