//! How long after the end of the last task the waiting caller knows that all is done.
//!
//! The tasks are long enough that the caller is asleep by then and all workers are busy until
//! shortly before. heist and the reference end their threads on the way, for `join` is how they
//! wait; for the others it is the end of the scope, of `block_on`, or of the wait on a counter.

use std::time::Duration;

use crate::measure::{Series, interleave};
use crate::peers::Contender;
use crate::ratio::Unit;
use crate::report::Measurement;
use crate::workload::{Load, Pace, Probe, Task};

const TASK: Duration = Duration::from_micros(20);
/// Per load; enough to keep a few workers busy and the caller asleep.
const TASKS: u16 = 16;

pub(crate) fn measure(
    mut contenders: Vec<Contender>,
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
        contenders.iter().map(Contender::name),
        samples.into_iter().map(Series::new),
    )
}
