//! When a long task should let others have a turn.
//!
//! A worker is never pre-empted, so a task that walks a 10 GB file or a git pack keeps its worker
//! until it returns. Such a task works in *units* (a chunk, a commit, an object), asks its
//! [`YieldPolicy`] after each, and when told to yield re-spawns itself with its cursor and returns.
//! What was one long tail is then a row of short tasks (*slices*) which siblings can steal, which a
//! shutdown can drop, and between which waiting work gets its turn.
//!
//! | policy | a slice is | for |
//! |---|---|---|
//! | [`EveryN`] | a fixed number of units | units of known, similar cost |
//! | [`Adaptive`] | about a fixed time | units of unknown or changing cost |
//! | [`Git`] | a number of units by phase | a scan of a git history |
//! | [`Never`] | the whole task | short tasks; measuring what yielding costs |
//! | [`Always`] | one unit | tests: every cursor is saved and resumed |
//!
//! Invariants:
//! - policies are pure: they read no clock and draw no random numbers; the time that a unit took is
//!   passed in. The same calls give the same answers, in production and in simulation;
//! - every policy but [`Never`] says yes after a finite number of units, however they are timed.
//!
//! Not guaranteed: any bound on a single unit. A unit that takes a second takes a second; no policy
//! is asked in the middle of it.

use std::num::NonZeroU32;
use std::time::Duration;

/// Decides after which units of work a task yields.
///
/// ```
/// use std::time::Instant;
/// use heist::yielding::{EveryN, YieldPolicy};
///
/// /// Sums from `cursor` on. `Err` is the cursor to re-spawn the task with.
/// fn one_slice(
///     units: &[u64], mut cursor: usize, sum: &mut u64, policy: &mut impl YieldPolicy,
/// ) -> Result<(), usize> {
///     while let Some(unit) = units.get(cursor) {
///         let start = Instant::now();
///         *sum += unit;
///         cursor += 1;
///         if policy.should_yield(start.elapsed()) && cursor < units.len() {
///             return Err(cursor); // in an executor: ctx.spawn_yielded(Task { cursor, .. })
///         }
///     }
///     Ok(())
/// }
///
/// let units: Vec<u64> = (1..=200).collect();
/// let (mut policy, mut sum, mut slices) = (EveryN::default(), 0, 1);
/// let mut cursor = 0;
/// while let Err(resume_at) = one_slice(&units, cursor, &mut sum, &mut policy) {
///     cursor = resume_at;
///     slices += 1;
/// }
/// assert_eq!(sum, 20_100);
/// assert_eq!(slices, 4); // 64 + 64 + 64 + 8 units
/// ```
pub trait YieldPolicy {
    /// Called after each unit of work with the time that this unit took; says whether to yield now.
    /// A `true` ends the slice: the next unit is the first of a new one.
    ///
    /// Policies that only count ([`EveryN`], [`Git`], [`Never`], [`Always`]) ignore the time; their
    /// callers need not read a clock and may pass [`Duration::ZERO`].
    fn should_yield(&mut self, elapsed: Duration) -> bool;

    /// Begins a new slice without a yield, for a caller that stopped for another reason (it waited
    /// for a permit, or began with another file). What was learnt about the cost of units is kept.
    fn reset(&mut self);
}

impl<P: YieldPolicy + ?Sized> YieldPolicy for &mut P {
    fn should_yield(&mut self, elapsed: Duration) -> bool {
        (**self).should_yield(elapsed)
    }

    fn reset(&mut self) {
        (**self).reset();
    }
}

impl<P: YieldPolicy + ?Sized> YieldPolicy for Box<P> {
    fn should_yield(&mut self, elapsed: Duration) -> bool {
        (**self).should_yield(elapsed)
    }

    fn reset(&mut self) {
        (**self).reset();
    }
}

/// Never yields: the task keeps its worker until it is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Never;

impl YieldPolicy for Never {
    fn should_yield(&mut self, _elapsed: Duration) -> bool {
        false
    }

    fn reset(&mut self) {}
}

/// Yields after every unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Always;

impl YieldPolicy for Always {
    fn should_yield(&mut self, _elapsed: Duration) -> bool {
        true
    }

    fn reset(&mut self) {}
}

/// Yields after every `n`-th unit, whatever the units cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EveryN {
    interval: NonZeroU32,
    units: u32,
}

