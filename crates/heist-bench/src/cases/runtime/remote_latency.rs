//! How long a future that is spawned from outside waits for its first poll while all workers are
//! busy.
//!
//! The workers run futures that compute and spawn copies of themselves, so their own queues are
//! never empty, and how soon a worker checks the injector depends on the runtime's policy. (Futures
//! that yield would not do: a runtime may check for outside work before it returns to a future that
//! yielded.)

use std::thread;
use std::time::Duration;

use super::super::pauses::Pauses;
use super::busy::BusyFutures;
use crate::clock::now_ns;
use crate::measure::Series;
use crate::runtimes::{Experiment, FutureRuntime};
use crate::workload::compute;

/// Time for every worker to get work.
const SETTLE: Duration = Duration::from_millis(2);

/// Measures microseconds from the spawn to the first poll: the median and the 90th percentile.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RemoteLatency {
    pub(crate) workers: usize,
    pub(crate) cycles: usize,
    /// How much a busy future computes in one poll.
    pub(crate) rounds_per_poll: u32,
}

impl Experiment for RemoteLatency {
    type Sample = [f64; 2];

    fn sample<R: FutureRuntime>(self, runtime: &R) -> [f64; 2] {
        let rounds = self.rounds_per_poll;
        let busy =
            BusyFutures::spawning(runtime, 2 * self.workers, move || compute(rounds, rounds));
        thread::sleep(SETTLE);
        let mut pauses = Pauses::new();
        let latencies_us = Series::new((0..self.cycles).map(|_| {
            thread::sleep(pauses.next());
            let spawned_ns = now_ns();
            let handle = runtime.spawn(async { now_ns() });
            let polled_ns = runtime.block_on(R::join(handle));
            (polled_ns - spawned_ns) as f64 / 1e3
        }));
        busy.stop();
        [latencies_us.quantile(0.50), latencies_us.quantile(0.90)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtimes::all_runtimes;

    #[test]
    fn every_runtime_polls_futures_from_outside() {
        let experiment = RemoteLatency { workers: 2, cycles: 3, rounds_per_poll: 100 };
        for mut contender in all_runtimes(2, experiment) {
            let [p50, p90] = contender.sample();
            assert!(0.0 < p50 && p50 <= p90, "{}: {p50} {p90}", contender.name());
        }
    }
}
