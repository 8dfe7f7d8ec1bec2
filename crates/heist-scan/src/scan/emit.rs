//! [`Emitter`]: turns the matches of one worker into findings, counts them, and hands them to the
//! sink.

use super::assemble::Assembled;
use super::context::{ScanContext, WorkerTotals};
use super::excerpt::revealed;
use super::progress::WorkerCounts;
use super::visible::Shown;
use crate::confidence::Confidence;
use crate::detector::{Detector, Match, RuleIndex};
use crate::finding::Finding;
use crate::masked::Secret;
use crate::placement::Placement;
use crate::report::{Outcome, OutcomeCounts};
use crate::sink::ObjectOutcome;
use crate::tree_rules::Standing;
use std::path::Path;
use std::sync::Arc;

/// The texts of a rule, shared by all findings of one worker.
#[derive(Clone, Debug)]
struct RuleTexts {
    id: Arc<str>,
    description: Arc<str>,
    remedy: Arc<str>,
}

/// The texts of the rules that have findings, fetched from the detector once per rule.
#[derive(Debug, Default)]
pub(super) struct RuleTextCache(Vec<Option<RuleTexts>>);

impl RuleTextCache {
    fn texts(&mut self, detector: &impl Detector, rule: RuleIndex) -> RuleTexts {
        let at = rule.0 as usize;
        if self.0.len() <= at {
            self.0.resize(at + 1, None);
        }
        let texts = self.0[at].get_or_insert_with(|| {
            let info = detector.rule(rule);
            RuleTexts {
                id: info.id.into(),
                description: info.description.into(),
                remedy: info.remedy.into(),
            }
        });
        texts.clone()
    }

    /// Creates the finding for a match in the contents of the object `path`.
    pub(super) fn finding(
        &mut self,
        detector: &impl Detector,
        path: Arc<Path>,
        assembled: &Assembled<'_>,
    ) -> Finding {
        let captured = assembled.captured;
        let found = &captured.found;
        let Shown { secret: shown, excerpt } = assembled.shown();
        let excerpt_revealed = revealed(captured);
        let secret = Secret::new(captured.secret());
        let rule = self.texts(detector, found.rule);
        let last_byte = found.secret.end.saturating_sub(1).max(found.secret.start);
        Finding {
            path,
            rule: rule.id,
            description: rule.description,
            remedy: rule.remedy,
            fingerprint: secret.fingerprint(),
            shown,
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
            standing: found.standing,
            history: None,
        }
    }

    /// Creates the finding for a match of the path alone. The secret is the path that rules see,
    /// unless the detector decoded another one.
    fn path_finding(
        &mut self,
        detector: &impl Detector,
        path: Arc<Path>,
        rule_path: &Path,
        found: &Match,
    ) -> Finding {
        let rule = self.texts(detector, found.rule);
        let secret = match &found.decoded {
            Some(decoded) => Secret::new(decoded.clone()),
            None => Secret::new(rule_path.as_os_str().as_encoded_bytes()),
        };
        Finding {
            path,
            rule: rule.id,
            description: rule.description,
            remedy: rule.remedy,
            fingerprint: secret.fingerprint(),
            shown: secret.masked(),
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
            reason: found.reason.clone(),
            allowed: false,
            standing: found.standing,
            history: None,
        }
    }
}

/// The number of kinds of findings: four levels of confidence, the same levels of findings that the
/// tree hides, and allowed findings.
const KINDS: usize = 9;

/// The number of findings of an object, by kind. Each kind has its own limit, so that
/// unimportant findings never displace an important one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ObjectFindings {
    emitted: [u64; KINDS],
    left_out: u64,
}

impl ObjectFindings {
    fn kind(confidence: Confidence, standing: Standing, allowed: bool) -> usize {
        let first = if standing.is_hidden() { 4 } else { 0 };
        match (allowed, confidence) {
            (true, _) => KINDS - 1,
            (false, Confidence::Certain) => first + 3,
            (false, Confidence::High) => first + 2,
            (false, Confidence::Medium) => first + 1,
            (false, Confidence::Low) => first,
        }
    }

    fn total(&self) -> u64 {
        self.emitted.iter().sum()
    }
}

/// The object that a worker scans, as its findings name it.
pub(crate) struct CurrentObject<'a> {
    path: &'a Path,
    placement: Option<&'a dyn Placement>,
    /// The path that all findings of the object share. Allocated for the first one.
    shared_path: Option<Arc<Path>>,
    pub(crate) findings: ObjectFindings,
}

