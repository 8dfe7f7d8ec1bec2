//! [`PathCache`]: the path that a worker built last, from which it builds the next one.
//!
//! A worker that walks depth first needs the paths of directories that are near each other. So it
//! keeps the last path together with the directories that the path consists of, and builds another
//! one from where the two part. Building each path from its root would make the time for a chain of
//! directories grow with the square of its length.
//!
//! The cache holds only weak references: it never keeps a directory from being left.

use super::DirNode;
use crate::sys::os_str;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

/// The path that a worker built last.
pub(crate) struct PathCache<D> {
    path: PathBuf,
    below_root: PathBuf,
    /// The directories of the path, from its root inwards.
    directories: Vec<Weak<DirNode<D>>>,
}

/// The path of a directory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DirPath<'a> {
    /// The path, including the root.
    pub(crate) whole: &'a Path,
    /// The part below the root.
    pub(crate) below_root: &'a Path,
}

impl<D> Default for PathCache<D> {
    fn default() -> Self {
        Self { path: PathBuf::new(), below_root: PathBuf::new(), directories: Vec::new() }
    }
}

impl<D> fmt::Debug for PathCache<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PathCache").field("path", &self.path).finish_non_exhaustive()
    }
}

impl<D> PathCache<D> {
    /// Returns the path of a directory.
    pub(crate) fn path_of(&mut self, node: &Arc<DirNode<D>>, roots: &[PathBuf]) -> DirPath<'_> {
        let mut missing = Vec::new();
        let mut next = Some(node);
        while let Some(node) = next.filter(|node| !self.knows(node)) {
            missing.push(node);
            next = node.parent.get();
        }
        self.keep(next.map_or(0, |node| node.depth as usize + 1));
        for node in missing.into_iter().rev() {
            match &node.name {
                None => self.path.push(&roots[node.root as usize]),
                Some(name) => {
                    self.path.push(os_str(name));
                    self.below_root.push(os_str(name));
                }
            }
            self.directories.push(Arc::downgrade(node));
        }
        DirPath { whole: &self.path, below_root: &self.below_root }
    }

    /// Returns `true` if the directory is a part of the path. The path is always built anew from a
    /// root, because taking a name away could change how the root is written (`a//`).
    fn knows(&self, node: &Arc<DirNode<D>>) -> bool {
        let known = self.directories.get(node.depth as usize).filter(|_| node.depth > 0);
        known.is_some_and(|known| std::ptr::eq(known.as_ptr(), Arc::as_ptr(node)))
    }

    /// Keeps the first `count` directories of the path.
    fn keep(&mut self, count: usize) {
        if count == 0 {
            self.directories.clear();
            self.path.clear();
            self.below_root.clear();
        }
        while self.directories.len() > count {
            self.directories.pop();
            self.path.pop();
            self.below_root.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ParentLink;
    use super::*;
    use crate::filter::DirRules;
    use crate::sys::boxed_name;
    use heist_device::DeviceId;
    use proptest::prelude::*;
    use std::ffi::OsStr;

    fn node(parent: Option<&Arc<DirNode<()>>>, root: u32, name: &str) -> Arc<DirNode<()>> {
        Arc::new(DirNode {
            parent: ParentLink::new(parent.cloned()),
            name: parent.and_then(|_| boxed_name(OsStr::new(name))),
            depth: parent.map_or(0, |parent| parent.depth + 1),
            root: parent.map_or(root, |parent| parent.root),
            followed: false,
            identity: None,
            disk: DeviceId::from_raw(0),
            rules: DirRules::default(),
            kept: (),
        })
    }

    proptest! {
        #[test]
        fn the_path_is_the_one_from_the_root(
            parents in prop::collection::vec((any::<prop::sample::Index>(), "[a-z.]{1,5}"), 1..60),
            asked in prop::collection::vec(any::<prop::sample::Index>(), 1..60),
        ) {
            let roots: Vec<PathBuf> = ["", "/", "a//", ".", "b/c"].map(PathBuf::from).into();
            let mut nodes: Vec<_> = (0..5).map(|root| node(None, root, "")).collect();
            for (parent, name) in parents {
                let parent = Arc::clone(parent.get(&nodes));
                nodes.push(node(Some(&parent), 0, &format!("x{name}")));
            }
            let mut cache = PathCache::default();
            for asked in asked {
                let node = asked.get(&nodes);
                let found = cache.path_of(node, &roots);
                let (whole, below_root) = (node.path(&roots), node.path_below_root());
                // Not as paths: those are equal however the root is written.
                prop_assert_eq!(found.whole.as_os_str(), whole.as_os_str());
                prop_assert_eq!(found.below_root.as_os_str(), below_root.as_os_str());
            }
        }
    }
}
