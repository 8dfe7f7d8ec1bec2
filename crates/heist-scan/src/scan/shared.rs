//! [`Shared`]: what all workers of a scan have in common, and [`Emitter`], by which a worker gives out findings.

use super::assemble::Assembled;
use super::capture::CONTEXT_BYTES;
use super::progress::WorkerCounts;
use crate::confidence::Confidence;
use crate::config::ScanConfig;
use crate::detector::{Detector, Match, RuleIndex};
use crate::finding::Finding;
use crate::read::Overlaps;
use crate::report::{Incomplete, IncompleteList, Outcome, OutcomeCounts, ScanReport, Stopped};
use crate::secret::Secret;
use crate::sink::{ObjectOutcome, Sink};
use heist::{CancelToken, MetricsSnapshot};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// See the module's documentation.
pub(crate) struct Shared<D> {
    pub(crate) detector: Arc<D>,
    pub(crate) sink: Arc<dyn Sink>,
    pub(crate) config: ScanConfig,
    /// Ends this scan, and not whatever else the caller's token is for.
    pub(crate) stop: CancelToken,
    is_late: AtomicBool,
    /// Bytes of matches in large files that wait for what is before them.
    pub(crate) captured_ahead: AtomicU64,
    incomplete: Mutex<IncompleteList>,
    totals: Mutex<WorkersTotals>,
}

/// What workers have counted that have ended.
#[derive(Clone, Copy, Debug, Default)]
struct WorkersTotals {
    outcomes: OutcomeCounts,
    bytes: u64,
    findings: u64,
    left_out: u64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<D: Detector> Shared<D> {
    pub(crate) fn new(detector: Arc<D>, sink: Arc<dyn Sink>, config: &ScanConfig) -> Arc<Self> {
        Arc::new(Self {
            detector,
            sink,
            config: config.clone(),
            stop: config.executor.cancel.child(),
            is_late: AtomicBool::new(false),
            captured_ahead: AtomicU64::new(0),
            incomplete: Mutex::default(),
            totals: Mutex::default(),
        })
    }

    /// How much has to be in memory around what a detector looks at: what that wants, and what a finding shows.
    pub(crate) fn overlaps(&self) -> Overlaps {
        let overlap = self.detector.required_overlap();
        Overlaps { before: overlap.before + CONTEXT_BYTES, after: overlap.after + CONTEXT_BYTES }
    }

    /// Whether to stop: the scan was cancelled, or its time is up.
    pub(crate) fn is_stopped(&self) -> bool {
        if self.stop.is_cancelled() {
            return true;
        }
        let is_late = self.config.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        if is_late {
            // Relaxed: read after every worker has ended.
            self.is_late.store(true, Ordering::Relaxed);
            self.stop.cancel();
        }
        is_late
    }

    pub(crate) fn add_incomplete(&self, path: PathBuf, why: Incomplete) {
        lock(&self.incomplete).add(path, why);
    }

    /// The report, when every worker has ended.
    pub(crate) fn report(&self, workers: usize, metrics: MetricsSnapshot) -> ScanReport {
        let incomplete = std::mem::take(&mut *lock(&self.incomplete));
        let totals = *lock(&self.totals);
        let stopped = if self.is_late.load(Ordering::Relaxed) {
            Some(Stopped::Deadline)
        } else {
            self.stop.is_cancelled().then_some(Stopped::Cancelled)
        };
        ScanReport {
            outcomes: totals.outcomes,
            bytes: totals.bytes,
            findings: totals.findings,
            findings_left_out: totals.left_out,
            directories: 0,
            filtered: 0,
            incomplete_count: incomplete.count,
            incomplete: incomplete.into_listed(),
            stopped,
            workers,
            metrics,
        }
    }
}

/// What findings say about a rule, shared by all of a worker's findings.
#[derive(Clone, Debug)]
struct RuleNames {
    id: Arc<str>,
    description: Arc<str>,
    remedy: Arc<str>,
}

/// How a worker tells what it found. Its counts go to the scan's when it is dropped.
pub(crate) struct Emitter<D: Detector> {
    shared: Arc<Shared<D>>,
    pub(crate) counts: WorkerCounts,
    outcomes: OutcomeCounts,
    rules: Vec<Option<RuleNames>>,
    /// Findings that were not given out.
    left_out: u64,
}

/// How many findings an object has, by kind: the levels of confidence, and what is allowed. Each has its own limit, so
/// what matters less never takes the room of what matters more.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ObjectFindings {
    given_out: [u64; KINDS],
    left_out: u64,
}

/// Four levels of confidence, and what is allowed.
const KINDS: usize = 5;

impl ObjectFindings {
    fn kind(confidence: Confidence, allowed: bool) -> usize {
        match (allowed, confidence) {
            (true, _) => 4,
            (false, Confidence::Certain) => 3,
            (false, Confidence::High) => 2,
            (false, Confidence::Medium) => 1,
            (false, Confidence::Low) => 0,
        }
    }

    fn total(&self) -> u64 {
        self.given_out.iter().sum()
    }
}

