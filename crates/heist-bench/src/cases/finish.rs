//! The time from the end of the last task until the waiting caller returns.
//!
//! The tasks are long enough that the caller is asleep by then and that all workers are busy until
//! shortly before. heist and the reference executor end their threads in that time, because `join`
//! is how their callers wait. The other pools end the scope, return from `block_on`, or wait for a
//! counter.

use std::time::Duration;

use crate::measure::{Series, interleave};
use crate::peers::PoolContender;
use crate::ratio::Unit;
use crate::report::Measurement;
use crate::workload::{Load, Pace, Probe, Task};

const TASK: Duration = Duration::from_micros(20);
/// Tasks per load: enough to keep a few workers busy and to let the caller fall asleep.
const TASKS: u16 = 16;

pub(crate) fn measure(
    mut contenders: Vec<PoolContender>,
    runs: usize,
    loads_per_run: usize,
    pace: Pace,
) -> Measurement {
    let probe = Probe::leak();
    let load = Load::Root(Task::FanReportEnd { probe, leaves: TASKS, rounds: pace.rounds(TASK) });
    let samples = interleave(runs, &mut contenders, |contender| {
        let delays_us = (0..loads_per_run).map(|_| {
            probe.reset();
            let span = contender.run(&load);
            let (last_end_ns, ends) = probe.ends();
            assert_eq!(ends, u64::from(TASKS), "{} returned too early", contender.name());
            (span.end_ns - last_end_ns) as f64 / 1e3
        });
        Series::new(delays_us).median()
    });
    Measurement::ours_first(
        "finish",
        Unit::Microseconds,
        contenders.iter().map(PoolContender::name),
        samples.into_iter().map(Series::new),
    )
}