impl<'a> CurrentObject<'a> {
    pub(crate) fn new(path: &'a Path, findings: ObjectFindings) -> Self {
        Self { path, placement: None, shared_path: None, findings }
    }

    pub(crate) fn placed_by(self, placement: Option<&'a dyn Placement>) -> Self {
        Self { placement, ..self }
    }

    pub(crate) fn path(&self) -> &Path {
        self.path
    }

    fn shared_path(&mut self) -> Arc<Path> {
        Arc::clone(self.shared_path.get_or_insert_with(|| self.path.into()))
    }
}

/// Hands the findings of one worker to the sink. When it is dropped, its counts are added to those
/// of the scan.
pub(crate) struct Emitter<D: Detector> {
    context: Arc<ScanContext<D>>,
    pub(crate) counts: WorkerCounts,
    outcomes: OutcomeCounts,
    rules: RuleTextCache,
    findings_left_out: u64,
}

impl<D: Detector> Emitter<D> {
    pub(crate) fn new(context: &Arc<ScanContext<D>>, counts: WorkerCounts) -> Self {
        Self {
            context: Arc::clone(context),
            counts,
            outcomes: OutcomeCounts::default(),
            rules: RuleTextCache::default(),
            findings_left_out: 0,
        }
    }

    /// Counts a finding. Returns `false` if the object has too many of its kind already.
    fn count_finding(
        &mut self,
        object: &mut CurrentObject<'_>,
        found: &Match,
        allowed: bool,
    ) -> bool {
        let kind = ObjectFindings::kind(found.confidence, found.standing, allowed);
        let count = &mut object.findings.emitted[kind];
        if self.context.settings.max_findings_per_object.is_some_and(|most| *count >= most) {
            object.findings.left_out += 1;
            self.findings_left_out += 1;
            return false;
        }
        *count += 1;
        self.counts.so_far.findings += 1;
        true
    }

    /// Emits a finding, unless the object has too many of its kind.
    pub(crate) fn emit(&mut self, object: &mut CurrentObject<'_>, assembled: &Assembled<'_>) {
        let captured = assembled.captured;
        if let Some(placement) = object.placement {
            let (found, detector) = (&captured.found, &*self.context.detector);
            let path = object.shared_path();
            let mut finding = self.rules.finding(detector, path, assembled);
            if !placement.place(&mut finding) {
                self.context.sink.declined(&finding);
            } else if self.count_finding(object, found, captured.allowed) {
                self.context.sink.finding(finding);
            }
            return;
        }
        if self.count_finding(object, &captured.found, captured.allowed) {
            let detector = &*self.context.detector;
            let finding = self.rules.finding(detector, object.shared_path(), assembled);
            self.context.sink.finding(finding);
        }
    }

    /// Emits a finding that follows from the path alone, unless the object has too many of its
    /// kind.
    pub(crate) fn emit_path(
        &mut self,
        object: &mut CurrentObject<'_>,
        rule_path: &Path,
        found: &Match,
    ) {
        let detector = &*self.context.detector;
        let path = object.shared_path();
        let mut finding = self.rules.path_finding(detector, path, rule_path, found);
        if object.placement.is_some_and(|placement| !placement.place_path(&mut finding)) {
            self.context.sink.declined(&finding);
        } else if self.count_finding(object, found, false) {
            self.context.sink.finding(finding);
        }
    }

    /// Counts the outcome of an object and hands it to the sink.
    pub(crate) fn object_done(&mut self, object: &CurrentObject<'_>, outcome: Outcome, bytes: u64) {
        let outcome = match (outcome, object.findings.left_out) {
            (Outcome::Scanned, left_out @ 1..) => Outcome::FindingsCut { left_out },
            (outcome, _) => outcome,
        };
        self.outcomes.count(&outcome);
        self.counts.so_far.objects += 1;
        let (path, findings) = (object.path, object.findings.total());
        self.context.sink.object(&ObjectOutcome { path, outcome: &outcome, bytes, findings });
        if let Some(why) = outcome.into_incomplete() {
            self.context.add_incomplete(path.to_path_buf(), why);
        }
    }
}

impl<D: Detector> Drop for Emitter<D> {
    fn drop(&mut self) {
        self.counts.publish();
        self.context.add_totals(&WorkerTotals {
            outcomes: self.outcomes,
            bytes: self.counts.so_far.bytes,
            findings: self.counts.so_far.findings,
            findings_left_out: self.findings_left_out,
        });
    }
}
