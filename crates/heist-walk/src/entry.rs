//! [`Entry`]: one thing that a walk has come to.
//!
//! Only its name is at hand; a path is put together when it is asked for. A tool that sums up sizes never asks.

use crate::metadata::{FileKind, Metadata};
use std::cell::OnceCell;
use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};

/// A directory as its entries see it: where it is, found out when somebody asks.
pub(crate) struct Surroundings<'a> {
    /// Puts the directory's path together.
    path_of: &'a dyn Fn() -> PathBuf,
    /// ... once.
    path: OnceCell<PathBuf>,
}

impl<'a> Surroundings<'a> {
    pub(crate) fn new(path_of: &'a dyn Fn() -> PathBuf) -> Self {
        Self { path_of, path: OnceCell::new() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.path.get_or_init(self.path_of)
    }
}

/// One thing that a walk has come to.
pub struct Entry<'a> {
    pub(crate) name: &'a OsStr,
    pub(crate) kind: FileKind,
    pub(crate) depth: usize,
    pub(crate) root: usize,
    pub(crate) metadata: Option<&'a Metadata>,
    /// `None` for a root, whose name is its path.
    pub(crate) within: Option<&'a Surroundings<'a>>,
    pub(crate) followed: bool,
}

impl Entry<'_> {
    /// Its name, without the directories. For a root: the path that the walk was given.
    #[must_use]
    pub fn name(&self) -> &OsStr {
        self.name
    }

    /// What it is. A symbolic link that the walk followed is what it leads to.
    #[must_use]
    pub fn kind(&self) -> FileKind {
        self.kind
    }

    /// Whether the walk came here over a symbolic link that has this name.
    #[must_use]
    pub fn is_followed_link(&self) -> bool {
        self.followed
    }

    /// How far below its root: 0 for the root itself.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// Which of the walk's roots it is below, counted from 0.
    #[must_use]
    pub fn root(&self) -> usize {
        self.root
    }

    /// What the system says about it, in a walk that [asks](crate::Walk::metadata).
    #[must_use]
    pub fn metadata(&self) -> Option<&Metadata> {
        self.metadata
    }

    /// Its path: the root's as it was given, and the names below.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        let mut path = PathBuf::new();
        self.path_into(&mut path);
        path
    }

    /// Its path, in a buffer of the caller's: without allocating, if it is large enough.
    pub fn path_into(&self, path: &mut PathBuf) {
        // Not by `PathBuf::push`, which looks at every name for a root or a prefix of its own.
        let text = path.as_mut_os_string();
        text.clear();
        if let Some(within) = self.within {
            let within = within.path().as_os_str();
            text.push(within);
            let last = within.as_encoded_bytes().last();
            if last.is_some_and(|&byte| !std::path::is_separator(char::from(byte))) {
                text.push(std::path::MAIN_SEPARATOR_STR);
            }
        }
        text.push(self.name);
    }
}

impl fmt::Debug for Entry<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry")
            .field("path", &self.path())
            .field("kind", &self.kind)
            .field("depth", &self.depth)
            .field("metadata", &self.metadata)
            .finish_non_exhaustive()
    }
}
