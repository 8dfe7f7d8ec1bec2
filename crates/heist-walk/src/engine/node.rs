//! Directories on the way: [`DirNode`], which lives until everything below it is done, and [`OpenDir`], which lives
//! while its descriptor is needed.
//!
//! Nobody counts a directory's children. Whatever is pending below a directory holds its node; who drops the last hold
//! ([`Arc::into_inner`] tells exactly one) leaves the directory, and then lets go of the parent. So the end of each
//! directory, like the end of the walk, is found without a counter of its own.

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
    pub(crate) parent: Parent<D>,
    /// Its name in its parent; `None` for a root.
    pub(crate) name: Option<Box<Name>>,
    pub(crate) depth: u32,
    pub(crate) root: u32,
    /// Whether its name is that of a symbolic link.
    pub(crate) followed: bool,
    /// Which directory it is, if the walk asked.
    pub(crate) identity: Option<FileIdentity>,
    /// The disk that it is on.
    pub(crate) disk: DeviceId,
    pub(crate) rules: DirRules,
    /// What the visitor keeps for it.
    pub(crate) kept: D,
}

impl<D> DirNode<D> {
    /// Its path.
    pub(crate) fn path(&self, roots: &[PathBuf]) -> PathBuf {
        self.path_in(roots.get(self.root as usize).map_or(Path::new(""), PathBuf::as_path))
    }

    /// Its path without the root's.
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

    /// This directory and those that it is in, from the inside out.
    pub(crate) fn chain(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |node| node.parent.get().map(Arc::as_ref))
    }
}

/// The directory that a directory is in; none for a root.
#[derive(Debug)]
pub(crate) struct Parent<D>(Option<Arc<DirNode<D>>>);

impl<D> Parent<D> {
    pub(crate) fn new(parent: Option<Arc<DirNode<D>>>) -> Self {
        Self(parent)
    }

    pub(crate) fn get(&self) -> Option<&Arc<DirNode<D>>> {
        self.0.as_ref()
    }

    /// What the visitor keeps for it.
    pub(crate) fn kept(&self) -> Option<&D> {
        self.get().map(|parent| &parent.kept)
    }

    pub(crate) fn take(&mut self) -> Option<Arc<DirNode<D>>> {
        self.0.take()
    }
}

/// Level by level: a chain may be deeper than the stack.
impl<D> Drop for Parent<D> {
    fn drop(&mut self) {
        let mut next = self.take();
        while let Some(mut node) = next.and_then(Arc::into_inner) {
            next = node.parent.take();
        }
    }
}

/// A directory with names in it that wait to be opened, or entries that wait to be read.
#[derive(Debug)]
pub(crate) struct OpenDir<D> {
    pub(crate) node: Arc<DirNode<D>>,
    pub(crate) handle: Handle,
    /// Whether it counts among the directories that are kept open.
    kept_open: AtomicBool,
}

/// How to get at a directory.
#[derive(Debug)]
pub(crate) enum Handle {
    /// Through its descriptor.
    Open(Dir),
    /// By opening it again: its descriptor was needed elsewhere. It has to be this one then.
    Closed(Option<FileIdentity>),
}

impl<D> OpenDir<D> {
    pub(crate) fn new(node: Arc<DirNode<D>>, handle: Handle) -> Self {
        Self { node, handle, kept_open: AtomicBool::new(false) }
    }

    /// Relaxed: set by whoever reads the directory before it hands the directory to others, and read by the last one
    /// to let go of it; the hand-over orders these.
    pub(crate) fn set_kept_open(&self) {
        self.kept_open.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_kept_open(&self) -> bool {
        self.kept_open.load(Ordering::Relaxed)
    }
}
