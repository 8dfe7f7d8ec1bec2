//! Runtimes for futures: heist's, and those that its users would otherwise choose.
//!
//! Each is used as its own documentation recommends, with its defaults, the same number of workers,
//! and without timers and I/O (the HTTP servers, which need I/O, start their runtimes themselves).
//! An [`Experiment`] is written once and compiled for each runtime. A runtime starts before its
//! first sample and lives for all samples of a case. It is idle while others are sampled, and all
//! of these runtimes sleep when idle.

mod async_executor;
mod heist;
mod tokio;

use std::cell::LazyCell;

pub(crate) use self::async_executor::{AsyncExecutor, StaticAsyncExecutor};
pub(crate) use self::heist::Heist;
pub(crate) use self::tokio::Tokio;

use crate::contender::Contender;

/// The names in the table: heist, its peers, and heist with other settings.
pub(crate) const HEIST: &str = "heist";
pub(crate) const TOKIO: &str = "tokio";
pub(crate) const ASYNC_EXECUTOR: &str = "async-executor";
pub(crate) const STATIC_EXECUTOR: &str = "async-executor static";
pub(crate) const SLOTS_KEPT: &str = "heist, slots not stolen";
pub(crate) const FIXED_INTERVAL: &str = "heist, interval 61";

/// Spawns futures, on a runtime as seen from outside or by a future that runs on it.
pub(crate) trait Spawn {
    /// Waits for a spawned future; see [`Spawn::join`].
    type Handle<T: Send + 'static>: Send + 'static;

    fn spawn<F>(&self, future: F) -> Self::Handle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static;

    /// Spawns a future that runs to its end although no handle waits for it.
    fn spawn_detached<F>(&self, future: F)
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static;

    /// Returns the output of a spawned future.
    fn join<T: Send + 'static>(handle: Self::Handle<T>) -> impl Future<Output = T> + Send;
}

/// A runtime whose threads are running. Dropping it ends them.
pub(crate) trait FutureRuntime: Spawn + 'static {
    /// How a future that runs here spawns others.
    type Inside: Spawn + Copy + Send + Sync + 'static;

    /// Returns the spawner for futures that run here, and for code within `block_on`.
    fn inside(&self) -> Self::Inside;

    /// Runs a future on the calling thread, which is not a worker.
    fn block_on<F: Future>(&self, future: F) -> F::Output;

    /// Lets other futures run first.
    fn yield_now() -> impl Future<Output = ()> + Send;
}

/// Something that can be measured on every runtime.
pub(crate) trait Experiment: Copy + 'static {
    type Sample;

    /// Takes one sample and leaves the runtime idle.
    fn sample<R: FutureRuntime>(self, runtime: &R) -> Self::Sample;
}

/// Returns a contender whose runtime starts when it is first sampled.
pub(crate) fn contender<R: FutureRuntime, E: Experiment>(
    name: &'static str,
    start: impl FnOnce() -> R + 'static,
    experiment: E,
) -> Contender<E::Sample> {
    let runtime = LazyCell::new(start);
    Contender::new(name, move || experiment.sample(&*runtime))
}

/// Returns heist, then its peers.
pub(crate) fn all_runtimes<E: Experiment>(
    workers: usize,
    experiment: E,
) -> Vec<Contender<E::Sample>> {
    let mut all = vec![contender(HEIST, move || Heist::start(workers), experiment)];
    all.extend(peers(workers, experiment));
    all
}

/// Returns all runtimes except heist.
pub(crate) fn peers<E: Experiment>(workers: usize, experiment: E) -> Vec<Contender<E::Sample>> {
    vec![
        contender(TOKIO, move || Tokio::start(workers), experiment),
        contender(ASYNC_EXECUTOR, move || AsyncExecutor::start(workers), experiment),
        contender(STATIC_EXECUTOR, move || StaticAsyncExecutor::start(workers), experiment),
    ]
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Uses every operation of the traits once.
    #[derive(Clone, Copy)]
    struct EveryOperation;

    impl Experiment for EveryOperation {
        type Sample = usize;

        fn sample<R: FutureRuntime>(self, runtime: &R) -> usize {
            let ran = Arc::new(AtomicUsize::new(0));
            let (inside, counter) = (runtime.inside(), Arc::clone(&ran));
            let handle = runtime.spawn(async move {
                for _ in 0..10 {
                    R::yield_now().await;
                }
                inside.spawn_detached({
                    let counter = Arc::clone(&counter);
                    async move {
                        counter.fetch_add(1, Ordering::Relaxed);
                    }
                });
                let child = inside.spawn(async move { counter.fetch_add(1, Ordering::Relaxed) });
                R::Inside::join(child).await;
                20
            });
            let joined = runtime.block_on(async { R::join(handle).await });
            // The detached future drops the last clone, however late it runs.
            while Arc::strong_count(&ran) > 1 {
                std::thread::yield_now();
            }
            joined + ran.load(Ordering::Relaxed)
        }
    }

    #[test]
    fn every_runtime_spawns_joins_and_yields() {
        for mut contender in all_runtimes(2, EveryOperation) {
            // Twice, because a runtime is kept between samples.
            assert_eq!(contender.sample(), 22, "{}", contender.name());
            assert_eq!(contender.sample(), 22, "{}", contender.name());
        }
    }
}
