//! [`UniqueRoots`]: the roots of a scan without duplicates.
//!
//! The same directory may be named twice, or lie inside another root. Each file must be scanned
//! once, under the root that names it most directly.

use super::project::{Projects, RootPlace};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// The roots of a scan without duplicates.
#[derive(Debug, Default)]
pub(super) struct UniqueRoots {
    /// The roots, each file or directory once, whatever paths lead to it.
    pub(super) paths: Vec<PathBuf>,
    /// Where each of them lies in its project.
    pub(super) places: Vec<RootPlace>,
    /// The roots that lie inside another root, by the path under which the walk of the outer root
    /// meets them. They are scanned as roots, because the caller named them and a filter could
    /// exclude them in the outer walk.
    nested: HashSet<PathBuf>,
}

impl UniqueRoots {
    /// Removes duplicates from `named`. With `follows_links`, a symbolic link stands for its
    /// target.
    pub(super) fn new(named: &[PathBuf], follows_links: bool) -> Self {
        let mut roots = Self::default();
        let mut by_real_path = HashMap::new();
        let mut projects = Projects::default();
        for root in named {
            let is_link = || root.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
            let place = projects.place(root);
            // If a root cannot be resolved, the walk reports why.
            let real = place.real().filter(|_| follows_links || !is_link()).map(Path::to_owned);
            if let Some(real) = real {
                match by_real_path.entry(real) {
                    Entry::Occupied(_) => continue,
                    Entry::Vacant(entry) => _ = entry.insert(root),
                }
            }
            roots.paths.push(root.clone());
            roots.places.push(place);
        }
        for real in by_real_path.keys() {
            for outer in real.ancestors().skip(1) {
                if let (Some(root), Ok(below)) = (by_real_path.get(outer), real.strip_prefix(outer))
                {
                    roots.nested.insert(root.join(below));
                }
            }
        }
        roots
    }

    /// Returns `true` if the walk of another root meets a root at `path`.
    pub(super) fn is_nested_root(&self, path: &Path) -> bool {
        self.nested.contains(path)
    }

    /// Returns `true` if any root lies inside another one.
    pub(super) fn has_nested(&self) -> bool {
        !self.nested.is_empty()
    }
}
