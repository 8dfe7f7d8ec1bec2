//! The errors of a runtime that does not end in time.

use super::Runtime;
use std::error::Error;
use std::fmt;

/// The runtime did not end in time, and was left behind. It polls no more futures, but it cannot
/// interrupt a poll or call that is running. Its threads end when those return.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShutdownTimeout {
    blocking_calls: u64,
    futures: u64,
}

impl ShutdownTimeout {
    pub(super) fn new(blocking_calls: u64, futures: u64) -> Self {
        Self { blocking_calls, futures }
    }

    /// Returns how many blocking calls were still running.
    pub fn blocking_calls(&self) -> u64 {
        self.blocking_calls
    }

    /// Returns how many futures were still alive: being polled, or in the queue of a worker that is
    /// polling.
    pub fn futures(&self) -> u64 {
        self.futures
    }
}

impl fmt::Display for ShutdownTimeout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the runtime did not shut down in time and was left behind: blocking calls that still run: {}, futures \
             that were not dropped yet: {}",
            self.blocking_calls, self.futures
        )
    }
}

impl Error for ShutdownTimeout {}

/// The runtime's futures and calls did not end in time. [`RuntimeJoinTimeout::into_runtime`]
/// returns the runtime, which continues. Dropping this error drops the runtime, which shuts it down
/// and waits.
#[derive(Debug)]
pub struct RuntimeJoinTimeout(Box<Runtime>);

impl RuntimeJoinTimeout {
    pub(super) fn new(runtime: Runtime) -> Self {
        Self(Box::new(runtime))
    }

    /// Returns the runtime. It accepts nothing more, but its futures and calls continue. Join it
    /// again, or shut it down.
    pub fn into_runtime(self) -> Runtime {
        *self.0
    }
}

impl fmt::Display for RuntimeJoinTimeout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the runtime's futures and blocking calls did not finish in time")
    }
}

impl Error for RuntimeJoinTimeout {}
