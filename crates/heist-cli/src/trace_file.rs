//! [`TraceFile`]: what `--trace` writes.

use crate::escape;
use crate::messages::reason;
use heist::trace::ChromeTrace;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

/// What watches a run.
pub(crate) type Trace = ChromeTrace<BufWriter<File>>;

/// A trace, and where it goes.
pub(crate) struct TraceFile {
    trace: Trace,
    path: PathBuf,
}

impl TraceFile {
    /// # Errors
    /// The file cannot be made, or `-` is given, which is none; the text names it.
    pub(crate) fn create(path: &Path) -> Result<Self, String> {
        if path.as_os_str() == "-" {
            return Err("--trace '-': a trace goes to a file, not to stdout; give a FILE".into());
        }
        let file = File::create(path).map_err(|error| failure("create", path, &error))?;
        Ok(Self { trace: ChromeTrace::new(BufWriter::new(file)), path: path.to_owned() })
    }

    pub(crate) fn tracer(&self) -> Trace {
        self.trace.clone()
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// Not all of it is there; the text names the file.
    pub(crate) fn finish(self) -> Result<(), String> {
        let finished = self.trace.finish();
        finished.map(|_file| ()).map_err(|error| failure("write", &self.path, &error))
    }
}

fn failure(what: &str, path: &Path, error: &io::Error) -> String {
    let path = escape::for_terminal(path.as_os_str());
    format!("cannot {what} the trace '{path}': {}; give another FILE", reason(error))
}
