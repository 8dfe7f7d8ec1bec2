//! [`RootPlace`]: where a scanned root lies in its project.
//!
//! Rules and the noise filter judge a secret also by the path of its file. That path must not
//! depend on how the user spells a root, on the current directory, or on where the project is. So
//! it is relative to the *project root*: the nearest directory that contains the root, or is the
//! root, and has a `.git` or a `heist.toml`. Without such a directory, the root itself (of a file:
//! its directory) takes its place. Links and `..` are resolved first.
//!
//! A marker above the root counts only if it belongs to the owner of the root or to the system
//! administrator. Otherwise anyone could put one into a shared directory such as `/tmp`, and so
//! give the trees of others another path, such as `test/...`. A marker below the root has no
//! effect: the content of a tree cannot change how other parts of it are judged.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::Metadata;
use std::path::{Path, PathBuf};

/// The entries that mark a project root.
const MARKERS: [&str; 2] = [".git", "heist.toml"];

/// Where a scanned root lies in its project.
///
/// # Examples
/// ```
/// use heist_scan::RootPlace;
/// use std::path::Path;
///
/// let place = RootPlace::of("src");
/// // The path that rules see for `src/scan/mod.rs`.
/// let path = place.path_in_project("scan/mod.rs");
/// assert!(path.ends_with("scan/mod.rs"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RootPlace {
    /// The real path of the root, and the project root; empty if the root cannot be resolved.
    real: PathBuf,
    project: PathBuf,
    /// The path of the root relative to the project root.
    prefix: PathBuf,
    /// Whether the root is a directory; otherwise `prefix` is the path of the file.
    is_directory: bool,
}

impl RootPlace {
    /// Finds the project of a root. If the root cannot be resolved, it counts as its own project.
    #[must_use]
    pub fn of(root: impl AsRef<Path>) -> Self {
        Projects::default().place(root.as_ref())
    }

    /// Returns the project root, or `None` if the root cannot be resolved.
    #[must_use]
    pub fn project(&self) -> Option<&Path> {
        (!self.project.as_os_str().is_empty()).then_some(&*self.project)
    }

    /// Returns the root without links and `..`, or `None` if it cannot be resolved.
    #[must_use]
    pub fn real(&self) -> Option<&Path> {
        (!self.real.as_os_str().is_empty()).then_some(&*self.real)
    }

    /// Returns the path of a file relative to the project root. `below` is its path below the root.
    /// For a root that is a file it is not used.
    #[must_use]
    pub fn path_in_project<'a>(&'a self, below: &'a (impl AsRef<Path> + ?Sized)) -> Cow<'a, Path> {
        let below = below.as_ref();
        if !self.is_directory && !self.prefix.as_os_str().is_empty() {
            Cow::Borrowed(&self.prefix)
        } else if self.prefix.as_os_str().is_empty() {
            Cow::Borrowed(below)
        } else {
            Cow::Owned(self.prefix.join(below))
        }
    }
}

/// Finds projects, and remembers those of directories: a root is often one of thousands of files in
/// the same directories.
#[derive(Debug, Default)]
pub(super) struct Projects {
    /// By the directory where the search began, and the owner of the root.
    known: HashMap<(PathBuf, Option<u32>), Option<PathBuf>>,
}

impl Projects {
    /// Finds the place of a root.
    pub(super) fn place(&mut self, root: &Path) -> RootPlace {
        let Ok(real) = root.canonicalize() else { return RootPlace::default() };
        let Ok(metadata) = real.metadata() else { return RootPlace::default() };
        let is_directory = metadata.is_dir();
        let first = if is_directory { &real } else { real.parent().unwrap_or(&real) };
        let key = (first.to_owned(), owner(&metadata));
        let found = self.known.entry(key).or_insert_with(|| project_of(first, owner(&metadata)));
        let project = found.clone().unwrap_or_else(|| first.to_owned());
        let prefix = real.strip_prefix(&project).map(Path::to_owned).unwrap_or_default();
        RootPlace { real, project, prefix, is_directory }
    }
}

