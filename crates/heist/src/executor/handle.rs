//! The producers' end.

use super::error::{SpawnError, TaskPanic};
use super::shared::PoolShared;
use crate::future::JoinHandle;
use crate::future::large::is_large;
use crate::future::raw::Runnable;
use crate::metrics::MetricsSnapshot;
use crate::sync::Arc;
use std::future::Future;

/// Spawns tasks from any thread. Cheap to clone; outlives its executor without harm.
///
/// An executor that is being joined is closed to other threads, but not to its own tasks and futures: what they spawn
/// through a handle is taken, and [`Executor::join`](crate::Executor::join) waits for it. An executor that was shut
/// down, cancelled or stopped by a panic refuses tasks from everywhere.
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
    /// A handle to a pool whose threads somebody else has started: a model.
    #[doc(hidden)]
    pub fn new(shared: Arc<PoolShared<T>>) -> Self {
        Self { shared }
    }

    pub(crate) fn shared(&self) -> &Arc<PoolShared<T>> {
        &self.shared
    }

    /// Spawns a task, and wakes a worker for it if none is looking for work already.
    ///
    /// For producers on other threads, and for futures. A task spawns more cheaply by the `spawn_*` of its
    /// [`crate::WorkerCtx`], which need no atomic read-modify-write.
    ///
    /// # Errors
    /// The executor was stopped, or is being joined and this is none of its tasks and futures. The error says which
    /// and gives the task back.
    pub fn spawn(&self, task: T) -> Result<(), SpawnError<T>> {
        self.shared.spawn(task)
    }

    /// Spawns all of the tasks or none, in one step and with one lock: much cheaper than one by one.
    ///
    /// # Errors
    /// As [`ExecutorHandle::spawn`]; the error gives all of the tasks back.
    pub fn spawn_batch(
        &self,
        tasks: impl IntoIterator<Item = T>,
    ) -> Result<(), SpawnError<Vec<T>>> {
        self.shared.spawn_batch(tasks.into_iter().collect())
    }

    /// Like [`ExecutorHandle::spawn_batch`], but empties the caller's vector and leaves its memory in place for the
    /// next batch. When refused, `tasks` is as it was.
    ///
    /// # Errors
    /// As [`ExecutorHandle::spawn`].
    pub fn spawn_drain(&self, tasks: &mut Vec<T>) -> Result<(), SpawnError<()>> {
        self.shared.spawn_all(tasks).map_err(|kind| SpawnError::new(kind, ()))
    }

    /// Spawns a future beside the typed tasks: a worker polls it, and whoever wakes it has it polled again.
    ///
    /// It counts from now to its end, so [`Executor::join`](crate::Executor::join) waits for it. From a running task or
    /// future of this executor it is never refused. Its panic goes to the handle and stops nobody else.
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
    /// The executor takes no more; the error says why and gives the future back.
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

    /// [`ExecutorHandle::spawn_future`] for a large one.
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

    /// Spawns a future that counts as this pool's, but is polled where `schedule` says: for models of such places.
    #[doc(hidden)]
    pub fn spawn_future_elsewhere<F>(
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

    /// Returns `true` if the executor takes tasks from other threads. The answer may be out of date by the time it is
    /// read. (While it is being joined, it takes those of its own tasks and futures only, and this is `false`.)
    pub fn is_accepting(&self) -> bool {
        self.shared.is_accepting()
    }

    /// Takes no more tasks and drops those that are queued; running ones end by themselves, sooner if they
    /// ask [`crate::WorkerCtx::is_cancelled`]. Does not wait.
    pub fn shutdown(&self) {
        self.shared.shut_down();
    }

    /// Returns how many tasks and futures were accepted or spawned and have not ended: those that are queued, wait
    /// for something, or run.
    ///
    /// It is a snapshot of a changing number: exact while nothing begins or ends, otherwise off by no more than what
    /// begins or ends during the call. A task that has just told the caller of its result may still be counted. To wait
    /// for the end, use [`Executor::join`](crate::Executor::join).
    pub fn in_flight(&self) -> u64 {
        self.shared.in_flight()
    }

    /// The pool's metrics so far.
    pub fn metrics(&self) -> MetricsSnapshot {
        self.shared.metrics_snapshot()
    }

    /// The panics of tasks so far: all are counted in the metrics, the first 1,000 kept here.
    pub fn panics(&self) -> Vec<TaskPanic> {
        self.shared.panic_reports()
    }
}
