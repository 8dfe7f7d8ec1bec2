//! Histograms of durations in power-of-two buckets: small, mergeable and always on.
//!
//! Bucket `i` counts the values `v` with `floor(log2(max(v, 1))) == i`: bucket 0 holds 0 and 1 ns,
//! bucket 10 holds 1,024 to 2,047 ns, and bucket 63 holds everything from 292 years on. So 64
//! buckets hold every `u64`, no value is out of range, and finding a bucket is one instruction.
//!
//! [`Histogram`] is the plain value in a snapshot. A worker writes an `AtomicHistogram` while other
//! threads take snapshots.
//!
//! Invariant: the count of a histogram is computed as the sum of its buckets, so the two cannot
//! disagree.
//!
//! Not guaranteed: precision (a quantile is too high by less than a factor of two, and never too
//! low), and a snapshot of a single instant (each value recorded meanwhile may be in it or not).

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// One bucket for each bit of a `u64`.
const BUCKETS: usize = u64::BITS as usize;

/// Returns the bucket that counts `ns`. Zero has no logarithm, so it goes into the bucket of 1.
const fn bucket_of(ns: u64) -> usize {
    // `ilog2` is at most 63. For the highest set bit, `| 1` has the effect of `max(_, 1)`.
    (ns | 1).ilog2() as usize
}

/// Returns the smallest value in `bucket`.
const fn lower_bound(bucket: usize) -> u64 {
    if bucket == 0 { 0 } else { 1 << bucket }
}

/// Returns the largest value in `bucket`.
const fn upper_bound(bucket: usize) -> u64 {
    u64::MAX >> (BUCKETS - 1 - bucket)
}

/// Counts durations in nanoseconds by their order of magnitude.
///
/// ```
/// use heist::metrics::Histogram;
///
/// let mut times = Histogram::default();
/// for ns in [900, 1_000, 1_000_000] {
///     times.record(ns);
/// }
/// assert_eq!(times.count(), 3);
/// // Two values between 512 and 1,023 ns, one between 524,288 and 1,048,575 ns.
/// assert_eq!(times.buckets().collect::<Vec<_>>(), [(512, 2), (524_288, 1)]);
/// // Half of the values were at most this long.
/// assert_eq!(times.quantile(0.5), Some(1_023));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Histogram {
    counts: [u64; BUCKETS],
}

impl Histogram {
    /// Counts one duration of `ns` nanoseconds.
    pub const fn record(&mut self, ns: u64) {
        let count = &mut self.counts[bucket_of(ns)];
        *count = count.saturating_add(1);
    }

    /// Returns the number of durations that were counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().fold(0, |sum, &count| sum.saturating_add(count))
    }

    /// Returns a value in nanoseconds that at least the share `q` of all durations does not exceed.
    ///
    /// This is the upper bound of the bucket that contains the quantile, so it is never too low and
    /// less than twice too high. A `q` below 0 counts as 0 (the bucket of the shortest duration),
    /// and above 1 as 1 (the bucket of the longest). Returns `None` if nothing was counted or if
    /// `q` is not a number.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Option<u64> {
        let count = self.count();
        if count == 0 || q.is_nan() {
            return None;
        }
        // The nearest rank: the quantile is the `rank`-th shortest duration, counted from 1. The
        // cast saturates, and the clamp also covers rounding errors above 2^53 durations.
        let rank = ((q * count as f64).ceil() as u64).clamp(1, count);
        let mut not_longer = 0_u64;
        for (bucket, &in_bucket) in self.counts.iter().enumerate() {
            not_longer = not_longer.saturating_add(in_bucket);
            if not_longer >= rank {
                return Some(upper_bound(bucket));
            }
        }
        None
    }

    /// Iterates over the buckets that are not empty, shortest first. Each item is the smallest
    /// duration that belongs to the bucket, and the bucket's count.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let all = self.counts.iter().enumerate();
        all.filter(|&(_, &count)| count > 0).map(|(bucket, &count)| (lower_bound(bucket), count))
    }

    /// Adds all counts of `other`. The order of merging does not matter.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            // No process counts 2^64 durations, but a caller may repeatedly merge a histogram into
            // itself.
            *mine = mine.saturating_add(*theirs);
        }
    }
}

impl Default for Histogram {
    /// Creates an empty histogram.
    fn default() -> Self {
        Self { counts: [0; BUCKETS] }
    }
}

impl fmt::Debug for Histogram {
    /// Writes a map from lower bounds to counts, without the empty buckets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.buckets()).finish()
    }
}

/// A histogram that one thread writes and any thread may read.
///
/// The atomics are std's and not those of `crate::sync`, and all accesses are Relaxed. No thread
/// acts on statistics, so nothing has to be ordered with them. As modelled atomics they would
/// multiply the interleavings that a model checker has to visit.
#[derive(Debug)]
pub(crate) struct AtomicHistogram {
    counts: [AtomicU64; BUCKETS],
}

impl AtomicHistogram {
    /// Creates an empty histogram.
    pub(crate) const fn new() -> Self {
        Self { counts: [const { AtomicU64::new(0) }; BUCKETS] }
    }

