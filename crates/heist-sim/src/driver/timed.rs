//! Lets every thread have a core and a clock of its own: whoever's clock is behind goes next.

use super::{Action, Driver, View};

/// The driver for questions of cost.
#[derive(Debug, Default)]
pub struct Timed;

impl Driver for Timed {
    fn choose(&mut self, view: &View<'_>) -> Action {
        // A store arrives before anything else happens: what it costs is counted, but not hidden.
        if let Some(thread) = view.buffered.first() {
            return Action::Flush(*thread);
        }
        let behind =
            view.runnable.iter().min_by_key(|thread| (view.threads[**thread].clock_ns, **thread));
        let deadline = view.earliest_deadline();
        match (behind, deadline) {
            (Some(thread), Some(waiting))
                if view.deadline_ns(waiting) < Some(view.threads[*thread].clock_ns) =>
            {
                Action::Expire(waiting)
            }
            (Some(thread), _) => Action::Run(*thread),
            _ => view.default_action().expect("something can happen"),
        }
    }

    fn as_any(&mut self) -> &mut dyn std::any::Any {
        self
    }
}
