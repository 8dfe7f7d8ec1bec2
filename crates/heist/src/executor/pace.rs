//! When a worker checks the injector, and which tasks it times.
//!
//! A worker reads the clock once per injector interval and per idle period, and once more to time
//! one task of the interval. It does not read it for each task: that would cost more than a small
//! task.

use crate::policy::InjectorInterval;

#[derive(Debug)]
enum Sample {
    None,
    NextTask,
    Since(u64),
}

/// Counts tasks and times samples. Time is passed in.
#[derive(Debug)]
pub(super) struct Pace {
    interval: InjectorInterval,
    /// `true` if the interval follows the clock. A single worker's does not, so that its runs
    /// repeat exactly.
    adaptive: bool,
    /// The number of tasks in this interval, and the time they took up to the last idle period.
    tasks: u32,
    busy_ns: u64,
    /// The time since which the worker has been busy; `None` while it is idle.
    busy_since_ns: Option<u64>,
    sample: Sample,
    /// The number of intervals so far, if the clock is not read for each of them.
    intervals: u32,
}

/// A fixed interval may be short, so the worker times a task only in one of this many intervals.
const INTERVALS_PER_SAMPLE: u32 = 16;

impl Pace {
    /// `fixed` is an interval that never changes.
    pub(super) fn new(adaptive: bool, fixed: Option<u32>) -> Self {
        Self {
            interval: fixed.map_or_else(InjectorInterval::default, InjectorInterval::fixed),
            adaptive: adaptive && fixed.is_none(),
            tasks: 0,
            busy_ns: 0,
            busy_since_ns: None,
            sample: Sample::NextTask,
            intervals: 0,
        }
    }

    /// Returns `true` if the interval is over. The interval counts tasks and not searches, so that
    /// the time for which a worker waits for its first task has no influence.
    #[inline]
    pub(super) fn injector_is_due(&mut self, now_ns: impl FnOnce() -> u64) -> bool {
        let is_due = self.tasks >= self.interval.ticks();
        if is_due {
            self.next_interval(now_ns);
        }
        is_due
    }

    #[cold]
    fn next_interval(&mut self, now_ns: impl FnOnce() -> u64) {
        if self.adaptive {
            let now_ns = now_ns();
            let was_busy = self.busy_since_ns.is_some();
            self.pause(|| now_ns);
            self.interval.update(self.busy_ns as i64, self.tasks);
            self.busy_since_ns = was_busy.then_some(now_ns);
            self.busy_ns = 0;
        } else {
            self.intervals = self.intervals.wrapping_add(1);
            if self.intervals.is_multiple_of(INTERVALS_PER_SAMPLE) {
                self.sample = Sample::NextTask;
            }
        }
        self.tasks = 0;
    }

    /// The worker has run out of tasks: the time until its next task is not task time.
    pub(super) fn pause(&mut self, now_ns: impl FnOnce() -> u64) {
        if let Some(since_ns) = self.busy_since_ns.take() {
            self.busy_ns += now_ns().saturating_sub(since_ns);
        }
        self.sample = Sample::NextTask;
    }

    #[inline]
    pub(super) fn begin_task(&mut self, now_ns: impl FnOnce() -> u64) {
        self.tasks += 1;
        if matches!(self.sample, Sample::NextTask) {
            let now_ns = now_ns();
            self.busy_since_ns.get_or_insert(now_ns);
            self.sample = Sample::Since(now_ns);
        }
    }

    /// Returns how long the task took, if it was timed.
    #[inline]
    pub(super) fn end_task(&mut self, now_ns: impl FnOnce() -> u64) -> Option<u64> {
        let Sample::Since(since_ns) = self.sample else { return None };
        self.sample = Sample::None;
        Some(now_ns().saturating_sub(since_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_follows_the_task_time_and_not_the_idle_time() {
        let mut pace = Pace::new(true, None);
        let mut now_ns = 0;
        let mut looks = 0;
        // 1 µs tasks, with a second of idleness after every hundredth.
        for task in 1..=100_000 {
            looks += u32::from(pace.injector_is_due(|| now_ns));
            pace.begin_task(|| now_ns);
            now_ns += 1_000;
            pace.end_task(|| now_ns);
            if task % 100 == 0 {
                pace.pause(|| now_ns);
                now_ns += 1_000_000_000;
            }
        }
        // 100,000 / 255, and a few more on the way from 20 to 255.
        assert_eq!(pace.interval.ticks(), 255);
        assert!((393..450).contains(&looks), "{looks} looks");
    }

    #[test]
    fn one_task_of_each_interval_is_timed() {
        let mut pace = Pace::new(true, None);
        let timed = (0..100).filter(|_| {
            pace.injector_is_due(|| 0);
            pace.begin_task(|| 5);
            pace.end_task(|| 47).inspect(|took_ns| assert_eq!(*took_ns, 42)).is_some()
        });
        // No time passes between the looks, so the interval soon grows from 20 to 255.
        assert!((1..=5).contains(&timed.count()));
    }
}
