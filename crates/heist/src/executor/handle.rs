//! `ExecutorHandle`: the part of an executor that producers hold.

use super::error::{SpawnError, TaskPanic};
use super::shared::PoolShared;
use crate::future::JoinHandle;
use crate::future::large::is_large;
use crate::future::raw::Runnable;
use crate::metrics::MetricsSnapshot;
use crate::sync::Arc;
use std::future::Future;

/// Spawns tasks from any thread. It is cheap to clone, and may outlive its executor.
///
/// An executor that is being joined refuses tasks from other threads, but accepts what its own
/// tasks and futures spawn through a handle: [`Executor::join`](crate::Executor::join) waits for
/// that as well. An executor that was shut down, cancelled or stopped by a panic refuses every
/// task.
pub struct ExecutorHandle<T> {
    shared: Arc<PoolShared<T>>,
}

impl<T> Clone for ExecutorHandle<T> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<T> std::fmt::Debug for ExecutorHandle<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ExecutorHandle")
            .field("accepting", &self.is_accepting())
            .finish_non_exhaustive()
    }
}

impl<T> ExecutorHandle<T> {
    /// Creates a handle to a pool whose threads a model has started.
    pub(crate) fn new(shared: Arc<PoolShared<T>>) -> Self {
        Self { shared }
    }

    pub(crate) fn shared(&self) -> &Arc<PoolShared<T>> {
        &self.shared
    }

    /// Spawns a task, and wakes a worker for it unless one is searching for work already.
    ///
    /// This is for producers on other threads, and for futures. A task spawns more cheaply with the
    /// `spawn_*` methods of its [`crate::WorkerCtx`], which need no atomic read-modify-write.
    ///
    /// # Errors
    /// Fails if the executor was stopped, or if it is being joined and the caller is not one of its
    /// tasks or futures. The error tells which, and gives the task back.
    pub fn spawn(&self, task: T) -> Result<(), SpawnError<T>> {
        self.shared.spawn(task)
    }

    /// Spawns all of the tasks, or none, in one step and with one lock. This is much cheaper than
    /// spawning them one by one.
    ///
    /// # Errors
    /// Fails as [`ExecutorHandle::spawn`] does. The error gives all tasks back.
    pub fn spawn_batch(
        &self,
        tasks: impl IntoIterator<Item = T>,
    ) -> Result<(), SpawnError<Vec<T>>> {
        self.shared.spawn_batch(tasks.into_iter().collect())
    }

    /// Like [`ExecutorHandle::spawn_batch`], but empties the caller's vector and keeps its memory
    /// for the next batch.
    ///
    /// # Errors
    /// Fails as [`ExecutorHandle::spawn`] does, and leaves `tasks` unchanged.
    pub fn spawn_drain(&self, tasks: &mut Vec<T>) -> Result<(), SpawnError<()>> {
        self.shared.spawn_drain(tasks).map_err(|kind| SpawnError::new(kind, ()))
    }

    /// Spawns a future beside the typed tasks. A worker polls it now, and again each time it is
    /// woken.
    ///
    /// The future counts until it ends, so [`Executor::join`](crate::Executor::join) waits for it.
    /// A running task or future of this executor is never refused. If the future panics, the
    /// [`JoinHandle`] returns the panic, and the pool goes on.
    ///
    /// # Examples
    ///
    /// ```
    /// let executor = heist::Executor::new(
    ///     heist::ExecutorConfig::default(),
    ///     |_worker| (),
    ///     |task: u32, _ctx| println!("task {task}"),
    /// )?;
    /// let future = executor.handle().spawn_future(async { println!("a future") })?;
    /// executor.spawn(1)?;
    /// future.detach();
    /// executor.join();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Fails if the executor accepts no more work. The error tells why, and gives the future back.
    #[inline]
    pub fn spawn_future<F>(&self, future: F) -> Result<JoinHandle<F::Output>, SpawnError<F>>
    where
        T: Send + 'static,
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        if const { is_large::<F>() } {
            return self.spawn_boxed(Box::new(future));
        }
        PoolShared::spawn_future(&self.shared, future).map(JoinHandle::new)
    }

    /// Does what [`ExecutorHandle::spawn_future`] does, for a large future.
    pub(crate) fn spawn_boxed<F>(
        &self,
        future: Box<F>,
    ) -> Result<JoinHandle<F::Output>, SpawnError<F>>
    where
        T: Send + 'static,
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        PoolShared::spawn_boxed(&self.shared, future).map(JoinHandle::new)
    }

    /// Spawns a future that counts as this pool's, but which `schedule` has polled elsewhere: for
    /// models.
    pub(crate) fn spawn_future_elsewhere<F>(
        &self,
        future: F,
        schedule: impl Fn(Runnable, bool) + Send + Sync + 'static,
    ) -> Result<JoinHandle<F::Output>, SpawnError<F>>
    where
        T: Send + 'static,
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let (runnable, task) = PoolShared::make_future(&self.shared, future, schedule)?;
        runnable.schedule();
        Ok(JoinHandle::new(task))
    }

    /// Returns `true` if the executor accepts tasks from other threads. The answer may be out of
    /// date by the time it is read. (While the executor is being joined, this returns `false`,
    /// although its own tasks and futures may still spawn.)
    pub fn is_accepting(&self) -> bool {
        self.shared.is_accepting()
    }

    /// Stops the executor: it accepts no more tasks and drops the queued ones. Running tasks go on
    /// until they end; they can check [`crate::WorkerCtx::is_cancelled`] to end sooner. Does not
    /// wait.
    pub fn shutdown(&self) {
        self.shared.shut_down();
    }

    /// Returns the number of tasks and futures that were spawned and have not ended: they are
    /// queued, wait for something, or run.
    ///
    /// The number is a snapshot. It is exact while nothing begins or ends; otherwise it is off by
    /// no more than what begins or ends during the call. A task that has just sent its result to
    /// the caller may still be counted. To wait for the end, use
    /// [`Executor::join`](crate::Executor::join).
    pub fn in_flight(&self) -> u64 {
        self.shared.in_flight()
    }

    /// Returns the pool's metrics so far.
    pub fn metrics(&self) -> MetricsSnapshot {
        self.shared.metrics_snapshot()
    }

    /// Returns the first 1,000 panics of tasks and futures. The metrics count all of them.
    pub fn panics(&self) -> Vec<TaskPanic> {
        self.shared.panic_reports()
    }
}