    /// Counts one duration. Only the owning thread may call this: it is a load and a store and not
    /// a read-modify-write, because a worker does this for every task. With a second writer, counts
    /// would be lost, but nothing worse would happen.
    #[inline]
    pub(crate) fn record(&self, ns: u64) {
        let count = &self.counts[bucket_of(ns)];
        // Wrapping and not checked: 2^64 is out of reach, and the hot path should not have a panic.
        count.store(count.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    /// Returns what has been counted so far. The buckets are read one after another, while the
    /// owner may continue to count. No bucket ever decreases from one snapshot to the next.
    pub(crate) fn snapshot(&self) -> Histogram {
        Histogram { counts: self.counts.each_ref().map(|count| count.load(Ordering::Relaxed)) }
    }
}

impl Default for AtomicHistogram {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: impl IntoIterator<Item = u64>) -> Histogram {
        let mut histogram = Histogram::default();
        values.into_iter().for_each(|ns| histogram.record(ns));
        histogram
    }

    #[test]
    fn buckets_are_floors_of_logarithms() {
        assert_eq!(bucket_of(0), 0);
        assert_eq!(bucket_of(1), 0);
        for bucket in 1..BUCKETS {
            let power = 1_u64 << bucket;
            assert_eq!(bucket_of(power - 1), bucket - 1);
            assert_eq!(bucket_of(power), bucket);
            assert_eq!(bucket_of(power + 1), bucket);
        }
        assert_eq!(bucket_of(u64::MAX), 63);
    }

    #[test]
    fn bounds_enclose_their_bucket_without_gaps() {
        assert_eq!(lower_bound(0), 0);
        assert_eq!(upper_bound(BUCKETS - 1), u64::MAX);
        for bucket in 0..BUCKETS {
            assert_eq!(bucket_of(lower_bound(bucket)), bucket);
            assert_eq!(bucket_of(upper_bound(bucket)), bucket);
            if bucket > 0 {
                assert_eq!(upper_bound(bucket - 1) + 1, lower_bound(bucket));
            }
        }
    }

    #[test]
    fn an_empty_histogram_has_no_quantile() {
        let empty = Histogram::default();
        assert_eq!(empty.count(), 0);
        assert_eq!(empty.quantile(0.5), None);
        assert_eq!(empty.buckets().count(), 0);
        assert_eq!(format!("{empty:?}"), "{}");
    }

    #[test]
    fn quantiles_are_those_of_the_sorted_values_rounded_up() {
        // Values of many magnitudes; the sorted list is the slow, obvious way.
        let mut values: Vec<u64> = (0..1000_u64).map(|i| i * i * i % 1_000_003).collect();
        let histogram = of(values.iter().copied());
        values.sort_unstable();
        for percent in 0..=100 {
            let rank = (percent * values.len()).div_ceil(100).max(1);
            let exact = values[rank - 1];
            let answer = histogram.quantile(percent as f64 / 100.0).unwrap();
            assert_eq!(answer, upper_bound(bucket_of(exact)), "{percent} %");
            assert!(answer >= exact && answer <= exact.saturating_mul(2).max(1));
        }
    }

    #[test]
    fn out_of_range_quantiles_are_harmless() {
        let histogram = of([5, 500]);
        assert_eq!(histogram.quantile(f64::NAN), None);
        for low in [-1.0, -0.0, 0.0, f64::NEG_INFINITY, f64::MIN_POSITIVE] {
            assert_eq!(histogram.quantile(low), Some(7));
        }
        for high in [0.51, 1.0, 2.0, f64::INFINITY] {
            assert_eq!(histogram.quantile(high), Some(511));
        }
        assert_eq!(of([u64::MAX]).quantile(1.0), Some(u64::MAX));
    }

    #[test]
    fn merging_equals_recording_everything_in_one() {
        let (left, right) = (0..500_u64, 400..90_000_u64);
        let mut merged = of(left.clone());
        merged.merge(&of(right.clone()));
        assert_eq!(merged, of(left.clone().chain(right.clone())));
        let mut other_way = of(right);
        other_way.merge(&of(left));
        assert_eq!(merged, other_way);
    }

    #[test]
    fn merging_saturates() {
        let mut histogram = of([1, 100]);
        for _ in 0..70 {
            let same = histogram.clone();
            histogram.merge(&same);
        }
        histogram.record(1);
        assert_eq!(histogram.count(), u64::MAX);
        assert_eq!(histogram.quantile(0.5), Some(1));
        assert_eq!(histogram.quantile(1.0), Some(1), "the first bucket alone has the full count");
    }

    #[test]
    fn debug_output_shows_the_buckets_that_are_not_empty() {
        assert_eq!(format!("{:?}", of([0, 1, 9])), "{0: 2, 8: 1}");
    }

    #[test]
    fn the_atomic_histogram_counts_the_same() {
        let values = (0..2000_u64).map(|i| i * 977).chain([0, u64::MAX]);
        let atomic = AtomicHistogram::new();
        values.clone().for_each(|ns| atomic.record(ns));
        assert_eq!(atomic.snapshot(), of(values));
        assert_eq!(AtomicHistogram::default().snapshot(), Histogram::default());
    }

    #[test]
    fn snapshots_never_decrease_and_the_last_one_is_complete() {
        const RECORDS: u64 = if cfg!(miri) { 100 } else { 100_000 };
        let atomic = AtomicHistogram::new();
        std::thread::scope(|scope| {
            scope.spawn(|| (0..RECORDS).for_each(|ns| atomic.record(ns)));
            let mut before = atomic.snapshot();
            while before.count() < RECORDS {
                let now = atomic.snapshot();
                assert!(before.counts.iter().zip(&now.counts).all(|(old, new)| old <= new));
                before = now;
            }
        });
        assert_eq!(atomic.snapshot(), of(0..RECORDS));
    }
}
