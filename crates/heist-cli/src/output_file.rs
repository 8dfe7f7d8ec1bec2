//! Creates the files that options name: reports, traces and baselines.
//!
//! Invariants, beside those of [`AtomicFile`]: the PATHs of the command are untrusted, so no link
//! in them redirects an output, and a file in them is replaced only if it looks like earlier output
//! of heist. The same holds for the removal of what killed runs have left. heist does not report
//! findings in a file that it is about to overwrite. If that were a file of the user, its secrets
//! would be neither reported nor kept. Not guaranteed: that a file which looks like a report is
//! one. The findings in it are counted.

use crate::error::CliError;
use crate::escape;
use crate::messages::Messages;
use crate::units::grouped;
use heist_scan::{AtomicFile, AtomicFileOptions};
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// How much of a file is read to recognize it. heist's own files identify themselves in fewer
/// bytes.
const LOOK_BYTES: u64 = 64 * 1024;

/// A file that an option asks heist to write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutputFile<'a> {
    pub(crate) option: &'static str,
    /// What messages call the file.
    pub(crate) what: &'static str,
    pub(crate) path: &'a Path,
    /// The PATHs of the command.
    pub(crate) roots: &'a [PathBuf],
    /// Recognizes the beginning of an earlier file of this kind.
    pub(crate) looks_ours: fn(&[u8]) -> bool,
    /// Whether the caller makes sure that the file may be replaced, whatever it looks like.
    pub(crate) replaces_any: bool,
}

impl OutputFile<'_> {
    /// Creates the file. Only the owner may read a `private` one.
    ///
    /// # Errors
    /// The path cannot be used, or the file would replace one that is to be scanned.
    pub(crate) fn create(self, private: bool) -> Result<AtomicFile, CliError> {
        let Self { option, what, path, .. } = self;
        let roots = self.roots.iter().filter(|root| root.as_os_str() != "-");
        let mut file = AtomicFileOptions::new()
            .private(private)
            .untrusted(roots)
            .create(path)
            .map_err(|source| CliError::CreateOutput { what, path: path.to_owned(), source })?;
        // A file that cannot be read is refused.
        if !matches!(self.may_replace(&file), Ok(true)) {
            return Err(CliError::OverwritesScannedFile { option, path: path.to_owned() });
        }
        file.find_leftovers(|leftover| self.is_ours(leftover).unwrap_or(false));
        Ok(file)
    }

    fn may_replace(&self, file: &AtomicFile) -> io::Result<bool> {
        if self.replaces_any {
            return Ok(true);
        }
        file.open_untrusted_replaced()?.map_or(Ok(true), |replaced| self.is_ours(replaced))
    }

    fn is_ours(&self, file: File) -> io::Result<bool> {
        let mut start = Vec::new();
        file.take(LOOK_BYTES).read_to_end(&mut start)?;
        Ok(start.is_empty() || (self.looks_ours)(&start))
    }
}

/// Prints a note about the files that earlier runs have left unfinished, which this run removes.
pub(crate) fn say_leftovers(leftovers: &[PathBuf], messages: &Messages) {
    if let Some(first) = leftovers.first() {
        let first = escape::for_terminal(first.as_os_str());
        let more = match leftovers.len() - 1 {
            0 => String::new(),
            more => format!(" and {} more", grouped(more as u64)),
        };
        messages.say(&format!(
            "note: heist was killed when it wrote '{first}'{more}; this run removes what is left"
        ));
    }
}