/// Returns the nearest directory with a marker: `first`, or one above it.
fn project_of(first: &Path, root_owner: Option<u32>) -> Option<PathBuf> {
    let is_marked = |directory: &Path| {
        MARKERS.iter().any(|name| {
            directory.join(name).symlink_metadata().is_ok_and(|marker| {
                directory == first
                    || owner(&marker).is_none_or(|by| by == 0 || Some(by) == root_owner)
            })
        })
    };
    first.ancestors().find(|directory| is_marked(directory)).map(Path::to_owned)
}

/// Returns the user who owns a file, if the system has owners.
#[cfg(unix)]
fn owner(metadata: &Metadata) -> Option<u32> {
    Some(std::os::unix::fs::MetadataExt::uid(metadata))
}

#[cfg(not(unix))]
fn owner(_metadata: &Metadata) -> Option<u32> {
    None
}

#[cfg(test)]
mod tests {
    use super::RootPlace;
    use std::fs;
    use std::path::Path;

    #[test]
    fn paths_are_relative_to_the_nearest_marked_directory() {
        let temp = tempfile::tempdir().expect("a directory");
        let base = temp.path().canonicalize().expect("it exists");
        let tree = base.join("tests/tree");
        fs::create_dir_all(tree.join("src/inner/deep")).expect("directories");
        fs::write(tree.join("src/inner/deep/file"), "x").expect("a file");
        let file = tree.join("src/inner/deep/file");
        let path_in =
            |root: &Path, below: &str| RootPlace::of(root).path_in_project(below).into_owned();
        // No marker: the root takes its place.
        assert_eq!(path_in(&tree.join("src"), "inner/deep/file"), Path::new("inner/deep/file"));
        assert_eq!(path_in(&file, "file"), Path::new("file"));
        // The marker may be a file, as in a worktree of git.
        fs::write(tree.join(".git"), "gitdir: elsewhere").expect("a file");
        for (root, below) in [
            ("", "src/inner/deep/file"),
            ("src", "inner/deep/file"),
            ("src/inner/../inner/", "deep/file"),
            ("src/inner/deep/file", "file"),
        ] {
            let root = tree.join(root);
            assert_eq!(path_in(&root, below), Path::new("src/inner/deep/file"), "{root:?}");
            assert_eq!(RootPlace::of(&root).project(), Some(&*tree));
        }
        // A nearer marker.
        fs::write(tree.join("src/inner/heist.toml"), "").expect("a file");
        assert_eq!(path_in(&tree.join("src/inner/deep"), "file"), Path::new("deep/file"));
        assert_eq!(path_in(&tree.join("src"), "inner/deep/file"), Path::new("src/inner/deep/file"));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stands_for_its_target() {
        let temp = tempfile::tempdir().expect("a directory");
        let tree = temp.path().join("tree");
        fs::create_dir_all(tree.join(".git")).expect("a directory");
        fs::create_dir_all(tree.join("test")).expect("a directory");
        fs::write(tree.join("test/key"), "x").expect("a file");
        for (target, below) in
            [("tree", "test/key"), ("tree/test", "key"), ("tree/test/key", "alias")]
        {
            let link = temp.path().join("alias");
            std::os::unix::fs::symlink(temp.path().join(target), &link).expect("a link");
            let place = RootPlace::of(&link);
            assert_eq!(place.path_in_project(below), Path::new("test/key"), "{target}");
            fs::remove_file(link).expect("a link");
        }
    }

    #[test]
    fn a_root_that_cannot_be_resolved_is_its_own_project() {
        let place = RootPlace::of("/no/where");
        assert_eq!((place.real(), place.project()), (None, None));
        assert_eq!(place.path_in_project("a/b"), Path::new("a/b"));
    }
}
