//! Pauses between wake-ups, long enough for a pool to fall asleep.

use std::time::Duration;

/// A pause lasts a pseudo-random time between these limits, so that it cannot fall into step with a
/// pool that polls at a fixed interval.
const PAUSE_MIN_US: u64 = 500;
const PAUSE_MAX_US: u64 = 1000;

/// A fixed sequence of pauses: every new value yields the same one.
pub(crate) struct Pauses(u64);

impl Pauses {
    pub(crate) fn new() -> Self {
        Self(1)
    }

    pub(crate) fn next(&mut self) -> Duration {
        // Knuth's linear congruential generator; its high bits are good enough for jitter.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let jitter_us = (self.0 >> 33) % (PAUSE_MAX_US - PAUSE_MIN_US);
        Duration::from_micros(PAUSE_MIN_US + jitter_us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_vary_within_their_bounds() {
        let mut pauses = Pauses::new();
        let bounds = Duration::from_micros(PAUSE_MIN_US)..Duration::from_micros(PAUSE_MAX_US);
        let drawn: Vec<Duration> = (0..100).map(|_| pauses.next()).collect();
        assert!(drawn.iter().all(|pause| bounds.contains(pause)));
        assert!(drawn.iter().max() > drawn.iter().min());
    }
}
