//! The end of a runtime that other threads hold.

use crate::executor::{ExecutorHandle, SpawnError};
use crate::future::JoinHandle;
use crate::metrics::MetricsSnapshot;
use std::convert::Infallible;
use std::future::Future;

/// Spawns futures from any thread. Cheap to clone; outlives its runtime without harm.
#[derive(Clone, Debug)]
pub struct RuntimeHandle {
    executor: ExecutorHandle<Infallible>,
}

impl RuntimeHandle {
    pub(super) fn new(executor: ExecutorHandle<Infallible>) -> Self {
        Self { executor }
    }

    /// Spawns a future. Refused by a runtime that is shut down, it is dropped, and the handle says so.
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        Self::joined(self.try_spawn(future))
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
        self.executor.spawn_future(future)
    }

    pub(super) fn joined<F>(
        spawned: Result<JoinHandle<F::Output>, SpawnError<F>>,
    ) -> JoinHandle<F::Output>
    where
        F: Future,
        F::Output: Send + 'static,
    {
        spawned.unwrap_or_else(|refused| JoinHandle::refused(refused.kind()))
    }

    /// Whether futures are still taken. The answer may be out of date by the time it is read.
    pub fn is_accepting(&self) -> bool {
        self.executor.is_accepting()
    }

    /// Takes no more futures and drops those that live. Does not wait.
    pub fn shutdown(&self) {
        self.executor.shutdown();
    }

    /// The runtime's metrics so far.
    pub fn metrics(&self) -> MetricsSnapshot {
        self.executor.metrics()
    }
}
