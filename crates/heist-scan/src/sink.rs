//! [`Sink`]: where findings go.

use crate::finding::Finding;
use crate::report::Outcome;
use std::path::Path;

/// What became of one object.
#[derive(Debug)]
#[non_exhaustive]
pub struct ObjectOutcome<'a> {
    /// Which object, as it was named to the scan.
    pub path: &'a Path,
    /// What became of it.
    pub outcome: &'a Outcome,
    /// How much of it was scanned, in bytes.
    pub bytes: u64,
    /// How many findings there are in it.
    pub findings: u64,
}

/// Gets what a scan finds. Called from all workers at once; but the findings of one object come in the order of their
/// places, one after the other, and before the object's outcome.
///
/// ```
/// use heist_scan::{Finding, Sink};
/// use std::sync::Mutex;
///
/// #[derive(Default)]
/// struct Lines(Mutex<Vec<String>>);
///
/// impl Sink for Lines {
///     fn finding(&self, finding: Finding) {
///         let line = format!("{}:{}: {}", finding.path.display(), finding.line, finding.rule);
///         self.0.lock().unwrap().push(line);
///     }
/// }
/// ```
pub trait Sink: Send + Sync {
    /// A finding.
    fn finding(&self, finding: Finding);

    /// An object is done.
    fn object(&self, outcome: &ObjectOutcome<'_>) {
        let _ = outcome;
    }
}
