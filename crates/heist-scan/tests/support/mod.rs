//! Shared by the tests of scans: a detector of made-up keys, and a sink that records everything.
#![allow(dead_code, reason = "each test binary uses a part of it")]

pub(crate) mod deltas;

use heist_scan::{
    Chunk, Confidence, Detector, Finding, Match, ObjectOutcome, Overlap, RuleIndex, RuleInfo, Scan,
    ScanProgress, ScanReport, Sink, Source,
};
use heist_walk::Walk;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// The maximum number of digits after `KEY`.
pub(crate) const DIGITS_MAX: usize = 20;

/// Finds made-up keys, and panics at `PANIC!`.
///
/// - Rules 0 and 1: `KEY` with up to 20 digits. The secret of rule 0 is the digits; rule 1 takes
///   the whole as the secret, with less confidence.
/// - Rule 2: digits before `=KEY`. It matches at the `=`, so the secret is before the owned
///   position.
/// - Rule 3: `BEGIN ... END`, possibly over several lines.
/// - Rule 4: a path that ends in `.p12`.
pub(crate) struct Keys;

const BLOCK_MAX: usize = 200;

impl Detector for Keys {
    type Scratch = ();

    fn scratch(&self) {}

    fn required_overlap(&self) -> Overlap {
        Overlap::new(DIGITS_MAX, BLOCK_MAX + 10)
    }

    fn finds_builtin(&self) -> bool {
        true
    }

    fn wants(&self, path: &Path) -> bool {
        path.extension().is_none_or(|extension| extension != "unwanted")
    }

    fn scan_path(&self, path: &Path, matches: &mut Vec<Match>) {
        if path.extension().is_some_and(|extension| extension == "p12") {
            matches.push(found(4, 0..0, 0..0, Confidence::High));
        }
    }

    fn scan(&self, chunk: &Chunk<'_>, _scratch: &mut (), matches: &mut Vec<Match>) {
        let offset = chunk.offset;
        let at = |position: usize| offset + position as u64;
        for here in chunk.owned.clone() {
            let rest = &chunk.bytes[here..];
            let digits = |bytes: &[u8]| {
                bytes.iter().take(DIGITS_MAX).take_while(|byte| byte.is_ascii_digit()).count()
            };
            if rest.starts_with(b"PANIC!") {
                panic!("asked to");
            }
            if let Some(after) = rest.strip_prefix(b"KEY") {
                let count = digits(after);
                if count > 0 {
                    let secret = at(here + 3)..at(here + 3 + count);
                    matches.push(found(0, at(here)..secret.end, secret.clone(), Confidence::High));
                    // The same match again, as a detector may report it.
                    matches.push(found(0, at(here)..secret.end, secret.clone(), Confidence::High));
                    let whole = at(here)..secret.end;
                    matches.push(found(1, whole.clone(), whole, Confidence::Low));
                }
            }
            if rest.starts_with(b"=KEY") {
                let before: Vec<u8> =
                    chunk.bytes[..here].iter().rev().copied().take(DIGITS_MAX).collect();
                let count = digits(&before);
                if count > 0 {
                    let secret = at(here - count)..at(here);
                    matches.push(found(2, secret.start..at(here + 4), secret, Confidence::Medium));
                }
            }
            if rest.starts_with(b"BEGIN") {
                let block = &rest[..rest.len().min(BLOCK_MAX)];
                if let Some(end) = block.windows(3).position(|three| three == b"END") {
                    let whole = at(here)..at(here + end + 3);
                    matches.push(found(3, whole.clone(), whole, Confidence::Certain));
                }
            }
        }
    }

    fn rule(&self, rule: RuleIndex) -> RuleInfo<'_> {
        let id = ["digits", "key", "before", "block", "path"][rule.0 as usize];
        RuleInfo::new(id, "a test's", "nothing")
    }
}

fn found(
    rule: u32,
    whole: std::ops::Range<u64>,
    secret: std::ops::Range<u64>,
    confidence: Confidence,
) -> Match {
    Match::new(RuleIndex(rule), secret, confidence).whole(whole).reason("it is")
}

/// Records everything, and checks what holds for every scan.
#[derive(Default)]
pub(crate) struct Log {
    pub(crate) findings: Mutex<BTreeMap<PathBuf, Vec<Finding>>>,
    pub(crate) outcomes: Mutex<BTreeMap<PathBuf, String>>,
}

impl Sink for Log {
    fn finding(&self, finding: Finding) {
        let mut findings = self.findings.lock().unwrap();
        let of_object = findings.entry(finding.path.to_path_buf()).or_default();
        if let Some(last) = of_object.last() {
            assert!(last.offset.start <= finding.offset.start, "in order");
        }
        of_object.push(finding);
    }

