//! Decides by the dice.

use super::{Action, Driver, View};
use crate::machine::Status;
use heist::rng::XorShift64;

/// Random decisions, with a temper that is drawn anew for each schedule: a driver that always switches misses the
/// bugs which need one thread to run for long, and the other way round.
#[derive(Debug)]
pub struct Random {
    rng: XorShift64,
    /// One in this many steps goes to another thread.
    switch_odds: u32,
    /// One in this many steps lets a store arrive.
    flush_odds: u32,
    /// Whether threads that are at work in a task wait until nobody else has anything to do.
    long_tasks: bool,
}

impl Random {
    /// A driver for one schedule.
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
