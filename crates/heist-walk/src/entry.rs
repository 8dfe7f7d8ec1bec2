//! [`Entry`]: an entry that a walk shows to its visitor.
//!
//! An entry knows only its name. It builds its path on request, and a tool that adds up sizes never
//! requests it.

use crate::metadata::{FileKind, Metadata};
use std::cell::OnceCell;
use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};

/// The path of the directory that an entry is in, built when it is first needed.
pub(crate) struct ParentPath<'a> {
    /// Builds the path.
    path_of: &'a dyn Fn() -> PathBuf,
    /// The path, once it is built.
    path: OnceCell<PathBuf>,
}

impl<'a> ParentPath<'a> {
    pub(crate) fn new(path_of: &'a dyn Fn() -> PathBuf) -> Self {
        Self { path_of, path: OnceCell::new() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.path.get_or_init(self.path_of)
    }
}

/// An entry of a directory, or a root, as a visitor sees it.
pub struct Entry<'a> {
    pub(crate) name: &'a OsStr,
    pub(crate) kind: FileKind,
    pub(crate) depth: usize,
    pub(crate) root: usize,
    pub(crate) metadata: Option<&'a Metadata>,
    /// `None` for a root, whose name is its path.
    pub(crate) within: Option<&'a ParentPath<'a>>,
    pub(crate) followed: bool,
}

impl Entry<'_> {
    /// Returns the name without the directories. For a root it is the path as given to the walk.
    #[must_use]
    pub fn name(&self) -> &OsStr {
        self.name
    }

    /// Returns the kind of the entry. If the walk followed a symbolic link, it is the kind of the
    /// link's target.
    #[must_use]
    pub fn kind(&self) -> FileKind {
        self.kind
    }

    /// Returns `true` if the name is that of a symbolic link which the walk followed.
    #[must_use]
    pub fn is_followed_link(&self) -> bool {
        self.followed
    }

    /// Returns the depth below the root. The root itself has depth 0.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// Returns the index of the root that the entry is below.
    #[must_use]
    pub fn root(&self) -> usize {
        self.root
    }

    /// Returns the metadata, if the walk [reads it](crate::Walk::metadata).
    #[must_use]
    pub fn metadata(&self) -> Option<&Metadata> {
        self.metadata
    }

    /// Returns the path: the root as given to the walk, and the names below it.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        let mut path = PathBuf::new();
        self.path_into(&mut path);
        path
    }

    /// Writes the path into `path`, replacing its contents. A buffer that is large enough is not
    /// reallocated.
    pub fn path_into(&self, path: &mut PathBuf) {
        // `PathBuf::push` would parse every name to look for a root or a prefix.
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
