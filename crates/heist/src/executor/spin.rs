//! How long a worker without work goes on searching before it parks.

use crate::policy::{IdleAction, IdleHooks};
use crate::sync::plant;
use crate::sync::{Clock, spin_loop};

/// The longest time for which a searcher spins. Parking and being woken costs about as much, so
/// spinning on would cost more than it can save.
const SPIN_NS_MAX: u64 = 20_000;

/// The pauses between two searches double up to 2^5, which is about 1 µs. A searcher without pauses
/// would take the queue's cache lines from the very producer that it waits for.
const PAUSES_MAX_LOG2: u32 = 5;

/// Searches again for a number of times and for a bounded time, then parks.
#[derive(Debug)]
pub(super) struct SpinThenPark {
    pub(super) looks_max: u32,
    pub(super) looks: u32,
    since_ns: u64,
    clock: Clock,
}

impl SpinThenPark {
    /// Searches again at most `looks_max` times; 0 parks at once.
    pub(super) fn new(looks_max: u32, clock: Clock) -> Self {
        Self { looks_max, looks: 0, since_ns: 0, clock }
    }
}

impl IdleHooks for SpinThenPark {
    #[inline]
    fn on_work(&mut self) {
        self.looks = 0;
    }

    fn on_no_work(&mut self) -> IdleAction {
        plant::instead!(RoundRobinWake => self.on_no_work_without_backoff());
        if self.looks == self.looks_max {
            self.looks = 0;
            return IdleAction::Park;
        }
        self.look_or_park(self.clock.now_ns())
    }
}

impl SpinThenPark {
    fn look_or_park(&mut self, now_ns: u64) -> IdleAction {
        if self.looks == 0 {
            self.since_ns = now_ns;
        } else if now_ns.saturating_sub(self.since_ns) > SPIN_NS_MAX {
            self.looks = 0;
            return IdleAction::Park;
        }
        for _ in 0..1 << self.looks.min(PAUSES_MAX_LOG2) {
            spin_loop();
        }
        self.looks += 1;
        IdleAction::Search
    }
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle, heist_sim))))]
mod tests {
    use super::*;

    #[test]
    fn a_searcher_parks_after_20_microseconds() {
        let mut spin = SpinThenPark::new(u32::MAX, Clock::start());
        // Each search counts from its own beginning.
        for began_ns in [0, 500, 1_000_000_000] {
            for since_ns in [0, 1, 10_000, 19_999, 20_000] {
                assert_eq!(
                    spin.look_or_park(began_ns + since_ns),
                    IdleAction::Search,
                    "{since_ns}"
                );
            }
            assert_eq!(spin.look_or_park(began_ns + 20_001), IdleAction::Park);
        }
    }

    #[test]
    fn finding_work_restarts_the_time() {
        let mut spin = SpinThenPark::new(u32::MAX, Clock::start());
        assert_eq!(spin.look_or_park(0), IdleAction::Search);
        spin.on_work();
        assert_eq!(spin.look_or_park(30_000), IdleAction::Search);
        assert_eq!(spin.look_or_park(50_000), IdleAction::Search);
    }

    #[test]
    fn a_searcher_parks_when_its_searches_are_used_up() {
        let mut spin = SpinThenPark::new(3, Clock::start());
        for _ in 0..3 {
            assert_eq!(spin.look_or_park(0), IdleAction::Search);
        }
        assert_eq!(spin.on_no_work(), IdleAction::Park);
        assert_eq!(SpinThenPark::new(0, Clock::start()).on_no_work(), IdleAction::Park);
    }

    /// With the real clock, to show that the bound is checked at all.
    #[test]
    fn the_real_clock_bounds_the_search() {
        let clock = Clock::start();
        let mut spin = SpinThenPark::new(u32::MAX, clock);
        let began_ns = clock.now_ns();
        while spin.on_no_work() == IdleAction::Search {}
        assert!(clock.now_ns() - began_ns > 20_000);
    }
}
