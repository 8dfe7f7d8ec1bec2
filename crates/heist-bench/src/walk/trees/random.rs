//! Pseudo-random numbers that are the same in every run and on every machine.
//!
//! The generator is SplitMix64: one addition and two multiplications per number, and any seed is
//! good. It is not suitable for real secrets.

/// A sequence of numbers that depends only on its seed.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// Creates the sequence of one item among many; the sequences of two items are independent.
    pub(crate) fn of_item(seed: u64, item: u64) -> Self {
        let mut sequence = Self(seed ^ item.wrapping_mul(0xd134_2543_de82_ef95));
        Self(sequence.next())
    }

    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number from 0 to `limit` - 1. The bias is below `limit` / 2⁶⁴.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        ((u128::from(self.next()) * limit as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_that_of_the_published_generator() {
        let mut random = Random::new(1_234_567);
        let numbers = [random.next(), random.next(), random.next()];
        assert_eq!(
            numbers,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn numbers_stay_below_the_limit_and_reach_it() {
        let mut random = Random::new(7);
        let mut met = [false; 5];
        for _ in 0..200 {
            met[random.below(5)] = true;
        }
        assert_eq!(met, [true; 5]);
    }
}
