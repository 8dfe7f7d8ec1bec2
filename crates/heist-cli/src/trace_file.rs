//! [`TraceFile`]: the file that `--trace` writes. It appears when it is complete.

use crate::error::CliError;
use crate::output_file::OutputFile;
use heist::trace::ChromeTrace;
use heist_scan::AtomicFile;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

/// What error messages call the file.
const WHAT: &str = "the trace";

/// The tracer that records a run.
pub(crate) type Trace = ChromeTrace<BufWriter<AtomicFile>>;

/// A tracer together with the file that it writes to.
pub(crate) struct TraceFile {
    trace: Trace,
    path: PathBuf,
    temporary: Option<PathBuf>,
    leftovers: Vec<PathBuf>,
}

impl TraceFile {
    /// Creates the file. `roots` are the PATHs of the command.
    ///
    /// # Errors
    /// The file cannot be created, would replace a file that is to be read, or `path` is `-`.
    pub(crate) fn create(path: &Path, roots: &[PathBuf]) -> Result<Self, CliError> {
        const OPTION: &str = "--trace";
        if path.as_os_str() == "-" {
            return Err(CliError::NeedsFile { option: OPTION, what: "a trace" });
        }
        let looks_ours = looks_like_trace;
        let (option, what, replaces_any) = (OPTION, WHAT, false);
        let file = OutputFile { option, what, path, roots, looks_ours, replaces_any };
        let file = file.create(false)?;
        let (temporary, leftovers) = (file.temporary_path(), file.leftovers().collect());
        let trace = ChromeTrace::new(BufWriter::new(file));
        Ok(Self { trace, path: path.to_owned(), temporary, leftovers })
    }

    /// Returns the path that the file has until it is complete.
    pub(crate) fn unfinished(&self) -> Option<&Path> {
        self.temporary.as_deref()
    }

    /// Returns the files that earlier runs have left unfinished.
    pub(crate) fn leftovers(&self) -> &[PathBuf] {
        &self.leftovers
    }

    /// Returns a tracer for one run.
    pub(crate) fn tracer(&self) -> Trace {
        self.trace.clone()
    }

    /// Writes the rest of the trace, and gives the file its name.
    ///
    /// # Errors
    /// The trace cannot be written completely. The old file, if any, stays as it was.
    pub(crate) fn finish(self) -> Result<(), CliError> {
        let finished = self
            .trace
            .finish()
            .and_then(|buffer| buffer.into_inner().map_err(io::IntoInnerError::into_error))
            .and_then(AtomicFile::commit);
        finished.map_err(|source| CliError::WriteFile { what: WHAT, path: self.path, source })
    }
}

/// Returns `true` if a file begins like a trace.
fn looks_like_trace(start: &[u8]) -> bool {
    start == b"[]\n" || start.starts_with(b"[\n{\"pid\":1,\"tid\":")
}
