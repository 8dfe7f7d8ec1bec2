//! The one door into heist's inside, for its sibling crates and for the checkers.
//!
//! `heist-runtime` and `heist-device` are built on hooks that no other crate should need; the model
//! checkers, the simulator and the benchmarks run heist's protocols piece by piece. What they use
//! is listed here, and nothing else leaves the crate except its documented API.
//!
//! **None of this is stable.** Any of it may change in any release. The crates of this workspace
//! always use the version of heist that they were released with.

pub use crate::executor::attached::Attached;
pub use crate::executor::task::contain;
pub use crate::future::large::is_large;
pub use crate::future::raw::Runnable;
pub use crate::worker_id::PoolId;

use crate::budget::{CountBudget, CountPermit};
use crate::executor::shared::PoolShared;
use crate::executor::{
    ConfigError, Executor, ExecutorBuilder, ExecutorConfig, ExecutorHandle, SpawnError,
    SpawnErrorKind, StartError,
};
use crate::future::{AbortHandle, JoinError, JoinHandle};
use crate::signal::queue::on_permit::OnPermit;
use crate::signal::queue::{
    GatedQueue, PushError, PushErrorKind, QueueConfig, QueueConsumer, QueueTurn,
};
use crate::trace::Tracer;
use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::task::{Context, Poll};
use std::time::Duration;

/// Atomics, locks, parking and threads: the standard library's, or a checker's.
pub mod sync {
    #[cfg(heist_loom)]
    pub use crate::sync::loom;
    #[cfg(heist_shuttle)]
    pub use crate::sync::shuttle;
    pub use crate::sync::{
        Arc, AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Clock, Mutex, MutexGuard, Ordering,
        Parker, Unparker, Weak, fence, mpsc, per_thread, plant, show_to_sanitizer, spin_loop,
        thread,
    };
    #[cfg(heist_sim)]
    pub use crate::sync::{PerThread, machine};
}

/// The budget of a poll, for leaf futures and for whatever polls outside of the workers.
pub mod coop {
    pub use crate::future::coop::{count_operation, poll_counted, without_budget};
}

/// The words of a budget.
pub mod budget {
    pub use crate::budget::amount::{Amount, Layout};
    pub use crate::budget::core::BudgetCore;
    pub use crate::budget::permit::Permit;

    use crate::budget::{Acquire, CountBudget};
    use crate::sync::Arc;

    /// Returns the budget without its unit.
    pub fn core_of(budget: &CountBudget) -> &Arc<BudgetCore> {
        budget.core()
    }

    /// Returns a future for `wanted` of `core`.
    pub fn acquire(core: &Arc<BudgetCore>, wanted: Amount) -> Acquire<Permit> {
        Acquire::new(core, Ok(wanted), |permit| permit)
    }
}

/// An executor's parts.
pub mod executor {
    pub use crate::executor::shared::PoolShared;
    pub use crate::executor::task::TaskRunner;
    pub use crate::executor::worker::Worker;

    use crate::executor::{ExecutorHandle, SpawnError};
    use crate::future::JoinHandle;
    use crate::future::raw::Runnable;
    use crate::sync::Arc;
    use std::future::Future;

    /// Returns a handle to a pool whose threads the caller starts.
    pub fn handle_of<T>(shared: Arc<PoolShared<T>>) -> ExecutorHandle<T> {
        ExecutorHandle::new(shared)
    }

    /// Spawns a future that counts as the executor's, but is polled where `schedule` says: for
    /// models of such places.
    ///
    /// # Errors
    /// The executor accepts nothing more. The error returns the future.
    pub fn spawn_future_elsewhere<T, F>(
        executor: &ExecutorHandle<T>,
        future: F,
        schedule: impl Fn(Runnable, bool) + Send + Sync + 'static,
    ) -> Result<JoinHandle<F::Output>, SpawnError<F>>
    where
        T: Send + 'static,
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        executor.spawn_future_elsewhere(future, schedule)
    }
}

