//! The baseline that a scan uses by itself: `heist-baseline.toml` in the project root.
//!
//! It is part of the scanned tree, so every report says that it is in use and how many findings it
//! hides. `--no-baseline`, `--no-config`, `--untrusted` or a policy keeps a scan from using it.

use super::origin::{NamedFile, Origin, Setting};
use super::settings::is_stdin;
use heist_scan::RootPlace;
use std::path::{Path, PathBuf};

/// The name of the file.
pub(crate) const BASELINE_FILE: &str = "heist-baseline.toml";

/// Returns the path of the baseline of a project: that of the first PATH, or of the current
/// directory.
pub(crate) fn default_path(paths: &[PathBuf]) -> PathBuf {
    let project = project(paths);
    // A short name if it is where the user is.
    match std::env::current_dir().and_then(|here| here.canonicalize()) {
        Ok(here) if here == project => PathBuf::from(BASELINE_FILE),
        _ if project == Path::new(".") => PathBuf::from(BASELINE_FILE),
        _ => project.join(BASELINE_FILE),
    }
}

/// Returns the root of that project.
pub(crate) fn project(paths: &[PathBuf]) -> PathBuf {
    let first = paths.first().filter(|path| !is_stdin(path));
    let place = RootPlace::of(first.map_or(Path::new("."), PathBuf::as_path));
    place.project().map_or_else(|| PathBuf::from("."), Path::to_owned)
}

/// Returns that file if it exists. A link does not count: the tree must not choose other files to
/// read.
pub(crate) fn find(paths: &[PathBuf]) -> Option<Setting<NamedFile>> {
    let path = default_path(paths);
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let is_file = path.symlink_metadata().is_ok_and(|metadata| metadata.is_file());
    let file = NamedFile::of_tree(directory, Path::new(BASELINE_FILE)).ok()?;
    is_file.then(|| Setting::new(file, Origin::Tree(path.into())))
}
