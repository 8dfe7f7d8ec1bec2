//! [`Sink`]: receives the findings of a scan.

use crate::finding::Finding;
use crate::report::Outcome;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// How the scan of one object ended, as a [`Sink`] gets it.
#[derive(Debug)]
#[non_exhaustive]
pub struct ObjectOutcome<'a> {
    /// The path of the object, in the form the scan was given it.
    pub path: &'a Path,
    /// How its scan ended.
    pub outcome: &'a Outcome,
    /// The number of bytes scanned.
    pub bytes: u64,
    /// The number of findings in the object that the sink got.
    pub findings: u64,
}

impl<'a> ObjectOutcome<'a> {
    /// Creates the outcome of an object without bytes and findings: a start for tests of a sink.
    #[must_use]
    pub fn new(path: &'a Path, outcome: &'a Outcome) -> Self {
        Self { path, outcome, bytes: 0, findings: 0 }
    }
}

/// Receives the findings of a scan.
///
/// All workers call it at the same time. The findings of one object come one after the other, in
/// the order of their offsets, and before the outcome of that object.
///
/// An `Arc` of a sink is a sink, so you can keep a handle to it. A `Mutex<Vec<Finding>>` is a sink
/// that collects the findings.
///
/// # Examples
/// ```
/// use heist_scan::{Finding, Sink};
///
/// /// Prints the findings.
/// struct Printer;
///
/// impl Sink for Printer {
///     fn finding(&self, finding: Finding) {
///         println!("{}:{}: {}", finding.path.display(), finding.line, finding.rule);
///     }
/// }
/// ```
pub trait Sink: Send + Sync {
    /// Receives a finding.
    fn finding(&self, finding: Finding);

    /// Receives a finding that the [placement](crate::Placement) of its object declines, so that
    /// the sink can count it. It has the position in the object.
    fn declined(&self, finding: &Finding) {
        let _ = finding;
    }

    /// Receives the outcome of an object, after all of its findings.
    fn object(&self, outcome: &ObjectOutcome<'_>) {
        let _ = outcome;
    }
}

impl<S: Sink + ?Sized> Sink for Arc<S> {
    fn finding(&self, finding: Finding) {
        S::finding(self, finding);
    }

    fn declined(&self, finding: &Finding) {
        S::declined(self, finding);
    }

    fn object(&self, outcome: &ObjectOutcome<'_>) {
        S::object(self, outcome);
    }
}

/// Collects the findings. Those of different objects come in any order.
impl Sink for Mutex<Vec<Finding>> {
    fn finding(&self, finding: Finding) {
        self.lock().unwrap_or_else(PoisonError::into_inner).push(finding);
    }
}
