//! Yielding by time.

use super::YieldPolicy;
use std::num::NonZeroU32;
use std::time::Duration;

/// Yields after about a fixed time, based on the recent cost of units.
///
/// The policy keeps a moving average of the time per unit and yields after `target / average`
/// units, at least 1 and at most [`max_units`](Self::with_max_units). Since the average is only a
/// forecast, the policy also watches the time spent: a slice ends as soon as it reaches the target.
/// So a slice exceeds the target by less than its last unit, even if costs suddenly rise. When
/// costs fall, slices grow back within some tens of units.
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
    /// The average time per unit, multiplied by [`AVERAGE_OVER`](Self::AVERAGE_OVER). The factor
    /// keeps the fraction that an integer average would lose. At most `target_ns * AVERAGE_OVER`.
    pub(super) weighted_average_ns: u64,
    /// The units of the current slice.
    pub(super) units: u32,
    /// The time spent in the current slice; below `target_ns` between calls.
    pub(super) spent_ns: u64,
}

impl Adaptive {
    /// The default target. The scheduler also aims at 1 ms for work that waits in its injector.
    /// This is too short for a person to notice, and long compared to the cost of a spawn.
    pub const DEFAULT_TARGET: Duration = Duration::from_millis(1);

    /// The default limit on the units in a slice: the number that fits into 1 ms if a unit takes 1
    /// µs. Cheaper units are not worth timing one by one. The limit also ends a slice if the clock
    /// is too coarse to see single units.
    pub const DEFAULT_MAX_UNITS: NonZeroU32 = NonZeroU32::new(1024).unwrap();

    /// The assumed cost of a unit before the first one (the scheduler's first estimate for a task
    /// as well). Starting from the first unit instead would trust the unit that most likely met
    /// cold caches.
    const FIRST_ESTIMATE_NS: u64 = 50_000;

    /// A new unit has a weight of one in this many in the average. With 8, a single outlier moves
    /// the average by an eighth. After the cost changes by a factor of 100, the average is within a
    /// factor of two of the new cost after 35 units (99 * (7/8)^n <= 1).
    pub(super) const AVERAGE_OVER: u64 = 8;

    /// Creates a policy that aims at slices of `target`. A target of zero yields after every unit.
    /// A target above 73 years counts as 73 years, so that sums of nanoseconds fit into 64 bits.
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

    /// Sets the limit on the units in a slice.
    #[must_use]
    pub const fn with_max_units(mut self, max_units: NonZeroU32) -> Self {
        self.max_units = max_units;
        self
    }

    /// Returns the number of units that a slice has at present.
    #[must_use]
    pub fn interval(&self) -> u32 {
        // No overflow, because `new` bounds the target. An average of zero gives the limit.
        let units = (self.target_ns * Self::AVERAGE_OVER)
            .checked_div(self.weighted_average_ns)
            .unwrap_or(u64::MAX);
        let max_units = self.max_units.get();
        u32::try_from(units).unwrap_or(max_units).clamp(1, max_units)
    }

    /// Adds the cost of one unit to the average.
    fn learn(&mut self, unit_ns: u64) {
        // A unit above the target ends its slice alone, however long it took. Counted in full, one
        // stall of a second would shrink later slices to single units for a long time.
        let unit_ns = unit_ns.min(self.target_ns);
        // average += (unit - average) / 8, in eighths. The bound on the field holds: at its
        // maximum, exactly the target is subtracted, and at most the target is added.
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
        // Between calls `units` is below `max_units`, so this does not overflow.
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

/// Returns the nanoseconds, limited to 64 bits (584 years).
fn saturating_ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
