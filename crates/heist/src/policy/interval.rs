//! How often a busy worker looks at the injector.

/// The injector interval: the number of its own tasks that a worker runs between two looks at the
/// injector.
///
/// It adapts to the duration of tasks, so that a task waits in the injector for about 1 ms at most
/// while every worker is busy. With short tasks the looks are rare, with long ones they are
/// frequent.
#[derive(Clone, Debug)]
pub struct InjectorInterval {
    average_task_ns: u64,
    ticks: u32,
}

/// The longest time that a task should wait in the injector of a busy pool.
const TARGET_LATENCY_NS: u64 = 1_000_000;

/// The first estimate of a task's duration, before any measurement: a mixed workload.
const FIRST_ESTIMATE_NS: u64 = 50_000;

/// A new sample has a weight of one tenth.
const SAMPLE_PARTS: u64 = 10;

/// Below 8 the looks themselves would cost noticeably; above 255 the worker would notice a change
/// of task duration too late.
const TICKS_MIN: u64 = 8;
const TICKS_MAX: u64 = 255;

/// Keeps the weighted sum in `update` from overflowing. No task takes 36 years.
const SAMPLE_NS_MAX: u64 = u64::MAX / 16;

impl Default for InjectorInterval {
    fn default() -> Self {
        Self::for_task_ns(FIRST_ESTIMATE_NS)
    }
}

impl InjectorInterval {
    fn for_task_ns(average_task_ns: u64) -> Self {
        let ticks = (TARGET_LATENCY_NS / average_task_ns).clamp(TICKS_MIN, TICKS_MAX) as u32;
        Self { average_task_ns, ticks }
    }

    /// Creates an interval of `ticks` ticks, which holds until the first update.
    pub fn fixed(ticks: u32) -> Self {
        Self { average_task_ns: FIRST_ESTIMATE_NS, ticks }
    }

    /// Returns the number of ticks between two looks.
    pub fn ticks(&self) -> u32 {
        self.ticks
    }

    /// Adds the sample that `tasks` tasks took `elapsed_ns` in total. Ignores a sample of 0 tasks,
    /// and treats a clock that went backwards as one that stood still.
    pub fn update(&mut self, elapsed_ns: i64, tasks: u32) {
        if tasks == 0 {
            return;
        }
        let sample = (elapsed_ns.max(0) as u64 / u64::from(tasks)).min(SAMPLE_NS_MAX);
        let average = (sample + (SAMPLE_PARTS - 1) * self.average_task_ns) / SAMPLE_PARTS;
        // At least 1, so that a clock that stands still cannot cause a division by zero.
        *self = Self::for_task_ns(average.max(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn has_the_documented_values() {
        let table = [
            (1_000, 255),
            (10_000, 100),
            (50_000, 20),
            (100_000, 10),
            (1_000_000, 8),
            (1_000_000_000, 8),
        ];
        for (task_ns, ticks) in table {
            let mut interval = InjectorInterval::default();
            for _ in 0..200 {
                interval.update(task_ns * 10, 10);
            }
            assert_eq!(interval.ticks(), ticks, "{task_ns} ns");
        }
        assert_eq!(InjectorInterval::default().ticks(), 20, "the first estimate is 50 µs");
    }

    #[test]
    fn adapts_gradually() {
        let mut interval = InjectorInterval::default();
        interval.update(1_000_000, 1);
        // 0.1 * 1 ms + 0.9 * 50 µs = 145 µs.
        assert_eq!(interval.average_task_ns, 145_000);
        assert_eq!(interval.ticks(), 8);
    }

    #[test]
    fn odd_samples_are_harmless() {
        let mut interval = InjectorInterval::default();
        interval.update(123, 0);
        assert_eq!(interval.ticks(), 20, "no tasks, no sample");
        for elapsed_ns in [0, -5, i64::MIN, i64::MAX] {
            interval.update(elapsed_ns, 1);
            assert!((TICKS_MIN..=TICKS_MAX).contains(&u64::from(interval.ticks())));
            assert!(interval.average_task_ns > 0);
        }
        let mut stopped = InjectorInterval::default();
        for _ in 0..1_000 {
            stopped.update(0, 100);
        }
        assert_eq!(u64::from(stopped.ticks()), TICKS_MAX);
    }

    #[test]
    fn a_clock_that_goes_backwards_counts_as_one_that_stands_still() {
        let (mut back, mut still) = (InjectorInterval::default(), InjectorInterval::default());
        back.update(-5, 1);
        still.update(0, 1);
        assert_eq!(back.average_task_ns, still.average_task_ns);
    }

    #[test]
    fn the_longest_tasks_do_not_overflow_the_average() {
        let mut interval = InjectorInterval::default();
        for _ in 0..100 {
            interval.update(i64::MAX, 1);
        }
        assert_eq!(u64::from(interval.ticks()), TICKS_MIN);
    }
}
