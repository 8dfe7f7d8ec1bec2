//! Methods for a library that runs a [`Walk`] which its user has configured.

use super::{Symlinks, Walk};
use std::path::PathBuf;

impl<T> Walk<T> {
    /// Replaces the roots by what `change` makes of them, for example to remove duplicates.
    /// `change` also gets which symbolic links the walk follows.
    pub fn map_roots(mut self, change: impl FnOnce(&[PathBuf], Symlinks) -> Vec<PathBuf>) -> Self {
        self.settings.roots = change(&self.settings.roots, self.settings.symlinks);
        self
    }

    /// Lowers [`max_threads`](Self::max_threads) to `most`, unless it is lower already.
    pub fn limit_threads(mut self, most: usize) -> Self {
        self.settings.max_threads = self.settings.max_threads.min(most.max(1));
        self
    }
}
