//! `RuntimeHandle`: the part of a runtime that other threads hold.

use super::blocking::{self, BlockingThreads};
use super::group::TaskGroup;
use heist::__internal::sync::Arc;
use heist::__internal::{self as internal, PoolId, is_large};
use heist::{ExecutorHandle, JoinHandle, MetricsSnapshot, SpawnError, TaskPanic};
use std::convert::Infallible;
use std::future::Future;

/// Spawns futures and blocking calls from any thread. It is cheap to clone, and may outlive its
/// runtime.
#[derive(Clone, Debug)]
pub struct RuntimeHandle {
    executor: ExecutorHandle<Infallible>,
    blocking: Arc<BlockingThreads>,
}

impl RuntimeHandle {
    pub(super) fn new(
        executor: ExecutorHandle<Infallible>,
        blocking: Arc<BlockingThreads>,
    ) -> Self {
        Self { executor, blocking }
    }

    /// Returns the pool's id.
    pub(super) fn pool(&self) -> PoolId {
        internal::pool_of(&self.executor)
    }

    /// Spawns a future. If the runtime was shut down, it drops the future, and the handle returns
    /// [`JoinError::Refused`](heist::JoinError::Refused).
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        if const { is_large::<F>() } {
            return self.spawn_boxed(Box::new(future));
        }
        Self::joined(self.executor.spawn_future(future))
    }

    /// Does what [`RuntimeHandle::spawn`] does, for a large future.
    pub(super) fn spawn_boxed<F>(&self, future: Box<F>) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        Self::joined(self.try_spawn_boxed(future))
    }

    /// Spawns a future, or returns it in the error.
    ///
    /// # Errors
    /// Fails if the runtime accepts no more futures. The error says why, and contains the future.
    #[inline]
    pub fn try_spawn<F>(&self, future: F) -> Result<JoinHandle<F::Output>, SpawnError<F>>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        if const { is_large::<F>() } {
            return self.try_spawn_boxed(Box::new(future));
        }
        self.executor.spawn_future(future)
    }

    /// Does what [`RuntimeHandle::try_spawn`] does, for a large future.
    pub(super) fn try_spawn_boxed<F>(
        &self,
        future: Box<F>,
    ) -> Result<JoinHandle<F::Output>, SpawnError<F>>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        internal::spawn_boxed(&self.executor, future)
    }

    pub(super) fn joined<F>(
        spawned: Result<JoinHandle<F::Output>, SpawnError<F>>,
    ) -> JoinHandle<F::Output>
    where
        F: Future,
        F::Output: Send + 'static,
    {
        spawned.unwrap_or_else(|refused| internal::refused_handle(refused.kind()))
    }

    /// Runs a blocking call on a separate thread: reading files, resolving names, long
    /// computations. On a worker, it would block all other futures there.
    ///
    /// The runtime wakes an idle thread for the call, or starts a new one, up to
    /// [`max_blocking_threads`](super::RuntimeBuilder::max_blocking_threads). Beyond that, the call
    /// waits until a thread is free.
    ///
    /// The call counts as one of the runtime's futures: [`Runtime::join`](super::Runtime::join)
    /// waits for it, and the handle returns its panic. [`JoinHandle::abort`] drops a call that has
    /// not begun. A call that has begun runs to its end, and its result is dropped. Shutting the
    /// runtime down drops waiting calls. If the runtime has no thread for the call and the system
    /// refuses to start one, the handle returns [`heist::JoinError::NoThread`].
    ///
    /// # Examples
    ///
    /// ```
    /// let runtime = heist_runtime::Runtime::new()?;
    /// let manifest = runtime.spawn_blocking(|| std::fs::read_to_string("Cargo.toml"));
    /// assert!(runtime.block_on(manifest)??.contains("[package]"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn spawn_blocking<F, R>(&self, call: F) -> JoinHandle<R>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        blocking::spawn(&self.executor, &self.blocking, self, call)
    }

    /// Does what [`RuntimeHandle::spawn_blocking`] does, for many calls: the runtime accepts all of
    /// them or none, under one lock. This starts at most one new thread, which starts the next one
    /// as long as calls wait.
    ///
    /// # Examples
    ///
    /// ```
    /// let runtime = heist_runtime::Runtime::new()?;
    /// let sizes = runtime.spawn_blocking_batch(["Cargo.toml", "src/lib.rs"].map(|path| {
    ///     move || std::fs::metadata(path).map(|metadata| metadata.len())
    /// }));
    /// for size in sizes {
    ///     assert!(runtime.block_on(size)?? > 0);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn spawn_blocking_batch<F, R>(
        &self,
        calls: impl IntoIterator<Item = F>,
    ) -> Vec<JoinHandle<R>>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        let calls = calls.into_iter().collect();
        blocking::spawn_batch(&self.executor, &self.blocking, self, calls)
    }

    /// Creates a group of futures that end together. See [`TaskGroup`].
    pub fn group<T: Send + 'static>(&self) -> TaskGroup<T> {
        TaskGroup::new(self.clone())
    }

    /// Returns `true` if the runtime accepts futures. The answer may be out of date by the time the
    /// caller reads it.
    pub fn is_accepting(&self) -> bool {
        self.executor.is_accepting()
    }

    /// Stops the runtime: it accepts no more futures, and drops its futures and the blocking calls
    /// that have not begun. Does not wait.
    pub fn shutdown(&self) {
        self.executor.shutdown();
    }

    /// Returns how many futures and blocking calls were accepted and have not ended: they are
    /// queued, wait for something, or run.
    ///
    /// This is a snapshot of a changing number: exact while nothing begins or ends, otherwise off
    /// by at most what begins or ends during the call. A call whose result has just arrived may
    /// still be counted. To wait for the end, use [`Runtime::join`](super::Runtime::join).
    pub fn in_flight(&self) -> u64 {
        self.executor.in_flight()
    }

    /// Returns the runtime's metrics so far.
    pub fn metrics(&self) -> MetricsSnapshot {
        self.executor.metrics()
    }

    /// Returns the first 1,000 panics of futures and blocking calls. The metrics count all of them.
    pub fn panics(&self) -> Vec<TaskPanic> {
        self.executor.panics()
    }
}
