//! `Runtime`: the owner of the workers and of the threads for blocking calls.

use super::block_on::block_on_small;
use super::blocking::{AttachedThreads, BlockingConfig, BlockingOwner, BlockingThreads};
use super::builder::RuntimeBuilder;
use super::current;
use super::error::{RuntimeJoinTimeout, ShutdownTimeout};
use super::handle::RuntimeHandle;
use heist::__internal::sync::{Arc, Clock};
use heist::__internal::{self as internal, is_large, worker_id};
use heist::trace::Tracer;
use heist::{Executor, ExecutorBuilder, JoinHandle, MetricsSnapshot, StartError, TaskPanic};
use std::convert::Infallible;
use std::future::Future;
use std::time::Duration;

/// A pool of worker threads that poll futures, with threads for blocking calls.
///
/// Dropping the runtime shuts it down: it drops its futures and the calls that have not begun, and
/// waits for the polls and calls that are running. (On one of its own threads, it does not wait.)
/// To run everything to the end, call [`Runtime::join`]. [`Runtime::shutdown_timeout`] and
/// [`Runtime::join_timeout`] limit the time.
///
/// # Examples
///
/// ```
/// let runtime = heist_runtime::Runtime::new()?;
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
    // Fields are dropped in this order: blocking calls end before the workers, and their threads
    // after the workers.
    executor: Executor<Infallible>,
    blocking: BlockingOwner,
    handle: RuntimeHandle,
}

impl Runtime {
    /// Starts a runtime with one worker for each CPU that this process may use.
    ///
    /// # Errors
    /// Fails if the system refuses a thread, or the descriptors for timers and sockets; see
    /// [`RuntimeBuilder::build`].
    pub fn new() -> Result<Self, StartError> {
        Self::builder().build()
    }

    /// Returns a builder with the default settings.
    pub fn builder() -> RuntimeBuilder {
        RuntimeBuilder::new()
    }

    pub(super) fn start(
        executor: ExecutorBuilder<Infallible, impl Tracer>,
        blocking: BlockingConfig,
    ) -> Result<Self, StartError> {
        let (threads, all_ended) = BlockingThreads::new(blocking);
        let attached = Box::new(AttachedThreads(Arc::clone(&threads)));
        let of_workers = Arc::clone(&threads);
        let executor = internal::build_for_futures(executor, attached, move |executor| {
            // The workers' scratch makes this runtime the current one on their threads.
            current::enter(RuntimeHandle::new(executor.clone(), Arc::clone(&of_workers)))
        })?;
        let handle = RuntimeHandle::new(executor.handle(), Arc::clone(&threads));
        let blocking = BlockingOwner::new(threads, all_ended, handle.pool());
        Ok(Self { executor, blocking, handle })
    }

