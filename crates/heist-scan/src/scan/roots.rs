//! [`Roots`]: the roots of a scan, each once, and where the walk of one would come to another.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// What is to be scanned.
#[derive(Debug, Default)]
pub(super) struct Roots {
    /// The roots without those that were named before: the same directory or file, by whatever path. A symbolic link
    /// stays: whether it is followed is not decided here.
    pub(super) each: Vec<PathBuf>,
    /// Roots inside other roots, by the paths that the others' walks have for them. They are scanned as roots: they
    /// were asked for by name, and a filter may leave them out there.
    inside: HashSet<PathBuf>,
}

impl Roots {
    pub(super) fn new(named: &[PathBuf]) -> Self {
        let mut roots = Self::default();
        let mut by_real_path = HashMap::new();
        for root in named {
            let is_link = root.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
            // What cannot be resolved is told of by the walk.
            let is_new = match root.canonicalize() {
                Ok(real) if !is_link => by_real_path.insert(real, root).is_none(),
                _ => true,
            };
            if is_new {
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
