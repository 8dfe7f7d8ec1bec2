//! [`NamedPaths`]: the PATHs that were named but not scanned.
//!
//! Below a directory, heist skips binary files and pipes, and counts them. But a user who names a
//! file wants to know what is in it, so skipping it must not look like success. It is expected
//! only if an option on the command line asks for it: `--no-binary` or `--max-size`. (A file that
//! `--exclude` or an allowlist of the rules names is skipped as asked, wherever that is written.)

use super::settings::{Settings, is_stdin};
use super::summary::Gap;
use heist_scan::{Finding, ObjectOutcome, Outcome, Sink};
use heist_walk::FileKind;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// A sink that notes which named PATHs are not scanned, and passes everything on.
pub(super) struct NamedPaths {
    sink: Arc<dyn Sink>,
    paths: HashSet<PathBuf>,
    skips_binary: bool,
    skips_large: bool,
    missed: Mutex<Vec<Gap>>,
}

impl NamedPaths {
    /// Creates a sink in front of `sink`. `stdin` is the name of stdin in outcomes.
    pub(super) fn new(settings: &Settings, stdin: &Path, sink: &Arc<dyn Sink>) -> Self {
        let paths = settings.paths.iter();
        let paths = paths.map(|path| if is_stdin(path) { stdin } else { path });
        Self {
            sink: Arc::clone(sink),
            paths: paths.map(Path::to_owned).collect(),
            skips_binary: settings.skips.binary,
            skips_large: settings.skips.large,
            missed: Mutex::default(),
        }
    }

    /// Returns the PATHs that were not scanned.
    pub(super) fn take(&self) -> Vec<Gap> {
        std::mem::take(&mut self.missed.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns why an object was not scanned and what the user can do about it, unless the user
    /// asked for it.
    fn why(&self, outcome: &Outcome) -> Option<(String, &'static str)> {
        Some(match outcome {
            Outcome::Binary if !self.skips_binary => (
                "it is a binary file".to_owned(),
                "--binary scans it, --no-binary skips it; unpack an archive first",
            ),
            Outcome::TooLarge if !self.skips_large => (
                "it is larger than the `max-size` of the configuration".to_owned(),
                "--max-size sets another limit, or skips it if it is larger",
            ),
            Outcome::Special(kind) => {
                let kind = match kind {
                    FileKind::Directory => "a directory",
                    FileKind::Symlink => "a symbolic link",
                    FileKind::Fifo => "a named pipe",
                    FileKind::Socket => "a socket",
                    FileKind::CharacterDevice | FileKind::BlockDevice => "a device",
                    _ => "not a regular file",
                };
                (format!("it is {kind}"), "heist scan - reads stdin: heist scan - < PATH")
            }
            Outcome::Vanished => {
                ("it was deleted before it was opened".to_owned(), "give a PATH that exists")
            }
            _ => return None,
        })
    }
}

impl Sink for NamedPaths {
    fn finding(&self, finding: Finding) {
        self.sink.finding(finding);
    }

    fn declined(&self, finding: &Finding) {
        self.sink.declined(finding);
    }

    fn object(&self, outcome: &ObjectOutcome<'_>) {
        if let Some((reason, help)) = self.why(outcome.outcome)
            && self.paths.contains(outcome.path)
        {
            let path = outcome.path.to_owned();
            let gap = Gap { path, reason, help: Some(help), is_cut: false };
            self.missed.lock().unwrap_or_else(PoisonError::into_inner).push(gap);
        }
        self.sink.object(outcome);
    }
}
