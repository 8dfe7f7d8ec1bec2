//! How many tasks per second a pool gets through, from the first spawn to known completion.

use crate::measure::{Series, interleave};
use crate::peers::Contender;
use crate::ratio::Unit;
use crate::report::Measurement;
use crate::workload::Load;

/// A sample repeats its load until it has measured this long: a fast pool is through with one load
/// before it is clear whether a sibling will help, and single loads would vary too much.
const SAMPLE_SECONDS: f64 = 0.04;

pub(crate) fn measure(
    case: String,
    mut contenders: Vec<Contender>,
    runs: usize,
    load: &Load,
) -> Measurement {
    // Counted once: for a search, by doing it.
    let tasks = load.tasks();
    let samples = interleave(runs, &mut contenders, |contender| sample(contender, load, tasks));
    Measurement::ours_first(
        case,
        Unit::MillionTasksPerSecond,
        contenders.iter().map(Contender::name),
        samples.into_iter().map(Series::new),
    )
}

fn sample(contender: &mut Contender, load: &Load, tasks_per_load: u64) -> f64 {
    let mut tasks = 0;
    let mut seconds = 0.0;
    while seconds < SAMPLE_SECONDS {
        seconds += contender.run(load).seconds();
        tasks += tasks_per_load;
    }
    tasks as f64 / 1e6 / seconds
}
