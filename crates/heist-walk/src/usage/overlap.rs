//! Roots that overlap: one is inside another, or both are the same.
//!
//! What is below several roots belongs to the first of them, as if they were walked one after the
//! other. To find out, no visitor has to remember every file. The walk of a root stops where it
//! reaches another root, recognized by its identity, and records that place. At the end, the
//! contents of a later root move there.
//!
//! This takes a tree. So the roots' real paths are compared first, to find out whether any roots
//! overlap at all. The comparison misses a directory that is mounted in two places. It still counts
//! once, but perhaps for a later root.
//!
//! A root inside another root is walked as a root: its depths and its filter start there, wherever
//! it counts.

use crate::Symlinks;
use crate::metadata::{FileIdentity, Metadata};
use crate::sys;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// The identities of the roots. Empty if there is only one root, because the walk cannot reach it
/// again.
#[derive(Debug, Default)]
pub(super) struct RootIdentities {
    directories: HashSet<FileIdentity>,
    /// Usually empty, so most walks have nothing to check for a file.
    files: HashSet<FileIdentity>,
}

impl RootIdentities {
    /// Returns `true` if this directory is a root.
    #[inline]
    pub(super) fn contain_directory(&self, metadata: &Metadata) -> bool {
        Self::contain(&self.directories, metadata)
    }

    /// Returns `true` if this is a root and not a directory.
    #[inline]
    pub(super) fn contain_file(&self, metadata: &Metadata) -> bool {
        Self::contain(&self.files, metadata)
    }

    #[inline]
    fn contain(roots: &HashSet<FileIdentity>, metadata: &Metadata) -> bool {
        !roots.is_empty() && metadata.identity().is_some_and(|file| roots.contains(&file))
    }

    /// Returns `false` if the identity was already there.
    fn insert(&mut self, metadata: &Metadata) -> bool {
        let roots = if metadata.kind.is_dir() { &mut self.directories } else { &mut self.files };
        metadata.identity().is_none_or(|file| roots.insert(file))
    }
}

/// How the roots of a walk overlap.
#[derive(Debug, Default)]
pub(super) struct RootOverlap {
    pub(super) identities: RootIdentities,
    /// Whether any root is inside another one or the same as another one.
    pub(super) any: bool,
}

impl RootOverlap {
    /// Examines the roots. A root that cannot be examined overlaps with nothing.
    pub(super) fn of(roots: &[PathBuf], symlinks: Symlinks) -> Self {
        if roots.len() < 2 {
            return Self::default();
        }
        let mut identities = RootIdentities::default();
        let mut paths = Vec::new();
        let mut any = false;
        for root in roots {
            let Ok(metadata) = sys::metadata_of_root(root, symlinks != Symlinks::Never) else {
                continue;
            };
            any |= !identities.insert(&metadata);
            paths.extend(real_path(root, &metadata));
        }
        // In this order a directory comes directly before its contents.
        paths.sort_unstable();
        any |= paths.windows(2).any(|pair| pair[1].starts_with(&pair[0]));
        Self { identities, any }
    }
}

/// Returns the path of a root with all links resolved on the way to it.
fn real_path(root: &Path, metadata: &Metadata) -> Option<PathBuf> {
    if !metadata.kind.is_symlink() {
        return root.canonicalize().ok();
    }
    // The root is the link itself, so only its parent is resolved.
    let name = root.file_name()?;
    let parent = root.parent().filter(|parent| !parent.as_os_str().is_empty());
    Some(parent.unwrap_or(Path::new(".")).canonicalize().ok()?.join(name))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn overlaps_are_found_by_path_and_by_identity() {
        let scratch = tempfile::tempdir().unwrap();
        let at = |path: &str| scratch.path().join(path);
        fs::create_dir_all(at("a/b/c")).unwrap();
        fs::create_dir_all(at("a.b")).unwrap();
        fs::write(at("a/file"), "").unwrap();
        fs::hard_link(at("a/file"), at("a.b/file")).unwrap();
        std::os::unix::fs::symlink("a/b", at("link")).unwrap();
        let any = |paths: &[&str], symlinks| {
            let roots: Vec<_> = paths.iter().map(|path| at(path)).collect();
            RootOverlap::of(&roots, symlinks).any
        };
        for (paths, expected) in [
            (&["a"] as &[&str], false),
            (&["a", "a.b"], false),
            (&["a/b", "a/file", "a.b"], false),
            (&["a", "a.b", "a/b/c"], true),
            (&["a/b/c", "a.b", "a"], true),
            (&["a", "a/file"], true),
            (&["a/file", "a.b/file"], true),
            (&["a.b", "a.b/"], true),
            (&["a.b", "a/../a.b"], true),
            (&["a", "missing", "a/missing"], false),
        ] {
            assert_eq!(any(paths, Symlinks::Roots), expected, "{paths:?}");
            assert_eq!(any(paths, Symlinks::Never), expected, "{paths:?}");
        }
        assert!(any(&["link", "a/b"], Symlinks::Roots));
        assert!(any(&["link", "a"], Symlinks::Roots));
        assert!(!any(&["link", "a"], Symlinks::Never), "the link itself is beside the directory");
        assert!(any(&["link/", "a"], Symlinks::Never), "a slash follows it");
    }
}
