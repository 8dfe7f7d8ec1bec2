//! [`Roots`]: the roots of a scan, each once, and where the walk of one would come to another.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// What is to be scanned.
#[derive(Debug, Default)]
pub(super) struct Roots {
    /// The roots without those that were named before: the same directory or file, by whatever path.
    pub(super) each: Vec<PathBuf>,
    /// Roots inside other roots, by the paths that the others' walks have for them. They are scanned as roots: they
    /// were asked for by name, and a filter may leave them out there.
    inside: HashSet<PathBuf>,
}

impl Roots {
    /// `follows_links`: a symbolic link that is named means what it leads to, and not itself.
    pub(super) fn new(named: &[PathBuf], follows_links: bool) -> Self {
        let mut roots = Self::default();
        let mut by_real_path = HashMap::new();
        for root in named {
            let is_link = || root.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
            // What cannot be resolved is told of by the walk.
            let Some(real) = root.canonicalize().ok().filter(|_| follows_links || !is_link())
            else {
                roots.each.push(root.clone());
                continue;
            };
            if let Entry::Vacant(entry) = by_real_path.entry(real) {
                entry.insert(root);
                roots.each.push(root.clone());
            }
        }
        for real in by_real_path.keys() {
            for outer in real.ancestors().skip(1) {
                if let (Some(root), Ok(below)) = (by_real_path.get(outer), real.strip_prefix(outer))
                {
                    roots.inside.insert(root.join(below));
                }
            }
        }
        roots
    }

    /// Whether another root's walk has come to a root.
    pub(super) fn has_inside(&self, path: &Path) -> bool {
        self.inside.contains(path)
    }

    /// Whether that can be.
    pub(super) fn overlap(&self) -> bool {
        !self.inside.is_empty()
    }
}
