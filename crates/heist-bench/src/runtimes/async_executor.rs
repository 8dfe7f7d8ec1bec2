//! async-executor, run by our own threads, as its documentation suggests.
//!
//! It has two executors. `Executor` keeps a list of its tasks so that dropping it drops them, as
//! heist and tokio do. `StaticExecutor` keeps no list and can never be dropped, which makes
//! spawning cheaper. Both live for the rest of the process here, as in a `static`, because a plain
//! reference is the cheapest way for futures to spawn others; only the threads end. This leaks a
//! few hundred bytes per case.

use std::thread::{self, JoinHandle};

use ::async_executor::{Executor, StaticExecutor, Task};
use ::tokio::sync::oneshot;
use futures_lite::future;

use super::{FutureRuntime, Spawn};

/// An executor that a thread can run until it is stopped.
pub(crate) trait Run: Copy + Send + Sync + 'static {
    fn run(self, until: oneshot::Receiver<()>);

    fn spawn<F>(self, future: F) -> Task<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static;
}

impl Run for &'static Executor<'static> {
    fn run(self, until: oneshot::Receiver<()>) {
        // An error means that the sender was dropped, which is how a thread is stopped.
        let _ = future::block_on(Executor::run(self, until));
    }

    #[inline]
    fn spawn<F>(self, future: F) -> Task<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        Executor::spawn(self, future)
    }
}

impl Run for &'static StaticExecutor {
    fn run(self, until: oneshot::Receiver<()>) {
        let _ = future::block_on(StaticExecutor::run(self, until));
    }

    #[inline]
    fn spawn<F>(self, future: F) -> Task<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        StaticExecutor::spawn(self, future)
    }
}

/// A future's view of its executor.
#[derive(Clone, Copy)]
pub(crate) struct OnAsyncExecutor<X>(X);

impl<X: Run> Spawn for OnAsyncExecutor<X> {
    type Handle<T: Send + 'static> = Task<T>;

    #[inline]
    fn spawn<F>(&self, future: F) -> Task<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.0.spawn(future)
    }

    #[inline]
    fn spawn_detached<F>(&self, future: F)
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        // Dropping the task would cancel it.
        self.0.spawn(future).detach();
    }

    #[inline]
    fn join<T: Send + 'static>(handle: Task<T>) -> impl Future<Output = T> + Send {
        handle
    }
}

/// An executor and the threads that run it.
pub(crate) struct ExecutorThreads<X> {
    executor: OnAsyncExecutor<X>,
    /// Each thread with the sender that stops it when dropped. One channel per thread makes a poll
    /// cheaper than one event for all, whose waiters share a lock.
    threads: Vec<(oneshot::Sender<()>, JoinHandle<()>)>,
}

pub(crate) type AsyncExecutor = ExecutorThreads<&'static Executor<'static>>;
pub(crate) type StaticAsyncExecutor = ExecutorThreads<&'static StaticExecutor>;

impl AsyncExecutor {
    pub(crate) fn start(workers: usize) -> Self {
        Self::run(Box::leak(Box::new(Executor::new())), workers)
    }
}

impl StaticAsyncExecutor {
    pub(crate) fn start(workers: usize) -> Self {
        Self::run(Executor::new().leak(), workers)
    }
}

impl<X: Run> ExecutorThreads<X> {
    fn run(executor: X, workers: usize) -> Self {
        let threads = (0..workers)
            .map(|_| {
                let (stop, stopped) = oneshot::channel();
                (stop, thread::spawn(move || executor.run(stopped)))
            })
            .collect();
        Self { executor: OnAsyncExecutor(executor), threads }
    }
}

impl<X> Drop for ExecutorThreads<X> {
    fn drop(&mut self) {
        let (stops, threads): (Vec<_>, Vec<_>) = self.threads.drain(..).unzip();
        drop(stops);
        for thread in threads {
            let _ = thread.join();
        }
    }
}

impl<X: Run> Spawn for ExecutorThreads<X> {
    type Handle<T: Send + 'static> = Task<T>;

    #[inline]
    fn spawn<F>(&self, future: F) -> Task<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.executor.spawn(future)
    }

    #[inline]
    fn spawn_detached<F>(&self, future: F)
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.executor.spawn_detached(future);
    }

    #[inline]
    fn join<T: Send + 'static>(handle: Task<T>) -> impl Future<Output = T> + Send {
        handle
    }
}

impl<X: Run> FutureRuntime for ExecutorThreads<X> {
    type Inside = OnAsyncExecutor<X>;

    fn inside(&self) -> Self::Inside {
        self.executor
    }

    /// Does not run the executor meanwhile: that would be one worker more than the others have.
    #[inline]
    fn block_on<F: Future>(&self, future: F) -> F::Output {
        future::block_on(future)
    }

    #[inline]
    fn yield_now() -> impl Future<Output = ()> + Send {
        future::yield_now()
    }
}
