//! The time from a wake-up by a thread outside the runtime until the future is polled, on an idle
//! runtime.
//!
//! In each cycle the measuring thread sleeps until the runtime is idle, reads the clock, wakes the
//! future and parks. The future reads the clock when its poll begins, and only then unparks the
//! thread. So the measuring thread never competes with the woken worker for a CPU, and its own
//! wake-up is not part of the latency.

use std::sync::Arc;
use std::thread;

use super::super::pauses::Pauses;
use super::waiter::{Waiter, WakeBell};
use crate::clock::process_cpu_time;
use crate::contender::{Sampling, measure_rows};
use crate::measure::Series;
use crate::ratio::Unit;
use crate::report::Measurement;
use crate::runtimes::{Experiment, FutureRuntime, all_runtimes};

/// Unrecorded cycles at the start of a sample.
const WARM_UP: usize = 4;

/// Measures the median and the 90th percentile of the latency in microseconds, and CPU time per
/// cycle.
#[derive(Clone, Copy, Debug)]
struct Wake {
    cycles: usize,
}

pub(crate) fn measure(
    workers: usize,
    sampling: &Sampling,
    cycles_per_run: usize,
) -> Vec<Measurement> {
    let row = |quantity: &str| (format!("wake_{quantity}-{workers}"), Unit::Microseconds);
    let experiment = Wake { cycles: cycles_per_run };
    measure_rows(["p50", "p90", "cpu"].map(row), sampling, all_runtimes(workers, experiment))
}

impl Experiment for Wake {
    type Sample = [f64; 3];

    fn sample<R: FutureRuntime>(self, runtime: &R) -> [f64; 3] {
        let bell = WakeBell::new();
        let waiter = Waiter { bell: Arc::clone(&bell), answers_left: WARM_UP + self.cycles };
        let waiter = runtime.spawn(waiter);
        let mut pauses = Pauses::new();
        let mut cycle = || {
            thread::sleep(pauses.next());
            bell.wait_for_waiter();
            let rung_ns = bell.ring();
            (bell.wait_for_answer() - rung_ns) as f64 / 1e3
        };
        for _ in 0..WARM_UP {
            cycle();
        }
        let cpu_before = process_cpu_time();
        let latencies_us = Series::new((0..self.cycles).map(|_| cycle()));
        let cpu_spent = process_cpu_time() - cpu_before;
        runtime.block_on(R::join(waiter));
        let cpu_per_cycle_us = cpu_spent.as_secs_f64() * 1e6 / self.cycles as f64;
        [latencies_us.quantile(0.50), latencies_us.quantile(0.90), cpu_per_cycle_us]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_runtime_polls_after_every_wake_up() {
        for mut contender in all_runtimes(2, Wake { cycles: 5 }) {
            let [p50, p90, _cpu] = contender.sample();
            assert!(0.0 < p50 && p50 <= p90, "{}: {p50} {p90}", contender.name());
        }
    }
}
