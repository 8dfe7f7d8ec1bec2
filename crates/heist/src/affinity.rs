//! Which CPUs this process may use, and pinning a worker to one of them.
//!
//! Two different questions are answered here, and mixing them up oversubscribes containers:
//! - **how many** workers make sense ([`usable_parallelism`]): limited by the affinity mask *and*
//!   by CPU quotas;
//! - **which** CPUs a worker may be pinned to ([`allowed_cpus`]): the affinity mask alone. It may
//!   be longer than the first answer; under `taskset` or a cpuset it need not start at 0 either,
//!   which is why [`CoreAssigner`] deals out members of this list and not the numbers `0..workers`.
//!
//! Invariant: nothing here panics or makes a run fail. Pinning is a hint; a caller that gets an
//! error goes on unpinned.
//!
//! Not guaranteed: that a CPU stays allowed (cpusets and hot-plugging change it at any time), any
//! knowledge of caches, NUMA nodes or sibling threads, and pinning outside Linux.

use std::io;

/// How many workers this process can keep busy: never 0.
///
/// This is [`std::thread::available_parallelism`], which on Linux honours the affinity mask and the
/// CPU quota of the control group, and 1 where the system cannot tell. It is asked anew at each
/// call (and reads files for it on Linux), so ask once and keep the answer.
#[must_use]
pub fn usable_parallelism() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The CPUs that the calling thread may run on, in ascending order.
///
/// On Linux this is the thread's affinity mask, which new threads inherit: ask before pinning. If
/// the mask cannot be read (a kernel configured for more than 1,024 CPUs refuses the mask that
/// `rustix` offers), and on other systems, the answer is `0..usable_parallelism()`.
#[must_use]
pub fn allowed_cpus() -> Vec<usize> {
    affinity_mask().unwrap_or_else(|| (0..usable_parallelism()).collect())
}

/// The affinity mask of the calling thread; `None` if it cannot be read.
#[cfg(target_os = "linux")]
fn affinity_mask() -> Option<Vec<usize>> {
    use rustix::thread::CpuSet;

    let mask = rustix::thread::sched_getaffinity(None).ok()?;
    let cpus: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&cpu| mask.is_set(cpu)).collect();
    // The kernel never reports an empty mask, but an empty answer would leave workers without a
    // CPU.
    (!cpus.is_empty()).then_some(cpus)
}

/// There is no mask to read here.
#[cfg(not(target_os = "linux"))]
fn affinity_mask() -> Option<Vec<usize>> {
    None
}

/// Lets the calling thread run on `cpu` only. Threads that it starts later inherit this.
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
            format!("CPU {cpu} is beyond the {} that a CPU mask can name", CpuSet::MAX_CPU),
        ));
    }
    let mut only = CpuSet::new();
    only.set(cpu);
    rustix::thread::sched_setaffinity(None, &only).map_err(io::Error::from)
}

/// Lets the calling thread run on `cpu` only: not available on this system.
///
/// # Errors
///
/// Always [`io::ErrorKind::Unsupported`].
#[cfg(not(target_os = "linux"))]
pub fn pin_current_thread(_cpu: usize) -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "threads can be pinned to a CPU on Linux only"))
}

/// Deals out CPUs to workers, round robin within the allowed set.
///
/// With more workers than CPUs the first CPUs get one worker more: no two CPUs differ by more than
/// one. The answer depends on nothing but the worker's number, so a worker that is rebuilt gets its
/// CPU back.
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
    /// An assigner over `allowed`, usually [`allowed_cpus()`]; it is used as given.
    #[must_use]
    pub const fn new(allowed: Vec<usize>) -> Self {
        Self { allowed }
    }

    /// The CPU for `worker`; `None` only if no CPU is allowed.
    #[must_use]
    pub fn core_for(&self, worker: usize) -> Option<usize> {
        let turn = worker.checked_rem(self.allowed.len())?;
        self.allowed.get(turn).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_always_something_to_run_on() {
        assert!(usable_parallelism() >= 1);
        let cpus = allowed_cpus();
        assert!(!cpus.is_empty());
        assert!(cpus.is_sorted_by(|a, b| a < b), "ascending, no repeats: {cpus:?}");
    }

    #[test]
    fn cores_go_round_within_the_allowed_set() {
        let cores = CoreAssigner::new(vec![3, 5, 9]);
        let dealt: Vec<_> = (0..7).map(|worker| cores.core_for(worker).unwrap()).collect();
        assert_eq!(dealt, [3, 5, 9, 3, 5, 9, 3]);
        assert_eq!(cores.core_for(usize::MAX), Some([3, 5, 9][usize::MAX % 3]));
    }

    #[test]
    fn an_empty_set_has_no_core() {
        assert_eq!(CoreAssigner::new(Vec::new()).core_for(0), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    #[cfg_attr(miri, ignore = "Miri does not pin threads")]
    fn a_pinned_thread_runs_where_it_was_told() {
        let everything = allowed_cpus();
        for &cpu in &everything {
            // Own thread: the mask of the test's thread must stay as it is.
            let (mask, running_on) = std::thread::spawn(move || {
                pin_current_thread(cpu).unwrap();
                (allowed_cpus(), rustix::thread::sched_getcpu())
            })
            .join()
            .unwrap();
            assert_eq!(mask, [cpu]);
            assert_eq!(running_on, cpu);
        }
        assert_eq!(allowed_cpus(), everything, "pinning one thread leaves the others alone");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn pinning_limits_what_the_thread_counts_as_usable() {
        let cpu = allowed_cpus()[0];
        let usable = std::thread::spawn(move || {
            pin_current_thread(cpu).unwrap();
            usable_parallelism()
        });
        assert_eq!(usable.join().unwrap(), 1);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_cpu_that_cannot_be_had_is_an_error() {
        let limit = rustix::thread::CpuSet::MAX_CPU;
        let before = allowed_cpus();
        // The first two cannot be named. The last can, but hardly any machine has it.
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
    fn pinning_says_that_it_is_unsupported() {
        assert_eq!(pin_current_thread(0).unwrap_err().kind(), io::ErrorKind::Unsupported);
    }
}