impl EveryN {
    /// Units in a slice by default: with units of about 16 µs (some tens of KiB searched) a slice
    /// is about a millisecond, the same as the default target of [`Adaptive`]; and what a re-spawn
    /// costs is shared by 64 units.
    pub const DEFAULT_INTERVAL: NonZeroU32 = NonZeroU32::new(64).unwrap();

    /// Yields after every `interval` units. An interval of 0 would have no meaning (before any
    /// work? never?), so its type has none.
    #[must_use]
    pub const fn new(interval: NonZeroU32) -> Self {
        Self { interval, units: 0 }
    }
}

impl Default for EveryN {
    fn default() -> Self {
        Self::new(Self::DEFAULT_INTERVAL)
    }
}

impl YieldPolicy for EveryN {
    fn should_yield(&mut self, _elapsed: Duration) -> bool {
        // `units` is below the interval between calls, so this does not overflow.
        self.units += 1;
        let full = self.units >= self.interval.get();
        if full {
            self.units = 0;
        }
        full
    }

    fn reset(&mut self) {
        self.units = 0;
    }
}

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
    target_ns: u64,
    max_units: NonZeroU32,
    /// The average time per unit, times [`AVERAGE_OVER`](Self::AVERAGE_OVER): the factor keeps the
    /// fraction that an integer average would lose. At most `target_ns * AVERAGE_OVER`.
    weighted_average_ns: u64,
    /// Of the current slice.
    units: u32,
    /// Of the current slice; below `target_ns` between calls.
    spent_ns: u64,
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
    const AVERAGE_OVER: u64 = 8;

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

/// What a scan of a git history is doing, and so what a unit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GitPhase {
    /// Following parents from commit to commit. A unit is one commit.
    CommitWalk,
    /// Comparing a commit's tree with its parent's. A unit is one pair of trees (one directory).
    TreeDiff,
    /// Inflating objects and applying their deltas. A unit is one object.
    PackDecode,
    /// Searching content. A unit is one chunk.
    BlobScan,
}

impl GitPhase {
    /// All phases, in the order in which a blob passes through them.
    pub const ALL: [Self; 4] = [Self::CommitWalk, Self::TreeDiff, Self::PackDecode, Self::BlobScan];

    /// Units in a slice of this phase by default.
    ///
    /// Each is 1 ms divided by what a unit is *assumed* to cost. These are orders of magnitude that
    /// make the phases commensurable, not measurements; [`Git::with_interval`] replaces them.
    #[must_use]
    pub const fn default_interval(self) -> NonZeroU32 {
        let units = match self {
            // A few hundred bytes are parsed, mostly out of a commit-graph or a cache: about 2 µs.
            Self::CommitWalk => 512,
            // Two lists of some tens of entries are merged: about 8 µs.
            Self::TreeDiff => 128,
            // Some KiB are inflated, once per link of a delta chain: about 32 µs.
            Self::PackDecode => 32,
            // 256 KiB are searched at about 2 GB/s: about 128 µs.
            Self::BlobScan => 8,
        };
        NonZeroU32::new(units).unwrap()
    }
}

/// Yields after a number of units that depends on the phase of a git scan.
///
/// Going from one phase to another does not begin a new slice: a unit uses up its phase's share
/// (one in `interval`) of *one* slice. Counting each phase for itself would let a scan that changes
/// its phase at every unit (walk one commit, compare its trees, search one blob, and again) go on
/// for ever without a yield.
///
/// ```
/// use std::time::Duration;
/// use heist::yielding::{Git, GitPhase, YieldPolicy};
///
/// let mut policy = Git::default();
/// policy.enter(GitPhase::BlobScan);
/// let units_until_yield = 1 + (0..).take_while(|_| !policy.should_yield(Duration::ZERO)).count();
/// assert_eq!(units_until_yield, 8);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Git {
    phase: GitPhase,
    /// By phase, in the order of [`GitPhase::ALL`].
    intervals: [NonZeroU32; GitPhase::ALL.len()],
    /// How much of the current slice is used up, of [`WHOLE_SLICE`](Self::WHOLE_SLICE).
    used: u64,
}

