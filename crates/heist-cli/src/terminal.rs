//! How wide a terminal is.

use std::io::IsTerminal;

/// Columns of a terminal that does not say.
const COLUMNS: usize = 80;

/// The columns of what `stream` goes to; `None` if that is no terminal.
#[cfg(unix)]
pub(crate) fn columns(stream: &(impl IsTerminal + std::os::fd::AsFd)) -> Option<usize> {
    stream.is_terminal().then(|| match rustix::termios::tcgetwinsize(stream) {
        Ok(size) if size.ws_col > 0 => usize::from(size.ws_col),
        _ => COLUMNS,
    })
}

/// The columns of what `stream` goes to; `None` if that is no terminal.
#[cfg(not(unix))]
pub(crate) fn columns(stream: &impl IsTerminal) -> Option<usize> {
    stream.is_terminal().then_some(COLUMNS)
}
