//! [`ScannedRoots`]: resolves the paths of findings, which begin as the user spelled the PATHs.
//!
//! What is known about a file (rules for paths, ignore files, baselines) must not depend on that
//! spelling.

use super::settings::is_stdin;
use heist_scan::RootPlace;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The roots of a scan, by the path that the user gave.
#[derive(Debug, Default)]
pub(crate) struct ScannedRoots {
    roots: BTreeMap<PathBuf, OnceLock<RootPlace>>,
}

impl ScannedRoots {
    pub(crate) fn new(paths: &[PathBuf]) -> Self {
        let roots = paths.iter().filter(|path| !is_stdin(path));
        Self { roots: roots.map(|path| (path.clone(), OnceLock::new())).collect() }
    }

    /// Returns where the roots lie in their projects.
    pub(crate) fn places(&self) -> impl Iterator<Item = &RootPlace> {
        self.roots.iter().map(|(root, place)| place.get_or_init(|| RootPlace::of(root)))
    }

    /// Returns the place of the root that `shown` is below, and the path below it.
    fn of<'a>(&'a self, shown: &'a Path) -> Option<(&'a RootPlace, &'a Path)> {
        shown.ancestors().find_map(|ancestor| {
            let (root, place) = self.roots.get_key_value(ancestor)?;
            let below = shown.strip_prefix(root).ok()?;
            Some((place.get_or_init(|| RootPlace::of(root)), below))
        })
    }

    /// Returns the absolute path of a scanned file without the links and `..` of its root.
    pub(crate) fn real(&self, shown: &Path) -> Option<PathBuf> {
        let (place, below) = self.of(shown)?;
        let real = place.real()?;
        let is_root = below.as_os_str().is_empty();
        Some(if is_root { real.to_owned() } else { real.join(below) })
    }

    /// Returns the path of any file relative to the project of the root that it is below, or else
    /// to its own project.
    pub(crate) fn in_project_of(&self, file: &Path) -> PathBuf {
        let Ok(real) = file.canonicalize() else { return file.to_owned() };
        let below = |place: &RootPlace| -> Option<PathBuf> {
            let below = real.strip_prefix(place.real()?).ok()?;
            Some(place.path_in_project(below).into_owned())
        };
        let nearest = self.places().filter(|place| below(place).is_some());
        let nearest = nearest.max_by_key(|place| place.real().map(|real| real.as_os_str().len()));
        match nearest.and_then(below) {
            Some(path) => path,
            None => RootPlace::of(&real).path_in_project("").into_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ScannedRoots;
    use std::fs;
    use std::path::{Path, PathBuf};

    #[test]
    fn a_file_has_one_path_in_its_project() {
        let temp = tempfile::tempdir().expect("a directory");
        let base = temp.path().canonicalize().expect("it exists");
        fs::create_dir_all(base.join("tree/sub/deep")).expect("directories");
        fs::write(base.join("tree/heist.toml"), "").expect("a file");
        fs::write(base.join("tree/sub/deep/file"), "").expect("a file");
        let file = base.join("tree/sub/deep/file");
        let in_project = Path::new("sub/deep/file");
        for root in ["tree", "tree/", "tree/sub", "tree/./sub/../sub", "tree/sub/deep/file"] {
            let root: PathBuf = base.join(root);
            let roots = ScannedRoots::new(&[PathBuf::from("/no/where"), root.clone()]);
            let below = file.strip_prefix(root.canonicalize().expect("it exists")).expect("below");
            let shown = if below.as_os_str().is_empty() { root.clone() } else { root.join(below) };
            assert_eq!(roots.in_project_of(&file), in_project, "{root:?}");
            assert_eq!(roots.real(&shown), Some(file.clone()), "{root:?}");
        }
        let none = ScannedRoots::new(&[]);
        assert_eq!(none.real(&file), None);
        assert_eq!(none.in_project_of(&file), in_project);
    }
}
