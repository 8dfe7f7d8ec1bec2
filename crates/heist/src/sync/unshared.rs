//! A value that only its owner takes out, inside a type that many threads may share.

use std::sync::{Mutex, PoisonError};

/// Makes a type that contains a `T` shareable between threads, as errors should be, even if the `T`
/// is not `Sync`. That is sound because no reference to the value is ever given out. The mutex is
/// never locked, so the checkers need not see it.
pub(crate) struct Unshared<T>(Mutex<T>);

impl<T> Unshared<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    pub(crate) fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}
