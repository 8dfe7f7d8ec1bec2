//! `Runtime`: the owner of the worker threads.

use super::block_on::block_on;
use super::builder::RuntimeBuilder;
use super::current;
use super::handle::RuntimeHandle;
use crate::executor::{Executor, ExecutorBuilder, StartError};
use crate::future::JoinHandle;
use crate::metrics::MetricsSnapshot;
use crate::trace::Tracer;
use std::convert::Infallible;
use std::future::Future;

/// A pool of worker threads that poll futures.
///
/// Dropping it shuts it down: futures that live are dropped, and it waits for the polls that are under way. To have
/// everything run to the end, [`Runtime::join`] it.
///
/// ```
/// let runtime = heist::Runtime::new()?;
/// let squares: Vec<_> = (0..10_u64).map(|n| runtime.spawn(async move { n * n })).collect();
/// let sum = runtime.block_on(async {
///     let mut sum = 0;
///     for square in squares {
///         sum += square.await?;
///     }
///     Ok::<_, heist::JoinError>(sum)
/// })?;
/// assert_eq!(sum, 285);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Runtime {
    executor: Executor<Infallible>,
    handle: RuntimeHandle,
}

impl Runtime {
    /// Starts a runtime with a worker for each CPU that this process may use.
    ///
    /// # Errors
    /// The system refuses a thread.
    pub fn new() -> Result<Self, StartError> {
        Self::builder().build()
    }

    /// A builder, to set up more than that.
    pub fn builder() -> RuntimeBuilder {
        RuntimeBuilder::new()
    }

    pub(super) fn start(executor: ExecutorBuilder<impl Tracer>) -> Result<Self, StartError> {
        let executor = executor.build_for_futures(|executor| {
            // The workers' scratch: what tells the code on them where it is.
            current::enter(RuntimeHandle::new(executor.clone()))
        })?;
        let handle = RuntimeHandle::new(executor.handle());
        Ok(Self { executor, handle })
    }

    /// Spawns a future onto the workers. See [`RuntimeHandle::spawn`].
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.handle.spawn(future)
    }

    /// Polls a future on the calling thread until it completes. What it spawns by [`super::spawn`] goes to the workers.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        let _current = current::enter(self.handle.clone());
        block_on(future)
    }

    /// A handle for other threads.
    pub fn handle(&self) -> RuntimeHandle {
        self.handle.clone()
    }

    /// The runtime's metrics so far.
    pub fn metrics(&self) -> MetricsSnapshot {
        self.handle.metrics()
    }

    /// Takes no more futures, waits until every one has ended and every thread is gone, and returns the final metrics.
    /// (A future that waits for something that never comes is waited for, too.)
    pub fn join(self) -> MetricsSnapshot {
        self.executor.join()
    }
}
