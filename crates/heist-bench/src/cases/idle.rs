//! What a pool does while it has nothing to do: context switches of its threads.
//!
//! All pools idle during the same stretch of time, each counted by its own threads: a pool that
//! polls causes no switches in threads that sleep.

use std::collections::BTreeSet;
use std::thread;
use std::time::Duration;

use crate::measure::Series;
use crate::peers::{Contender, Pool};
use crate::ratio::Unit;
use crate::report::Measurement;
use crate::thread_stats::{switches_of, thread_ids};
use crate::workload::Task;

const WINDOW: Duration = Duration::from_secs(2);
/// For the last searches and spins of the workers to end.
const SETTLE: Duration = Duration::from_millis(100);
/// Work before the window: a pool that has never run anything would be too easy.
const TASKS_BEFORE: u32 = 1000;

/// A pool and the kernel's ids of its threads.
struct Watched {
    /// Kept for its threads.
    _pool: Box<dyn Pool>,
    threads: BTreeSet<u32>,
}

/// Fails where the system does not tell the switches of a thread.
pub(crate) fn measure(contenders: &[Contender], windows: usize) -> Result<Measurement, String> {
    let watched = contenders.iter().map(start_watched).collect::<Result<Vec<_>, _>>()?;
    thread::sleep(SETTLE);
    let mut samples: Vec<Vec<f64>> = watched.iter().map(|_| Vec::new()).collect();
    for _ in 0..windows {
        let before = watched.iter().map(Watched::switches).collect::<Result<Vec<_>, _>>()?;
        thread::sleep(WINDOW);
        let after = watched.iter().map(Watched::switches).collect::<Result<Vec<_>, _>>()?;
        for (samples, (before, after)) in samples.iter_mut().zip(before.into_iter().zip(after)) {
            samples.push((after - before) as f64);
        }
    }
    Ok(Measurement::ours_first(
        "idle",
        Unit::Switches,
        contenders.iter().map(Contender::name),
        samples.into_iter().map(Series::new),
    ))
}

fn start_watched(contender: &Contender) -> Result<Watched, String> {
    let others = thread_ids()?;
    let pool = contender.start_fresh();
    let threads = thread_ids()?.difference(&others).copied().collect();
    for value in 0..TASKS_BEFORE {
        pool.spawn(Task::Leaf { value, rounds: 1 });
    }
    Ok(Watched { _pool: pool, threads })
}

impl Watched {
    fn switches(&self) -> Result<u64, String> {
        switches_of(&self.threads)
    }
}
