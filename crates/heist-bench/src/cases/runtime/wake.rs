//! How long it takes from a wake-up by a foreign thread until the future is polled, on a runtime that is idle.
//!
//! A cycle: the measuring thread sleeps until the runtime is surely idle, takes the time, wakes and parks; the future
//! takes the time when its poll begins and only then unparks the thread. The thread thus never competes with the waking
//! worker for a CPU, and its own wake-up is in no latency.

use std::sync::Arc;
use std::thread;

use super::super::pauses::Pauses;
use super::waiter::{Bell, Waiter};
use crate::clock::process_cpu_time;
use crate::contender::{Sampling, measure_rows};
use crate::measure::Series;
use crate::ratio::Unit;
use crate::report::Measurement;
use crate::runtimes::{Experiment, FutureRuntime, everybody};

/// Unrecorded cycles at the start of a sample.
const WARM_UP: usize = 4;

/// Latency in microseconds, of half the cycles and of nine in ten, and CPU time of a cycle.
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
    measure_rows(["p50", "p90", "cpu"].map(row), sampling, everybody(workers, experiment))
}

impl Experiment for Wake {
    type Sample = [f64; 3];

    fn sample<R: FutureRuntime>(self, runtime: &R) -> [f64; 3] {
        let bell = Bell::new();
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
    fn everybody_is_woken_every_time() {
        for mut contender in everybody(2, Wake { cycles: 5 }) {
            let [p50, p90, _cpu] = contender.sample();
            assert!(0.0 < p50 && p50 <= p90, "{}: {p50} {p90}", contender.name());
        }
    }
}
