//! Stdout, for commands that print their whole output at once.

use crate::error::CliError;
use std::io::{self, Write as _};

/// Writes to stdout. If the reader has closed the pipe, it has read enough: that is not an error.
///
/// # Errors
/// Stdout cannot be written to.
pub(crate) fn print(bytes: &[u8]) -> Result<(), CliError> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(CliError::WriteStdout(error))
        }
        _ => Ok(()),
    }
}
