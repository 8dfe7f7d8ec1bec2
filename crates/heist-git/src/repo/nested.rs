//! The repositories that lie inside another one's directory: submodules and linked work trees.

use super::layout::{Layout, is_git_dir};
use crate::access::Access;
use crate::problem::FileError;
use std::path::PathBuf;

/// The most directories that are looked at below `modules`.
const DIRECTORIES_MAX: usize = 100_000;

impl Layout {
    /// Lists the git directories of the submodules, at `modules` in this repository's own. The
    /// names of submodules may have slashes. What lies inside of a submodule is its own.
    ///
    /// # Errors
    /// Fails if a directory cannot be listed, or there are more than a hundred thousand.
    pub fn submodules(&self, access: &Access) -> Result<Vec<PathBuf>, FileError> {
        let mut found = Vec::new();
        let mut left = DIRECTORIES_MAX;
        let mut directories = vec![self.common_dir().join("modules")];
        while let Some(directory) = directories.pop() {
            for entry in access.list(&directory, left)? {
                left = left.saturating_sub(1);
                if !entry.is_dir {
                    continue;
                }
                match is_git_dir(&entry.path, access) {
                    true => found.push(entry.path),
                    false => directories.push(entry.path),
                }
            }
        }
        found.sort_unstable();
        Ok(found)
    }

    /// Lists the private directories of the linked work trees, each with its own `HEAD` and index.
    ///
    /// # Errors
    /// Fails if the directory cannot be listed.
    pub fn linked_work_trees(&self, access: &Access) -> Result<Vec<PathBuf>, FileError> {
        let entries = access.list(&self.common_dir().join("worktrees"), DIRECTORIES_MAX)?;
        Ok(entries.into_iter().filter(|entry| entry.is_dir).map(|entry| entry.path).collect())
    }
}
