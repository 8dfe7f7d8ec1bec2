//! Roots that overlap: one is in another, or both are the same.
//!
//! What is below several roots belongs to the first of them, as if they were walked one after the other. Nobody remembers
//! every file for that. The walk of a root stops where it comes to another root (known by its device and number) and notes
//! the place; when everything is known, the other root is put there, if it is a later one.
//!
//! That needs a tree. So it is worth knowing beforehand whether any roots overlap at all: their real paths say so. Not
//! seen by these is a directory that is mounted in two places; it is still counted once, but perhaps for a later root.

use crate::Symlinks;
use crate::metadata::{FileIdentity, Metadata};
use crate::sys;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Which files and directories are roots. Empty if there is only one: then the walk never comes to it again.
#[derive(Debug, Default)]
pub(super) struct RootIdentities(HashSet<FileIdentity>);

impl RootIdentities {
    /// Whether this is one of the roots.
    #[inline]
    pub(super) fn contains(&self, metadata: &Metadata) -> bool {
        !self.0.is_empty() && metadata.identity().is_some_and(|file| self.0.contains(&file))
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
        let mut identities = HashSet::new();
        let mut paths = Vec::new();
        let mut any = false;
        for root in roots {
            let Ok(metadata) = sys::metadata_of_root(root, symlinks != Symlinks::Never) else {
                continue;
            };
            if let Some(identity) = metadata.identity() {
                any |= !identities.insert(identity);
            }
            paths.extend(real_path(root, &metadata));
        }
        // In this order a directory is directly before what is in it.
        paths.sort_unstable();
        any |= paths.windows(2).any(|pair| pair[1].starts_with(&pair[0]));
        Self { identities: RootIdentities(identities), any }
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
