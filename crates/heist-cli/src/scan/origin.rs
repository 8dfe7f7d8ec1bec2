//! [`Origin`]: who set something; and [`Setting`], a value with its origin.
//!
//! heist trusts the command line and the user's configuration file. It does not trust the
//! scanned tree: the tree's `heist.toml` may tune the scan of this tree (see
//! [`Tuning`](super::configuration::Tuning)), and whatever it hides is counted. So a setting that
//! can hide a finding keeps its origin.

use crate::escape;
use heist_scan::read_small_file_below;
use heist_scan::rules::{Loaded, RuleError, RuleLoader};
use heist_scan::suppress::{Baseline, BaselineError};
use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// Who set something.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Origin {
    /// No source did, so it has its default.
    #[default]
    Default,
    /// An option of the command line.
    CommandLine,
    /// A configuration file of the user.
    UserFile(Arc<Path>),
    /// The configuration file of the scanned tree, which is not trusted.
    Tree(Arc<Path>),
}

/// A value and who set it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Setting<T> {
    pub(crate) value: T,
    pub(crate) origin: Origin,
}

impl<T> Setting<T> {
    pub(crate) fn new(value: T, origin: Origin) -> Self {
        Self { value, origin }
    }

    /// Returns the configuration file of the tree, if it set this.
    pub(crate) fn tree_file(&self) -> Option<&Arc<Path>> {
        match &self.origin {
            Origin::Tree(path) => Some(path),
            Origin::Default | Origin::CommandLine | Origin::UserFile(_) => None,
        }
    }

    /// Returns `true` if the scanned tree set this.
    pub(crate) fn is_of_tree(&self) -> bool {
        self.tree_file().is_some()
    }

    pub(crate) fn map<U>(self, map: impl FnOnce(T) -> U) -> Setting<U> {
        Setting { value: map(self.value), origin: self.origin }
    }
}

/// A setting as error messages name it: the option, or the file and its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SettingName {
    pub(crate) origin: Origin,
    /// The long option without its dashes, which is also the key in a file.
    pub(crate) key: &'static str,
}

impl fmt::Display for SettingName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { origin, key } = self;
        match origin {
            Origin::Default => write!(f, "`{key}`"),
            Origin::CommandLine => write!(f, "--{key}"),
            Origin::UserFile(path) | Origin::Tree(path) => {
                let path = escape::for_terminal(path.as_os_str());
                write!(f, "the configuration '{path}': `{key}`")
            }
        }
    }
}

/// A file that a setting names.
///
/// Invariant: a file that the scanned tree names is read only below the directory of the tree's
/// configuration, and no symbolic link is followed on the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedFile {
    path: PathBuf,
    /// The directory that the file must be below, if the tree names it.
    below: Option<PathBuf>,
}

impl NamedFile {
    /// The file `path`, wherever it leads.
    pub(crate) fn trusted(path: PathBuf) -> Self {
        Self { path, below: None }
    }

    /// The file that the configuration in `directory`, which is not trusted, calls `file`.
    ///
    /// # Errors
    /// Returns why heist does not read the file, if it may be outside of the directory.
    pub(crate) fn of_tree(directory: &Path, file: &Path) -> Result<Self, &'static str> {
        let is_below = |component: Component<'_>| {
            matches!(component, Component::Normal(_) | Component::CurDir)
        };
        if !file.components().all(is_below) {
            return Err("is not below the directory of that configuration");
        }
        let mut way = directory.to_owned();
        for component in file.components() {
            way.push(component);
            // Reading checks this again, without a gap in time. This check is for the note.
            if way.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink()) {
                return Err("is a symbolic link, or lies behind one");
            }
        }
        Ok(Self { path: directory.join(file), below: Some(directory.to_owned()) })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the directory to stay below, and the file's path in it.
    fn in_tree(&self) -> Option<(&Path, &Path)> {
        let below = self.below.as_deref()?;
        // The path was made by joining, so it has the prefix.
        Some((below, self.path.strip_prefix(below).ok()?))
    }

    /// Loads a rule file.
    ///
    /// # Errors
    /// It cannot be read or is not valid.
    pub(crate) fn load_rules(&self, loader: &RuleLoader) -> Result<Loaded, RuleError> {
        match self.in_tree() {
            Some((directory, file)) => loader.load_below(directory, file),
            None => loader.load(&self.path),
        }
    }

    /// Loads a baseline.
    ///
    /// # Errors
    /// It cannot be read or is not valid.
    pub(crate) fn load_baseline(&self) -> Result<Baseline, BaselineError> {
        match self.in_tree() {
            Some((directory, file)) => Baseline::load_below(directory, file),
            None => Baseline::load(&self.path),
        }
    }
}

/// Reads the configuration file of a tree, which must not be a link.
///
/// # Errors
/// It cannot be read, is not a regular file, or is too large.
pub(super) fn read_tree_configuration(path: &Path, bytes_max: u64) -> std::io::Result<Vec<u8>> {
    let directory = path.parent().unwrap_or(Path::new(""));
    let name = path.file_name().unwrap_or_default();
    read_small_file_below(directory, Path::new(name), bytes_max)
}

#[cfg(test)]
mod tests {
    use super::{NamedFile, Origin, SettingName};
    use std::path::Path;

    #[test]
    fn a_tree_names_only_files_below_its_configuration() {
        let temp = tempfile::tempdir().expect("a directory");
        let tree = temp.path();
        for outside in ["../rules.toml", "a/../../rules.toml", "a/../rules.toml", "/etc/passwd"] {
            let refused = NamedFile::of_tree(tree, Path::new(outside));
            assert!(refused.is_err_and(|why| why.contains("not below")), "{outside}");
        }
        let file = NamedFile::of_tree(tree, Path::new("./ci/rules.toml")).expect("below");
        assert_eq!(file.in_tree(), Some((tree, Path::new("ci/rules.toml"))));
        assert_eq!(NamedFile::trusted("../x".into()).in_tree(), None);
    }

    #[test]
    fn a_setting_is_named_as_the_user_wrote_it() {
        let name = |origin| SettingName { origin, key: "only" }.to_string();
        assert_eq!(name(Origin::CommandLine), "--only");
        let file = Origin::Tree(Path::new("a/heist.toml").into());
        assert_eq!(name(file), "the configuration 'a/heist.toml': `only`");
    }
}
