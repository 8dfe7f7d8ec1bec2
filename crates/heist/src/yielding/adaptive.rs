//! Yielding by time.

use super::YieldPolicy;
use std::num::NonZeroU32;
use std::time::Duration;

/// Yields after about a fixed time, by what units have cost lately.
///
/// It keeps a moving average of the time per unit and yields after `target / average` units, at
/// least 1 and at most [`max_units`](Self::with_max_units). Since that is a forecast, the time
/// spent is watched as well: a slice also ends as soon as it has reached the target. So a slice is
/// longer than the target by less than its last unit, even if costs leap up; when they fall, slices
/// grow back within some tens of units.
///
/// ```
/// use std::time::Duration;
/// use heist::yielding::{Adaptive, YieldPolicy};
///
/// let mut policy = Adaptive::default(); // aims at 1 ms
/// for _ in 0..100 {
///     policy.should_yield(Duration::from_micros(10));
/// }
/// assert!((90..=100).contains(&policy.interval()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adaptive {
    pub(super) target_ns: u64,
    max_units: NonZeroU32,
    /// The average time per unit, times [`AVERAGE_OVER`](Self::AVERAGE_OVER): the factor keeps the
    /// fraction that an integer average would lose. At most `target_ns * AVERAGE_OVER`.
    pub(super) weighted_average_ns: u64,
    /// Of the current slice.
    pub(super) units: u32,
    /// Of the current slice; below `target_ns` between calls.
    pub(super) spent_ns: u64,
}

impl Adaptive {
    /// The slice aimed at by default: 1 ms is what the scheduler also aims at for work that waits
    /// in its injector. It is too short for a person to notice and long beside what a re-spawn
    /// costs.
    pub const DEFAULT_TARGET: Duration = Duration::from_millis(1);

    /// Units in a slice at most, by default: what fits into 1 ms if a unit takes 1 µs. Cheaper
    /// units are not worth being timed one by one. The bound is also what ends a slice if the clock
    /// is too coarse to see any unit at all.
    pub const DEFAULT_MAX_UNITS: NonZeroU32 = NonZeroU32::new(1024).unwrap();

    /// What a unit is taken to cost before any was seen (the scheduler's first guess for a task,
    /// too). Starting from the first unit instead would trust the one that most likely met cold
    /// caches.
    const FIRST_ESTIMATE_NS: u64 = 50_000;

    /// The weight of a new unit in the average is one in this many. At 8 a single outlier moves the
    /// average by an eighth, and after a change of cost by 100 the average is within a factor of
    /// two of the new one after 35 units (99 * (7/8)^n <= 1).
    pub(super) const AVERAGE_OVER: u64 = 8;

    /// Aims at slices of `target`. A target of zero yields after every unit; one above 73 years
    /// counts as 73 years (so that sums of nanoseconds fit into 64 bits).
    #[must_use]
    pub fn new(target: Duration) -> Self {
        let target_ns = saturating_ns(target).clamp(1, u64::MAX / Self::AVERAGE_OVER);
        Self {
            target_ns,
            max_units: Self::DEFAULT_MAX_UNITS,
            weighted_average_ns: Self::FIRST_ESTIMATE_NS.min(target_ns) * Self::AVERAGE_OVER,
            units: 0,
            spent_ns: 0,
        }
    }

    /// The same with another bound on the units in a slice.
    #[must_use]
    pub const fn with_max_units(mut self, max_units: NonZeroU32) -> Self {
        self.max_units = max_units;
        self
    }

    /// How many units a slice has at present.
    #[must_use]
    pub fn interval(&self) -> u32 {
        // No overflow: `new` bounds the target. An average of zero stands for more units than any.
        let units = (self.target_ns * Self::AVERAGE_OVER)
            .checked_div(self.weighted_average_ns)
            .unwrap_or(u64::MAX);
        let max_units = self.max_units.get();
        u32::try_from(units).unwrap_or(max_units).clamp(1, max_units)
    }

    /// Takes the cost of one more unit into the average.
    fn learn(&mut self, unit_ns: u64) {
        // A unit above the target ends its slice alone, however far above it is. Counted in full,
        // one stall of a second would make slices of single units for long after it is over.
        let unit_ns = unit_ns.min(self.target_ns);
        // average += (unit - average) / 8, in eighths. The bound on the field holds: what is taken
        // off an average at its maximum is the target, and no more than the target is added.
        self.weighted_average_ns -= self.weighted_average_ns / Self::AVERAGE_OVER;
        self.weighted_average_ns += unit_ns;
    }
}

impl Default for Adaptive {
    fn default() -> Self {
        Self::new(Self::DEFAULT_TARGET)
    }
}

impl YieldPolicy for Adaptive {
    fn should_yield(&mut self, elapsed: Duration) -> bool {
        let unit_ns = saturating_ns(elapsed);
        self.learn(unit_ns);
        // `units` is below `max_units` between calls, so this does not overflow.
        self.units += 1;
        self.spent_ns = self.spent_ns.saturating_add(unit_ns);
        let full = self.units >= self.interval() || self.spent_ns >= self.target_ns;
        if full {
            self.reset();
        }
        full
    }

    fn reset(&mut self) {
        self.units = 0;
        self.spent_ns = 0;
    }
}

/// Nanoseconds in 64 bits: 584 years, and everything longer is that.
fn saturating_ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
