//! [`ReportOutput`]: where a report goes: stdout, or a file that is replaced as a whole.

use super::overwrite::looks_like_report;
use crate::error::CliError;
use crate::output_file::OutputFile;
use heist_scan::AtomicFile;
use std::io::{self, Stdout, Write};
use std::path::{Path, PathBuf};

/// The destination of a report.
#[derive(Debug)]
pub(crate) enum ReportOutput {
    Stdout(Stdout),
    File(AtomicFile),
}

impl ReportOutput {
    /// Opens the destination: stdout, or the file at `path`. `roots` are the PATHs of the command.
    /// Only the owner may read a `private` file.
    ///
    /// # Errors
    /// The file cannot be created, or would replace a file that is to be scanned.
    pub(crate) fn open(
        path: Option<&Path>,
        roots: &[PathBuf],
        private: bool,
    ) -> Result<Self, CliError> {
        let Some(path) = path else { return Ok(Self::Stdout(io::stdout())) };
        let (option, what, looks_ours) = ("--output", "the output", looks_like_report);
        let file = OutputFile { option, what, path, roots, looks_ours, replaces_any: false };
        file.create(private).map(Self::File)
    }

    /// Returns `true` for a pipe to another program.
    pub(crate) fn is_pipe(&self) -> bool {
        #[cfg(unix)]
        if let Self::Stdout(stdout) = self {
            use rustix::fs::{FileType, fstat};
            return fstat(stdout)
                .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Fifo);
        }
        false
    }

    /// Returns the temporary path that the file has until it is complete.
    pub(crate) fn unfinished(&self) -> Option<PathBuf> {
        match self {
            Self::Stdout(_) => None,
            Self::File(file) => file.temporary_path(),
        }
    }

    /// Returns the files that earlier runs have left unfinished.
    pub(crate) fn leftovers(&self) -> Vec<PathBuf> {
        match self {
            Self::Stdout(_) => Vec::new(),
            Self::File(file) => file.leftovers().collect(),
        }
    }

    /// Completes the output; a file gets its final name.
    ///
    /// # Errors
    /// The output cannot be written completely.
    pub(crate) fn commit(self) -> io::Result<()> {
        match self {
            Self::Stdout(mut stdout) => stdout.flush(),
            Self::File(file) => file.commit(),
        }
    }
}

impl Write for ReportOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(stdout) => stdout.write(bytes),
            Self::File(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(stdout) => stdout.flush(),
            Self::File(file) => file.flush(),
        }
    }
}
