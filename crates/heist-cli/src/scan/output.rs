//! [`Output`]: where a report goes: stdout, or a file that is whole or not there.

use crate::escape;
use crate::messages::reason;
use heist_scan::AtomicFile;
use std::io::{self, Stdout, Write};
use std::path::Path;

/// Where a report goes.
#[derive(Debug)]
pub(crate) enum Output {
    Stdout(Stdout),
    File(AtomicFile),
}

impl Output {
    /// Opens it. A file with secrets in it is `private`.
    ///
    /// # Errors
    /// The file cannot be made; the text says why.
    pub(crate) fn open(path: Option<&Path>, private: bool) -> Result<Self, String> {
        let Some(path) = path.filter(|path| path.as_os_str() != "-") else {
            return Ok(Self::Stdout(io::stdout()));
        };
        let file =
            if private { AtomicFile::create_private(path) } else { AtomicFile::create(path) };
        file.map(Self::File).map_err(|error| {
            format!(
                "cannot create the output '{}': {}",
                escape::for_terminal(path.as_os_str()),
                reason(&error)
            )
        })
    }

    /// Where the file is until it is whole.
    pub(crate) fn unfinished(&self) -> Option<&Path> {
        match self {
            Self::Stdout(_) => None,
            Self::File(file) => file.temporary_path(),
        }
    }

    /// All was written: a file gets its name.
    ///
    /// # Errors
    /// Not all of it reached where it should be.
    pub(crate) fn commit(self) -> io::Result<()> {
        match self {
            Self::Stdout(mut stdout) => stdout.flush(),
            Self::File(file) => file.commit(),
        }
    }
}

impl Write for Output {
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
