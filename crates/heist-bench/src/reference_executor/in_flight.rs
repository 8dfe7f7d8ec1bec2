//! One word that holds the number of tasks in flight and whether outsiders may add to them.

use std::sync::atomic::{AtomicUsize, Ordering};

use crossbeam_utils::CachePadded;

/// Bit 0: outsiders may spawn. The bits above: tasks spawned and not yet completed.
const ACCEPTING: usize = 1;
const ONE_TASK: usize = 2;

#[derive(Debug)]
pub(super) struct InFlight(CachePadded<AtomicUsize>);

impl InFlight {
    /// Creates a word that accepts tasks, with none in flight.
    pub(super) fn open() -> Self {
        Self(CachePadded::new(AtomicUsize::new(ACCEPTING)))
    }

    /// Counts tasks from outside, unless closed. Test and addition are one atomic step; otherwise a
    /// task could be counted after `close` had seen nothing in flight.
    pub(super) fn try_add(&self, tasks: usize) -> bool {
        self.0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |word| {
                (word & ACCEPTING != 0).then_some(word + tasks * ONE_TASK)
            })
            .is_ok()
    }

    /// Counts a child. Its parent is in flight, so the count cannot reach 0 and no test is needed.
    pub(super) fn add_child(&self) {
        self.0.fetch_add(ONE_TASK, Ordering::Relaxed);
    }

    /// Counts the end of a task. Returns `true` if it was the last one of a closed executor.
    pub(super) fn complete(&self) -> bool {
        let before = self.0.fetch_sub(ONE_TASK, Ordering::AcqRel);
        debug_assert!(before >= ONE_TASK, "a task ended that was never counted");
        before == ONE_TASK
    }

    /// Refuses outsiders from now on. Returns `true` if nothing is in flight.
    pub(super) fn close(&self) -> bool {
        self.0.fetch_and(!ACCEPTING, Ordering::AcqRel) < ONE_TASK
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_completion_after_close_returns_true() {
        let word = InFlight::open();
        assert!(word.try_add(2));
        word.add_child();
        assert!(!word.complete());
        assert!(!word.close());
        assert!(!word.complete());
        assert!(word.complete());
    }

    #[test]
    fn close_on_an_idle_word_returns_true_and_refuses_outsiders() {
        let word = InFlight::open();
        assert!(word.try_add(1));
        assert!(!word.complete(), "an open executor is never done");
        assert!(word.close());
        assert!(!word.try_add(1));
    }
}
