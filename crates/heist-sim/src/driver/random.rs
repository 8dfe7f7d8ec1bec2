//! A driver that decides at random.

use super::{Action, Driver, View};
use crate::machine::Status;
use heist::rng::XorShift64;

/// A driver that decides at random, with odds that differ between schedules. A driver that
/// switches often misses the bugs that need one thread to run for long, and a driver that switches
/// rarely misses the others.
#[derive(Debug)]
pub struct Random {
    rng: XorShift64,
    /// One step in this many switches to another thread.
    switch_odds: u32,
    /// One step in this many lets a store arrive.
    flush_odds: u32,
    /// Whether threads that work in a task wait until no other thread has anything to do.
    long_tasks: bool,
}

impl Random {
    /// Creates a driver for one schedule.
    pub fn new(seed: u64) -> Self {
        let mut rng = XorShift64::new(seed);
        let switch_odds = 1 << rng.below(6);
        let flush_odds = [1, 2, 8, u32::MAX][rng.below_usize(4)];
        let long_tasks = rng.below(2) == 0;
        Self { rng, switch_odds, flush_odds, long_tasks }
    }

    fn one_in(&mut self, odds: u32) -> bool {
        odds != u32::MAX && self.rng.below(odds) == 0
    }
}

impl Driver for Random {
    fn choose(&mut self, view: &View<'_>) -> Action {
        if !view.buffered.is_empty() && self.one_in(self.flush_odds) {
            return Action::Flush(view.buffered[self.rng.below_usize(view.buffered.len())]);
        }
        let default = view.default_action().expect("something can happen");
        if view.runnable.len() < 2 || !self.one_in(self.switch_odds) {
            return default;
        }
        let thread = view.runnable[self.rng.below_usize(view.runnable.len())];
        if self.long_tasks && view.threads[thread].status == Status::Working {
            return default;
        }
        Action::Run(thread)
    }

    fn as_any(&mut self) -> &mut dyn std::any::Any {
        self
    }
}
