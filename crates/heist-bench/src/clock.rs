//! Clocks: elapsed time, and CPU time of the process or of the calling thread.
//!
//! Time stamps are plain nanosecond counts, so that a task can leave one in an atomic.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// Returns monotonic nanoseconds since the first call in this process. Never returns 0, so that 0
/// can mean "no stamp yet".
pub(crate) fn now_ns() -> u64 {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    let since_origin = ORIGIN.get_or_init(Instant::now).elapsed();
    // 2^64 ns are 584 years.
    since_origin.as_nanos() as u64 + 1
}

/// Returns the user and system CPU time that all threads of this process have used so far.
pub(crate) fn process_cpu_time() -> Duration {
    cpu_time(ClockId::ProcessCPUTime)
}

/// Returns the CPU time that all threads of this process except the calling one have used so far.
pub(crate) fn other_threads_cpu_time() -> Duration {
    // The process clock comes first: otherwise this thread's own time between the two readings
    // would be charged to the others.
    let all = process_cpu_time();
    all.saturating_sub(cpu_time(ClockId::ThreadCPUTime))
}

fn cpu_time(clock: ClockId) -> Duration {
    let spent = clock_gettime(clock);
    Duration::new(spent.tv_sec as u64, spent.tv_nsec as u32)
}

/// The time between two stamps of [`now_ns`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
}

impl Span {
    /// Measures one call.
    pub(crate) fn of(action: impl FnOnce()) -> Self {
        let start_ns = now_ns();
        action();
        Self { start_ns, end_ns: now_ns() }
    }

    pub(crate) fn seconds(self) -> f64 {
        (self.end_ns - self.start_ns) as f64 / 1e9
    }
}
