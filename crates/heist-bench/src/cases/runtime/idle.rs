//! What a runtime does while it has nothing to do: context switches of its workers.

use std::thread;
use std::time::Duration;

use super::super::idle::{TASKS_BEFORE, Watched, measure_watched};
use crate::report::Measurement;
use crate::runtimes::{
    ASYNC_EXECUTOR, AsyncExecutor, FutureRuntime, HEIST, Heist, STATIC_EXECUTOR,
    StaticAsyncExecutor, TOKIO, Tokio,
};

/// For all workers to be there.
const SETTLE: Duration = Duration::from_millis(1);

/// Fails where the system does not tell the switches of a thread.
pub(crate) fn measure(case: &str, workers: usize, windows: usize) -> Result<Measurement, String> {
    let watched = [
        Watched::start(HEIST, || used(Heist::start(workers)))?,
        Watched::start(TOKIO, || used(Tokio::start(workers)))?,
        Watched::start(ASYNC_EXECUTOR, || used(AsyncExecutor::start(workers)))?,
        Watched::start(STATIC_EXECUTOR, || used(StaticAsyncExecutor::start(workers)))?,
    ];
    measure_watched(case, &watched, windows)
}

fn used<R: FutureRuntime>(runtime: R) -> R {
    thread::sleep(SETTLE);
    let handles: Vec<_> = (0..TASKS_BEFORE).map(|_| runtime.spawn(async {})).collect();
    runtime.block_on(async {
        for handle in handles {
            R::join(handle).await;
        }
    });
    runtime
}
