//! tokio's multi-thread runtime: `Runtime::spawn` from outside, `tokio::spawn` from inside.

use ::tokio::runtime::{Builder, Runtime};
use ::tokio::task::JoinHandle;

use super::{FutureRuntime, Spawn};

const ENDS_WELL: &str = "the futures neither panic nor are aborted";

pub(crate) struct Tokio(Runtime);

impl Tokio {
    pub(crate) fn start(workers: usize) -> Self {
        let runtime = Builder::new_multi_thread()
            .worker_threads(workers)
            .build()
            .expect("the system has threads for the benchmark");
        Self(runtime)
    }
}

impl Spawn for Tokio {
    type Handle<T: Send + 'static> = JoinHandle<T>;

    #[inline]
    fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
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
        drop(self.0.spawn(future));
    }

    #[inline]
    async fn join<T: Send + 'static>(handle: JoinHandle<T>) -> T {
        handle.await.expect(ENDS_WELL)
    }
}

impl FutureRuntime for Tokio {
    type Inside = OnTokio;

    fn inside(&self) -> OnTokio {
        OnTokio
    }

    #[inline]
    fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.0.block_on(future)
    }

    #[inline]
    fn yield_now() -> impl Future<Output = ()> + Send {
        ::tokio::task::yield_now()
    }
}

/// Spawns on the tokio runtime that the calling code runs on.
#[derive(Clone, Copy)]
pub(crate) struct OnTokio;

impl Spawn for OnTokio {
    type Handle<T: Send + 'static> = JoinHandle<T>;

    #[inline]
    fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        ::tokio::spawn(future)
    }

    #[inline]
    fn spawn_detached<F>(&self, future: F)
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        drop(::tokio::spawn(future));
    }

    #[inline]
    async fn join<T: Send + 'static>(handle: JoinHandle<T>) -> T {
        handle.await.expect(ENDS_WELL)
    }
}
