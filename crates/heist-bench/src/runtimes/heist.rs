//! heist's runtime: `Runtime::spawn` from outside, `heist_runtime::spawn` from inside.

use ::heist::JoinHandle;
use heist_runtime::{Runtime, RuntimeBuilder};

use super::{FutureRuntime, Spawn};

const ENDS_WELL: &str = "the futures neither panic nor are aborted";

pub(crate) struct Heist(Runtime);

impl Heist {
    pub(crate) fn start(workers: usize) -> Self {
        Self::configured(workers, |builder| builder)
    }

    /// Creates a runtime whose workers cannot take from each other's LIFO slots.
    pub(crate) fn slots_kept(workers: usize) -> Self {
        Self::configured(workers, |builder| builder.lifo_stealing(false))
    }

    /// Creates a runtime whose workers check the injector at a fixed interval, the one that tokio
    /// had before it made its own adaptive.
    pub(crate) fn fixed_interval(workers: usize) -> Self {
        Self::configured(workers, |builder| builder.injector_interval(Some(61)))
    }

    fn configured(
        workers: usize,
        configure: impl FnOnce(RuntimeBuilder) -> RuntimeBuilder,
    ) -> Self {
        let runtime = configure(Runtime::builder().threads(workers))
            .build()
            .expect("a valid configuration, and the system has threads for the benchmark");
        Self(runtime)
    }
}

impl Spawn for Heist {
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

impl FutureRuntime for Heist {
    type Inside = OnHeist;

    fn inside(&self) -> OnHeist {
        OnHeist
    }

    #[inline]
    fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.0.block_on(future)
    }

    #[inline]
    fn yield_now() -> impl Future<Output = ()> + Send {
        ::heist::yield_now()
    }
}

/// Spawns on the heist runtime that the calling code runs on.
#[derive(Clone, Copy)]
pub(crate) struct OnHeist;

impl Spawn for OnHeist {
    type Handle<T: Send + 'static> = JoinHandle<T>;

    #[inline]
    fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        heist_runtime::spawn(future)
    }

    #[inline]
    fn spawn_detached<F>(&self, future: F)
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        drop(heist_runtime::spawn(future));
    }

    #[inline]
    async fn join<T: Send + 'static>(handle: JoinHandle<T>) -> T {
        handle.await.expect(ENDS_WELL)
    }
}
