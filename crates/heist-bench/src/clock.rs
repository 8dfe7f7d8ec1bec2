//! The clocks of the benchmarks: elapsed time, and CPU time of the whole process or of the calling thread.
//!
//! Stamps are plain nanosecond counts, so that a task can leave its time stamp in an atomic.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// Monotonic nanoseconds since the first call in this process; never 0, so that 0 can mean
/// "no stamp yet".
pub(crate) fn now_ns() -> u64 {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    let since_origin = ORIGIN.get_or_init(Instant::now).elapsed();
    // 2^64 ns are 584 years.
    since_origin.as_nanos() as u64 + 1
}

/// CPU time, user and system, that all threads of this process have used so far.
pub(crate) fn process_cpu_time() -> Duration {
    cpu_time(ClockId::ProcessCPUTime)
}

/// CPU time that all threads of this process but the calling one have used so far.
pub(crate) fn other_threads_cpu_time() -> Duration {
    // The process first: what this thread does between the two must not count as somebody else's.
    let all = process_cpu_time();
    all.saturating_sub(cpu_time(ClockId::ThreadCPUTime))
}

fn cpu_time(clock: ClockId) -> Duration {
    let spent = clock_gettime(clock);
    Duration::new(spent.tv_sec as u64, spent.tv_nsec as u32)
}

/// A stretch of time between two stamps of [`now_ns`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
}

impl Span {
    /// The span of one call.
    pub(crate) fn of(action: impl FnOnce()) -> Self {
        let start_ns = now_ns();
        action();
        Self { start_ns, end_ns: now_ns() }
    }

    pub(crate) fn seconds(self) -> f64 {
        (self.end_ns - self.start_ns) as f64 / 1e9
    }
}
