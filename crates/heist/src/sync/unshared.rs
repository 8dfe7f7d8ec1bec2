//! A value that one owner takes out, inside of something that many may look at.

use std::sync::{Mutex, PoisonError};

/// Makes what contains a `T` shareable between threads, as errors should be, also where the `T` is not: no reference
/// to the value is ever given out. The lock is never locked, so the checkers need not see it.
pub(crate) struct Unshared<T>(Mutex<T>);

impl<T> Unshared<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    pub(crate) fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}
