//! Context switches of a runtime's workers while the runtime has nothing to do.

use std::thread;
use std::time::Duration;

use super::super::idle::{TASKS_BEFORE, Watched, measure_watched};
use crate::report::Measurement;
use crate::runtimes::{
    ASYNC_EXECUTOR, AsyncExecutor, FutureRuntime, HEIST, Heist, STATIC_EXECUTOR,
    StaticAsyncExecutor, TOKIO, Tokio,
};

/// Time for all workers to start.
const SETTLE: Duration = Duration::from_millis(1);

/// Measures all runtimes.
///
/// # Errors
/// Fails if the system does not report the context switches of a thread.
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
