//! [`Exit`]: the exit codes of the tool.
//!
//! Invariant: heist itself ends with no other code. Exceptions: a signal can end the process, and
//! the argument parser ends it with 2, which equals [`Exit::Usage`].

use crate::interrupt::EndSignal;
use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Exit {
    /// The command did everything it was asked to do.
    Success,
    /// The result is incomplete: something could not be read or written. Stderr names each case.
    Incomplete,
    /// A scan found secrets.
    SecretsFound,
    /// A scan reports no secrets, but the scanned tree hides something, and `--fail-on-hidden` is
    /// given.
    Hidden,
    /// A scan found nothing but could not read everything. Stderr names each case.
    NotAllScanned,
    /// A scan could not read everything, and `--exit-code-incomplete` sets this code for it.
    IncompleteScan(u8),
    /// The options or their values cannot be used; the command did nothing.
    Usage,
    /// A signal such as Ctrl-C ended the command early; it printed the results up to then.
    Interrupted(EndSignal),
}

impl Exit {
    /// Returns the number that the shell sees.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Incomplete | Self::SecretsFound | Self::Hidden => 1,
            Self::Usage | Self::NotAllScanned => 2,
            Self::IncompleteScan(code) => code,
            // The convention of shells.
            Self::Interrupted(signal) => 128 + signal.number(),
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
