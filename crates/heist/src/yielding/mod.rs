//! Decides when a long task should let other work run.
//!
//! heist never pre-empts a task, so a task that walks a 10 GB file or a git pack keeps its worker
//! until it returns. Such a task works in *units* (a chunk, a commit, an object) and asks its
//! [`YieldPolicy`] after each unit. When the policy says yes, the task spawns itself again with its
//! cursor and returns. One long task then becomes a series of short tasks (*slices*). Other workers
//! can steal them, a shutdown can drop them, and waiting work runs between them.
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
//! - Policies are pure: they read no clock and draw no random numbers. The caller passes in the
//!   time that a unit took. The same calls give the same answers in production and in simulation.
//! - Every policy except [`Never`] says yes after a finite number of units, whatever times are
//!   passed in.
//!
//! Not guaranteed: a bound on a single unit. The policy is not asked in the middle of a unit, so a
//! unit of one second holds its worker for one second.

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
/// /// Sums from `cursor` on. Returns `Err` with the cursor at which to continue.
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
    /// Returns `true` if the task should yield now. Call this after each unit of work, with the
    /// time that this unit took. `true` ends the slice: the next unit is the first of a new one.
    ///
    /// Policies that only count ([`EveryN`], [`Git`], [`Never`], [`Always`]) ignore the time, so
    /// their callers need not read a clock and may pass [`Duration::ZERO`].
    fn should_yield(&mut self, elapsed: Duration) -> bool;

    /// Begins a new slice without a yield. Call this after stopping for another reason, for example
    /// to wait for a permit or to open another file. The policy keeps what it has learnt about the
    /// cost of units.
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
    /// The default number of units in a slice. With units of about 16 µs (searching some tens of
    /// KiB), a slice takes about a millisecond, like the default target of [`Adaptive`], and 64
    /// units share the cost of one spawn.
    pub const DEFAULT_INTERVAL: NonZeroU32 = NonZeroU32::new(64).unwrap();

    /// Creates a policy that yields after every `interval` units. The type excludes 0, which would
    /// have no meaning.
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
        // Between calls `units` is below the interval, so this does not overflow.
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
