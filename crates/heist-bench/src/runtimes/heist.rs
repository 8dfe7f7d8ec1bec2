//! heist's runtime: `Runtime::spawn` from outside, `heist_runtime::spawn` from inside.

use ::heist::JoinHandle;
use heist_runtime::{Runtime, RuntimeBuilder};

use super::{FutureRuntime, Spawn};

const ENDS_WELL: &str = "the futures do not panic and nobody aborts them";

pub(crate) struct Heist(Runtime);

impl Heist {
    pub(crate) fn start(workers: usize) -> Self {
        Self::configured(workers, |builder| builder)
    }

    /// Nobody else can take what a worker has in its LIFO slot.
    pub(crate) fn slots_kept(workers: usize) -> Self {
        Self::configured(workers, |builder| builder.lifo_stealing(false))
    }

    /// The interval at which a worker looks at what came from outside is fixed. It is what tokio had before it adapted
    /// its own.
    pub(crate) fn fixed_interval(workers: usize) -> Self {
        Self::configured(workers, |builder| builder.injector_interval(Some(61)))
    }

    fn configured(
        workers: usize,
        configure: impl FnOnce(RuntimeBuilder) -> RuntimeBuilder,
    ) -> Self {
        let runtime = configure(Runtime::builder().workers(workers))
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

/// Code that runs on a runtime of heist, whichever that is.
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
