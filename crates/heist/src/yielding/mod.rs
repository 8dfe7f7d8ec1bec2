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

mod adaptive;
mod git;
#[cfg(test)]
mod tests;

pub use adaptive::Adaptive;
pub use git::{Git, GitPhase};

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
