//! `WorkerCtx`: a running task's view of its worker.

use super::shared::PoolShared;
use super::worker::Worker;
use crate::future::JoinHandle;
use crate::future::large::is_large;
use crate::metrics::MetricsSnapshot;
use crate::rng::XorShift64;
use std::future::Future;

/// A task's view of the worker that runs it: the worker's scratch, and methods to spawn more tasks.
pub struct WorkerCtx<'w, T, S> {
    /// The worker's own scratch value, made by `scratch_init`. No other worker can reach it.
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

    /// Returns the scratch and the spawning half as separate borrows, so that a task can spawn
    /// while it borrows a part of the scratch.
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

    /// Spawns a task onto this worker's own queue. This is the cheapest way, and the best for the
    /// caches. This worker runs the task next, unless another worker steals it.
    #[inline(always)]
    pub fn spawn_local(&mut self, task: T) {
        self.worker.spawn_local(task);
    }

    /// Spawns several tasks onto this worker's own queue, which is cheaper than one by one. The
    /// last task runs first.
    pub fn spawn_local_batch(&mut self, tasks: impl IntoIterator<Item = T>) {
        self.worker.spawn_local_batch(tasks);
    }

    /// Spawns a task into the injector, behind all tasks there. Any worker may take it.
    pub fn spawn_global(&mut self, task: T) {
        self.worker.spawn_global(task);
    }

    /// Spawns a task that lets others go first. A long task calls this at its end, to continue
    /// later where it stopped.
    ///
    /// Tasks that are in the injector now go first. This worker takes the yielded task only after
    /// the tasks that are in its own queue now; another worker takes it only if it finds nothing to
    /// steal, or at its periodic check of the injector.
    pub fn spawn_yielded(&mut self, task: T) {
        self.worker.spawn_yielded(task);
    }

    /// Spawns a future onto this worker, beside the typed tasks. See
    /// [`super::ExecutorHandle::spawn_future`].
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

    /// Returns the id of this worker, from 0 to one less than the number of workers.
    pub fn worker_id(&self) -> usize {
        self.worker.id
    }

    /// Returns the worker's random number generator. With one worker and a fixed seed, its numbers
    /// are the same in every run.
    pub fn rng(&mut self) -> &mut XorShift64 {
        &mut self.worker.rng
    }

    /// Returns this worker's own metrics, without the running task. (Wake-ups that were sent are
    /// counted for the whole pool.)
    pub fn metrics(&self) -> MetricsSnapshot {
        let mut snapshot = MetricsSnapshot { threads: 1, ..MetricsSnapshot::default() };
        self.worker.metrics().add_to(&mut snapshot);
        snapshot
    }

    /// Returns `true` if the pool was cancelled, shut down or stopped by a panic. A long task
    /// should then end.
    pub fn is_cancelled(&self) -> bool {
        self.worker.shared.is_cancelled()
    }

    /// Returns a handle, through which other threads can spawn, and with which this task can wait
    /// ([`acquire_then`](crate::CountBudget::acquire_then),
    /// [`push_then`](crate::GatedQueue::push_then)).
    ///
    /// A [`crate::run`] accepts nothing from other threads. Its own tasks may spawn and wait
    /// through the handle.
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
