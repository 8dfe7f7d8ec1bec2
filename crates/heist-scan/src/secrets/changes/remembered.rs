//! [`Remembered`]: what the detector keeps of a scanned object: its candidates and its matches.

use super::super::SecretDetector;
use super::super::owned_match::OwnedMatch;
use super::super::prefilter::Candidates;
use std::ops::Range;

/// What the detector keeps of a scanned object.
#[derive(Clone, Debug)]
pub(crate) struct Remembered {
    /// The detector that scanned it.
    pub(super) detector: u64,
    /// The length of the object.
    pub(super) len: usize,
    /// `false` if no byte is zero, so that no part of the object is UTF-16.
    pub(super) may_have_zeros: bool,
    pub(super) candidates: KnownCandidates,
    /// Its matches, in the order of their owners.
    pub(super) matches: Box<[OwnedMatch]>,
}

impl Remembered {
    /// Returns how much memory it takes.
    pub(crate) fn size(&self) -> usize {
        let decoded = |one: &OwnedMatch| one.found.found.decoded.as_deref().map_or(0, <[u8]>::len);
        let decoded: usize = self.matches.iter().map(decoded).sum();
        size_of::<Self>() + self.candidates.size() + size_of_val(&*self.matches) + decoded
    }
}

/// A candidate is a literal, with its number, or a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Literal(u32),
    /// A run of letters and digits, and whether it has a digit.
    Run {
        has_digit: bool,
    },
}

/// The candidates of a text, in order, each once. Takes six bytes for each of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownCandidates {
    at: Vec<u32>,
    kinds: Vec<u16>,
}

/// The kinds of runs. All smaller numbers are literals.
const RUN: u16 = u16::MAX;
const VALUE: u16 = u16::MAX - 1;

/// Longer objects, and those of a detector with more literals, are not remembered.
const BYTES_MAX: usize = u32::MAX as usize;
const LITERALS_MAX: usize = VALUE as usize;

/// Returns `true` if the candidates of an object of this length can be kept.
pub(super) fn can_be_kept(detector: &SecretDetector, len: usize) -> bool {
    len <= BYTES_MAX && detector.plan.sought.len() <= LITERALS_MAX
}

impl KnownCandidates {
    pub(super) fn size(&self) -> usize {
        size_of_val(&*self.at) + size_of_val(&*self.kinds)
    }

    /// Adds the candidates of a sweep over positions after all known ones. `sorted` is a buffer.
    pub(super) fn add_swept(&mut self, swept: &Candidates, sorted: &mut Vec<u64>) {
        sorted.clear();
        let entry = |at: usize, kind: u16| (at as u64) << 16 | u64::from(kind);
        sorted.extend(swept.anchors.iter().map(|hit| entry(hit.at, hit.literal as u16)));
        sorted.extend(swept.runs.iter().map(|&at| entry(at, RUN)));
        sorted.extend(swept.values.iter().map(|&at| entry(at, VALUE)));
        sorted.sort_unstable();
        sorted.dedup();
        self.at.extend(sorted.iter().map(|entry| (entry >> 16) as u32));
        self.kinds.extend(sorted.iter().map(|&entry| entry as u16));
    }

    /// Adds the candidates in a range of the base, which begins at `to` in this text.
    pub(super) fn add_copied(&mut self, base: &Self, range: Range<usize>, to: usize) {
        let Range { start, end } = base.places(&range);
        let moved = (to as u32).wrapping_sub(range.start as u32);
        self.at.extend(base.at[start..end].iter().map(|at| at.wrapping_add(moved)));
        self.kinds.extend(&base.kinds[start..end]);
    }

    /// Returns which candidates are in this range.
    fn places(&self, range: &Range<usize>) -> Range<usize> {
        let from = |at: usize| self.at.partition_point(|&one| (one as usize) < at);
        from(range.start)..from(range.end)
    }

    /// Returns the candidates in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, Kind)> {
        self.at.iter().zip(&self.kinds).map(|(&at, &kind)| {
            let kind = match kind {
                RUN => Kind::Run { has_digit: true },
                VALUE => Kind::Run { has_digit: false },
                literal => Kind::Literal(u32::from(literal)),
            };
            (at as usize, kind)
        })
    }

    /// Returns the runs with a digit in this range, in order.
    pub(super) fn runs_within(&self, range: Range<usize>) -> impl Iterator<Item = usize> {
        let places = self.places(&range);
        let candidates = self.at[places.clone()].iter().zip(&self.kinds[places]);
        candidates.filter(|&(_, &kind)| kind == RUN).map(|(&at, _)| at as usize)
    }

    /// Returns the memory without what it reserved.
    pub(super) fn compact(mut self) -> Self {
        self.at.shrink_to_fit();
        self.kinds.shrink_to_fit();
        self
    }
}
