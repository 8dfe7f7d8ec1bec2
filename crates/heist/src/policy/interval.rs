//! How often a busy worker looks at the injector.

/// The injector interval: how many tasks of its own a worker runs between two looks at the injector.
///
/// It adapts to the time that tasks take, so that a task waits in the injector for about 1 ms at most while
/// every worker is busy: short tasks make looks rare and cheap, long ones make them frequent.
#[derive(Clone, Debug)]
pub struct InjectorInterval {
    average_task_ns: u64,
    ticks: u32,
}

/// How long a task may wait in the injector of a busy pool.
const TARGET_LATENCY_NS: u64 = 1_000_000;

/// The first estimate, before anything was measured: a mixed workload.
const FIRST_ESTIMATE_NS: u64 = 50_000;

/// A new sample weighs one part in ten: an outlier moves the average by a tenth.
const SAMPLE_PARTS: u64 = 10;

/// Below 8 the looks themselves would show; above 255 a change in task time would be noticed too late.
const TICKS_MIN: u64 = 8;
const TICKS_MAX: u64 = 255;

/// Keeps the weighted sum below from overflowing. 36 years are beyond any task.
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

    /// An interval of so many ticks, until it is updated.
    pub fn fixed(ticks: u32) -> Self {
        Self { average_task_ns: FIRST_ESTIMATE_NS, ticks }
    }

    /// The number of ticks between two looks.
    pub fn ticks(&self) -> u32 {
        self.ticks
    }

    /// Takes in that `tasks` tasks took `elapsed_ns` in all. No tasks, or a clock that stood still or went
    /// backwards, do no harm.
    pub fn update(&mut self, elapsed_ns: i64, tasks: u32) {
        if tasks == 0 {
            return;
        }
        let sample = (elapsed_ns.max(0) as u64 / u64::from(tasks)).min(SAMPLE_NS_MAX);
        let average = (sample + (SAMPLE_PARTS - 1) * self.average_task_ns) / SAMPLE_PARTS;
        // At least 1, so that a clock that stands still cannot make the next division fail.
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
