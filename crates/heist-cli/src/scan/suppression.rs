//! [`Suppression`]: which findings are known already, and why.

use crate::escape;
use crate::messages::{Messages, reason};
use crate::units::grouped;
use heist_scan::suppress::{Baseline, GitleaksIgnore, IgnoreNote};
use heist_scan::{Finding, read_small_file};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// The name of a file of places.
const IGNORE_FILE: &str = ".gitleaksignore";

/// The largest one that is read: a hundred bytes for each of more than a hundred thousand places.
const IGNORE_BYTES_MAX: u64 = 16 << 20;

/// Why a finding is not reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// A comment in its line allows it.
    Allowed,
    /// Its secret is in the baseline.
    InBaseline,
    /// A `.gitleaksignore` names its place.
    Ignored,
    /// It is in a file of ours: the output, or the baseline itself.
    Own,
}

/// What is known.
#[derive(Debug, Default)]
pub(crate) struct Suppression {
    baseline: Option<Baseline>,
    /// Files of places, with the directory that these are relative to.
    ignored: Vec<(PathBuf, GitleaksIgnore)>,
    /// Files that this tool writes or reads itself, as the system calls them.
    own: HashSet<PathBuf>,
}

impl Suppression {
    /// Reads the `.gitleaksignore` files of the paths and of the current directory. What cannot be used is said.
    pub(crate) fn read(paths: &[PathBuf], messages: &Messages, quiet: bool) -> Self {
        let mut suppression = Self::default();
        let mut seen = HashSet::new();
        let here = [PathBuf::new()];
        for directory in here.iter().chain(paths) {
            let file = directory.join(IGNORE_FILE);
            if file.symlink_metadata().is_err() {
                continue;
            }
            let identity = file.canonicalize().unwrap_or_else(|_| file.clone());
            // Relative to what the findings' paths begin with, so the same file may be read for several names of its
            // directory; what is wrong with it is said once.
            let is_new = seen.insert(identity);
            let shown = escape::for_terminal(file.as_os_str()).into_owned();
            match read_small_file(&file, IGNORE_BYTES_MAX) {
                Ok(content) => {
                    let (ignored, notes) = GitleaksIgnore::parse(&content);
                    if is_new && !quiet {
                        say_unused(&notes, &shown, messages);
                    }
                    suppression.ignored.push((directory.clone(), ignored));
                }
                Err(error) if is_new => {
                    messages.say(&format!("note: '{shown}' is not used: {}", reason(&error)));
                }
                Err(_) => {}
            }
        }
        suppression
    }

    /// Secrets of this baseline, too.
    pub(crate) fn with_baseline(mut self, baseline: Option<Baseline>) -> Self {
        self.baseline = baseline;
        self
    }

    /// Whatever is in this file, too.
    pub(crate) fn add_own(&mut self, path: &Path) {
        self.own.extend(path.canonicalize());
    }

    fn is_own(&self, path: &Path) -> bool {
        // The system is asked only about what has the right name: there may be many findings.
        let has_name = self.own.iter().any(|own| own.file_name() == path.file_name());
        has_name && path.canonicalize().is_ok_and(|path| self.own.contains(&path))
    }

    /// Why a finding is not reported; `None` if it is.
    pub(crate) fn check(&self, finding: &Finding) -> Option<Known> {
        if finding.allowed {
            return Some(Known::Allowed);
        }
        if self.baseline.as_ref().is_some_and(|baseline| baseline.contains(&finding.secret)) {
            return Some(Known::InBaseline);
        }
        if self.ignored.iter().any(|(directory, ignored)| is_ignored(directory, ignored, finding)) {
            return Some(Known::Ignored);
        }
        self.is_own(&finding.path).then_some(Known::Own)
    }
}

/// Prints which lines of a `.gitleaksignore` are not used: one note for each reason, because a file written for
/// a git history may have thousands of such lines.
fn say_unused(notes: &[IgnoreNote], file: &str, messages: &Messages) {
    let mut by_reason: Vec<(&IgnoreNote, u64)> = Vec::new();
    for note in notes {
        match by_reason.iter_mut().find(|(first, _)| first.reason == note.reason) {
            Some((_, count)) => *count += 1,
            None => by_reason.push((note, 1)),
        }
    }
    for (IgnoreNote { line, reason, .. }, count) in by_reason {
        messages.say(&match count {
            1 => format!("note: line {line} of '{file}' is not used: {reason}"),
            _ => format!(
                "note: {} lines of '{file}' are not used (the first is line {line}): {reason}",
                grouped(count)
            ),
        });
    }
}

fn is_ignored(directory: &Path, ignored: &GitleaksIgnore, finding: &Finding) -> bool {
    if ignored.is_empty() {
        return false;
    }
    let path: &Path = &finding.path;
    let path = if directory.as_os_str().is_empty() {
        path.strip_prefix(".").unwrap_or(path)
    } else {
        match path.strip_prefix(directory) {
            Ok(below) => below,
            Err(_) => return false,
        }
    };
    ignored.contains(path.as_os_str().as_encoded_bytes(), &finding.rule, finding.line)
}
