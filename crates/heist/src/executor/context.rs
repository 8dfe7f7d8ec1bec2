//! What a running task sees of its worker.

use super::shared::PoolShared;
use super::worker::Worker;
use crate::future::JoinHandle;
use crate::future::large::is_large;
use crate::metrics::MetricsSnapshot;
use crate::rng::XorShift64;
use std::future::Future;

/// A task's view of the worker that runs it: the worker's scratch, and ways to spawn more tasks.
pub struct WorkerCtx<'w, T, S> {
    /// The worker's own scratch value, made by `scratch_init`. No other worker ever sees it.
    pub scratch: &'w mut S,
    worker: &'w mut Worker<T>,
}

impl<T, S> std::fmt::Debug for WorkerCtx<'_, T, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WorkerCtx").field("worker", &self.worker.id).finish_non_exhaustive()
    }
}

impl<'w, T, S> WorkerCtx<'w, T, S> {
    pub(super) fn new(worker: &'w mut Worker<T>, scratch: &'w mut S) -> Self {
        Self { scratch, worker }
    }

    /// The scratch and the spawning half, borrowed apart: spawn while a piece of the scratch is borrowed.
    ///
    /// ```
    /// let output = heist::run(
    ///     heist::ExecutorConfig::default(),
    ///     [3_u32],
    ///     |_worker| Vec::new(),
    ///     |task, ctx| {
    ///         ctx.scratch.extend(0..task);
    ///         let (scratch, mut spawner) = ctx.split();
    ///         for child in scratch.drain(..) {
    ///             spawner.spawn_local(child);
    ///         }
    ///     },
    /// )?;
    /// assert_eq!(output.metrics.tasks_run(), 8);
    /// # Ok::<(), heist::RunError>(())
    /// ```
    pub fn split(&mut self) -> (&mut S, Spawner<'_, T>) {
        (self.scratch, Spawner { worker: self.worker })
    }

    /// Spawns a task onto this worker's own queue: the cheapest way, and the best for the caches. This
    /// worker runs it next, unless another one steals it.
    #[inline(always)]
    pub fn spawn_local(&mut self, task: T) {
        self.worker.spawn_local(task);
    }

    /// Spawns several tasks onto this worker's own queue; cheaper than one by one. The last one runs first.
    pub fn spawn_local_batch(&mut self, tasks: impl IntoIterator<Item = T>) {
        self.worker.spawn_local_batch(tasks);
    }

    /// Spawns a task into the injector, behind everything that waits there: any worker may take it.
    pub fn spawn_global(&mut self, task: T) {
        self.worker.spawn_global(task);
    }

    /// Spawns a task that gives way. Meant as a long task's last act, to go on later from where it stopped.
    ///
    /// Everything that is in the injector now goes first. This worker takes the task only when everything that
    /// is in its own queue now has been taken too; another worker only when it finds nothing to steal, or at
    /// its periodic look at the injector.
    pub fn spawn_yielded(&mut self, task: T) {
        self.worker.spawn_yielded(task);
    }

    /// Spawns a future onto this worker, beside the typed tasks. See [`super::ExecutorHandle::spawn_future`].
    pub fn spawn_future<F>(&mut self, future: F) -> JoinHandle<F::Output>
    where
        T: Send + 'static,
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let shared = &self.worker.shared;
        let spawned = if const { is_large::<F>() } {
            PoolShared::spawn_boxed(shared, Box::new(future))
        } else {
            PoolShared::spawn_future(shared, future)
        };
        match spawned {
            Ok(task) => JoinHandle::new(task),
            Err(refused) => JoinHandle::refused(refused.kind()),
        }
    }

    /// Which worker runs this task: from 0 to one less than the number of workers.
    pub fn worker_id(&self) -> usize {
        self.worker.id
    }

    /// The worker's random numbers. With one worker and a fixed seed they repeat from run to run.
    pub fn rng(&mut self) -> &mut XorShift64 {
        &mut self.worker.rng
    }

    /// This worker's own metrics, the running task not included. (The wake-ups sent are counted for the whole pool.)
    pub fn metrics(&self) -> MetricsSnapshot {
        let mut snapshot = MetricsSnapshot { workers: 1, ..MetricsSnapshot::default() };
        self.worker.metrics().add_to(&mut snapshot);
        snapshot
    }

    /// Whether the pool was cancelled, shut down or aborted: a long task should come to an end.
    pub fn is_cancelled(&self) -> bool {
        self.worker.shared.is_cancelled()
    }

    /// A handle for other threads to spawn through, and for this task to wait through
    /// ([`acquire_then`](crate::CountBudget::acquire_then), [`push_then`](crate::GatedQueue::push_then)).
    ///
    /// A [`crate::run`] takes nothing from other threads; its own tasks may spawn and wait through the handle.
    pub fn handle(&self) -> super::ExecutorHandle<T> {
        super::ExecutorHandle::new(crate::sync::Arc::clone(&self.worker.shared))
    }
}

/// The spawning half of a [`WorkerCtx`], from [`WorkerCtx::split`].
pub struct Spawner<'w, T> {
    worker: &'w mut Worker<T>,
}

impl<T> std::fmt::Debug for Spawner<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Spawner").field("worker", &self.worker.id).finish_non_exhaustive()
    }
}

impl<T> Spawner<'_, T> {
    /// See [`WorkerCtx::spawn_local`].
    #[inline(always)]
    pub fn spawn_local(&mut self, task: T) {
        self.worker.spawn_local(task);
    }

    /// See [`WorkerCtx::spawn_local_batch`].
    pub fn spawn_local_batch(&mut self, tasks: impl IntoIterator<Item = T>) {
        self.worker.spawn_local_batch(tasks);
    }

    /// See [`WorkerCtx::spawn_global`].
    pub fn spawn_global(&mut self, task: T) {
        self.worker.spawn_global(task);
    }

    /// See [`WorkerCtx::spawn_yielded`].
    pub fn spawn_yielded(&mut self, task: T) {
        self.worker.spawn_yielded(task);
    }
}
