//! Tasks per second, from the first spawn until the caller knows that all tasks are done.

use crate::measure::{Series, interleave};
use crate::peers::PoolContender;
use crate::ratio::Unit;
use crate::report::Measurement;
use crate::workload::Load;

/// A sample repeats its load for this long. A fast pool finishes a single load before it is clear
/// whether a second worker will help, so single loads would vary too much.
const SAMPLE_SECONDS: f64 = 0.04;

pub(crate) fn measure(
    case: String,
    mut contenders: Vec<PoolContender>,
    runs: usize,
    load: &Load,
) -> Measurement {
    // Outside the loop, because counting the tasks of a search means running the search.
    let tasks = load.tasks();
    let samples = interleave(runs, &mut contenders, |contender| sample(contender, load, tasks));
    Measurement::ours_first(
        case,
        Unit::MillionTasksPerSecond,
        contenders.iter().map(PoolContender::name),
        samples.into_iter().map(Series::new),
    )
}

fn sample(contender: &mut PoolContender, load: &Load, tasks_per_load: u64) -> f64 {
    let mut tasks = 0;
    let mut seconds = 0.0;
    while seconds < SAMPLE_SECONDS {
        seconds += contender.run(load).seconds();
        tasks += tasks_per_load;
    }
    tasks as f64 / 1e6 / seconds
}
