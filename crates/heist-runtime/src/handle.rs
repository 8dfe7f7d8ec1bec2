//! The end of a runtime that other threads hold.

use super::blocking::{self, BlockingThreads};
use super::group::TaskGroup;
use heist::__internal::sync::Arc;
use heist::__internal::{self as internal, PoolId, is_large};
use heist::{ExecutorHandle, JoinHandle, MetricsSnapshot, SpawnError, TaskPanic};
use std::convert::Infallible;
use std::future::Future;

/// Spawns futures from any thread. Cheap to clone; outlives its runtime without harm.
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

    /// Which pool this is.
    pub(super) fn pool(&self) -> PoolId {
        internal::pool_of(&self.executor)
    }

    /// Spawns a future. Refused by a runtime that is shut down, it is dropped, and the handle says so.
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

    /// [`RuntimeHandle::spawn`] for a large one.
    pub(super) fn spawn_boxed<F>(&self, future: Box<F>) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        Self::joined(self.try_spawn_boxed(future))
    }

    /// Spawns a future.
    ///
    /// # Errors
    /// The runtime takes no more; the error says why and gives the future back.
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

    /// [`RuntimeHandle::try_spawn`] for a large one.
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

    /// Makes a call that blocks, on a thread for such calls: reading files, resolving names, computing for long. A
    /// worker would be held up by it.
    ///
    /// An idle thread is woken for it; without one, a new thread is started, unless there are
    /// [`max_blocking_threads`](super::RuntimeBuilder::max_blocking_threads) already. Then it waits its turn.
    ///
    /// The call counts as one of the runtime's futures: [`Runtime::join`](super::Runtime::join) waits for it, and its
    /// panic goes to the handle. [`JoinHandle::abort`] drops it if it has not begun; one that has begun goes on to its
    /// end, and its result is dropped. A runtime that is shut down drops those that wait. If the system refuses a
    /// thread and there is none, the handle says so ([`heist::JoinError::NoThread`]).
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

    /// [`RuntimeHandle::spawn_blocking`] for many calls: all of them or none are taken, under one lock, and no more
    /// threads are woken than are idle. At most one is started here; that one starts the next, as long as calls wait.
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
        blocking::spawn_all(&self.executor, &self.blocking, self, calls)
    }

    /// A group of futures that belong together. See [`TaskGroup`].
    pub fn group<T: Send + 'static>(&self) -> TaskGroup<T> {
        TaskGroup::new(self.clone())
    }

    /// Whether futures are still taken. The answer may be out of date by the time it is read.
    pub fn is_accepting(&self) -> bool {
        self.executor.is_accepting()
    }

    /// Takes no more futures and drops those that live, and the blocking calls that have not begun. Does not wait.
    pub fn shutdown(&self) {
        self.executor.shutdown();
    }

    /// Returns how many futures and blocking calls were accepted or spawned and have not ended: those that are queued,
    /// wait for something, or run.
    ///
    /// It is a snapshot of a changing number: exact while nothing begins or ends, otherwise off by no more than what
    /// begins or ends during the call. A call that has just told the caller of its result may still be counted. To wait
    /// for the end, use [`Runtime::join`](super::Runtime::join).
    pub fn in_flight(&self) -> u64 {
        self.executor.in_flight()
    }

    /// The runtime's metrics so far.
    pub fn metrics(&self) -> MetricsSnapshot {
        self.executor.metrics()
    }

    /// The panics of futures and blocking calls so far: all are counted in the metrics, the first 1,000 kept here.
    pub fn panics(&self) -> Vec<TaskPanic> {
        self.executor.panics()
    }
}
