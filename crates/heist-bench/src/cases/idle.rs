//! Context switches of a pool's threads while the pool has nothing to do.
//!
//! All pools are idle during the same window, and each is charged only for its own threads: a pool
//! that polls does not cause switches in threads that sleep.

use std::any::Any;
use std::collections::BTreeSet;
use std::thread;
use std::time::Duration;

use crate::measure::Series;
use crate::peers::PoolContender;
use crate::ratio::Unit;
use crate::report::Measurement;
use crate::thread_stats::{switches_of, thread_ids};
use crate::workload::Task;

const WINDOW: Duration = Duration::from_secs(2);
/// Time for the workers to finish their last searches and spins.
const SETTLE: Duration = Duration::from_millis(100);
/// Tasks that run before the window, because a pool that has never run anything may not have
/// started to poll yet.
pub(crate) const TASKS_BEFORE: u32 = 1000;

/// A pool and the kernel's ids of its threads.
pub(crate) struct Watched {
    name: String,
    /// Held only to keep the threads alive.
    _pool: Box<dyn Any>,
    threads: BTreeSet<u32>,
}

impl Watched {
    /// Starts a pool and records the threads that exist afterwards but did not before.
    pub(crate) fn start<P: 'static>(name: &str, start: impl FnOnce() -> P) -> Result<Self, String> {
        let others = thread_ids()?;
        let pool = start();
        let threads = thread_ids()?.difference(&others).copied().collect();
        Ok(Self { name: name.to_owned(), _pool: Box::new(pool), threads })
    }

    fn switches(&self) -> Result<u64, String> {
        switches_of(&self.threads)
    }
}

/// Measures the contenders' pools.
///
/// # Errors
/// Fails if the system does not report the context switches of a thread.
pub(crate) fn measure(contenders: &[PoolContender], windows: usize) -> Result<Measurement, String> {
    let start = |contender: &PoolContender| {
        Watched::start(contender.name(), || {
            let pool = contender.start_fresh();
            for value in 0..TASKS_BEFORE {
                pool.spawn(Task::Leaf { value, rounds: 1 });
            }
            pool
        })
    };
    measure_watched("idle", &contenders.iter().map(start).collect::<Result<Vec<_>, _>>()?, windows)
}

/// Measures pools that are already running; the first one is heist's.
pub(crate) fn measure_watched(
    case: &str,
    watched: &[Watched],
    windows: usize,
) -> Result<Measurement, String> {
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
        case,
        Unit::Switches,
        watched.iter().map(|watched| watched.name.as_str()),
        samples.into_iter().map(Series::new),
    ))
}
