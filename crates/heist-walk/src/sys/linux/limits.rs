//! The resources of this process: descriptors and CPU time.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::time::Duration;

/// Estimates for when the system does not report these figures.
const USUALLY_OPEN: usize = 16;
const USUALLY_ALLOWED: usize = 1024;

/// More than a walk can use. Without a bound, the process's table of descriptors could grow to
/// millions of entries.
const MOST_USEFUL: u64 = 65_536;

/// Raises the soft limit towards the hard limit. If the system refuses, the walk manages with fewer
/// descriptors.
pub(crate) fn raise_descriptor_limit() {
    let limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.unwrap_or(MOST_USEFUL).min(MOST_USEFUL);
    if limit.current.is_some_and(|current| current < wanted) {
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), ..limit });
    }
}

/// Returns how much CPU time all threads of this process have used.
#[expect(clippy::unnecessary_wraps, reason = "not every system tells")]
pub(crate) fn time_computed() -> Option<Duration> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let nanoseconds = u64::try_from(time.tv_nsec).unwrap_or(0);
    Some(
        Duration::from_secs(u64::try_from(time.tv_sec).unwrap_or(0))
            + Duration::from_nanos(nanoseconds),
    )
}

/// Returns how many more descriptors this process may open.
pub(crate) fn descriptors_available() -> usize {
    let limit = getrlimit(Resource::Nofile).current.map_or(USUALLY_ALLOWED, |limit| {
        usize::try_from(limit.min(MOST_USEFUL)).unwrap_or(USUALLY_ALLOWED)
    });
    let open = std::fs::read_dir("/proc/self/fd").map_or(USUALLY_OPEN, Iterator::count);
    limit.saturating_sub(open)
}