/// The task of a future: async-task's, or the checkers' model of it.
pub mod raw {
    pub use crate::future::raw::{Runnable, Task, spawn};
}

/// The idle protocol.
pub mod idle {
    pub use crate::idle::Idle;
}

/// The intake word.
pub mod intake {
    pub use crate::intake::{Intake, IntakeState};
}

/// What a worker does next.
pub mod policy {
    pub use crate::policy::{IdleAction, IdleHooks, InjectorInterval, RunTask};
}

/// The workers' queues.
pub mod queue {
    pub use crate::queue::{LifoSlot, LocalQueue, Steal, Stealer};
}

/// The gate's flags.
pub mod signal {
    pub use crate::signal::flags::{GateFlags, Scheduled};
}

/// How an executor finds that everything is done.
pub mod termination {
    pub use crate::termination::{Ledger, Termination};
}

/// Which pool a thread belongs to.
pub mod worker_id {
    pub use crate::worker_id::{begin_call, drop_for, help, is_thread_of, is_worker_of};
}

/// Returns which pool `executor` is a handle of.
#[inline]
pub fn pool_of<T>(executor: &ExecutorHandle<T>) -> PoolId {
    executor.shared().pool()
}

/// Checks a configuration. An error calls it the configuration of `subject`.
///
/// # Errors
/// A field has an impossible value.
pub fn validate(config: &ExecutorConfig, subject: &'static str) -> Result<(), ConfigError> {
    config.validate().map_err(|error| error.about(subject))
}

/// Creates the error for one field of the configuration of `subject`.
pub fn config_error(
    subject: &'static str,
    field: &'static str,
    problem: impl Into<String>,
) -> ConfigError {
    ConfigError::of(subject, field, problem)
}

/// Starts an executor without typed tasks. Each worker's scratch is made from a handle to it, and
/// `attached` ends with it.
///
/// # Errors
/// As [`ExecutorBuilder::build`].
pub fn build_for_futures<S: 'static>(
    builder: ExecutorBuilder<Infallible, impl Tracer>,
    attached: Box<dyn Attached>,
    scratch_init: impl Fn(&ExecutorHandle<Infallible>) -> S + Send + Sync + 'static,
) -> Result<Executor<Infallible>, StartError> {
    builder.build_for_futures(attached, scratch_init)
}

/// Closes the executor to everything from outside. What it has accepted still runs.
pub fn close<T: Send + 'static>(executor: &Executor<T>) {
    executor.close();
}

/// Waits for the executor's threads for at most `timeout`, and returns whether they have ended. On
/// one of the executor's own threads it returns `false` at once.
pub fn wait_timeout<T: Send + 'static>(executor: &Executor<T>, timeout: Duration) -> bool {
    executor.wait_timeout(timeout)
}

/// Drops the executor without waiting for its threads. They end when their tasks do.
pub fn leave_behind<T: Send + 'static>(executor: Executor<T>) {
    executor.leave_behind();
}

/// Spawns a large future, which is already boxed.
///
/// # Errors
/// The executor accepts nothing more. The error returns the future.
#[inline]
pub fn spawn_boxed<T, F>(
    executor: &ExecutorHandle<T>,
    future: Box<F>,
) -> Result<JoinHandle<F::Output>, SpawnError<F>>
where
    T: Send + 'static,
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    executor.spawn_boxed(future)
}

/// Counts `count` blocking calls as futures of the executor: all of them, or none.
///
/// # Errors
/// The executor accepts nothing more.
pub fn count_calls<T: Send + 'static>(
    executor: &ExecutorHandle<T>,
    count: u64,
) -> Result<(), SpawnErrorKind> {
    let shared = executor.shared();
    shared.count_futures(count)?;
    PoolShared::hear_of_cancellation(shared);
    Ok(())
}

