//! Which CPUs this process may use, and pinning workers to them.
//!
//! This module answers two different questions. A program that confuses them oversubscribes its
//! container:
//! - **How many** workers make sense ([`usable_parallelism`])? The affinity mask *and* CPU quotas
//!   limit this.
//! - **Which** CPUs can a worker be pinned to ([`allowed_cpus`])? Only the affinity mask limits
//!   this. The list may be longer than the first answer, and under `taskset` or a cpuset it need
//!   not start at 0. This is why [`CoreAssigner`] deals out members of the list and not the numbers
//!   `0..workers`.
//!
//! Invariant: nothing here panics or makes a run fail. Pinning is a hint, and a caller that gets an
//! error continues unpinned.
//!
//! Not guaranteed: that a CPU stays allowed (cpusets and hot-plugging can change that at any time),
//! any knowledge of caches, NUMA nodes or sibling threads, and pinning on systems other than Linux.

use std::io;

/// Returns the number of workers that this process can keep busy, which is never 0.
///
/// This is [`std::thread::available_parallelism`], which on Linux respects the affinity mask and
/// the CPU quota of the control group, or 1 where the system cannot tell. Each call asks the system
/// again (on Linux it reads files), so call this once and keep the answer.
#[must_use]
pub fn usable_parallelism() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Returns the CPUs that the calling thread may run on, in ascending order.
///
/// On Linux this is the thread's affinity mask. New threads inherit it, so call this before
/// pinning. On other systems, and if the mask cannot be read, this returns
/// `0..usable_parallelism()`. (A kernel that is configured for more than 1,024 CPUs refuses the
/// mask that `rustix` offers.)
#[must_use]
pub fn allowed_cpus() -> Vec<usize> {
    affinity_mask().unwrap_or_else(|| (0..usable_parallelism()).collect())
}

/// Returns the affinity mask of the calling thread, or `None` if it cannot be read.
#[cfg(target_os = "linux")]
fn affinity_mask() -> Option<Vec<usize>> {
    use rustix::thread::CpuSet;

    let mask = rustix::thread::sched_getaffinity(None).ok()?;
    let cpus: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&cpu| mask.is_set(cpu)).collect();
    // The kernel never reports an empty mask, but an empty list would leave workers without a CPU.
    (!cpus.is_empty()).then_some(cpus)
}

/// Returns `None`: this system has no affinity mask that heist could read.
#[cfg(not(target_os = "linux"))]
fn affinity_mask() -> Option<Vec<usize>> {
    None
}

/// Restricts the calling thread to `cpu`. Threads that it starts later inherit this.
///
/// # Errors
///
/// [`io::ErrorKind::Unsupported`] outside Linux; [`io::ErrorKind::InvalidInput`] if `cpu` does not
/// exist, is not allowed for this process, or is beyond what a CPU mask can name (1,024 CPUs).
#[cfg(target_os = "linux")]
pub fn pin_current_thread(cpu: usize) -> io::Result<()> {
    use rustix::thread::CpuSet;

    // `CpuSet::set` indexes an array and would panic.
    if cpu >= CpuSet::MAX_CPU {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("CPU {cpu} is out of range: a CPU mask has {} CPUs", CpuSet::MAX_CPU),
        ));
    }
    let mut only = CpuSet::new();
    only.set(cpu);
    rustix::thread::sched_setaffinity(None, &only).map_err(io::Error::from)
}

/// Returns an error, because heist cannot pin threads on this system.
///
/// # Errors
///
/// Always [`io::ErrorKind::Unsupported`].
#[cfg(not(target_os = "linux"))]
pub fn pin_current_thread(_cpu: usize) -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "threads can be pinned to a CPU only on Linux"))
}

/// Deals out CPUs to workers, round robin within the allowed set.
///
/// With more workers than CPUs, the first CPUs get one worker more; no two CPUs differ by more than
/// one. The answer depends only on the worker's number, so a worker that is rebuilt gets the same
/// CPU.
///
/// ```
/// use heist::affinity::CoreAssigner;
///
/// // As under `taskset --cpu-list 4,6`.
/// let cores = CoreAssigner::new(vec![4, 6]);
/// assert_eq!(cores.core_for(0), Some(4));
/// assert_eq!(cores.core_for(1), Some(6));
/// assert_eq!(cores.core_for(2), Some(4));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoreAssigner {
    allowed: Vec<usize>,
}

impl CoreAssigner {
    /// Creates an assigner for the CPUs in `allowed`, which usually come from [`allowed_cpus()`].
    #[must_use]
    pub const fn new(allowed: Vec<usize>) -> Self {
        Self { allowed }
    }

    /// Returns the CPU for `worker`, or `None` if no CPU is allowed.
    #[must_use]
    pub fn core_for(&self, worker: usize) -> Option<usize> {
        let index = worker.checked_rem(self.allowed.len())?;
        self.allowed.get(index).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_always_a_cpu_to_run_on() {
        assert!(usable_parallelism() >= 1);
        let cpus = allowed_cpus();
        assert!(!cpus.is_empty());
        assert!(cpus.is_sorted_by(|a, b| a < b), "ascending, no repeats: {cpus:?}");
    }

    #[test]
    fn cores_are_dealt_out_round_robin_within_the_allowed_set() {
        let cores = CoreAssigner::new(vec![3, 5, 9]);
        let dealt: Vec<_> = (0..7).map(|worker| cores.core_for(worker).unwrap()).collect();
        assert_eq!(dealt, [3, 5, 9, 3, 5, 9, 3]);
        assert_eq!(cores.core_for(usize::MAX), Some([3, 5, 9][usize::MAX % 3]));
    }

    #[test]
    fn an_empty_set_has_no_core_to_assign() {
        assert_eq!(CoreAssigner::new(Vec::new()).core_for(0), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    #[cfg_attr(miri, ignore = "Miri does not pin threads")]
    fn a_pinned_thread_runs_on_its_cpu() {
        let everything = allowed_cpus();
        for &cpu in &everything {
            // In another thread, because the mask of the test's thread must not change.
            let (mask, running_on) = std::thread::spawn(move || {
                pin_current_thread(cpu).unwrap();
                (allowed_cpus(), rustix::thread::sched_getcpu())
            })
            .join()
            .unwrap();
            assert_eq!(mask, [cpu]);
            assert_eq!(running_on, cpu);
        }
        assert_eq!(allowed_cpus(), everything, "pinning a thread does not affect others");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn pinning_reduces_the_usable_parallelism_of_the_thread() {
        let cpu = allowed_cpus()[0];
        let usable = std::thread::spawn(move || {
            pin_current_thread(cpu).unwrap();
            usable_parallelism()
        });
        assert_eq!(usable.join().unwrap(), 1);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn pinning_to_a_cpu_that_is_not_available_is_an_error() {
        let limit = rustix::thread::CpuSet::MAX_CPU;
        let before = allowed_cpus();
        // A mask cannot name the first two. It can name the last, but hardly any machine has it.
        let mut hopeless = vec![limit, usize::MAX];
        hopeless.extend((!before.contains(&(limit - 1))).then_some(limit - 1));
        for cpu in hopeless {
            let error = pin_current_thread(cpu).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "CPU {cpu}: {error}");
        }
        assert_eq!(allowed_cpus(), before, "a refused pin changes nothing");
    }

    #[test]
    #[cfg(not(target_os = "linux"))]
    fn pinning_is_unsupported() {
        assert_eq!(pin_current_thread(0).unwrap_err().kind(), io::ErrorKind::Unsupported);
    }
}
