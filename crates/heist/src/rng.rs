//! The private random number generator of a worker.
//!
//! Workers use it to pick the victim at which a round of stealing starts. So it must be cheap (a
//! few shifts and one multiplication), private (no shared cache line) and reproducible (the same
//! seed gives the same sequence on every machine, so that a failing schedule can be replayed).
//!
//! The generator is xorshift64* (Marsaglia's shifts, Vigna's output multiplication): one word of
//! state and a period of 2^64 - 1.
//!
//! Invariants:
//! - The state is never zero. Zero is the one fixed point of the shifts, so a generator that
//!   reached it would return zero forever.
//! - [`XorShift64::below`] favours no result. `reduce` explains what that takes.
//!
//! Not guaranteed: secrecy (a few outputs reveal the state), and the value 0 from
//! [`XorShift64::next_u64`], because the state is never zero and the output is a bijection of it.
//! So one value out of 2^64 is missing; that is also the entire deviation of every other method.

/// 2^64 divided by the golden ratio, made odd. Its multiples are spread evenly over the 64-bit
/// range, and since it is odd, `worker * GOLDEN` is different for every worker.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// Replaces a zero state. Any other value would work; this one has about equally many ones and
/// zeros, so the first outputs are not poor in ones.
const STATE_FOR_ZERO: u64 = GOLDEN;

/// A small, fast generator with a seed (xorshift64*). Do not use it for secrets.
///
/// ```
/// use heist::rng::XorShift64;
///
/// let mut rng = XorShift64::new(7);
/// let mut replay = XorShift64::new(7);
/// let die = rng.below(6) + 1;
/// assert!((1..=6).contains(&die));
/// assert_eq!(die, replay.below(6) + 1);
/// ```
#[derive(Clone, Debug)]
pub struct XorShift64 {
    state: u64,
}

impl XorShift64 {
    /// Creates a generator whose sequence depends only on `seed`.
    ///
    /// A seed of 0 stands for a fixed other seed, because a zero state would stay zero.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self { state: if seed == 0 { STATE_FOR_ZERO } else { seed } }
    }

    /// Creates the generator of one worker. The workers of a pool get different sequences, and the
    /// same `(seed, worker)` always gets the same one.
    ///
    /// It would not be enough to add a multiple of a constant to the seed, as is often done: the
    /// states would be different but related. The shifts are linear over single bits, so the
    /// difference between the states of two workers at any later step follows from the difference
    /// at the start. For the small seeds that people type, the first picks of neighbouring workers
    /// would be measurably correlated (a test shows it), and random victims exist to avoid that. So
    /// this scrambles the sum. The scrambler is not linear, and it is a bijection, so no two
    /// workers share a state (except for the one state that replaces zero).
    #[must_use]
    pub const fn for_worker(seed: u64, worker: usize) -> Self {
        Self::new(scramble(seed.wrapping_add((worker as u64).wrapping_mul(GOLDEN))))
    }

    /// Returns the next 64 bits. They are never 0; every other value comes once in a period.
    #[inline]
    pub const fn next_u64(&mut self) -> u64 {
        // Vigna's triple for the starred variant; it has the full period of 2^64 - 1.
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        // The bare state fails tests of linearity. The multiplication hides that, except in the
        // lowest bits.
        self.state.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// Returns the next 32 bits. They are the upper half of [`next_u64`](Self::next_u64), because
    /// the lowest bits of xorshift64* are its weakest.
    #[inline]
    pub const fn next_u32(&mut self) -> u32 {
        (self.next_u64() >> 32) as u32
    }

    /// Returns a number below `n`, with equal probabilities, or 0 if `n` is 0.
    ///
    /// An empty range has no member, but a scheduler must not panic because of it: a caller without
    /// victims gets 0, and has to check its own length anyway. Nothing is drawn then.
    #[inline]
    pub fn below(&mut self, n: u32) -> u32 {
        if n == 0 {
            return 0;
        }
        // This loop ends: `reduce` accepts more than half of all raw values, and the generator
        // passes through all its states.
        loop {
            if let Some(result) = reduce::<32>(u64::from(self.next_u32()), u64::from(n)) {
                // The result is below `n`, which was a `u32`.
                return result as u32;
            }
        }
    }

    /// Like [`below`](Self::below), for lengths and indices. Returns 0 if `n` is 0.
    #[inline]
    pub fn below_usize(&mut self, n: usize) -> usize {
        match u32::try_from(n) {
            Ok(n) => self.below(n) as usize,
            Err(_) => self.below_huge(n as u64) as usize,
        }
    }

    /// Returns a number below an `n` of more than 32 bits: draws as many bits as `n - 1` has, and
    /// repeats while the result is too large. No index of a pool is this large, so this need not be
    /// fast.
    #[cold]
    fn below_huge(&mut self, n: u64) -> u64 {
        let surplus_bits = (n - 1).leading_zeros();
        loop {
            let result = self.next_u64() >> surplus_bits;
            if result < n {
                return result;
            }
        }
    }
}

