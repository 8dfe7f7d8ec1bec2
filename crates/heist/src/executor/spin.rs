//! How long a worker without work goes on searching before it parks.

use crate::policy::{IdleAction, IdleHooks};
use crate::sync::plant::{Plant, planted};
use crate::sync::{Clock, spin_loop};

/// Longer than this a searcher never spins: about what it costs to park and be woken again, so spinning on
/// would burn more than it can save.
const SPIN_NS_MAX: u64 = 20_000;

/// The pauses between two looks double up to 2^5, which is about 1 µs. A searcher that looks without pause takes
/// the queue's cache lines from the very producer that it waits for.
const PAUSES_MAX_LOG2: u32 = 5;

/// Spins for a number of looks, bounded in time, then parks.
#[derive(Debug)]
pub(super) struct SpinThenPark {
    looks_max: u32,
    looks: u32,
    since_ns: u64,
    clock: Clock,
}

impl SpinThenPark {
    /// Spins for at most `looks_max` looks; 0 parks at once.
    pub(super) fn new(looks_max: u32, clock: Clock) -> Self {
        Self { looks_max, looks: 0, since_ns: 0, clock }
    }
}

impl SpinThenPark {
    /// One pause between two looks; and once the looks are used up, one look between two parks.
    #[cold]
    fn on_no_work_without_backoff(&mut self) -> IdleAction {
        if self.looks == self.looks_max {
            return IdleAction::Park;
        }
        self.looks += 1;
        spin_loop();
        IdleAction::Search
    }
}

impl IdleHooks for SpinThenPark {
    #[inline]
    fn on_work(&mut self) {
        self.looks = 0;
    }

    fn on_no_work(&mut self) -> IdleAction {
        if planted(Plant::SeedIdle) {
            return self.on_no_work_without_backoff();
        }
        if self.looks == self.looks_max {
            self.looks = 0;
            return IdleAction::Park;
        }
        let now_ns = self.clock.now_ns();
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
