//! [`TraceFile`]: the file that `--trace` writes.

use crate::error::CliError;
use heist::trace::ChromeTrace;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

/// What error messages call the file.
const WHAT: &str = "the trace";

/// The tracer that records a run.
pub(crate) type Trace = ChromeTrace<BufWriter<File>>;

/// A tracer together with the file that it writes to.
pub(crate) struct TraceFile {
    trace: Trace,
    path: PathBuf,
}

impl TraceFile {
    /// Creates the file.
    ///
    /// # Errors
    /// The file cannot be created, or `path` is `-`.
    pub(crate) fn create(path: &Path) -> Result<Self, CliError> {
        if path.as_os_str() == "-" {
            return Err(CliError::NeedsFile { option: "--trace", what: "a trace" });
        }
        let file = File::create(path).map_err(|source| CliError::CreateFile {
            what: WHAT,
            path: path.to_owned(),
            source,
        })?;
        Ok(Self { trace: ChromeTrace::new(BufWriter::new(file)), path: path.to_owned() })
    }

    /// Returns a tracer for one run.
    pub(crate) fn tracer(&self) -> Trace {
        self.trace.clone()
    }

    /// Writes the rest of the trace.
    ///
    /// # Errors
    /// The trace cannot be written completely.
    pub(crate) fn finish(self) -> Result<(), CliError> {
        match self.trace.finish() {
            Ok(_file) => Ok(()),
            Err(source) => Err(CliError::WriteFile { what: WHAT, path: self.path, source }),
        }
    }
}
