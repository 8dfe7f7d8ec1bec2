//! Converts durations of tasks into rounds of computation.

use std::time::Duration;

use super::task::compute;
use crate::clock::Span;

/// The speed of this machine, measured once so that all contenders get equal tasks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    rounds_per_ns: f64,
}

impl Pace {
    pub(crate) fn measure() -> Self {
        const ROUNDS: u32 = 1 << 19;
        // The fastest of several, because disturbances only make a measurement longer.
        let fastest = (0..7)
            .map(|value| Span::of(|| compute(value, ROUNDS)).seconds())
            .fold(f64::INFINITY, f64::min);
        Self { rounds_per_ns: f64::from(ROUNDS) / (fastest * 1e9) }
    }

    /// Returns the number of rounds that take this long.
    pub(crate) fn rounds(self, duration: Duration) -> u32 {
        (self.rounds_per_ns * duration.as_nanos() as f64).round().max(1.0) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longer_tasks_have_more_rounds_and_every_task_has_some() {
        let pace = Pace { rounds_per_ns: 0.5 };
        assert_eq!(pace.rounds(Duration::from_nanos(100)), 50);
        assert_eq!(pace.rounds(Duration::from_micros(1)), 500);
        assert_eq!(pace.rounds(Duration::ZERO), 1);
    }
}
