//! [`WorkLimit`]: how much work an object may take for its size.
//!
//! A detector counts its work ([`Detector::take_work`](crate::Detector::take_work)); it measures no
//! time. The scan adds up the work of an object from front to back and compares it with the limit
//! at the end of each block of [`BLOCK_BYTES`]. No chunk crosses the end of a block. So what is cut
//! depends on the object alone: not on the chunk size, the range size, the number of workers, or
//! the speed of the machine.
//!
//! The limit grows with the object, and begins with an allowance that is far more than honest files
//! use. Not guaranteed: a bound for many small objects, each of which has the allowance. A deadline
//! bounds those.

/// The limit is compared with the work at multiples of this offset. A multiple of this size is also
/// the default size of a chunk and of a range, so that the blocks cost nothing.
pub(crate) const BLOCK_BYTES: u64 = 256 << 10;

/// How much work an object may take: `free` for any object, and `per_byte` for each of its bytes.
/// The unit is about a nanosecond.
///
/// The default is a second for any object, and 10 ns for each byte, which is about 30 times as long
/// as prose takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkLimit {
    /// The work that any object may take.
    pub free: u64,
    /// The work that it may take in addition, for each byte.
    pub per_byte: u64,
}

impl Default for WorkLimit {
    fn default() -> Self {
        Self::new(1_000_000_000, 10)
    }
}

impl WorkLimit {
    /// Creates a limit.
    #[must_use]
    pub const fn new(free: u64, per_byte: u64) -> Self {
        Self { free, per_byte }
    }

    /// Returns `true` if an object must be cut at `end`, where its work so far is this. It is never
    /// cut where it ends anyway.
    pub(super) fn cuts(&self, work: u64, end: u64, is_object_end: bool) -> bool {
        let allowed = self.free.saturating_add(self.per_byte.saturating_mul(end));
        !is_object_end && end.is_multiple_of(BLOCK_BYTES) && work > allowed
    }
}

/// Returns the end of the block that contains this offset.
pub(super) fn end_of_block(offset: u64) -> u64 {
    (offset / BLOCK_BYTES + 1).saturating_mul(BLOCK_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_cut_only_at_the_end_of_a_block() {
        let limit = WorkLimit::new(100, 2);
        let allowed = 100 + 2 * BLOCK_BYTES;
        assert!(!limit.cuts(allowed, BLOCK_BYTES, false));
        assert!(limit.cuts(allowed + 1, BLOCK_BYTES, false));
        assert!(!limit.cuts(allowed + 1, BLOCK_BYTES, true));
        assert!(!limit.cuts(u64::MAX, BLOCK_BYTES + 1, false));
        assert!(!WorkLimit::new(u64::MAX, 1).cuts(u64::MAX, BLOCK_BYTES, false));
        assert_eq!(
            [0, 1, BLOCK_BYTES - 1, BLOCK_BYTES].map(end_of_block),
            [BLOCK_BYTES, BLOCK_BYTES, BLOCK_BYTES, 2 * BLOCK_BYTES]
        );
    }
}
