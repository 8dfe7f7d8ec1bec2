//! A driver that adds faults to the schedule of another driver: spurious wake-ups and early
//! timeouts.

use super::{Action, Driver, View};
use heist::rng::XorShift64;

/// One step in this many is a fault. With more faults, schedules would contain little else.
const ODDS: u32 = 64;

/// A driver that adds faults to another one.
pub struct Faulty {
    decider: Box<dyn Driver>,
    rng: XorShift64,
    /// Whether waits also end spuriously. Timeouts come early in any case.
    spurious: bool,
}

impl Faulty {
    /// Adds faults to the schedule of `decider`: early timeouts always, and spurious wake-ups in
    /// one of four schedules.
    pub fn new(decider: Box<dyn Driver>, seed: u64) -> Self {
        let mut rng = XorShift64::new(seed);
        rng.next_u64();
        let spurious = rng.below(4) == 0;
        Self { decider, rng, spurious }
    }

    fn fault(&mut self, view: &View<'_>) -> Option<Action> {
        if view.waits_with_timeout > 0 && self.rng.below(ODDS) == 0 {
            let timed: Vec<_> =
                view.waiting().filter(|thread| view.deadline_ns(*thread).is_some()).collect();
            return Some(Action::Expire(timed[self.rng.below_usize(timed.len())]));
        }
        if self.spurious && self.rng.below(ODDS) == 0 {
            let waiting: Vec<_> = view.waiting().collect();
            if !waiting.is_empty() {
                return Some(Action::WakeSpuriously(waiting[self.rng.below_usize(waiting.len())]));
            }
        }
        None
    }
}

impl Driver for Faulty {
    fn choose(&mut self, view: &View<'_>) -> Action {
        self.fault(view).unwrap_or_else(|| self.decider.choose(view))
    }

    fn as_any(&mut self) -> &mut dyn std::any::Any {
        self
    }
}
