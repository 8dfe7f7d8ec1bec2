//! Yielding by the phase of a git scan.

use super::YieldPolicy;
use std::num::NonZeroU32;
use std::time::Duration;

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
    pub(super) used: u64,
}

impl Git {
    /// A slice in the finest parts that 64 bits have. With shares rounded up, exactly the `n`-th
    /// unit of an interval `n` fills it: `n` shares are at least the whole, and `n - 1` shares are
    /// less than it as long as `(n - 1)^2` is, which holds for every `u32`.
    pub(super) const WHOLE_SLICE: u64 = u64::MAX;

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
