//! [`Filter`]: which entries a walk leaves out.

use crate::entry::Surroundings;
use crate::metadata::FileKind;
use crate::sys::Dir;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

/// Which entries a walk leaves out. The default leaves out nothing.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    skip_hidden: bool,
}

/// The rules that hold in one directory.
#[derive(Clone, Debug, Default)]
pub(crate) struct DirRules;

/// What could not be used of a file of rules: its path, and why.
pub(crate) type RuleError = (PathBuf, io::Error);

impl Filter {
    /// Leaves nothing out.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether entries whose names begin with a dot are left out.
    #[must_use]
    pub fn skip_hidden(mut self, skip: bool) -> Self {
        self.skip_hidden = skip;
        self
    }

    /// Whether it may leave out anything at all.
    pub(crate) fn is_active(&self) -> bool {
        self.skip_hidden
    }

    /// The rules in a root, with what its parents say about it.
    pub(crate) fn rules_in_root(
        &self,
        _root: &Path,
        _dir: &Dir,
        _errors: &mut Vec<RuleError>,
    ) -> DirRules {
        DirRules
    }

    /// The rules in a directory below: its parent's and its own. `path` is found out only if it is needed.
    pub(crate) fn rules_in(
        &self,
        parent: &DirRules,
        _path: &dyn Fn() -> PathBuf,
        _dir: &Dir,
        _errors: &mut Vec<RuleError>,
    ) -> DirRules {
        parent.clone()
    }

    /// Whether an entry (no root) is left out, by the rules of the directory that it is in.
    pub(crate) fn excludes(
        &self,
        _rules: &DirRules,
        _within: &Surroundings<'_>,
        name: &OsStr,
        _kind: FileKind,
    ) -> bool {
        self.skip_hidden && name.as_encoded_bytes().first() == Some(&b'.')
    }
}
