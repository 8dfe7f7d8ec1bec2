//! Futures that keep a runtime busy until they are stopped.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::runtimes::{FutureRuntime, Spawn};

/// What a busy future does between two checks of whether to continue.
pub(super) trait Work: Fn() + Copy + Send + Sync + 'static {}

impl<W: Fn() + Copy + Send + Sync + 'static> Work for W {}

/// The busy futures of a runtime. They run until [`BusyFutures::stop`] is called.
#[must_use]
pub(super) struct BusyFutures {
    /// Each future holds a clone, so the count tells when the last one has ended.
    go_on: Arc<AtomicBool>,
}

impl BusyFutures {
    /// Spawns futures that repeatedly work and yield.
    pub(super) fn yielding<R: FutureRuntime>(runtime: &R, futures: usize, work: impl Work) -> Self {
        Self::start(futures, |go_on| {
            runtime.spawn_detached(async move {
                while go_on.load(Ordering::Relaxed) {
                    R::yield_now().await;
                    work();
                }
            });
        })
    }

    /// Spawns futures that work and then spawn a copy of themselves.
    pub(super) fn spawning<R: FutureRuntime>(runtime: &R, futures: usize, work: impl Work) -> Self {
        let inside = runtime.inside();
        Self::start(futures, |go_on| {
            runtime.spawn_detached(async move { spawn_worker(inside, go_on, work) });
        })
    }

    fn start(futures: usize, spawn: impl Fn(Arc<AtomicBool>)) -> Self {
        let go_on = Arc::new(AtomicBool::new(true));
        for _ in 0..futures {
            spawn(Arc::clone(&go_on));
        }
        Self { go_on }
    }

    /// Stops the futures and returns when the last of them has ended.
    pub(super) fn stop(self) {
        self.go_on.store(false, Ordering::Relaxed);
        while Arc::strong_count(&self.go_on) > 1 {
            thread::sleep(Duration::from_micros(100));
        }
    }
}

fn spawn_worker<S>(inside: S, go_on: Arc<AtomicBool>, work: impl Work)
where
    S: Spawn + Copy + Send + Sync + 'static,
{
    inside.spawn_detached(async move {
        if go_on.load(Ordering::Relaxed) {
            work();
            spawn_worker(inside, go_on, work);
        }
    });
}
