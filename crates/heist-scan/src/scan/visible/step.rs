//! [`Step`]: the steps of the decision what to hide. A test can leave one out, to see that it is
//! needed.

/// A step of the decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Hides repetitions.
    Repetitions,
    /// Hides what is not clearly ordinary.
    Doubtful,
    /// Hides the rest of a word.
    Rests,
}

impl Step {
    #[cfg(not(test))]
    pub(super) const fn is_taken(self) -> bool {
        true
    }

    #[cfg(test)]
    pub(super) fn is_taken(self) -> bool {
        LEFT_OUT.get() != Some(self)
    }

    /// Returns what `run` returns without this step.
    #[cfg(test)]
    pub(super) fn left_out<T>(self, run: impl FnOnce() -> T) -> T {
        LEFT_OUT.set(Some(self));
        let result = run();
        LEFT_OUT.set(None);
        result
    }
}

#[cfg(test)]
thread_local! {
    static LEFT_OUT: std::cell::Cell<Option<Step>> = const { std::cell::Cell::new(None) };
}
