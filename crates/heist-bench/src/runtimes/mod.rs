//! Runtimes for futures: heist's, and those that its users would take otherwise.
//!
//! Each is driven the way its own documentation recommends, with its defaults and as many workers as the others, and
//! without using timers and I/O (the HTTP servers, which do, are started elsewhere). An [`Experiment`] is written once
//! and compiled for each of them. A runtime is started before its first sample and kept for all samples of a case:
//! while others have their turn it is idle, and all of these sleep when they are.

mod async_executor;
mod heist;
mod tokio;

use std::cell::LazyCell;

pub(crate) use self::async_executor::{AsyncExecutor, StaticAsyncExecutor};
pub(crate) use self::heist::Heist;
pub(crate) use self::tokio::Tokio;

use crate::contender::Contender;

/// The names in the table: heist, its peers, and heist with other settings than the defaults.
pub(crate) const HEIST: &str = "heist";
pub(crate) const TOKIO: &str = "tokio";
pub(crate) const ASYNC_EXECUTOR: &str = "async-executor";
pub(crate) const STATIC_EXECUTOR: &str = "async-executor static";
pub(crate) const SLOTS_KEPT: &str = "heist, slots not stolen";
pub(crate) const FIXED_INTERVAL: &str = "heist, interval 61";

/// Where futures can be spawned: a runtime as seen from outside, or by a future that runs on it.
pub(crate) trait Spawn {
    /// To wait for a future by.
    type Handle<T: Send + 'static>: Send + 'static;

    fn spawn<F>(&self, future: F) -> Self::Handle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static;

    /// Spawns a future that nobody waits for, and that runs nevertheless.
    fn spawn_detached<F>(&self, future: F)
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static;

    /// The output of a future that was spawned.
    fn join<T: Send + 'static>(handle: Self::Handle<T>) -> impl Future<Output = T> + Send;
}

/// A runtime with its threads running. Dropping it ends them.
pub(crate) trait FutureRuntime: Spawn + 'static {
    /// What a future that runs here spawns by.
    type Inside: Spawn + Copy + Send + Sync + 'static;

    /// To be used by futures that run here, and within `block_on`.
    fn inside(&self) -> Self::Inside;

    /// Runs a future on the calling thread, which is no worker.
    fn block_on<F: Future>(&self, future: F) -> F::Output;

    /// Lets others run first.
    fn yield_now() -> impl Future<Output = ()> + Send;
}

/// Something that can be measured of every runtime.
pub(crate) trait Experiment: Copy + 'static {
    type Sample;

    /// Leaves the runtime idle.
    fn sample<R: FutureRuntime>(self, runtime: &R) -> Self::Sample;
}

/// One runtime, which starts when it is first sampled.
pub(crate) fn contender<R: FutureRuntime, E: Experiment>(
    name: &'static str,
    start: impl FnOnce() -> R + 'static,
    experiment: E,
) -> Contender<E::Sample> {
    let runtime = LazyCell::new(start);
    Contender::new(name, move || experiment.sample(&*runtime))
}

/// heist first, then its peers.
pub(crate) fn everybody<E: Experiment>(workers: usize, experiment: E) -> Vec<Contender<E::Sample>> {
    let mut all = vec![contender(HEIST, move || Heist::start(workers), experiment)];
    all.extend(peers(workers, experiment));
    all
}

/// Everybody but heist.
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

    /// Everything that the trait has, once.
    #[derive(Clone, Copy)]
    struct Everything;

    impl Experiment for Everything {
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
            // The detached one drops the last clone, however late it runs.
            while Arc::strong_count(&ran) > 1 {
                std::thread::yield_now();
            }
            joined + ran.load(Ordering::Relaxed)
        }
    }

    #[test]
    fn everybody_spawns_joins_and_yields() {
        for mut contender in everybody(2, Everything) {
            // Twice: a runtime is kept.
            assert_eq!(contender.sample(), 22, "{}", contender.name());
            assert_eq!(contender.sample(), 22, "{}", contender.name());
        }
    }
}
