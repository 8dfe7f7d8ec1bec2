//! [`assign`]: which literals share a bucket.
//!
//! For each position, the vector code computes only which buckets may have a literal whose window
//! begins there. For each bucket, it stores only which low and which high halves its literals have
//! in each of the four bytes. The more alike the literals of a bucket are, the fewer false hits it
//! produces, so each literal goes into the bucket that it changes least.

use super::super::frequency::frequency;
use super::super::literal::{LiteralByte, WINDOW_BYTES};
use super::LiteralTable;

/// Which low and which high halves a byte may have: sixteen bits for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Halves {
    pub(super) low: u16,
    pub(super) high: u16,
}

impl Halves {
    const ANY: Self = Self { low: u16::MAX, high: u16::MAX };

    fn of(byte: Option<&LiteralByte>) -> Self {
        let Some(byte) = byte else { return Self::ANY };
        byte.bytes().fold(Self::default(), |halves, byte| {
            halves.and(Self { low: 1 << (byte & 15), high: 1 << (byte >> 4) })
        })
    }

    fn and(self, other: Self) -> Self {
        Self { low: self.low | other.low, high: self.high | other.high }
    }
}

/// The halves that a bucket accepts, for each of a window's bytes.
pub(super) type Bucket = [Halves; WINDOW_BYTES];

/// Distributes a table's literals over `count` buckets.
pub(super) fn assign(table: &LiteralTable, count: usize) -> Vec<Bucket> {
    let odds = Odds::new();
    let mut windows: Vec<(f64, Bucket)> = table
        .windows()
        .map(|window| {
            let bucket: Bucket = std::array::from_fn(|at| Halves::of(window.get(at)));
            (odds.of_bucket(&bucket), bucket)
        })
        .collect();
    // Place the most common literals first, so that they end up with similar ones.
    windows.sort_by(|left, right| right.0.total_cmp(&left.0));
    let mut buckets = vec![(0.0, [Halves::default(); WINDOW_BYTES]); count];
    for (_, window) in windows {
        let joined =
            |bucket: &Bucket| -> Bucket { std::array::from_fn(|at| bucket[at].and(window[at])) };
        let grown =
            buckets.iter().map(|(odds_now, bucket)| odds.of_bucket(&joined(bucket)) - odds_now);
        let Some((best, _)) = grown.enumerate().min_by(|left, right| left.1.total_cmp(&right.1))
        else {
            break;
        };
        let bucket = joined(&buckets[best].1);
        buckets[best] = (odds.of_bucket(&bucket), bucket);
    }
    buckets.into_iter().map(|(_, bucket)| bucket).collect()
}

/// How likely bytes with given halves are.
struct Odds {
    /// For each high half, and each set of the eight smaller or the eight larger low halves.
    of_low_halves: Vec<[[f64; 256]; 2]>,
}

impl Odds {
    fn new() -> Self {
        let of_low_halves = (0..16_u8)
            .map(|high| {
                std::array::from_fn(|side| {
                    std::array::from_fn(|set| {
                        (0..8_u8)
                            .filter(|low| set >> low & 1 == 1)
                            .map(|low| frequency(high << 4 | (side as u8 * 8 + low)))
                            .sum()
                    })
                })
            })
            .collect();
        Self { of_low_halves }
    }

    fn of_bucket(&self, bucket: &Bucket) -> f64 {
        bucket.iter().map(|halves| self.of_byte(*halves)).product()
    }

    fn of_byte(&self, halves: Halves) -> f64 {
        let (small, large) = (usize::from(halves.low & 0xff), usize::from(halves.low >> 8));
        (0..16)
            .filter(|high| halves.high >> high & 1 == 1)
            .map(|high: usize| {
                self.of_low_halves[high][0][small] + self.of_low_halves[high][1][large]
            })
            .sum()
    }
}
