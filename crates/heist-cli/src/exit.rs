//! [`Exit`]: what the process says to whoever started it.
//!
//! Invariant: these are the only codes that the tool ends with by itself. Not covered: an end by a signal, and the code
//! 2 of the argument parser, which is the same as [`Exit::Usage`].

use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Exit {
    /// Everything that was asked for was done.
    Success,
    /// The result is not whole: something could not be read, or not be written. Each case was named on stderr.
    Incomplete,
    /// A scan found secrets.
    Found,
    /// A scan found nothing, but did not see everything. Each case was named on stderr.
    NotAllScanned,
    /// The command makes no sense as it was given; nothing was done.
    Usage,
    /// Ended early by Ctrl-C; what was known by then was printed.
    Interrupted,
}

impl Exit {
    /// The number that the shell sees.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Incomplete | Self::Found => 1,
            Self::Usage | Self::NotAllScanned => 2,
            // 128 and the number of SIGINT, as shells have it.
            Self::Interrupted => 130,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