/// Makes the task of a blocking call that [`count_calls`] has counted. `call` must complete in its
/// first poll, which the caller arranges.
pub fn make_call<T, C, R>(executor: &ExecutorHandle<T>, call: C) -> (Runnable, JoinHandle<R>)
where
    T: Send + 'static,
    C: Future<Output = Result<R, io::Error>> + Send + 'static,
    R: Send + 'static,
{
    // The task is scheduled from now until its only poll, so nothing ever schedules it again.
    let schedule = |runnable, _woken_while_running| drop(runnable);
    let (runnable, task) = PoolShared::make_counted(executor.shared(), call, schedule);
    (runnable, JoinHandle::of_call(task))
}

/// Returns the handle of a future that was refused.
pub fn refused_handle<R: Send + 'static>(kind: SpawnErrorKind) -> JoinHandle<R> {
    JoinHandle::refused(kind)
}

/// Polls a handle without asking the budget of the poll.
#[inline]
pub fn poll_ended<R: Send + 'static>(
    handle: &mut JoinHandle<R>,
    cx: &mut Context<'_>,
) -> Poll<Result<R, JoinError>> {
    handle.poll_ended(cx)
}

/// Aborts a future without waiting for its end.
pub fn abort_and_detach<R: Send + 'static>(handle: JoinHandle<R>) {
    handle.abort_and_detach();
}

/// Returns an abort handle whose future has ended.
pub fn abort_handle_of_nothing() -> AbortHandle {
    AbortHandle::of_nothing()
}

/// Creates the budget of a queue's capacity. An error calls it the configuration of `subject`.
///
/// # Errors
/// The capacity is 0, or larger than a budget can count.
pub fn capacity_budget(
    capacity: Option<u64>,
    subject: &'static str,
) -> Result<Option<CountBudget>, ConfigError> {
    let config = QueueConfig::new().capacity(capacity);
    config.budget().map_err(|error| error.about(subject))
}

/// Creates a queue whose turn needs a permit: the turn becomes a task, by `make`, when `permits`
/// grants it one. A turn takes one item. The permit is `None` if the queue was emptied for good or
/// the executor stopped; such a turn must take nothing.
pub fn queue_on_permits<T: Send + 'static, K: Send + 'static>(
    executor: &ExecutorHandle<K>,
    capacity: Option<CountBudget>,
    permits: CountBudget,
    make: impl Fn(QueueTurn<T>, Option<CountPermit>) -> K + Send + Sync + 'static,
) -> GatedQueue<T> {
    let scheduler = OnPermit::new(executor.shared(), permits, make);
    GatedQueue::with_scheduler(Box::new(scheduler), capacity, 1)
}

/// Begins a turn of at most `most` items.
#[inline]
pub fn begin_turn<T>(turn: QueueTurn<T>, most: usize) -> QueueConsumer<T> {
    turn.begin_with(most)
}

/// Returns `true` if `queue` is the only handle of its queue and no consumer is due or at work.
#[inline]
pub fn is_sole_handle<T>(queue: &GatedQueue<T>) -> bool {
    queue.is_sole_handle()
}

/// Returns `true` if there is another handle of this budget, or a permit of it.
#[inline]
pub fn is_shared(budget: &CountBudget) -> bool {
    budget.is_shared()
}

/// Creates the error that returns an item to its producer.
pub fn push_error<T>(kind: PushErrorKind, item: T) -> PushError<T> {
    PushError::new(kind, item)
}

/// Spawns the task that `make` makes of `value`. If `make` panics, the panic counts as the task's.
///
/// # Errors
/// The executor accepts no more tasks. The error returns `value`.
pub fn spawn_made<K: Send + 'static, V>(
    executor: &ExecutorHandle<K>,
    value: V,
    make: impl FnOnce(V) -> K,
) -> Result<(), SpawnError<V>> {
    let shared = executor.shared();
    if let Err(kind) = shared.count_now() {
        return Err(SpawnError::new(kind, value));
    }
    shared.spawn_made(make, value);
    Ok(())
}
