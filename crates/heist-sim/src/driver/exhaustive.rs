//! Decides in every possible way, one schedule after the other, with a bounded number of deviations.
//!
//! A deviation is what the default schedule would not have done: a pre-emption, a store that arrives before it has to,
//! or a timed wait that ends before everybody else is at rest. Most bugs need few of them, and few of them can be tried
//! completely. Wake-ups for no reason are not tried.

use super::{Action, Driver, View};

/// A decision that was met, and what is left to try there.
#[derive(Clone, Debug)]
struct Branch {
    step: u64,
    /// The other actions that are possible here, and were not tried yet.
    untried: Vec<Action>,
    /// What is in force.
    chosen: Action,
    /// How many deviations there are up to here, this one included.
    deviations: u32,
}

/// What is left to explore: the path of the last schedule, with the branches that were not taken.
#[derive(Clone, Debug)]
pub struct Frontier {
    bound: u32,
    path: Vec<Branch>,
}

impl Frontier {
    /// Everything with at most `bound` deviations.
    pub fn new(bound: u32) -> Self {
        Self { bound, path: Vec::new() }
    }

    /// Goes on to the next schedule; says whether there is one.
    pub fn advance(&mut self) -> bool {
        while let Some(mut last) = self.path.pop() {
            if let Some(action) = last.untried.pop() {
                // Only the first alternative costs a deviation: the others replace it.
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

/// Follows the frontier's path, then the default schedule, noting what else could have been done.
#[derive(Debug)]
pub struct Exhaustive {
    frontier: Frontier,
    followed: usize,
}

impl Exhaustive {
    /// A driver for the schedule that the frontier is at.
    pub fn new(frontier: Frontier) -> Self {
        Self { frontier, followed: 0 }
    }

    /// The frontier, with what this schedule has found.
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
