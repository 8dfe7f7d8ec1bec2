//! The width of a terminal.

use std::io::IsTerminal;

/// The width that heist assumes if a terminal does not report one.
const COLUMNS: usize = 80;

/// Returns the width of the terminal behind `stream`, or `None` if it is not a terminal.
#[cfg(unix)]
pub(crate) fn columns(stream: &(impl IsTerminal + std::os::fd::AsFd)) -> Option<usize> {
    stream.is_terminal().then(|| match rustix::termios::tcgetwinsize(stream) {
        Ok(size) if size.ws_col > 0 => usize::from(size.ws_col),
        _ => COLUMNS,
    })
}

/// Returns the width of the terminal behind `stream`, or `None` if it is not a terminal.
#[cfg(not(unix))]
pub(crate) fn columns(stream: &impl IsTerminal) -> Option<usize> {
    stream.is_terminal().then_some(COLUMNS)
}
