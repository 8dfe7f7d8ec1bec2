//! Shannon entropy, and the entropy of random texts with a given length and alphabet.

use super::composition::{Alphabet, Composition};
use std::sync::LazyLock;

/// Logarithms of counts below this limit come from a table; the others are computed.
const TABLE: usize = 512;

static LOG2: LazyLock<[f64; TABLE]> =
    LazyLock::new(|| std::array::from_fn(|count| (count.max(1) as f64).log2()));

/// Returns the Shannon entropy of the bytes, in bits per byte; 0 for an empty slice.
///
/// ```
/// use heist_scan::noise::shannon_entropy;
///
/// assert_eq!(shannon_entropy(b""), 0.0);
/// assert_eq!(shannon_entropy(b"aaaa"), 0.0);
/// assert_eq!(shannon_entropy(b"abcd"), 2.0);
/// ```
#[must_use]
pub fn shannon_entropy(bytes: &[u8]) -> f64 {
    if bytes.is_empty() {
        return 0.0;
    }
    if let Ok(len) = u8::try_from(bytes.len()) {
        return shannon_entropy_of_few(bytes, len);
    }
    let mut counts = [0_u32; 256];
    for &byte in bytes {
        counts[usize::from(byte)] += 1;
    }
    let table = &*LOG2;
    let log2 = |count: usize| table.get(count).copied().unwrap_or_else(|| (count as f64).log2());
    let len = bytes.len() as f64;
    let sum: f64 = counts
        .iter()
        .filter(|&&count| count > 1)
        .map(|&count| f64::from(count) * log2(count as usize))
        .sum();
    log2(bytes.len()) - sum / len
}

/// Like [`shannon_entropy`], for texts so short that the counts fit into bytes. Skips byte values
/// that do not occur.
fn shannon_entropy_of_few(bytes: &[u8], len: u8) -> f64 {
    let mut counts = [0_u8; 256];
    for &byte in bytes {
        counts[usize::from(byte)] += 1;
    }
    let table = &*LOG2;
    let sum: f64 = bytes.iter().map(|&byte| table[usize::from(counts[usize::from(byte)])]).sum();
    table[usize::from(len)] - sum / f64::from(len)
}

/// The lengths for which the table below has a column.
const LENGTHS: [usize; 11] = [8, 12, 16, 20, 24, 32, 48, 64, 96, 128, 192];

/// The entropy that 1,999 of 2,000 random texts reach, for alphabets of 10, 16, 32 and 62
/// characters and these lengths. The values were measured; a test measures them again.
const REACHED: [[f64; LENGTHS.len()]; 4] = [
    [1.30, 1.75, 2.00, 2.22, 2.40, 2.55, 2.80, 2.95, 3.05, 3.12, 3.18],
    [1.50, 2.05, 2.40, 2.60, 2.80, 3.05, 3.35, 3.50, 3.65, 3.73, 3.82],
    [1.85, 2.40, 2.80, 3.05, 3.30, 3.60, 4.00, 4.20, 4.45, 4.58, 4.72],
    [2.10, 2.65, 3.10, 3.45, 3.70, 4.00, 4.48, 4.75, 5.10, 5.28, 5.48],
];

/// Returns the entropy that all but one in 2,000 random texts of this composition reach. Signs
/// would only add to it, so they are not counted.
pub(super) fn least_by_chance(shape: &Composition) -> f64 {
    let row = &REACHED[match shape.inner_alphabet {
        Alphabet::Decimal => 0,
        Alphabet::Hex => 1,
        Alphabet::OneCase => 2,
        Alphabet::Base62 | Alphabet::Base64 | Alphabet::Other => 3,
    }];
    let len = shape.letters() + shape.digits;
    let after = LENGTHS.partition_point(|&column| column <= len);
    match after {
        // The text is too short to judge.
        0 => row[0] * len as f64 / LENGTHS[0] as f64,
        _ if after == LENGTHS.len() => row[after - 1],
        _ => {
            let (from, to) = (LENGTHS[after - 1], LENGTHS[after]);
            let part = (len - from) as f64 / (to - from) as f64;
            row[after - 1] + (row[after] - row[after - 1]) * part
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heist::rng::XorShift64;

    #[test]
    fn entropy_is_shannons() {
        assert!((shannon_entropy(b"aab") - 0.918_295_8).abs() < 1e-6);
        let all: Vec<u8> = (0..=255).cycle().take(256 * 5).collect();
        assert!((shannon_entropy(&all) - 8.0).abs() < 1e-9);
        let few: Vec<u8> = (0..250).map(|at: u8| at % 7 * (at % 3)).collect();
        let many = few.repeat(3);
        assert!(
            (shannon_entropy(&few) - shannon_entropy(&many)).abs() < 1e-9,
            "both computations agree"
        );
        assert!(shannon_entropy(&vec![b'a'; 5_000]).abs() < 1e-9, "counts beyond the table");
    }

    #[test]
    fn random_texts_reach_the_least_entropy_of_the_table() {
        let mut rng = XorShift64::new(11);
        for alphabet in [
            "0123456789",
            "0123456789abcdef",
            "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
            "0123456789abcdefghijkmnpqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZlo",
        ] {
            for len in [10, 16, 20, 22, 32, 40, 64, 100, 160] {
                let random = |rng: &mut XorShift64| -> Vec<u8> {
                    (0..len).map(|_| alphabet.as_bytes()[rng.below_usize(alphabet.len())]).collect()
                };
                let below = (0..4_000)
                    .filter(|_| {
                        let text = random(&mut rng);
                        shannon_entropy(&text) < least_by_chance(&Composition::of(&text))
                    })
                    .count();
                assert!(
                    below <= 8,
                    "{below} of 4,000 with {} characters, {len} long",
                    alphabet.len()
                );
            }
        }
    }
}
