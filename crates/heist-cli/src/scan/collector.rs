//! [`Collector`]: receives the findings of all workers, and buffers or writes those to report.
//!
//! Invariants: findings that are suppressed or below the confidence are only counted. A streamed
//! line is written as a whole, so the lines of several workers never mix. If the output fails, the
//! collector cancels the scan, because further findings could not be reported.
//!
//! Memory grows with the reported findings, up to a limit, and not with the tree. Secrets
//! themselves stay in memory only with `--show-secrets`.

use super::format::jsonl;
use super::hidden::{Hidden, HiddenFindings, HidingRules};
use super::history_place::ReportedPlace;
use super::output::ReportOutput;
use super::report_buffer::ReportBuffer;
use super::reported_finding::ReportedFinding;
use super::stream::Stream;
use super::summary::{Listed, Unreported};
use super::suppression::{Suppression, SuppressionReason};
use super::text_masker::TextMasker;
use heist::CancelToken;
use heist_scan::{Confidence, Finding, Sink};
use std::cell::RefCell;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a [`Collector`] reports, and how.
#[derive(Clone, Debug)]
pub(crate) struct CollectorOptions {
    /// The lowest confidence to report.
    pub(crate) confidence: Confidence,
    /// What of the scanned tree may hide findings.
    pub(crate) hiding: HidingRules,
    /// Whether secrets are shown without masking.
    pub(crate) show_secrets: bool,
    /// Whether a leading `./` is removed from paths, because the user gave no PATH.
    pub(crate) strips_dot: bool,
}

/// The sink of `heist scan`.
#[derive(Debug)]
pub(crate) struct Collector {
    options: CollectorOptions,
    suppression: Suppression,
    /// Masks the texts of commits, unless secrets are shown.
    text_masker: Option<TextMasker>,
    /// Whether each finding is written as soon as it arrives.
    streams: bool,
    /// Cancels the scan.
    cancel: CancelToken,
    state: Mutex<CollectorState>,
}

#[derive(Debug)]
struct CollectorState {
    target: Target,
    unreported: Unreported,
    /// The findings that were streamed.
    streamed: Listed,
    hidden: HiddenFindings,
    /// The number of reported findings.
    reported: u64,
}

#[derive(Debug)]
enum Target {
    Buffered(ReportBuffer),
    Streamed(Stream),
    /// The output can no longer be written to.
    Failed(io::Error),
}

/// What the collector has received when the scan is over.
#[derive(Debug)]
pub(crate) struct Collected {
    pub(crate) unreported: Unreported,
    /// The findings that the report lists.
    pub(crate) listed: Listed,
    /// The findings that the scanned tree hides.
    pub(crate) hidden: Hidden,
    pub(crate) reported: u64,
    /// The findings to report, sorted. Empty if they were streamed.
    pub(crate) findings: Vec<ReportedFinding>,
    /// The output that findings were streamed to, or why it failed.
    pub(crate) streamed: Option<io::Result<ReportOutput>>,
}

impl Collector {
    /// Creates a collector that buffers findings or, with a `stream`, writes each one immediately.
    pub(crate) fn new(
        options: CollectorOptions,
        suppression: Suppression,
        stream: Option<Stream>,
        cancel: CancelToken,
    ) -> Self {
        let streams = stream.is_some();
        let target = match stream {
            None => Target::Buffered(ReportBuffer::default()),
            Some(stream) => Target::Streamed(stream),
        };
        let state = Mutex::new(CollectorState {
            target,
            unreported: Unreported::default(),
            hidden: HiddenFindings::new(options.hiding.clone()),
            streamed: Listed::default(),
            reported: 0,
        });
        let text_masker = (!options.show_secrets).then(TextMasker::default);
        Self { options, suppression, text_masker, streams, cancel, state }
    }