impl Git {
    /// A slice in the finest parts that 64 bits have. With shares rounded up, exactly the `n`-th
    /// unit of an interval `n` fills it: `n` shares are at least the whole, and `n - 1` shares are
    /// less than it as long as `(n - 1)^2` is, which holds for every `u32`.
    const WHOLE_SLICE: u64 = u64::MAX;

    /// A policy that starts in [`GitPhase::CommitWalk`], with the default intervals.
    #[must_use]
    pub fn new() -> Self {
        Self {
            phase: GitPhase::CommitWalk,
            intervals: GitPhase::ALL.map(GitPhase::default_interval),
            used: 0,
        }
    }

    /// The same with another interval for `phase`.
    #[must_use]
    pub const fn with_interval(mut self, phase: GitPhase, interval: NonZeroU32) -> Self {
        self.intervals[phase as usize] = interval;
        self
    }

    /// From now on units are of `phase`. The current slice goes on.
    pub const fn enter(&mut self, phase: GitPhase) {
        self.phase = phase;
    }

    /// The phase entered last.
    #[must_use]
    pub const fn phase(&self) -> GitPhase {
        self.phase
    }
}

impl Default for Git {
    fn default() -> Self {
        Self::new()
    }
}

impl YieldPolicy for Git {
    fn should_yield(&mut self, _elapsed: Duration) -> bool {
        let interval = self.intervals[self.phase as usize].get();
        let share = Self::WHOLE_SLICE.div_ceil(u64::from(interval));
        self.used = self.used.saturating_add(share);
        let full = self.used == Self::WHOLE_SLICE;
        if full {
            self.used = 0;
        }
        full
    }