/// Lemire's reduction of a raw value of `BITS` bits (at most 32) to the range `0..n`, for `1 <= n <
/// 2^BITS`. `None` means that this raw value must be rejected and another one drawn.
///
/// The result is the upper half of `raw * n`, so the raw values fall into `n` intervals. Unless `n`
/// is a power of two, the intervals cannot all hold the same number of raw values: without
/// rejection, some results would come from one raw value more than others. For a small `n` this is
/// hardly visible; with an `n` of 3 * 2^(BITS-2) every third result would be twice as likely as
/// its neighbours. The lower half of the product is the position of a raw value in its interval.
/// Rejecting those whose lower half is below `2^BITS % n` leaves exactly `floor(2^BITS / n)` in
/// each.
#[inline]
const fn reduce<const BITS: u32>(raw: u64, n: u64) -> Option<u64> {
    let product = raw * n;
    let low = product & ((1 << BITS) - 1);
    // `2^BITS % n` is below `n`, so a `low` of at least `n` is accepted without the division.
    if low < n && low < (1 << BITS) % n { None } else { Some(product >> BITS) }
}

/// The finaliser of SplitMix64 (Stafford's variant 13): a bijection in which every input bit flips
/// each output bit about half of the time.
const fn scramble(mut word: u64) -> u64 {
    word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// Returns the chi-square statistic of `counts` against equal expectations.
    fn chi_square(counts: &[u32]) -> f64 {
        let expected = f64::from(counts.iter().sum::<u32>()) / counts.len() as f64;
        counts.iter().map(|&count| (f64::from(count) - expected).powi(2) / expected).sum()
    }

    #[test]
    fn reproduces_published_values() {
        // The outputs that Rosetta Code lists for xorshift64* and seed 1234567 (upper halves).
        let mut rng = XorShift64::new(1_234_567);
        let drawn: Vec<u32> = (0..5).map(|_| rng.next_u32()).collect();
        assert_eq!(
            drawn,
            [3_540_625_527, 2_750_739_987, 4_037_983_143, 1_993_361_440, 3_809_424_708]
        );
        // SplitMix64 seeded with 1234567 adds GOLDEN, then scrambles: its first published output.
        assert_eq!(scramble(1_234_567 + GOLDEN), 6_457_827_717_110_365_317);
    }

    #[test]
    fn a_worker_keeps_its_sequence_across_versions() {
        // Changing these values would make every recorded seed of a failing schedule useless. A
        // second implementation, in Python, computed them.
        let mut rng = XorShift64::for_worker(0x853C_49E6_748F_EA9B, 3);
        let drawn = [rng.next_u64(), rng.next_u64(), rng.next_u64()];
        assert_eq!(
            drawn,
            [5_279_602_680_462_760_166, 6_459_191_447_300_528_166, 7_185_790_190_412_192_042]
        );
    }

    #[test]
    fn the_state_is_never_zero() {
        assert_ne!(XorShift64::new(0).state, 0);
        // The scrambler maps 0 to 0, so this is the one worker that needs the replacement.
        assert_ne!(XorShift64::for_worker(0, 0).state, 0);
        let minus_golden = GOLDEN.wrapping_neg();
        assert_ne!(XorShift64::for_worker(minus_golden, 1).state, 0);

        // Each step is invertible (x ^ x>>a and x ^ x<<a have only 0 in their kernels), so no
        // non-zero state leads to zero. Checked on every state of a single bit, and on a long run.
        for bit in 0..64 {
            let mut rng = XorShift64::new(1 << bit);
            rng.next_u64();
            assert_ne!(rng.state, 0);
        }
        let mut rng = XorShift64::new(0);
        for _ in 0..100_000 {
            assert_ne!(rng.next_u64(), 0);
            assert_ne!(rng.state, 0);
        }
    }

    #[test]
    fn with_rejection_every_result_comes_from_the_same_number_of_raw_values() {
        // Exhaustive at 8 bits: every range, every raw value.
        for n in 1..256_u64 {
            let mut raw_values = vec![0_u64; n as usize];
            for raw in 0..256 {
                if let Some(result) = reduce::<8>(raw, n) {
                    raw_values[result as usize] += 1;
                }
            }
            assert!(raw_values.iter().all(|&count| count == 256 / n), "n = {n}: {raw_values:?}");
        }
    }

    #[test]
    fn without_rejection_every_range_except_powers_of_two_is_biased() {
        for n in 1..256_u64 {
            let mut raw_values = vec![0_u64; n as usize];
            for raw in 0..256 {
                raw_values[((raw * n) >> 8) as usize] += 1;
            }
            let even = raw_values.iter().all(|count| *count == raw_values[0]);
            assert_eq!(even, n.is_power_of_two(), "n = {n}");
        }
    }

    #[test]
    fn rejection_is_visible_at_the_width_in_use() {
        // Without rejection, half of all results in this range are multiples of 3; with it, a
        // third. For 30,000 draws the standard deviation is below 100, and the two counts are 5,000
        // apart.
        let n = 3_u32 << 30;
        let draws = 30_000;
        let mut rng = XorShift64::new(1);
        let fair = (0..draws).filter(|_| rng.below(n).is_multiple_of(3)).count();
        let mut rng = XorShift64::new(1);
        let biased = (0..draws)
            .map(|_| (u64::from(rng.next_u32()) * u64::from(n)) >> 32)
            .filter(|result| result.is_multiple_of(3))
            .count();
        assert!(fair.abs_diff(10_000) < 500, "{fair}");
        assert!(biased.abs_diff(15_000) < 500, "{biased}");
    }

    #[test]
    fn draws_are_uniform() {
        // The seed is fixed, so this test passes either always or never. 22.46 is the 99.9 % point
        // of chi-square with 6 degrees of freedom, and 103.4 that with 63.
        let mut rng = XorShift64::new(42);
        let mut sevenths = [0; 7];
        let mut workers = [0; 64];
        for _ in 0..64_000 {
            sevenths[rng.below(7) as usize] += 1;
            workers[rng.below_usize(64)] += 1;
        }
        assert!(chi_square(&sevenths) < 22.46, "{sevenths:?}");
        assert!(chi_square(&workers) < 103.4, "{workers:?}");
    }

    #[test]
    fn workers_of_one_pool_have_different_states() {
        for seed in [0, 1, GOLDEN, u64::MAX] {
            let states: HashSet<u64> =
                (0..1024).map(|worker| XorShift64::for_worker(seed, worker).state).collect();
            assert_eq!(states.len(), 1024, "seed {seed}");
        }
    }

    #[test]
    fn first_picks_of_neighbouring_workers_do_not_correlate() {
        // The distance between the first victims of workers 0 and 1, over many small seeds. It is
        // uniform if they are independent. 103.4 is the 99.9 % point with 63 degrees of freedom.
        let distances = |generator: fn(u64, usize) -> XorShift64| {
            let mut distances = [0; 64];
            for seed in 0..16_000 {
                let [zero, one] = [0, 1].map(|worker| generator(seed, worker).below(64));
                distances[((one + 64 - zero) % 64) as usize] += 1;
            }
            chi_square(&distances)
        };
        let unscrambled = |seed: u64, worker: usize| {
            XorShift64::new(seed.wrapping_add((worker as u64).wrapping_mul(GOLDEN)))
        };
        let shipped = distances(XorShift64::for_worker);
        assert!(shipped < 103.4, "{shipped}");
        let related = distances(unscrambled);
        assert!(related > 150.0, "{related}: the scrambling would not be needed");
    }

    #[test]
    fn edge_ranges() {
        let mut rng = XorShift64::new(9);
        let before = rng.state;
        assert_eq!(rng.below(0), 0);
        assert_eq!(rng.below_usize(0), 0);
        assert_eq!(rng.state, before, "an empty range draws nothing");
        for _ in 0..1000 {
            assert_eq!(rng.below(1), 0);
            assert!(rng.below(u32::MAX) < u32::MAX);
            assert!(rng.below_usize(usize::MAX) < usize::MAX);
        }
    }

    #[test]
    #[cfg(target_pointer_width = "64")]
    fn ranges_beyond_32_bits() {
        let mut rng = XorShift64::new(11);
        let n = (1_usize << 32) + 1;
        let mut upper_half = 0;
        for _ in 0..10_000 {
            let result = rng.below_usize(n);
            assert!(result < n);
            upper_half += usize::from(result > n / 2);
        }
        // The standard deviation is 50.
        assert!(upper_half.abs_diff(5000) < 250, "{upper_half}");
    }
}
