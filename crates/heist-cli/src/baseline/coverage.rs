//! [`Coverage`]: what a scan looked for and at, and so which entries of a baseline are obsolete.
//!
//! Invariant: an entry counts as obsolete only if the scan used its rule, did not find its secret,
//! and either scanned every file where the secret is known to be to its end, or found that the file
//! no longer exists. If an entry does not say where its secret is, the whole project must have been
//! scanned, with all rules and without leaving anything out.
//!
//! Not guaranteed: that the secret has not moved to a file that the scan did not look at.

use crate::escape;
use crate::scan::places::ScannedRoots;
use crate::scan::settings::Settings;
use heist_scan::suppress::{Baseline, BaselineEntry};
use heist_scan::{ObjectOutcome, Outcome, SecretDetector, mask};
use std::collections::HashSet;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// What a scan looked for and at.
#[derive(Debug)]
pub(super) struct Coverage {
    /// The real path of the directory of the baseline, which places are relative to.
    base: PathBuf,
    roots: ScannedRoots,
    /// The rules in use.
    rules: HashSet<String>,
    /// Whether encoded secrets were looked for.
    decodes: bool,
    /// Whether the whole project of the baseline was scanned, with all rules.
    is_everything: bool,
    /// The files that the baseline names.
    named: HashSet<PathBuf>,
    /// Those of them that were scanned to their ends.
    scanned: Mutex<HashSet<PathBuf>>,
}

impl Coverage {
    /// Creates the coverage of a scan that has not started.
    pub(super) fn new(
        file: &Path,
        baseline: &Baseline,
        settings: &Settings,
        detector: &SecretDetector,
    ) -> Self {
        let directory = match file.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        // A directory that cannot be resolved has no files that an entry could name.
        let base = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
        let roots = ScannedRoots::new(&settings.paths);
        let covers_project = roots.places().any(|place| {
            let project = place.project();
            project.is_some()
                && project == place.real()
                && base.starts_with(project.unwrap_or(&base))
        });
        let is_everything =
            covers_project && !settings.restricts_rules() && !settings.restricts_files;
        let mut coverage = Self {
            base,
            roots,
            rules: detector.rules().map(|rule| rule.id.clone()).collect(),
            decodes: settings.decode.value,
            is_everything,
            named: HashSet::new(),
            scanned: Mutex::default(),
        };
        let places = baseline.entries().flat_map(|(_, entry)| &entry.places);
        coverage.named = places.filter_map(|place| coverage.file_of(place)).collect();
        coverage
    }

    /// Notes that an object was scanned.
    pub(super) fn see(&self, outcome: &ObjectOutcome<'_>) {
        if self.named.is_empty() || !matches!(outcome.outcome, Outcome::Scanned) {
            return;
        }
        if let Some(real) = self.roots.real(outcome.path).filter(|real| self.named.contains(real)) {
            self.scanned.lock().unwrap_or_else(PoisonError::into_inner).insert(real);
        }
    }

    /// Returns `true` if the whole project was scanned, with all rules.
    pub(super) fn is_everything(&self) -> bool {
        self.is_everything
    }

    /// Returns the path of a scanned file as the baseline writes it: relative to its directory.
    pub(super) fn relative(&self, shown: &Path) -> Option<PathBuf> {
        Some(relative(&self.roots.real(shown)?, &self.base))
    }

    /// Returns `true` if an entry is obsolete, given that the scan was complete and did not find
    /// its secret.
    pub(super) fn is_obsolete(&self, entry: &BaselineEntry) -> bool {
        let BaselineEntry { rule, places, more_places, .. } = entry;
        if self.is_everything {
            return true;
        }
        let is_looked_for = self.decodes && self.rules.contains(rule);
        is_looked_for
            && !more_places
            && !places.is_empty()
            && places.iter().all(|place| self.is_looked_at(place))
    }

    /// Returns `true` if the scan knows everything about a place.
    pub(super) fn is_looked_at(&self, place: &str) -> bool {
        let Some(file) = self.file_of(place) else { return false };
        if self.scanned.lock().unwrap_or_else(PoisonError::into_inner).contains(&file) {
            return true;
        }
        let is_below = |root: &Path| file.starts_with(root);
        self.roots.places().filter_map(|place| place.real()).any(is_below) && is_absent(&file)
    }

    /// Returns the file of a place. A path with masks or escapes does not say which file it is.
    fn file_of(&self, place: &str) -> Option<PathBuf> {
        let (path, _line) = place.rsplit_once(':')?;
        let is_exact = !path.contains(&mask(b"")) && escape::visible(path) == path;
        (is_exact && !path.contains('\\')).then(|| normalized(&self.base.join(path)))
    }
}

/// Returns `true` if there is certainly no such file.
fn is_absent(file: &Path) -> bool {
    file.symlink_metadata().is_err_and(|error| {
        matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
    })
}

/// Resolves `.` and `..` in a path whose directories are no links.
fn normalized(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => _ = normal.pop(),
            other => normal.push(other),
        }
    }
    normal
}

/// Returns an absolute path relative to a directory.
fn relative(path: &Path, base: &Path) -> PathBuf {
    for (ups, above) in base.ancestors().enumerate() {
        if let Ok(below) = path.strip_prefix(above) {
            return std::iter::repeat_n(Path::new(".."), ups).chain([below]).collect();
        }
    }
    // It is on another drive.
    path.to_owned()
}

#[cfg(test)]
mod tests {
    use super::{normalized, relative};
    use std::path::Path;

    #[test]
    fn places_are_relative_to_the_baseline() {
        for (path, base, expected) in [
            ("/a/b/c", "/a", "b/c"),
            ("/a/b", "/a/x/y", "../../b"),
            ("/b", "/", "b"),
            ("/b", "/a", "../b"),
        ] {
            let (path, base) = (Path::new(path), Path::new(base));
            assert_eq!(relative(path, base), Path::new(expected));
            assert_eq!(normalized(&base.join(expected)), path);
        }
    }
}