/// An object, as its findings name it.
#[derive(Debug)]
pub(crate) struct Naming<'a> {
    path: &'a Path,
    /// Made for the first finding.
    shared: Option<Arc<Path>>,
    pub(crate) findings: ObjectFindings,
}

impl<'a> Naming<'a> {
    pub(crate) fn new(path: &'a Path, findings: ObjectFindings) -> Self {
        Self { path, shared: None, findings }
    }

    pub(crate) fn path(&self) -> &Path {
        self.path
    }
}

impl<D: Detector> Emitter<D> {
    pub(crate) fn new(shared: &Arc<Shared<D>>, counts: WorkerCounts) -> Self {
        let (outcomes, rules) = (OutcomeCounts::default(), Vec::new());
        Self { shared: Arc::clone(shared), counts, outcomes, rules, left_out: 0 }
    }

    fn rule(&mut self, rule: RuleIndex) -> RuleNames {
        let at = rule.0 as usize;
        if self.rules.len() <= at {
            self.rules.resize(at + 1, None);
        }
        let names = self.rules[at].get_or_insert_with(|| {
            let info = self.shared.detector.rule(rule);
            RuleNames {
                id: info.id.into(),
                description: info.description.into(),
                remedy: info.remedy.into(),
            }
        });
        names.clone()
    }

    /// Counts a finding. Whether the object may have one more of its kind.
    fn has_room(&mut self, object: &mut Naming<'_>, confidence: Confidence, allowed: bool) -> bool {
        let count = &mut object.findings.given_out[ObjectFindings::kind(confidence, allowed)];
        if self.shared.config.max_findings_per_object.is_some_and(|most| *count >= most) {
            object.findings.left_out += 1;
            self.left_out += 1;
            return false;
        }
        *count += 1;
        self.counts.so_far.findings += 1;
        true
    }

    /// Gives out a finding, unless the object has enough of its kind.
    pub(crate) fn emit(&mut self, object: &mut Naming<'_>, assembled: Assembled<'_>) {
        let captured = assembled.captured;
        let found = &captured.found;
        if !self.has_room(object, found.confidence, captured.allowed) {
            return;
        }
        let (excerpt, excerpt_revealed) = assembled.excerpts();
        let secret = Secret::new(captured.secret());
        let rule = self.rule(found.rule);
        let last_byte = found.secret.end.saturating_sub(1).max(found.secret.start);
        self.shared.sink.finding(Finding {
            path: Arc::clone(object.shared.get_or_insert_with(|| object.path.into())),
            rule: rule.id,
            description: rule.description,
            remedy: rule.remedy,
            fingerprint: secret.fingerprint(),
            secret,
            offset: found.secret.clone(),
            line: captured.start.line(),
            column: captured.start.column(found.secret.start),
            end_line: captured.last.line(),
            end_column: captured.last.column(last_byte) + 1,
            excerpt,
            excerpt_revealed,
            encoding: found.encoding,
            confidence: found.confidence,
            reason: found.reason.clone(),
            allowed: captured.allowed,
        });
    }

    /// Gives out what a path alone says. Its secret is the path, unless the detector knows better.
    pub(crate) fn emit_path(&mut self, object: &mut Naming<'_>, below: &Path, found: Match) {
        if !self.has_room(object, found.confidence, false) {
            return;
        }
        let rule = self.rule(found.rule);
        let secret = match found.decoded {
            Some(decoded) => Secret::new(decoded),
            None => Secret::new(below.as_os_str().as_encoded_bytes()),
        };
        self.shared.sink.finding(Finding {
            path: Arc::clone(object.shared.get_or_insert_with(|| object.path.into())),
            rule: rule.id,
            description: rule.description,
            remedy: rule.remedy,
            fingerprint: secret.fingerprint(),
            secret,
            offset: 0..0,
            line: 1,
            column: 1,
            end_line: 1,
            end_column: 1,
            excerpt: String::new(),
            excerpt_revealed: Secret::new(Vec::new()),
            encoding: found.encoding,
            confidence: found.confidence,
            reason: found.reason,
            allowed: false,
        });
    }

    /// An object is done.
    pub(crate) fn object_done(&mut self, object: &Naming<'_>, outcome: Outcome, bytes: u64) {
        let outcome = match (outcome, object.findings.left_out) {
            (Outcome::Scanned, left_out @ 1..) => Outcome::FindingsCut { left_out },
            (outcome, _) => outcome,
        };
        self.outcomes.count(&outcome);
        self.counts.so_far.objects += 1;
        let (path, findings) = (object.path, object.findings.total());
        self.shared.sink.object(&ObjectOutcome { path, outcome: &outcome, bytes, findings });
        if let Some(why) = outcome.into_incomplete() {
            self.shared.add_incomplete(path.to_path_buf(), why);
        }
    }
}

impl<D: Detector> Drop for Emitter<D> {
    fn drop(&mut self) {
        self.counts.show();
        let mut totals = lock(&self.shared.totals);
        totals.outcomes.add(&self.outcomes);
        totals.bytes += self.counts.so_far.bytes;
        totals.findings += self.counts.so_far.findings;
        totals.left_out += self.left_out;
    }
}
