//! [`WalkEntry`]: an entry that the caller can keep.
//!
//! Entries of one directory share its path; each has only its name for itself. A path is put together when it is
//! asked for.

use crate::entry::Entry;
use crate::metadata::{FileKind, Metadata};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One thing that a walk has come to, kept.
#[derive(Clone, Debug)]
pub struct WalkEntry {
    within: Option<Arc<Path>>,
    found: Found,
}

/// What is left of an [`Entry`] without the path of the directory that it is in.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) name: Box<OsStr>,
    /// Boxed, because most walks do not ask for it.
    metadata: Option<Box<Metadata>>,
    pub(super) depth: u32,
    root: u32,
    kind: FileKind,
    followed: bool,
}

impl Found {
    pub(super) fn new(entry: &Entry<'_>) -> Self {
        #[cfg(test)]
        assert_ne!(entry.name(), "panics on purpose");
        // The engine counts both in as many bits.
        let small = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        Self {
            name: entry.name().into(),
            metadata: entry.metadata().map(|metadata| Box::new(*metadata)),
            depth: small(entry.depth()),
            root: small(entry.root()),
            kind: entry.kind(),
            followed: entry.is_followed_link(),
        }
    }

    /// What it takes in memory, about.
    pub(super) fn bytes(&self) -> usize {
        let metadata = self.metadata.as_ref().map_or(0, |_| size_of::<Metadata>());
        size_of::<Self>() + self.name.len() + metadata
    }
}

impl WalkEntry {
    /// `within` is the path of the directory that it is in; `None` for a root.
    pub(super) fn new(within: Option<Arc<Path>>, found: Found) -> Self {
        Self { within, found }
    }

    /// Its path: the root's as it was given, and the names below.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        match &self.within {
            Some(within) => within.join(&*self.found.name),
            None => PathBuf::from(&*self.found.name),
        }
    }

    /// Its path, in a buffer of the caller's: without allocating, if it is large enough.
    pub fn path_into(&self, path: &mut PathBuf) {
        path.clear();
        if let Some(within) = &self.within {
            path.push(within);
        }
        path.push(&*self.found.name);
    }

    /// The path of the directory that it is in; `None` for a root.
    #[must_use]
    pub fn parent(&self) -> Option<&Path> {
        self.within.as_deref()
    }

    /// Its name, without the directories. For a root: the path that the walk was given.
    #[must_use]
    pub fn name(&self) -> &OsStr {
        &self.found.name
    }

    /// What it is. A symbolic link that the walk followed is what it leads to.
    #[must_use]
    pub fn kind(&self) -> FileKind {
        self.found.kind
    }

    /// Whether the walk came here over a symbolic link that has this name.
    #[must_use]
    pub fn is_followed_link(&self) -> bool {
        self.found.followed
    }

    /// How far below its root: 0 for the root itself.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.found.depth as usize
    }

    /// Which of the walk's roots it is below, counted from 0.
    #[must_use]
    pub fn root(&self) -> usize {
        self.found.root as usize
    }

    /// What the system says about it, in a walk that [asks](crate::Walk::metadata).
    #[must_use]
    pub fn metadata(&self) -> Option<&Metadata> {
        self.found.metadata.as_deref()
    }
}
