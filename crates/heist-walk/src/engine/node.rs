//! The directories that a walk is in. A [`DirNode`] lives until everything below the directory is
//! done, and a [`DirAccess`] lives while the directory has to be accessible.
//!
//! There is no counter of unfinished children. Instead, everything pending below a directory holds
//! its node. [`Arc::into_inner`] succeeds for exactly one holder, the last one. That holder leaves
//! the directory and then releases its hold on the parent.

use crate::filter::DirRules;
use crate::metadata::FileIdentity;
use crate::sys::{Dir, Name, os_str};
use heist_device::DeviceId;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A directory that was entered.
#[derive(Debug)]
pub(crate) struct DirNode<D> {
    pub(crate) parent: ParentLink<D>,
    /// The name in the parent, or `None` for a root.
    pub(crate) name: Option<Box<Name>>,
    pub(crate) depth: u32,
    pub(crate) root: u32,
    /// Whether the name is that of a symbolic link.
    pub(crate) followed: bool,
    /// The identity of the directory, if the walk needs it.
    pub(crate) identity: Option<FileIdentity>,
    /// The disk that the directory is on.
    pub(crate) disk: DeviceId,
    pub(crate) rules: DirRules,
    /// The value that the visitor keeps for the directory.
    pub(crate) kept: D,
}

impl<D> DirNode<D> {
    /// Returns the path, including the root.
    pub(crate) fn path(&self, roots: &[PathBuf]) -> PathBuf {
        self.path_in(roots.get(self.root as usize).map_or(Path::new(""), PathBuf::as_path))
    }

    /// Returns the path below the root: slow, to check the [`PathCache`](super::path_cache).
    #[cfg(test)]
    pub(crate) fn path_below_root(&self) -> PathBuf {
        self.path_in(Path::new(""))
    }

    fn path_in(&self, root: &Path) -> PathBuf {
        let mut names = Vec::new();
        let mut node = self;
        while let (Some(name), Some(parent)) = (&node.name, node.parent.get()) {
            names.push(os_str(name));
            node = parent;
        }
        let below = names.iter().map(|name| 1 + name.len()).sum::<usize>();
        let mut path = PathBuf::with_capacity(root.as_os_str().len() + below);
        path.push(root);
        path.extend(names.iter().rev());
        path
    }

    /// Iterates over this directory and all directories that contain it, from the inside out.
    pub(crate) fn chain(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |node| node.parent.get().map(Arc::as_ref))
    }
}

/// A hold on the directory that contains another one. Empty for a root.
#[derive(Debug)]
pub(crate) struct ParentLink<D>(Option<Arc<DirNode<D>>>);

impl<D> ParentLink<D> {
    pub(crate) fn new(parent: Option<Arc<DirNode<D>>>) -> Self {
        Self(parent)
    }

    pub(crate) fn get(&self) -> Option<&Arc<DirNode<D>>> {
        self.0.as_ref()
    }

    /// Returns the value that the visitor keeps for the directory.
    pub(crate) fn kept(&self) -> Option<&D> {
        self.get().map(|parent| &parent.kept)
    }

    pub(crate) fn take(&mut self) -> Option<Arc<DirNode<D>>> {
        self.0.take()
    }
}

/// Drops a chain of directories in a loop. The chain may be deeper than the stack, so drops must
/// not nest.
impl<D> Drop for ParentLink<D> {
    fn drop(&mut self) {
        let mut next = self.take();
        while let Some(mut node) = next.and_then(Arc::into_inner) {
            next = node.parent.take();
        }
    }
}

/// A directory with pending names or unread entries.
#[derive(Debug)]
pub(crate) struct DirAccess<D> {
    pub(crate) node: Arc<DirNode<D>>,
    pub(crate) handle: DirHandle,
    /// Whether the directory counts as kept open in the descriptor budget.
    kept_open: AtomicBool,
}

/// How to access a directory.
#[derive(Debug)]
pub(crate) enum DirHandle {
    /// Through its descriptor.
    Open(Dir),
    /// By opening it again, because it was closed to free its descriptor. It must still have this
    /// identity.
    Closed(Option<FileIdentity>),
}

impl<D> DirAccess<D> {
    pub(crate) fn new(node: Arc<DirNode<D>>, handle: DirHandle) -> Self {
        Self { node, handle, kept_open: AtomicBool::new(false) }
    }

    /// Relaxed: the worker that reads the directory sets it before it shares the directory, and the
    /// last holder reads it. Sharing and releasing the `Arc` order these accesses.
    pub(crate) fn set_kept_open(&self) {
        self.kept_open.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_kept_open(&self) -> bool {
        self.kept_open.load(Ordering::Relaxed)
    }
}
