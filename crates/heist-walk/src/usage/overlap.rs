//! Roots that overlap: one is in another, or both are the same.
//!
//! What is below several roots belongs to the first of them, as if they were walked one after the other. Nobody
//! remembers every file for that. The walk of a root stops where it comes to another root (known by its device and
//! number) and notes the place; when everything is known, the other root is put there, if it is a later one.
//!
//! That needs a tree. So it is worth knowing beforehand whether any roots overlap at all: their real paths say so. Not
//! seen by these is a directory that is mounted in two places; it is still counted once, but perhaps for a later root.
//!
//! A root in a root is walked as a root: its depth, and its filter, are those of a root, wherever it is counted.

use crate::Symlinks;
use crate::metadata::{FileIdentity, Metadata};
use crate::sys;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Which directories and which files are roots. Empty if there is only one: then the walk never comes to it again.
#[derive(Debug, Default)]
pub(super) struct RootIdentities {
    directories: HashSet<FileIdentity>,
    /// Seldom any, so that most walks have nothing to ask for a file.
    files: HashSet<FileIdentity>,
}

impl RootIdentities {
    /// Whether this directory is one of the roots.
    #[inline]
    pub(super) fn contain_directory(&self, metadata: &Metadata) -> bool {
        Self::contain(&self.directories, metadata)
    }

    /// Whether this is one of the roots, and no directory.
    #[inline]
    pub(super) fn contain_file(&self, metadata: &Metadata) -> bool {
        Self::contain(&self.files, metadata)
    }

    #[inline]
    fn contain(roots: &HashSet<FileIdentity>, metadata: &Metadata) -> bool {
        !roots.is_empty() && metadata.identity().is_some_and(|file| roots.contains(&file))
    }

    /// `false` if it was there before.
    fn insert(&mut self, metadata: &Metadata) -> bool {
        let roots = if metadata.kind.is_dir() { &mut self.directories } else { &mut self.files };
        metadata.identity().is_none_or(|file| roots.insert(file))
    }
}

/// How the roots of a walk lie.
#[derive(Debug, Default)]
pub(super) struct Overlap {
    pub(super) identities: RootIdentities,
    /// Whether any of them is in another, or the same.
    pub(super) any: bool,
}

impl Overlap {
    /// Looks at the roots. One that cannot be looked at overlaps with nothing.
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
        // In this order a directory is directly before what is in it.
        paths.sort_unstable();
        any |= paths.windows(2).any(|pair| pair[1].starts_with(&pair[0]));
        Self { identities, any }
    }
}

/// The path of a root without any links on the way.
fn real_path(root: &Path, metadata: &Metadata) -> Option<PathBuf> {
    if !metadata.kind.is_symlink() {
        return root.canonicalize().ok();
    }
    // The link itself is meant.
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
            Overlap::of(&roots, symlinks).any
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
