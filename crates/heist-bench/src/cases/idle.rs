//! What a pool does while it has nothing to do: context switches of its threads.
//!
//! All pools idle during the same stretch of time, each counted by its own threads: a pool that
//! polls causes no switches in threads that sleep.

use std::collections::BTreeSet;
use std::fs;
use std::thread;
use std::time::Duration;

use crate::measure::Series;
use crate::peers::{Contender, Pool};
use crate::ratio::Unit;
use crate::report::Measurement;
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
    /// Switches of all threads so far, voluntary (it went to sleep) and not (it was pre-empted).
    fn switches(&self) -> Result<u64, String> {
        let mut sum = 0;
        for id in &self.threads {
            let path = format!("/proc/self/task/{id}/status");
            let status = fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
            sum += switches_in(&status).ok_or_else(|| format!("{path} tells no switches"))?;
        }
        Ok(sum)
    }
}

fn thread_ids() -> Result<BTreeSet<u32>, String> {
    let path = "/proc/self/task";
    let entries = fs::read_dir(path).map_err(|error| format!("{path}: {error}"))?;
    Ok(entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect())
}

/// The sum of both kinds of switches in a thread's status; `None` if one is missing.
fn switches_in(status: &str) -> Option<u64> {
    let count = |key: &str| -> Option<u64> {
        status.lines().find_map(|line| line.strip_prefix(key)?.trim().parse().ok())
    };
    Some(count("voluntary_ctxt_switches:")? + count("nonvoluntary_ctxt_switches:")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_switches_are_added() {
        let status = "Name:\tx\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t3\n";
        assert_eq!(switches_in(status), Some(15));
        assert_eq!(switches_in("voluntary_ctxt_switches:\t12\n"), None);
        assert_eq!(switches_in(""), None);
    }
}