    fn state(&self) -> MutexGuard<'_, CollectorState> {
        // No step leaves the state half-changed, so it is valid even after a panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, finding: &ReportedFinding, line: &mut Vec<u8>) {
        line.clear();
        let made = jsonl::write(finding, line);
        let mut state = self.state();
        if let Target::Streamed(stream) = &mut state.target {
            let written = made.and_then(|()| stream.push(line));
            state.reported += 1;
            state.streamed.add(finding.confidence);
            self.cancel_if_failed(&mut state, written);
        }
    }

    /// Writes the lines that are waiting.
    pub(super) fn flush(&self) {
        let mut state = self.state();
        if let Target::Streamed(stream) = &mut state.target {
            let written = stream.flush();
            self.cancel_if_failed(&mut state, written);
        }
    }

    /// From now on, writes each line immediately.
    pub(super) fn write_through(&self) {
        if let Target::Streamed(stream) = &mut self.state().target {
            stream.write_through();
        }
    }

    fn cancel_if_failed(&self, state: &mut CollectorState, written: io::Result<()>) {
        if let Err(error) = written {
            state.target = Target::Failed(error);
            self.cancel.cancel();
        }
    }

    /// Returns everything received. Call this when the scan is over.
    pub(crate) fn take(&self) -> Collected {
        let mut state = self.state();
        let target =
            std::mem::replace(&mut state.target, Target::Buffered(ReportBuffer::default()));
        let (findings, streamed) = match target {
            Target::Buffered(buffer) => {
                let (findings, left_out) = buffer.into_sorted();
                state.unreported.over_limit = left_out;
                (findings, None)
            }
            Target::Streamed(stream) => (Vec::new(), Some(stream.finish())),
            Target::Failed(error) => (Vec::new(), Some(Err(error))),
        };
        let mut listed = state.streamed;
        findings.iter().for_each(|finding| listed.add(finding.confidence));
        let hidden = std::mem::take(&mut state.hidden).into_hidden();
        let CollectorState { unreported, reported, .. } = *state;
        Collected { unreported, hidden, listed, reported, findings, streamed }
    }
}

impl Sink for Collector {
    fn declined(&self, finding: &Finding) {
        let is_hidden = finding.standing.is_hidden();
        if !finding.allowed && !is_hidden && finding.confidence >= self.options.confidence {
            self.state().unreported.not_new += 1;
        }
    }

    fn finding(&self, mut finding: Finding) {
        // Suppression comes first: `--confidence low` would not show a suppressed finding, so it
        // must not be counted as below the confidence.
        let suppressed = self.suppression.check(&finding);
        let is_hidden = finding.standing.is_hidden();
        if is_hidden || suppressed.is_some() || finding.confidence < self.options.confidence {
            let mut state = self.state();
            state.hidden.add(&finding, suppressed, &self.suppression);
            let unreported = &mut state.unreported;
            match suppressed {
                _ if is_hidden => {}
                None => unreported.below_confidence += 1,
                Some(SuppressionReason::AllowedByComment) => unreported.allowed += 1,
                Some(SuppressionReason::InBaseline) => unreported.in_baseline += 1,
                Some(SuppressionReason::InGitleaksIgnore) => unreported.in_gitleaksignore += 1,
                Some(SuppressionReason::InOwnFile) => unreported.in_own_files += 1,
            }
            return;
        }
        let path = match finding.path.strip_prefix(".") {
            Ok(below) if self.options.strips_dot && !below.as_os_str().is_empty() => {
                Arc::<Path>::from(below)
            }
            _ => Arc::clone(&finding.path),
        };
        if let Some(until) = self.suppression.accepted_until(&finding) {
            finding.reason = format!("{}; accepted until {until}", finding.reason).into();
        }
        let history = finding.history.take();
        let history = history
            .map(|place| Box::new(ReportedPlace::new(&place, &finding, self.text_masker.as_ref())));
        let mut reported = ReportedFinding::new(finding, path, self.options.show_secrets);
        reported.history = history;
        if self.streams {
            LINE.with_borrow_mut(|line| self.write(&reported, line));
            return;
        }
        let mut state = self.state();
        if let Target::Buffered(buffer) = &mut state.target {
            buffer.push(reported);
            state.reported += 1;
        }
    }
}

thread_local! {
    /// Each worker formats its lines here before it takes the lock.
    static LINE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}