    fn reset(&mut self) {
        self.used = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_TIME: Duration = Duration::ZERO;

    fn nonzero(n: u32) -> NonZeroU32 {
        NonZeroU32::new(n).unwrap()
    }

    /// Units until the next yield, all taking `unit`; panics if there are more than `limit`.
    fn slice_len(policy: &mut impl YieldPolicy, unit: Duration, limit: u32) -> u32 {
        (1..=limit)
            .find(|_| policy.should_yield(unit))
            .unwrap_or_else(|| panic!("no yield in {limit} units of {unit:?}"))
    }

    /// Lets the average settle on `unit`, and begins a new slice.
    fn settle(policy: &mut Adaptive, unit: Duration) {
        for _ in 0..200 {
            policy.should_yield(unit);
        }
        policy.reset();
    }

    #[test]
    fn never_and_always_are_what_they_say() {
        for unit in [NO_TIME, Duration::from_secs(1), Duration::MAX] {
            assert!(!Never.should_yield(unit));
            assert!(Always.should_yield(unit));
        }
    }

    #[test]
    fn every_n_yields_at_each_nth_unit() {
        for n in [1, 2, 3, 64, 1000] {
            let mut policy = EveryN::new(nonzero(n));
            for _ in 0..3 {
                assert_eq!(slice_len(&mut policy, NO_TIME, n), n);
            }
        }
        assert_eq!(slice_len(&mut EveryN::default(), Duration::MAX, 64), 64);
    }

    #[test]
    fn every_n_with_the_largest_interval_does_not_overflow() {
        let mut policy = EveryN { interval: NonZeroU32::MAX, units: u32::MAX - 2 };
        assert!(!policy.should_yield(NO_TIME));
        assert!(policy.should_yield(NO_TIME));
        assert!(!policy.should_yield(NO_TIME));
    }

    #[test]
    fn reset_begins_a_new_slice() {
        let mut every_n = EveryN::new(nonzero(3));
        let mut git = Git::new().with_interval(GitPhase::CommitWalk, nonzero(3));
        let policies: [&mut dyn YieldPolicy; 2] = [&mut every_n, &mut git];
        for mut policy in policies {
            policy.should_yield(NO_TIME);
            policy.should_yield(NO_TIME);
            policy.reset();
            assert_eq!(slice_len(&mut policy, NO_TIME, 3), 3);
        }
    }

    #[test]
    fn boxed_policies_are_policies() {
        let mut boxed: Box<dyn YieldPolicy> = Box::new(EveryN::new(nonzero(2)));
        assert_eq!(slice_len(&mut boxed, NO_TIME, 2), 2);
        boxed.should_yield(NO_TIME);
        boxed.reset();
        assert_eq!(slice_len(&mut boxed, NO_TIME, 2), 2);
    }

    #[test]
    fn adaptive_slices_last_about_the_target() {
        for (target_us, unit_us) in [(1000, 1), (1000, 10), (1000, 300), (5000, 70), (100, 100)] {
            let target = Duration::from_micros(target_us);
            let unit = Duration::from_micros(unit_us);
            let mut policy = Adaptive::new(target);
            settle(&mut policy, unit);
            let units = slice_len(&mut policy, unit, 2000);
            let spent = unit * units;
            assert!(
                spent + unit > target.mul_f64(0.95) && spent < target + unit,
                "{units} units of {unit:?} for {target:?}"
            );
            assert!(policy.interval().abs_diff(units) <= 1, "{policy:?} gave {units} units");
        }
    }

    #[test]
    fn adaptive_follows_a_change_by_a_hundred_both_ways() {
        let (cheap, dear) = (Duration::from_micros(10), Duration::from_millis(1));
        let mut policy = Adaptive::default();

        settle(&mut policy, cheap);
        let when_cheap = policy.interval();
        assert!((90..=100).contains(&when_cheap), "{when_cheap}");

        // Up: the very first dear unit ends the slice, although 100 units were forecast.
        policy.should_yield(cheap);
        assert!(policy.should_yield(dear));
        settle(&mut policy, dear);
        assert_eq!(policy.interval(), 1);
        assert_eq!(slice_len(&mut policy, dear, 1), 1);

        // Down: within a factor of two after the promised 35 units, and back where it was at last.
        for _ in 0..35 {
            policy.should_yield(cheap);
        }
        assert!(policy.interval() >= 50, "{}", policy.interval());
        settle(&mut policy, cheap);
        assert!(policy.interval().abs_diff(when_cheap) <= 1);
        assert!(slice_len(&mut policy, cheap, 101) >= 90);
    }

    #[test]
    fn the_average_alone_follows_too() {
        // The same up-change with units too short for the watch on time spent to act first.
        let mut policy = Adaptive::new(Duration::from_millis(100));
        settle(&mut policy, Duration::from_micros(100));
        assert!(policy.interval() >= 950, "{}", policy.interval());
        for _ in 0..34 {
            policy.should_yield(Duration::from_millis(10));
            policy.reset();
        }
        assert!((10..=11).contains(&policy.interval()), "{}", policy.interval());
    }

    #[test]
    fn no_adaptive_slice_passes_its_target_by_more_than_a_unit() {
        // Costs that no average forecasts: mostly nothing, now and then a lot.
        let target = Duration::from_millis(1);
        let mut policy = Adaptive::default();
        let mut before_last_unit = NO_TIME;
        let mut yields = 0;
        for i in 0..10_000_u64 {
            let unit = Duration::from_micros(if i % 37 == 0 { i % 900 } else { i % 3 });
            if policy.should_yield(unit) {
                before_last_unit = NO_TIME;
                yields += 1;
            } else {
                before_last_unit += unit;
                assert!(before_last_unit < target);
            }
        }
        assert!(yields > 10);
    }

    #[test]
    fn one_stall_does_not_cripple_adaptive() {
        let cheap = Duration::from_micros(10);
        let mut policy = Adaptive::default();
        settle(&mut policy, cheap);
        assert!(policy.should_yield(Duration::from_secs(3600)));
        assert!(policy.interval() >= 5, "{}", policy.interval());
        for _ in 0..20 {
            policy.should_yield(cheap);
        }
        assert!(policy.interval() >= 50, "{}", policy.interval());
    }

    #[test]
    fn adaptive_starts_from_a_guess() {
        assert_eq!(Adaptive::default().interval(), 20); // 1 ms in units of 50 µs
        assert_eq!(Adaptive::new(Duration::from_micros(1)).interval(), 1);
    }

    #[test]
    fn units_without_time_are_bounded_by_the_maximum() {
        let mut policy = Adaptive::default();
        for _ in 0..5 {
            policy.reset();
            settle(&mut policy, NO_TIME);
            assert_eq!(slice_len(&mut policy, NO_TIME, 1024), 1024);
        }
        let mut policy = Adaptive::default().with_max_units(nonzero(7));
        assert_eq!(slice_len(&mut policy, NO_TIME, 7), 7);
        let mut policy = Adaptive::default().with_max_units(NonZeroU32::MIN);
        assert_eq!(slice_len(&mut policy, NO_TIME, 1), 1);
    }

    #[test]
    fn a_zero_target_yields_after_every_unit() {
        let mut policy = Adaptive::new(NO_TIME);
        for unit in [NO_TIME, Duration::from_nanos(1), Duration::MAX, NO_TIME, NO_TIME] {
            assert!(policy.should_yield(unit));
        }
        for _ in 0..100 {
            assert!(policy.should_yield(NO_TIME));
        }
    }

    #[test]
    fn adaptive_does_not_overflow() {
        let extremes = [NO_TIME, Duration::from_nanos(1), Duration::from_secs(1), Duration::MAX];
        for target in extremes {
            let mut policy = Adaptive::new(target).with_max_units(NonZeroU32::MAX);
            for i in 0..1000 {
                policy.should_yield(extremes[i * 7 % 4]);
                policy.should_yield(Duration::MAX);
                assert!(policy.interval() >= 1);
                assert!(policy.weighted_average_ns <= policy.target_ns * Adaptive::AVERAGE_OVER);
            }
        }
    }

    #[test]
    fn reset_keeps_what_adaptive_has_learnt() {
        let mut policy = Adaptive::default();
        settle(&mut policy, Duration::from_micros(5));
        let learnt = policy.interval();
        policy.reset();
        assert_eq!(policy.interval(), learnt);
        assert_eq!((policy.units, policy.spent_ns), (0, 0));
    }

    #[test]
    fn each_git_phase_has_its_interval() {
        for (phase, units) in GitPhase::ALL.into_iter().zip([512, 128, 32, 8]) {
            let mut policy = Git::default();
            assert_eq!(policy.phase(), GitPhase::CommitWalk);
            policy.enter(phase);
            assert_eq!(policy.phase(), phase);
            for _ in 0..3 {
                assert_eq!(slice_len(&mut policy, NO_TIME, units), units, "{phase:?}");
            }
        }
    }

    #[test]
    fn git_phases_are_listed_in_the_order_of_their_numbers() {
        for (index, phase) in GitPhase::ALL.into_iter().enumerate() {
            assert_eq!(phase as usize, index);
        }
    }

    #[test]
    fn git_intervals_are_exact_whatever_they_are() {
        for n in (1..=300).chain([1000, 1023, 65_537, 99_991]) {
            let mut policy = Git::new().with_interval(GitPhase::CommitWalk, nonzero(n));
            assert_eq!(slice_len(&mut policy, NO_TIME, n), n);
        }
        // Too long to count through: all but one unit at once.
        for n in [u32::MAX, u32::MAX - 1, 1 << 31, (1 << 31) + 1, 3_000_000_019] {
            let mut policy = Git::new().with_interval(GitPhase::CommitWalk, nonzero(n));
            let share = Git::WHOLE_SLICE.div_ceil(u64::from(n));
            policy.used = share.checked_mul(u64::from(n - 2)).unwrap();
            assert!(!policy.should_yield(NO_TIME), "unit {} of {n}", n - 1);
            assert!(policy.should_yield(NO_TIME), "unit {n} of {n}");
        }
    }

    #[test]
    fn alternating_git_phases_still_yield() {
        let mut policy = Git::default();
        let mut rounds = 0;
        let yielded_in = 'rounds: loop {
            rounds += 1;
            for phase in GitPhase::ALL {
                policy.enter(phase);
                if policy.should_yield(NO_TIME) {
                    break 'rounds phase;
                }
            }
            assert!(rounds < 100, "no yield");
        };
        // A round uses 1/512 + 1/128 + 1/32 + 1/8 = 85/512 of a slice. Six rounds leave 2/512, of
        // which the next commit takes one and the next pair of trees the rest.
        assert_eq!((rounds, yielded_in), (7, GitPhase::TreeDiff));
    }

    #[test]
    fn a_half_used_slice_stays_half_used_in_another_phase() {
        let mut policy = Git::default();
        for _ in 0..256 {
            assert!(!policy.should_yield(NO_TIME));
        }
        policy.enter(GitPhase::BlobScan);
        assert_eq!(slice_len(&mut policy, NO_TIME, 8), 4);
    }
}
