//! How long a future waits that is woken by one that then computes on, while other workers have nothing to do.
//!
//! A runtime that keeps what was woken last for the worker that woke it (a LIFO slot) saves that worker a detour; but
//! if nobody else can get at it, it waits until the current poll is over.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::super::pauses::Pauses;
use super::waiter::{Bell, Waiter};
use crate::contender::{Contender, Sampling, measure as measure_case};
use crate::measure::Series;
use crate::ratio::Unit;
use crate::report::Measurement;
use crate::runtimes::{Experiment, FutureRuntime, Heist, SLOTS_KEPT, contender, everybody};

/// How long the waking future computes before it wakes, so that whoever helped to start it is asleep again.
const LEAD: Duration = Duration::from_millis(1);

/// Microseconds from the wake-up to the poll, the median of the cycles.
#[derive(Clone, Copy, Debug)]
struct LifoHazard {
    cycles: usize,
    /// How long the waking future computes after it woke the other.
    hold: Duration,
}

pub(crate) fn measure(
    case: &str,
    workers: usize,
    sampling: &Sampling,
    cycles_per_run: usize,
    hold: Duration,
) -> Measurement {
    let experiment = LifoHazard { cycles: cycles_per_run, hold };
    measure_case(case, Unit::Microseconds, sampling, contenders(workers, experiment))
}

/// Everybody, and heist as it would be if nobody could take what is in a slot.
fn contenders(workers: usize, experiment: LifoHazard) -> Vec<Contender> {
    let mut contenders = everybody(workers, experiment);
    contenders.push(contender(SLOTS_KEPT, move || Heist::slots_kept(workers), experiment));
    contenders
}

impl Experiment for LifoHazard {
    type Sample = f64;

    fn sample<R: FutureRuntime>(self, runtime: &R) -> f64 {
        let mut pauses = Pauses::new();
        Series::new((0..self.cycles).map(|_| self.cycle(runtime, pauses.next()))).median()
    }
}

impl LifoHazard {
    fn cycle<R: FutureRuntime>(self, runtime: &R, pause: Duration) -> f64 {
        let bell = Bell::new();
        let woken = runtime.spawn(Waiter { bell: Arc::clone(&bell), answers_left: 1 });
        bell.wait_for_waiter();
        thread::sleep(pause);
        let waking = runtime.spawn({
            let bell = Arc::clone(&bell);
            async move {
                compute_for(LEAD);
                let rung_ns = bell.ring();
                compute_for(self.hold);
                rung_ns
            }
        });
        let rung_ns = runtime.block_on(async {
            R::join(woken).await;
            R::join(waking).await
        });
        (bell.wait_for_answer() - rung_ns) as f64 / 1e3
    }
}

fn compute_for(duration: Duration) {
    let started = Instant::now();
    while started.elapsed() < duration {
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_was_woken_is_polled_on_every_runtime() {
        let experiment = LifoHazard { cycles: 2, hold: Duration::from_micros(200) };
        for mut contender in contenders(2, experiment) {
            assert!(contender.sample() > 0.0, "{}", contender.name());
        }
    }
}
