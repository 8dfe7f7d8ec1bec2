//! [`WalkEntry`]: an entry that the caller can keep.
//!
//! The entries of a directory share its path, and each stores only its own name. An entry builds
//! its path on request.

use crate::entry::Entry;
use crate::metadata::{FileKind, Metadata};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An entry of a walk that the caller can keep, as returned by
/// [`Walk::entries`](crate::Walk::entries) and [`Walk::sorted`](crate::Walk::sorted).
#[derive(Clone, Debug)]
pub struct WalkEntry {
    within: Option<Arc<Path>>,
    data: EntryData,
}

/// What an [`Entry`] knows, except the path of its directory.
#[derive(Clone, Debug)]
pub(super) struct EntryData {
    pub(super) name: Box<OsStr>,
    /// Boxed, because most walks do not read metadata.
    metadata: Option<Box<Metadata>>,
    pub(super) depth: u32,
    root: u32,
    kind: FileKind,
    followed: bool,
}

impl EntryData {
    pub(super) fn new(entry: &Entry<'_>) -> Self {
        #[cfg(test)]
        assert_ne!(entry.name(), "panics on purpose");
        // The engine stores both as `u32`.
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

    /// Returns roughly how much memory the entry takes.
    pub(super) fn bytes(&self) -> usize {
        let metadata = self.metadata.as_ref().map_or(0, |_| size_of::<Metadata>());
        size_of::<Self>() + self.name.len() + metadata
    }
}

impl WalkEntry {
    /// Creates an entry. `within` is the path of its directory, or `None` for a root.
    pub(super) fn new(within: Option<Arc<Path>>, data: EntryData) -> Self {
        Self { within, data }
    }

    /// Returns the path: the root as given to the walk, and the names below it.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        match &self.within {
            Some(within) => within.join(&*self.data.name),
            None => PathBuf::from(&*self.data.name),
        }
    }

    /// Writes the path into `path`, replacing its contents. A buffer that is large enough is not
    /// reallocated.
    pub fn path_into(&self, path: &mut PathBuf) {
        path.clear();
        if let Some(within) = &self.within {
            path.push(within);
        }
        path.push(&*self.data.name);
    }

    /// Returns the path of the directory that contains the entry, or `None` for a root.
    #[must_use]
    pub fn parent(&self) -> Option<&Path> {
        self.within.as_deref()
    }

    /// Returns the name without the directories. For a root it is the path as given to the walk.
    #[must_use]
    pub fn name(&self) -> &OsStr {
        &self.data.name
    }

    /// Returns the kind of the entry. If the walk followed a symbolic link, it is the kind of the
    /// link's target.
    #[must_use]
    pub fn kind(&self) -> FileKind {
        self.data.kind
    }

    /// Returns `true` if the name is that of a symbolic link which the walk followed.
    #[must_use]
    pub fn is_followed_link(&self) -> bool {
        self.data.followed
    }

    /// Returns the depth below the root. The root itself has depth 0.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.data.depth as usize
    }

    /// Returns the index of the root that the entry is below.
    #[must_use]
    pub fn root(&self) -> usize {
        self.data.root as usize
    }

    /// Returns the metadata, if the walk [reads it](crate::Walk::metadata).
    #[must_use]
    pub fn metadata(&self) -> Option<&Metadata> {
        self.data.metadata.as_deref()
    }
}
