//! Checks whether other processes used the machine during a measurement.
//!
//! Pools that scale and pools that do not can swap ranks when only half of the CPUs are free, so
//! figures from a busy machine mislead. Every suite prints a warning in that case.

use std::time::Instant;
use std::{fs, mem};

use crate::clock::process_cpu_time;

/// Other processes may use this much of one CPU without a warning.
const TOLERATED_CPUS: f64 = 0.1;

/// The CPU times when measuring began.
pub(crate) struct Disturbance {
    start: Instant,
    own_seconds: f64,
    /// `None` if the system does not report it.
    all_seconds: Option<f64>,
}

impl Disturbance {
    pub(crate) fn watch() -> Self {
        Self { start: Instant::now(), own_seconds: own_seconds(), all_seconds: busy_seconds() }
    }

    /// Returns a warning if other processes were busy since `watch`.
    pub(crate) fn warning(&self) -> Option<String> {
        let all = busy_seconds()? - self.all_seconds?;
        let own = own_seconds() - self.own_seconds;
        let cpus = (all - own) / self.start.elapsed().as_secs_f64();
        (cpus > TOLERATED_CPUS).then(|| {
            format!("warning: other processes used {cpus:.1} CPUs during the measurement; do not trust these figures")
        })
    }
}

/// Returns the CPU time of this process and of its finished child processes.
fn own_seconds() -> f64 {
    // SAFETY: `rusage` contains only numbers, for which all zeros are valid.
    let mut children: libc::rusage = unsafe { mem::zeroed() };
    // SAFETY: the pointer is to a variable of the type that the call fills. The call cannot fail
    // with a valid first argument.
    unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut children) };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    process_cpu_time().as_secs_f64() + seconds(children.ru_utime) + seconds(children.ru_stime)
}

/// Returns the CPU time of all processes since boot.
fn busy_seconds() -> Option<f64> {
    let ticks = busy_ticks(&fs::read_to_string("/proc/stat").ok()?)?;
    Some(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
}

/// Sums the columns of the first line, except the idle ones.
fn busy_ticks(stat: &str) -> Option<u64> {
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Vec<u64> = line.split_whitespace().map_while(|field| field.parse().ok()).collect();
    let [user, nice, system, _idle, _io_wait, interrupts, soft_interrupts, stolen, ..] = ticks[..]
    else {
        return None;
    };
    Some(user + nice + system + interrupts + soft_interrupts + stolen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_columns_do_not_count_and_guests_not_twice() {
        let stat = "cpu  1 2 4 1000 2000 8 16 32 64 128\ncpu0 9 9 9 9 9 9 9 9 9 9\n";
        assert_eq!(busy_ticks(stat), Some(63));
        assert_eq!(busy_ticks("cpu  1 2 3\n"), None);
        assert_eq!(busy_ticks(""), None);
    }
}
