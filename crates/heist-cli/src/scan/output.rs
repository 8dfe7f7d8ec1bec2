//! [`ReportOutput`]: where a report goes: stdout, or a file that is replaced as a whole.

use crate::error::CliError;
use heist_scan::AtomicFile;
use std::io::{self, Stdout, Write};
use std::path::Path;

/// The destination of a report.
#[derive(Debug)]
pub(crate) enum ReportOutput {
    Stdout(Stdout),
    File(AtomicFile),
}

impl ReportOutput {
    /// Opens the destination. Only the owner may read a `private` file.
    ///
    /// # Errors
    /// The file cannot be created.
    pub(crate) fn open(path: Option<&Path>, private: bool) -> Result<Self, CliError> {
        let Some(path) = path.filter(|path| path.as_os_str() != "-") else {
            return Ok(Self::Stdout(io::stdout()));
        };
        let file =
            if private { AtomicFile::create_private(path) } else { AtomicFile::create(path) };
        file.map(Self::File).map_err(|source| CliError::CreateFile {
            what: "the output",
            path: path.to_owned(),
            source,
        })
    }

    /// Returns the temporary path that the file has until it is complete.
    pub(crate) fn unfinished(&self) -> Option<&Path> {
        match self {
            Self::Stdout(_) => None,
            Self::File(file) => file.temporary_path(),
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
