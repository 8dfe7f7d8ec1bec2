//! A driver that repeats recorded decisions.

use super::{Action, Driver, View};
use std::collections::VecDeque;

/// A driver that follows a list of deviations from the default schedule. It skips a deviation that
/// is not possible at its step, so a shortened list is still a valid schedule.
#[derive(Debug)]
pub struct Replay {
    decisions: VecDeque<(u64, Action)>,
}

impl Replay {
    /// Creates a driver that deviates at these steps.
    pub fn new(decisions: impl IntoIterator<Item = (u64, Action)>) -> Self {
        Self { decisions: decisions.into_iter().collect() }
    }
}

impl Driver for Replay {
    fn choose(&mut self, view: &View<'_>) -> Action {
        while let Some((step, action)) = self.decisions.front().copied() {
            if step > view.step {
                break;
            }
            self.decisions.pop_front();
            if step == view.step && view.allows(action) {
                return action;
            }
        }
        view.default_action().expect("something can happen")
    }

    fn as_any(&mut self) -> &mut dyn std::any::Any {
        self
    }
}
