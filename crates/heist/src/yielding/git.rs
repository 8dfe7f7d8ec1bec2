//! A yield policy for scans of a git history.

use super::YieldPolicy;
use std::num::NonZeroU32;
use std::time::Duration;

/// A phase of a scan of a git history. The phase determines what a unit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GitPhase {
    /// The scan follows parents from commit to commit. A unit is one commit.
    CommitWalk,
    /// The scan compares the tree of a commit with that of its parent. A unit is one pair of trees
    /// (one directory).
    TreeDiff,
    /// The scan inflates objects and applies their deltas. A unit is one object.
    PackDecode,
    /// The scan searches content. A unit is one chunk.
    BlobScan,
}

impl GitPhase {
    /// All phases, in the order in which a blob passes through them.
    pub const ALL: [Self; 4] = [Self::CommitWalk, Self::TreeDiff, Self::PackDecode, Self::BlobScan];

    /// Returns the default number of units in a slice of this phase.
    ///
    /// Each number is 1 ms divided by the *assumed* cost of a unit. These are orders of magnitude
    /// that make the phases comparable, not measurements. [`Git::with_interval`] replaces them.
    #[must_use]
    pub const fn default_interval(self) -> NonZeroU32 {
        let units = match self {
            // Parses a few hundred bytes, mostly from a commit-graph or a cache: about 2 µs.
            Self::CommitWalk => 512,
            // Merges two lists of some tens of entries: about 8 µs.
            Self::TreeDiff => 128,
            // Inflates some KiB, once per link of a delta chain: about 32 µs.
            Self::PackDecode => 32,
            // Searches 256 KiB at about 2 GB/s: about 128 µs.
            Self::BlobScan => 8,
        };
        NonZeroU32::new(units).unwrap()
    }
}

/// Yields after a number of units that depends on the phase of a git scan.
///
/// Entering another phase does not begin a new slice: each unit uses up the share of its phase (one
/// part in `interval`) of *one* slice. If each phase had its own count, a scan that changes its
/// phase at every unit (walk one commit, compare its trees, search one blob, and repeat) would
/// never yield.
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
    /// The used part of the current slice, out of [`WHOLE_SLICE`](Self::WHOLE_SLICE).
    pub(super) used: u64,
}

impl Git {
    /// A whole slice, in the smallest parts that 64 bits can express. Shares are rounded up, so
    /// exactly the `n`-th unit of an interval `n` fills the slice: `n` shares are at least the
    /// whole, and `n - 1` shares are less than the whole as long as `(n - 1)^2` is, which is true
    /// for every `u32`.
    pub(super) const WHOLE_SLICE: u64 = u64::MAX;

    /// Creates a policy that starts in [`GitPhase::CommitWalk`] with the default intervals.
    #[must_use]
    pub fn new() -> Self {
        Self {
            phase: GitPhase::CommitWalk,
            intervals: GitPhase::ALL.map(GitPhase::default_interval),
            used: 0,
        }
    }

    /// Sets the interval of `phase`.
    #[must_use]
    pub const fn with_interval(mut self, phase: GitPhase, interval: NonZeroU32) -> Self {
        self.intervals[phase as usize] = interval;
        self
    }

    /// Enters `phase`: the following units belong to it. The current slice continues.
    pub const fn enter(&mut self, phase: GitPhase) {
        self.phase = phase;
    }

    /// Returns the phase that was entered last.
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
