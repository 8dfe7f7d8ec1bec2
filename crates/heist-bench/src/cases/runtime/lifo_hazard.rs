//! How long a future waits if the future that wakes it keeps computing, while other workers are
//! idle.
//!
//! A runtime may keep the future that was woken last in a LIFO slot of the waking worker, which
//! saves that worker a trip through its queue. If other workers cannot take the future from there,
//! it waits until the current poll ends.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::super::pauses::Pauses;
use super::waiter::{Waiter, WakeBell};
use crate::contender::{Contender, Sampling, measure as measure_case};
use crate::measure::Series;
use crate::ratio::Unit;
use crate::report::Measurement;
use crate::runtimes::{Experiment, FutureRuntime, Heist, SLOTS_KEPT, all_runtimes, contender};

/// How long the waking future computes before it wakes the other, so that a worker that helped to
/// start it is asleep again.
const LEAD: Duration = Duration::from_millis(1);

/// Measures microseconds from the wake-up to the poll, as the median of the cycles.
#[derive(Clone, Copy, Debug)]
struct LifoHazard {
    cycles: usize,
    /// How long the waking future computes after the wake-up.
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

/// All runtimes, and heist configured so that other workers cannot take from a LIFO slot.
fn contenders(workers: usize, experiment: LifoHazard) -> Vec<Contender> {
    let mut contenders = all_runtimes(workers, experiment);
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
        let bell = WakeBell::new();
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
    fn every_runtime_polls_the_woken_future() {
        let experiment = LifoHazard { cycles: 2, hold: Duration::from_micros(200) };
        for mut contender in contenders(2, experiment) {
            assert!(contender.sample() > 0.0, "{}", contender.name());
        }
    }
}