    fn object(&self, outcome: &ObjectOutcome<'_>) {
        let count = self.findings.lock().unwrap().get(outcome.path).map_or(0, Vec::len);
        assert_eq!(count as u64, outcome.findings);
        let kind = format!("{:?}", outcome.outcome);
        let before = self.outcomes.lock().unwrap().insert(outcome.path.to_path_buf(), kind);
        assert_eq!(before, None, "{} once", outcome.path.display());
    }
}

/// Runs a scan of trees, and checks what holds for every scan.
#[track_caller]
pub(crate) fn scan_walk<D: Detector>(scan: Scan<D>, walk: Walk) -> (ScanReport, Arc<Log>) {
    let (log, progress) = (Arc::new(Log::default()), ScanProgress::new());
    let report = scan.progress(&progress).walk(walk).run(Arc::clone(&log)).unwrap();
    check_report(&report, &log, &progress);
    (report, log)
}

/// Runs a scan of everything below `roots`.
#[track_caller]
pub(crate) fn scan_trees<D: Detector>(scan: Scan<D>, roots: &[&Path]) -> (ScanReport, Arc<Log>) {
    scan_walk(scan, Walk::over(roots))
}

/// Runs a scan of a source, and checks what holds for every scan.
#[track_caller]
pub(crate) fn scan_objects<D: Detector>(
    scan: Scan<D>,
    source: impl Source,
) -> (ScanReport, Arc<Log>) {
    let (log, progress) = (Arc::new(Log::default()), ScanProgress::new());
    let report = scan.progress(&progress).source(source).run(Arc::clone(&log)).unwrap();
    check_report(&report, &log, &progress);
    assert_eq!(progress.snapshot().found, report.objects(), "every object has an outcome");
    (report, log)
}

#[track_caller]
pub(crate) fn check_report(report: &ScanReport, log: &Log, progress: &ScanProgress) {
    let counts = progress.snapshot();
    assert_eq!((counts.bytes, counts.findings), (report.bytes, report.findings));
    let findings: usize = log.findings.lock().unwrap().values().map(Vec::len).sum();
    assert_eq!(findings as u64, report.findings);
    assert_eq!(counts.objects, report.objects());
    if report.stopped.is_none() {
        assert_eq!(counts.found, report.objects(), "every object has an outcome");
        assert_eq!(report.outcomes.interrupted, 0);
    }
    assert_eq!(log.outcomes.lock().unwrap().len() as u64, report.objects());
}

/// Returns the expected findings of one file, computed in the simplest way: the whole file at once.
pub(crate) fn at_once(path: &Path, bytes: &[u8]) -> Vec<Expected> {
    let mut matches = Vec::new();
    Keys.scan(&Chunk::whole(bytes, path), &mut (), &mut matches);
    let length = |one: &Match| one.secret.end - one.secret.start;
    // The strongest first. Each match survives unless a survivor displaces it.
    matches.sort_by_key(|one| {
        std::cmp::Reverse((one.confidence, length(one), std::cmp::Reverse(one.rule)))
    });
    let mut survivors: Vec<&Match> = Vec::new();
    for one in &matches {
        let strength = (one.confidence, length(one), std::cmp::Reverse(one.rule));
        let is_displaced = survivors.iter().any(|other| {
            other.secret == one.secret
                || ((other.confidence, length(other), std::cmp::Reverse(other.rule)) > strength
                    && other.secret.start < one.secret.end
                    && one.secret.start < other.secret.end)
        });
        if !is_displaced {
            survivors.push(one);
        }
    }
    let mut expected: Vec<Expected> =
        survivors.into_iter().map(|one| Expected::new(one, bytes)).collect();
    expected.sort_by_key(|one| (one.offset.start, one.offset.end));
    expected.dedup();
    expected
}

/// The properties of a finding that are easy to compute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Expected {
    pub(crate) rule: String,
    pub(crate) offset: std::ops::Range<u64>,
    pub(crate) secret: Vec<u8>,
    pub(crate) place: (u64, u64, u64, u64),
}

impl Expected {
    fn new(found: &Match, bytes: &[u8]) -> Self {
        let (start, end) = (found.secret.start as usize, found.secret.end as usize);
        let line = |at: usize| 1 + bytes[..at].iter().filter(|&&byte| byte == b'\n').count() as u64;
        let column = |at: usize| {
            (at - bytes[..at]
                .iter()
                .rposition(|&byte| byte == b'\n')
                .map_or(0, |newline| newline + 1)) as u64
                + 1
        };
        Self {
            rule: Keys.rule(found.rule).id.to_string(),
            offset: found.secret.clone(),
            secret: bytes[start..end].to_vec(),
            place: (line(start), column(start), line(end - 1), column(end - 1) + 1),
        }
    }

    pub(crate) fn of(finding: &Finding) -> Self {
        Self {
            rule: finding.rule.to_string(),
            offset: finding.offset.clone(),
            secret: finding.secret.reveal().to_vec(),
            place: (finding.line, finding.column, finding.end_line, finding.end_column),
        }
    }
}
