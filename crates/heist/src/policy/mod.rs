//! What a worker does next: the pop order, and the step that every worker loop repeats.
//!
//! **Policy performs no I/O, reads no clock and draws no randomness of its own.** It reaches
//! queues, time and random numbers through [`Context`], so that the simulator runs the code that
//! ships.
//!
//! The pop order is:
//!
//! 1. The worker's own queues: the newest typed task, or the next future. If both kinds wait, they
//!    take turns ([`Turn`]). Every [`InjectorInterval`] ticks the worker looks at the injectors
//!    first.
//! 2. A batch from the injectors.
//! 3. Half of another worker's queues. The worker tries all victims, starting at a random one, in
//!    `steal_tries` rounds. After the first round it asks to count as a searcher, and stops if it
//!    is refused. A searcher that found nothing else takes a future from a LIFO slot that has not
//!    changed for a while.
//! 4. A last look at the injectors. Then [`IdleHooks`] decide whether to search again or to park.

mod interval;
mod pop;
#[cfg(heist_plant)]
mod rejected;
mod step;
#[cfg(test)]
mod tests;
mod turn;

pub use interval::InjectorInterval;
pub use pop::Source;
pub(crate) use pop::{Popped, Work, pop_task};
pub use step::{IdleAction, IdleHooks, RunTask};
pub(crate) use step::{StepResult, end_panicked_task, worker_step};
pub(crate) use turn::Turn;

use crate::queue::{Order, Steal};

/// The world of a worker. The executor's worker implements it, and so do scripted ones in tests.
pub trait Context {
    /// The task type.
    type Task;

    /// A future that is ready to be polled.
    type Future;

    /// Returns this worker's id, which is below [`Context::workers`].
    fn worker(&self) -> usize;

    /// Returns the number of workers of the pool.
    fn workers(&self) -> usize;

    /// Returns the number of stealing rounds in a search; 0 if stealing is off.
    fn steal_rounds(&self) -> u32;

    /// Counts one tick. Returns `true` if a look at the injector is due.
    fn injector_is_due(&mut self) -> bool;

    /// Takes the newest task of the worker's own queue.
    fn pop_local(&mut self) -> Option<Self::Task>;

    /// Returns which tasks a worker takes from the injector at a due look.
    fn due_order(&self) -> Order;

    /// Takes a batch of at most `most` tasks from the injector. Returns the oldest, and moves the
    /// rest to the worker's own queue.
    fn pop_injector(&mut self, order: Order, most: usize) -> Option<Self::Task>;

    /// Takes half of `victim`'s queue. Returns one task, and moves the rest to the worker's own
    /// queue.
    fn steal_from(&mut self, victim: usize) -> Steal<Self::Task>;

    /// Returns `true` if the pool may have futures at all.
    fn has_futures(&self) -> bool;

    /// Returns `true` if it is the futures' turn, and counts the turn as taken.
    fn is_futures_turn(&mut self) -> bool;

    /// Returns `true` if it is the futures' turn in the injectors, where the two kinds alternate
    /// one by one. The injectors have a count of their own: if they shared the one of the worker's
    /// queues, looks at a fixed interval could all fall on the same kind's turn, and the other kind
    /// would wait forever.
    fn is_injected_futures_turn(&mut self) -> bool;

    /// Takes the next of the worker's own futures.
    fn pop_future(&mut self) -> Option<Self::Future>;

    /// Takes a batch of at most `most` futures from their injector. Returns the oldest, and moves
    /// the rest to the worker's own queue.
    fn pop_injected_future(&mut self, most: usize) -> Option<Self::Future>;

    /// Takes half of `victim`'s queue of futures. Returns the oldest, and moves the rest to the
    /// worker's own queue.
    fn steal_future_from(&mut self, victim: usize) -> Steal<Self::Future>;

    /// Takes a future from a LIFO slot that has not changed for a while. Also returns the LIFO
    /// slot's worker.
    fn steal_from_slot(&mut self) -> Option<(Self::Future, usize)>;

    /// Polls a future, or drops it if the pool was stopped. Does not panic.
    fn poll(&mut self, future: Self::Future);

    /// Returns a random number below `bound`.
    fn random_below(&mut self, bound: usize) -> usize;

    /// Makes the worker a searcher, unless too many workers search. Returns `true` if it is one
    /// now.
    fn try_search(&mut self) -> bool;

    /// Begins a task that was taken from `source`: the worker is neither a searcher nor quiet any
    /// more.
    fn begin_task(&mut self, source: Source);

    /// Ends a task that has returned, panicked or was dropped.
    fn end_task(&mut self);

    /// Begins the poll of a future; otherwise as [`Context::begin_task`].
    fn begin_poll(&mut self);

    /// Ends a poll.
    fn end_poll(&mut self);

    /// Returns `true` if the pool is done and the worker must leave.
    fn is_done(&self) -> bool;

    /// Returns `true` if a panic has stopped the pool.
    fn has_panicked(&self) -> bool;
}
