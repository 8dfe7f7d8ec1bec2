//! What a worker does next: the pop order and the step that every worker loop is made of.
//!
//! **Policy performs no I/O, reads no clock and draws no randomness of its own.** It reaches queues, time and
//! random numbers through [`Context`], so that a simulator can run the very code that ships.
//!
//! The pop order:
//!
//! 1. the worker's own queues: the newest typed task, or the next future; where both wait they take turns ([`Turn`]).
//!    Every [`InjectorInterval`] ticks the injectors are looked at first;
//! 2. a batch from the injectors;
//! 3. half of another worker's queues: victims in turn, from a random one on, `steal_tries` rounds of it. After
//!    the first one the worker asks to count as a searcher, and stops here if it may not. A searcher who found nothing
//!    else takes a future from a LIFO slot that has not changed for a while;
//! 4. a last look at the injectors, then [`IdleHooks`] decide whether to look again or to park.

mod interval;
mod pop;
#[cfg(heist_plant)]
mod rejected;
mod step;
#[cfg(test)]
mod tests;
mod turn;

pub use interval::InjectorInterval;
pub use pop::{Popped, Source, Work, pop_task};
pub use step::{IdleAction, IdleHooks, RunTask, StepResult, end_panicked_task, worker_step};
pub use turn::Turn;

use crate::queue::{Order, Steal};

/// What a worker can reach. Implemented by the real worker and by simulated ones.
pub trait Context {
    /// The task type.
    type Task;

    /// A future that is to be polled.
    type Future;

    /// This worker's id, below [`Context::workers`].
    fn worker(&self) -> usize;

    /// How many workers the pool has.
    fn workers(&self) -> usize;

    /// How many rounds of stealing a search makes; 0 if stealing is off.
    fn steal_rounds(&self) -> u32;

    /// Counts one tick; says whether the injector's turn has come.
    fn injector_is_due(&mut self) -> bool;

    /// Takes the newest task of the worker's own queue.
    fn pop_local(&mut self) -> Option<Self::Task>;

    /// Which tasks a worker that has work of its own takes from the injector when that is due.
    fn due_order(&self) -> Order;

    /// Takes a batch of at most `most` tasks from the injector: returns the oldest, the rest goes to the own
    /// queue.
    fn pop_injector(&mut self, order: Order, most: usize) -> Option<Self::Task>;

    /// Takes half of `victim`'s queue: returns one task, the rest goes to the own queue.
    fn steal_from(&mut self, victim: usize) -> Steal<Self::Task>;

    /// Whether there may be futures at all.
    fn has_futures(&self) -> bool;

    /// Whether it is the futures' turn; counts it as taken.
    fn is_futures_turn(&mut self) -> bool;

    /// Whether it is the futures' turn in the injectors; they take turns there one by one. Not by the same count: a
    /// look that is due every so often would come at the same turn each time, and one kind would wait for ever.
    fn is_injected_futures_turn(&mut self) -> bool;

    /// Takes the next future of the worker's own.
    fn pop_future(&mut self) -> Option<Self::Future>;

    /// Takes a batch of at most `most` futures from their injector: returns the oldest, the rest goes to the own queue.
    fn pop_injected_future(&mut self, most: usize) -> Option<Self::Future>;

    /// Takes half of `victim`'s queue of futures: returns the oldest, the rest goes to the own queue.
    fn steal_future_from(&mut self, victim: usize) -> Steal<Self::Future>;

    /// Takes a future from the slot of a worker that has not touched it for a while, and says from whom.
    fn steal_from_slot(&mut self) -> Option<(Self::Future, usize)>;

    /// Polls a future, or drops it in a pool that was stopped. Does not panic.
    fn poll(&mut self, future: Self::Future);

    /// A random number below `bound`.
    fn random_below(&mut self, bound: usize) -> usize;

    /// Becomes a searcher, if it is none yet and there are not too many; says whether it is one now.
    fn try_search(&mut self) -> bool;

    /// A task was taken from `source` and is about to run: the worker is no searcher and not quiet any more.
    fn begin_task(&mut self, source: Source);

    /// The task has ended, by returning, by panicking or by being dropped.
    fn end_task(&mut self);

    /// A future was taken and is about to be polled; otherwise as [`Context::begin_task`].
    fn begin_poll(&mut self);

    /// The poll is over.
    fn end_poll(&mut self);

    /// Whether everything is done and the worker must leave.
    fn is_done(&self) -> bool;

    /// Whether the pool was aborted by a panic.
    fn has_panicked(&self) -> bool;
}
