//! The rejected way to accept a task, to be planted.

use super::{Intake, IntakeWord};
use crate::sync::Ordering;

impl Intake {
    /// Counts a task on the strength of a word that was read before: the intake may be closed by
    /// now.
    pub(super) fn accept_in_two_steps(&self, seen: IntakeWord, count: u64) -> bool {
        let open = seen.is_accepting();
        if open {
            self.word.fetch_add(count << IntakeWord::COUNT_SHIFT, Ordering::AcqRel);
        }
        open
    }
}
