//! Finds the repositories in a directory tree.

use super::layout::Layout;
use crate::access::Access;
use crate::problem::FileError;
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The most directories that are looked at.
const DIRECTORIES_MAX: u64 = 10_000_000;

/// The repositories in a directory tree.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct FoundRepositories {
    /// Their paths, each object store once. A work tree is named before a git directory.
    pub repositories: Vec<PathBuf>,
    /// Directories that could not be read, and repositories that could not be opened.
    pub problems: Vec<FileError>,
}

/// Returns `true` if a directory is a repository: a work tree, a bare repository, or a `.git`
/// directory itself.
#[must_use]
pub fn is_repository(path: &Path) -> bool {
    is_work_tree(path) || is_bare(path)
}

/// Returns `true` if a directory has a `.git` file, or a `.git` directory with more than a name.
fn is_work_tree(path: &Path) -> bool {
    let dot_git = path.join(".git");
    dot_git.is_file() || is_bare(&dot_git)
}

fn is_bare(path: &Path) -> bool {
    path.join("HEAD").symlink_metadata().is_ok()
        && path.join("objects").is_dir()
        && path.join("refs").is_dir()
}

/// Finds the repositories at and below a directory: work trees, bare repositories and the stores of
/// submodules. Does not follow links.
#[must_use]
pub fn find_repositories(root: &Path, access: &Access) -> FoundRepositories {
    let mut found = FoundRepositories::default();
    let mut stores = HashSet::new();
    let mut add = |path: PathBuf, found: &mut FoundRepositories| -> Option<Layout> {
        match Layout::open(&path, access) {
            Ok(layout) => {
                if stores.insert(layout.objects_dir()) {
                    found.repositories.push(path);
                }
                Some(layout)
            }
            Err(error) => {
                found.problems.push(error);
                None
            }
        }
    };
    let mut submodules = Vec::new();
    let mut left = DIRECTORIES_MAX;
    let mut open = vec![root.to_owned()];
    while let Some(directory) = open.pop() {
        left -= 1;
        if left == 0 {
            break;
        }
        let is_work_tree = is_work_tree(&directory);
        if is_work_tree || is_bare(&directory) {
            let layout = add(directory.clone(), &mut found);
            if let Some(layout) = layout {
                match layout.submodules(access) {
                    Ok(more) => submodules.extend(more),
                    Err(error) => found.problems.push(error),
                }
            }
            if !is_work_tree {
                continue;
            }
        }
        let entries = match fs::read_dir(&directory) {
            Ok(entries) => entries,
            Err(error) => {
                found.problems.push(FileError::new(directory, error));
                continue;
            }
        };
        let first = open.len();
        for entry in entries {
            match entry.and_then(|entry| Ok((entry.file_type()?, entry))) {
                Ok((kind, entry)) if kind.is_dir() && entry.file_name() != ".git" => {
                    open.push(entry.path());
                }
                Ok(_) => {}
                Err(error) => found.problems.push(FileError::new(directory.clone(), error)),
            }
        }
        open[first..].sort_unstable_by(|a, b| b.cmp(a));
    }
    submodules.sort_unstable();
    for path in submodules {
        add(path, &mut found);
    }
    found
}
