//! A driver that tries every decision, one schedule after the other, up to a bound on deviations.
//!
//! A deviation is anything that the default schedule would not have done: a pre-emption, a store
//! that arrives earlier than necessary, or a timed wait that ends before all other threads are at
//! rest. Most bugs need only a few deviations, and all schedules with a few deviations can be
//! tried.
//!
//! Spurious wake-ups are not tried.

use super::{Action, Driver, View};

/// A decision on the current path, with the alternatives that are left to try.
#[derive(Clone, Debug)]
struct Branch {
    step: u64,
    /// The actions that are possible here and were not tried yet.
    untried: Vec<Action>,
    /// The action on the current path.
    chosen: Action,
    /// The number of deviations up to and including this decision.
    deviations: u32,
}

/// The unexplored rest: the path of the last schedule, with the branches that were not taken.
#[derive(Clone, Debug)]
pub struct Frontier {
    bound: u32,
    path: Vec<Branch>,
}

impl Frontier {
    /// Creates a frontier for all schedules with at most `bound` deviations.
    pub fn new(bound: u32) -> Self {
        Self { bound, path: Vec::new() }
    }

    /// Moves on to the next schedule. Returns `false` if there is none.
    pub fn advance(&mut self) -> bool {
        while let Some(mut last) = self.path.pop() {
            if let Some(action) = last.untried.pop() {
                // Only the first alternative adds a deviation; the others replace it.
                let before = self.path.last().map_or(0, |branch| branch.deviations);
                last.chosen = action;
                last.deviations = before + 1;
                self.path.push(last);
                return true;
            }
        }
        false
    }
}

/// A driver that follows the path of a frontier, then the default schedule, and records the
/// alternatives.
#[derive(Debug)]
pub struct Exhaustive {
    frontier: Frontier,
    followed: usize,
}

impl Exhaustive {
    /// Creates a driver for the next schedule of the frontier.
    pub fn new(frontier: Frontier) -> Self {
        Self { frontier, followed: 0 }
    }

    /// Returns the frontier, extended by the alternatives that this schedule met.
    pub fn into_frontier(&mut self) -> Frontier {
        std::mem::replace(&mut self.frontier, Frontier::new(0))
    }
}

impl Driver for Exhaustive {
    fn choose(&mut self, view: &View<'_>) -> Action {
        if let Some(branch) = self.frontier.path.get(self.followed) {
            assert_eq!(branch.step, view.step, "the same decisions lead to the same place");
            self.followed += 1;
            return branch.chosen;
        }
        let default = view.default_action().expect("something can happen");
        let deviations = self.frontier.path.last().map_or(0, |branch| branch.deviations);
        let untried = if deviations < self.frontier.bound {
            let runs = view.runnable.iter().map(|thread| Action::Run(*thread));
            let flushes = view.buffered.iter().map(|thread| Action::Flush(*thread));
            let expiries = (0..view.threads.len()).map(Action::Expire);
            let expiries = expiries.filter(|action| view.allows(*action));
            runs.chain(flushes).chain(expiries).filter(|action| *action != default).collect()
        } else {
            Vec::new()
        };
        self.frontier.path.push(Branch { step: view.step, untried, chosen: default, deviations });
        self.followed += 1;
        default
    }

    fn as_any(&mut self) -> &mut dyn std::any::Any {
        self
    }
}
