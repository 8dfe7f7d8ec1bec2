//! Does what was written down.

use super::{Action, Driver, View};
use std::collections::VecDeque;

/// Follows a list of deviations from the default schedule. A deviation that is not possible when its time has come is
/// left out, so that a shortened list is still a schedule.
#[derive(Debug)]
pub struct Replay {
    decisions: VecDeque<(u64, Action)>,
}

impl Replay {
    /// A driver that deviates at these steps.
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
