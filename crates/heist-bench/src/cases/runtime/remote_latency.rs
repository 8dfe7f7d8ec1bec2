//! How long a future that is spawned from outside waits for its first poll while all workers are busy.
//!
//! The workers are busy with futures that compute and spawn their like, so there is always something in their own
//! queues: how soon they look at what came from outside is a matter of their policy. (Yielding would not do, since a
//! runtime may look outside before it goes back to a future that yielded.)

use std::thread;
use std::time::Duration;

use super::super::pauses::Pauses;
use super::busy::Busy;
use crate::clock::now_ns;
use crate::measure::Series;
use crate::runtimes::{Experiment, FutureRuntime};
use crate::workload::compute;

/// For all workers to have got something to do.
const SETTLE: Duration = Duration::from_millis(2);

/// Microseconds from the spawn to the first poll: of half the cycles, and of nine in ten.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RemoteLatency {
    pub(crate) workers: usize,
    pub(crate) cycles: usize,
    /// How much a busy future computes in a poll.
    pub(crate) rounds_per_poll: u32,
}

impl Experiment for RemoteLatency {
    type Sample = [f64; 2];

    fn sample<R: FutureRuntime>(self, runtime: &R) -> [f64; 2] {
        let rounds = self.rounds_per_poll;
        let busy = Busy::spawning(runtime, 2 * self.workers, move || compute(rounds, rounds));
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
    use crate::runtimes::everybody;

    #[test]
    fn everybody_gets_round_to_what_comes_from_outside() {
        let experiment = RemoteLatency { workers: 2, cycles: 3, rounds_per_poll: 100 };
        for mut contender in everybody(2, experiment) {
            let [p50, p90] = contender.sample();
            assert!(0.0 < p50 && p50 <= p90, "{}: {p50} {p90}", contender.name());
        }
    }
}