    /// Spawns a future onto the workers. See [`RuntimeHandle::spawn`].
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        if const { is_large::<F>() } {
            return self.handle.spawn_boxed(Box::new(future));
        }
        self.handle.spawn(future)
    }

    /// Runs a blocking call on a separate thread. See [`RuntimeHandle::spawn_blocking`].
    pub fn spawn_blocking<F, R>(&self, call: F) -> JoinHandle<R>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        self.handle.spawn_blocking(call)
    }

    /// Runs many blocking calls for the cost of one hand-over. See
    /// [`RuntimeHandle::spawn_blocking_batch`].
    pub fn spawn_blocking_batch<F, R>(
        &self,
        calls: impl IntoIterator<Item = F>,
    ) -> Vec<JoinHandle<R>>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        self.handle.spawn_blocking_batch(calls)
    }

    /// Polls a future on the calling thread until it completes. Futures that it spawns with
    /// [`super::spawn`] run on the workers.
    ///
    /// # Panics
    /// Panics on one of this runtime's own workers: it would block the worker that may have to
    /// complete what the future waits for. Await the future instead, or spawn it.
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        assert!(
            !worker_id::is_worker_of(self.handle.pool()),
            "Runtime::block_on was called on one of the runtime's own workers, which it would block, \
             perhaps forever; await the future, spawn it, or call this inside `spawn_blocking`"
        );
        let _current = current::enter(self.handle.clone());
        if const { is_large::<F>() } {
            block_on_small(Box::pin(future))
        } else {
            block_on_small(future)
        }
    }

    /// Returns a handle for other threads.
    pub fn handle(&self) -> RuntimeHandle {
        self.handle.clone()
    }

    /// Returns how many futures and blocking calls have not ended. See
    /// [`RuntimeHandle::in_flight`].
    pub fn in_flight(&self) -> u64 {
        self.handle.in_flight()
    }

    /// Returns the runtime's metrics so far.
    pub fn metrics(&self) -> MetricsSnapshot {
        self.handle.metrics()
    }

    /// Returns the panics of futures and blocking calls so far. See [`RuntimeHandle::panics`].
    pub fn panics(&self) -> Vec<TaskPanic> {
        self.handle.panics()
    }

    /// Accepts no more futures and calls from outside, waits until all of them and every thread
    /// have ended, and returns the final metrics. (If a future never ends, this waits forever.)
    ///
    /// One of the runtime's own threads cannot wait for itself. There, `join` closes the runtime,
    /// lets it finish on its own, and returns the metrics so far.
    pub fn join(self) -> MetricsSnapshot {
        let Self { executor, blocking, handle } = self;
        executor.join();
        drop(blocking);
        handle.metrics()
    }

    /// Like [`Runtime::join`], but waits for at most `timeout`.
    ///
    /// # Errors
    /// Fails if something did not end in time. The error contains the runtime, which accepts
    /// nothing more. One of the runtime's own threads cannot wait for itself, so there this fails
    /// at once.
    pub fn join_timeout(self, timeout: Duration) -> Result<MetricsSnapshot, RuntimeJoinTimeout> {
        internal::close(&self.executor);
        if self.wait_timeout(timeout) {
            Ok(self.join())
        } else {
            Err(RuntimeJoinTimeout::new(self))
        }
    }

    /// Accepts no more futures and calls, drops its futures and the calls that have not begun, and
    /// waits for at most `timeout` for the polls and blocking calls that are running.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let runtime = heist_runtime::Runtime::new()?;
    /// let (begun, has_begun) = std::sync::mpsc::channel();
    /// runtime.spawn_blocking(move || {
    ///     begun.send(()).unwrap();
    ///     std::thread::sleep(Duration::from_secs(1));
    /// });
    /// has_begun.recv()?;
    /// let left_behind = runtime.shutdown_timeout(Duration::from_millis(10)).unwrap_err();
    /// assert_eq!(left_behind.blocking_calls(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Fails if polls or blocking calls still run, because nothing can interrupt them. The error
    /// says how many. Their threads are left behind, and end when the polls and calls do, if the
    /// process lives that long. On one of the runtime's own threads, this fails at once.
    pub fn shutdown_timeout(self, timeout: Duration) -> Result<MetricsSnapshot, ShutdownTimeout> {
        self.executor.shutdown();
        if self.wait_timeout(timeout) {
            return Ok(self.join());
        }
        let metrics = self.metrics();
        internal::leave_behind(self.executor);
        self.blocking.leave_behind();
        let calls = metrics.blocking_threads.saturating_sub(metrics.blocking_threads_idle);
        Err(ShutdownTimeout::new(calls, metrics.futures_live().saturating_sub(calls)))
    }

    /// Waits for the threads for at most `timeout`, and returns whether they have ended. One of the
    /// runtime's own threads does not wait.
    fn wait_timeout(&self, timeout: Duration) -> bool {
        let clock = Clock::start();
        let began_ns = clock.now_ns();
        internal::wait_timeout(&self.executor, timeout) && {
            let waited = Duration::from_nanos(clock.now_ns() - began_ns);
            self.blocking.wait_timeout(timeout.saturating_sub(waited))
        }
    }
}
