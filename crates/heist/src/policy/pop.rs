//! The pop order.

use super::Context;
use crate::queue::{Order, Steal};
use crate::sync::plant::{Plant, planted};

/// Where a task was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// The worker's own queue.
    Local,
    /// The shared injector.
    Injector,
    /// Another worker's queue.
    Steal,
}

/// A task and where it was found.
#[derive(Debug)]
pub struct Popped<T> {
    /// The task.
    pub task: T,
    /// Where it was found.
    pub source: Source,
    /// From whom it was stolen, if it was.
    pub victim: Option<usize>,
}

impl<T> Popped<T> {
    fn new(source: Source, task: T) -> Self {
        Self { task, source, victim: None }
    }
}

/// Takes the next task in pop order and hands it, with `state`, to one of the two continuations; or returns
/// `None`. A worker that finds nothing of its own, nothing injected and, in a first look round, nothing to steal
/// becomes a searcher here, and stays one when nothing is found.
///
/// Continuations rather than a return value: a task that comes from the own queue, as nearly all do, then
/// stays in registers on its way to the runner, which makes running a small task twice as fast.
#[inline(always)]
pub fn pop_task<C: Context, S, R>(
    ctx: &mut C,
    state: S,
    found_own: impl FnOnce(&mut C, S, C::Task) -> R,
    found_elsewhere: impl FnOnce(&mut C, S, Popped<C::Task>) -> R,
) -> Option<R> {
    let is_due = ctx.injector_is_due() && !planted(Plant::InjectorNeverDue);
    let mut elsewhere = if is_due { look_at_injector(ctx) } else { None };
    if elsewhere.is_none() {
        if let Some(task) = ctx.pop_local() {
            return Some(found_own(ctx, state, task));
        }
        elsewhere = search(ctx);
    }
    elsewhere.map(|popped| found_elsewhere(ctx, state, popped))
}

#[cold]
fn look_at_injector<C: Context>(ctx: &mut C) -> Option<Popped<C::Task>> {
    // One is enough to be fair to those who wait: this worker usually has work of its own.
    let task = ctx.pop_injector(ctx.due_order(), 1)?;
    Some(Popped::new(Source::Injector, task))
}

#[inline(never)]
fn search<C: Context>(ctx: &mut C) -> Option<Popped<C::Task>> {
    // Where there is nobody to steal older tasks from, the yielded ones have their turn at once.
    let order = if ctx.steal_rounds() == 0 { Order::All } else { Order::YieldedWhenOvertaken };
    if let Some(task) = ctx.pop_injector(order, usize::MAX) {
        return Some(Popped::new(Source::Injector, task));
    }
    if planted(Plant::CountBeforeLooking) && !ctx.try_search() {
        return None;
    }
    // A round of the rejected protocol is what it calls a look: it makes one.
    let rounds = if planted(Plant::SeedIdle) { 1 } else { ctx.steal_rounds() };
    for _ in 0..rounds {
        if ctx.is_done() {
            return None;
        }
        if let Some(popped) = steal_round(ctx) {
            return Some(popped);
        }
        // Only after the first round: who finds something at once need not write the searcher count, which every
        // pusher reads. With 64 workers and small tasks that word would never come to rest.
        if !ctx.try_search() {
            return None;
        }
    }
    // Nothing to steal: now the tasks that gave way may have their turn.
    let task = ctx.pop_injector(Order::All, usize::MAX)?;
    Some(Popped::new(Source::Injector, task))
}

/// Tries every other worker once, starting at a random one.
fn steal_round<C: Context>(ctx: &mut C) -> Option<Popped<C::Task>> {
    let others = ctx.workers() - 1;
    if others == 0 {
        return None;
    }
    #[cfg(heist_plant)]
    if crate::idle::rejected::is_seed() {
        return try_a_few_victims(ctx, others);
    }
    let first = ctx.random_below(others);
    for offset in 0..others {
        let mut victim = (first + offset) % others;
        if victim >= ctx.worker() {
            victim += 1;
        }
        if let Some(task) = steal_until_sure(ctx, victim) {
            return Some(Popped { task, source: Source::Steal, victim: Some(victim) });
        }
    }
    None
}

/// As the rejected idle protocol does.
#[cfg(heist_plant)]
fn try_a_few_victims<C: Context>(ctx: &mut C, others: usize) -> Option<Popped<C::Task>> {
    let victims =
        crate::idle::rejected::victims(ctx.worker(), others, |bound| ctx.random_below(bound));
    victims.into_iter().find_map(|victim| {
        let task = steal_until_sure(ctx, victim)?;
        Some(Popped { task, source: Source::Steal, victim: Some(victim) })
    })
}

/// `Retry` means that somebody else took something, not that the queue is empty: only a sure answer counts.
/// This ends, because each retry is another thread's progress.
fn steal_until_sure<C: Context>(ctx: &mut C, victim: usize) -> Option<C::Task> {
    loop {
        match ctx.steal_from(victim) {
            Steal::Success(task) => return Some(task),
            Steal::Empty if planted(Plant::EmptyIsRetry) => crate::sync::spin_loop(),
            Steal::Empty => return None,
            Steal::Retry if planted(Plant::RetryIsEmpty) => return None,
            Steal::Retry => crate::sync::spin_loop(),
        }
    }
}
