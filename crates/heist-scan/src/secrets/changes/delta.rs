//! [`Delta`]: which ranges of a version were copied from its base, and the gaps between them.

use crate::detector::Overlap;
use crate::version::Copied;
use std::ops::Range;

/// Shorter copies are scanned again like new bytes: nothing can be inherited so near to both edges.
const COPY_BYTES_MIN: usize = 128;

/// A copied range with something before and after it that may differ from the base.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Copy {
    /// Where it is in the version.
    pub(super) to: Range<usize>,
    /// Where it begins in the base.
    pub(super) from: usize,
    /// Whether it begins both objects, so that nothing comes before it in either.
    begins_both: bool,
    /// Whether it ends both objects.
    ends_both: bool,
}

impl Copy {
    /// Returns `true` if everything within reach of a position is in the copy, so that it is the
    /// same in both objects.
    pub(super) fn shows(&self, at: usize, reach: Overlap) -> bool {
        (self.begins_both || self.to.start + reach.before <= at)
            && (self.ends_both || at + reach.after <= self.to.end)
    }

    /// Returns the range in the base.
    pub(super) fn in_base(&self) -> Range<usize> {
        self.from..self.from + self.to.len()
    }

    /// Returns the positions from which everything within reach is in the copy.
    pub(super) fn core(&self, reach: Overlap) -> Range<usize> {
        let Range { start, end } = self.to;
        let first = if self.begins_both { start } else { start + reach.before };
        let last = if self.ends_both { end } else { (end + 1).saturating_sub(reach.after.max(1)) };
        first..last.max(first)
    }
}

/// The copies of a version in order, and its gaps.
#[derive(Debug, Default)]
pub(super) struct Delta {
    pub(super) copies: Vec<Copy>,
    /// Each range between two copies, before the first and after the last, unless nothing differs
    /// there. A gap may be empty: two copies from different places meet there.
    pub(super) gaps: Vec<Range<usize>>,
}

impl Delta {
    /// Returns the delta, or `None` if the copies are not what a caller may pass.
    pub(super) fn new(copies: &[Copied], base_len: usize, len: usize) -> Option<Self> {
        let mut delta = Self::default();
        let mut end_before = 0;
        let mut joined: Option<Copy> = None;
        for copied in copies {
            let from = usize::try_from(copied.from).ok()?;
            let to = usize::try_from(copied.to).ok()?;
            let bytes = usize::try_from(copied.len).ok()?;
            let end = to.checked_add(bytes).filter(|&end| end <= len)?;
            if to < end_before || from.checked_add(bytes).is_none_or(|end| end > base_len) {
                return None;
            }
            end_before = end;
            match &mut joined {
                // The next part of the same text.
                Some(copy) if copy.to.end == to && copy.in_base().end == from => copy.to.end = end,
                _ => {
                    delta.copies.extend(joined.take());
                    let to = to..end;
                    joined = Some(Copy { to, from, begins_both: false, ends_both: false });
                }
            }
        }
        delta.copies.extend(joined);
        delta.copies.retain_mut(|copy| {
            copy.begins_both = copy.to.start == 0 && copy.from == 0;
            copy.ends_both = copy.to.end == len && copy.in_base().end == base_len;
            copy.to.len() >= COPY_BYTES_MIN
        });
        let mut from = 0;
        for copy in &delta.copies {
            if !copy.begins_both {
                delta.gaps.push(from..copy.to.start);
            }
            from = copy.to.end;
        }
        if delta.copies.last().is_none_or(|copy| !copy.ends_both) {
            delta.gaps.push(from..len);
        }
        Some(delta)
    }

    /// Returns the gaps, each extended to both sides: `back` says where the range that ends with
    /// the gap's beginning begins, and `forward` where the one that begins with its end ends.
    pub(super) fn around_gaps(
        &self,
        back: impl Fn(usize) -> usize,
        forward: impl Fn(usize) -> usize,
    ) -> Touched {
        let mut touched: Vec<Range<usize>> = Vec::with_capacity(self.gaps.len());
        for gap in &self.gaps {
            let mut range = back(gap.start)..forward(gap.end);
            while let Some(last) = touched.pop_if(|last| range.start <= last.end) {
                range = last.start.min(range.start)..last.end.max(range.end);
            }
            touched.push(range);
        }
        Touched(touched)
    }
}

/// Ranges near gaps, in order and apart from each other.
#[derive(Debug, Default)]
pub(super) struct Touched(pub(super) Vec<Range<usize>>);

impl Touched {
    pub(super) fn contains(&self, at: usize) -> bool {
        let next = self.0.partition_point(|range| range.end <= at);
        self.0.get(next).is_some_and(|range| range.contains(&at))
    }
}
