//! `heist scan --explain PATH:LINE`: why each candidate in a line is reported, or is not.
//!
//! The file is scanned as a scan of the PATHs would scan it, with the same rules, options and suppression. The detector
//! explains its judgement of each candidate; three more steps come after it: whether a stronger finding covers the
//! candidate, whether its confidence is high enough, and whether it is suppressed.
//!
//! Invariant: nothing is printed of a secret except its mask.

use super::arguments::ScanArguments;
use super::engine;
use super::rules;
use super::settings::{self, Settings};
use super::suppression::{Known, Suppression};
use crate::escape;
use crate::exit::Exit;
use crate::messages::{Messages, cannot_write, reason};
use heist_scan::suppress::Baseline;
use heist_scan::{
    Chunk, Confidence, Detector, Explanation, Finding, Match, Overlap, ReaderSource, RuleIndex,
    RuleInfo, ScanConfig, Scratch, SecretDetector, Sink, StepOutcome, Verdict, read_regular,
    scan_local,
};
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::io::{self, Cursor, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The largest file that is explained: it is read into memory.
const FILE_BYTES_MAX: u64 = 1 << 30;

/// A line of a file, as `--explain` names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LineOfFile {
    file: PathBuf,
    line: u64,
}

impl LineOfFile {
    /// Parses `PATH:LINE`.
    pub(crate) fn parse(text: &OsStr) -> Option<Self> {
        // The path may have any bytes in it, the line number only digits.
        let bytes = text.as_encoded_bytes();
        let colon = bytes.iter().rposition(|&byte| byte == b':')?;
        let line = std::str::from_utf8(&bytes[colon + 1..]).ok()?.parse().ok()?;
        let file = PathBuf::from(without_suffix(text, bytes.len() - colon)?);
        (line > 0 && !file.as_os_str().is_empty()).then_some(Self { file, line })
    }
}

/// The text without its last `count` bytes, which are ASCII.
#[cfg(unix)]
fn without_suffix(text: &OsStr, count: usize) -> Option<&OsStr> {
    use std::os::unix::ffi::OsStrExt as _;
    let bytes = text.as_bytes();
    Some(OsStr::from_bytes(&bytes[..bytes.len() - count]))
}

#[cfg(not(unix))]
fn without_suffix(text: &OsStr, count: usize) -> Option<&OsStr> {
    let text = text.to_str()?;
    Some(OsStr::new(&text[..text.len() - count]))
}

/// Runs `heist scan --explain`.
pub(super) fn run(arguments: &ScanArguments, place: &OsStr, messages: &Messages) -> Exit {
    let explained = match explain(arguments, place, messages) {
        Ok(explained) => explained,
        Err(text) => {
            messages.say(&text);
            return Exit::Usage;
        }
    };
    let mut stdout = io::stdout();
    match stdout.write_all(explained.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            messages.say(&cannot_write(None, &error));
            Exit::Incomplete
        }
        _ => Exit::Success,
    }
}

/// # Errors
/// The line cannot be explained; the text says why.
fn explain(
    arguments: &ScanArguments,
    place: &OsStr,
    messages: &Messages,
) -> Result<String, String> {
    let LineOfFile { file, line } = LineOfFile::parse(place).ok_or_else(|| {
        let place = escape::for_terminal(place);
        format!("--explain: '{place}' is not of the form PATH:LINE, for example src/main.rs:12")
    })?;
    let shown = escape::for_terminal(file.as_os_str()).into_owned();
    let (settings, _) = settings::of_scan(arguments, messages)?;
    let path = path_for_rules(&file, &settings.paths);
    let detector = Arc::new(AtPath { detector: rules::detector(&settings, messages)?, path });
    let baseline = match &settings.baseline {
        Some(path) => Some(Baseline::load(path).map_err(|error| engine::baseline_error(&error))?),
        None => None,
    };
    let mut suppression =
        Suppression::read(&settings.paths, messages, settings.quiet).with_baseline(baseline);
    settings.baseline.iter().for_each(|path| suppression.add_own(path));

    let object = read_regular(&file, FILE_BYTES_MAX)
        .map_err(|error| format!("--explain: cannot read '{shown}': {}", reason(&error)))?;
    let findings = findings(&file, &shown, &object, &detector, &settings)?;
    let AtPath { detector, path } = &*detector;
    let explanations = detector
        .explain_line(&object, path, line)
        .ok_or_else(|| format!("--explain: '{shown}' has no line {line}; it ends before that"))?;

    let mut text = match explanations.len() {
        0 => format!(
            "{shown}:{line}: no candidate: no rule's literal, expression or parser matches in this line\n"
        ),
        1 => format!("{shown}:{line}: 1 candidate\n"),
        count => format!("{shown}:{line}: {count} candidates\n"),
    };
    let report =
        Report { detector, findings: &findings, suppression: &suppression, settings: &settings };
    for (number, explanation) in (1..).zip(&explanations) {
        text.push('\n');
        report.add(number, explanation, &mut text);
    }
    Ok(text)
}

/// The path that rules see: below an absolute PATH only what is below it, else all of a relative path.
fn path_for_rules(file: &Path, roots: &[PathBuf]) -> PathBuf {
    if file.has_root() {
        let below = roots.iter().find_map(|root| file.strip_prefix(root).ok());
        let below = below.filter(|below| !below.as_os_str().is_empty());
        return below
            .map_or_else(|| file.file_name().map(PathBuf::from), |path| Some(path.into()))
            .unwrap_or_default();
    }
    use std::path::Component::{CurDir, ParentDir};
    file.components().skip_while(|part| matches!(part, CurDir | ParentDir)).collect()
}

/// Scans the file, and returns everything that a scan finds in it, of any confidence and suppressed or not.
///
/// # Errors
/// A scan skips the file; the text says why.
fn findings(
    file: &Path,
    shown: &str,
    object: &[u8],
    detector: &Arc<AtPath>,
    settings: &Settings,
) -> Result<Vec<Finding>, String> {
    if settings.max_size.is_some_and(|max| object.len() as u64 > max) {
        return Err(format!(
            "--explain: '{shown}' is larger than --max-size, so it is not scanned"
        ));
    }
    let sink = Arc::new(KeepAll::default());
    let config = ScanConfig::new().workers(Some(1)).binary(settings.binary);
    let source = ReaderSource::new(file, Cursor::new(object.to_vec()));
    let to = Arc::clone(&sink) as Arc<dyn Sink>;
    let report =
        scan_local(Arc::clone(detector), source, to, &config).map_err(|error| error.to_string())?;
    if report.outcomes.binary > 0 {
        return Err(format!(
            "--explain: '{shown}' is a binary file, so it is not scanned; --binary scans it"
        ));
    }
    if report.outcomes.excluded > 0 {
        return Err(format!(
            "--explain: an allowlist of the rules names the path of '{shown}', so it is not scanned"
        ));
    }
    let mut findings = sink.0.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(std::mem::take(&mut *findings))
}

/// A detector that sees one path, whatever the object is called.
struct AtPath {
    detector: SecretDetector,
    path: PathBuf,
}

impl Detector for AtPath {
    type Scratch = Scratch;

    fn scratch(&self) -> Scratch {
        self.detector.scratch()
    }

    fn required_overlap(&self) -> Overlap {
        self.detector.required_overlap()
    }

    fn wants(&self, _: &Path) -> bool {
        self.detector.wants(&self.path)
    }

    fn scan_path(&self, _: &Path, matches: &mut Vec<Match>) {
        self.detector.scan_path(&self.path, matches);
    }

    fn scan(&self, chunk: &Chunk<'_>, scratch: &mut Scratch, matches: &mut Vec<Match>) {
        self.detector.scan(&Chunk { path: &self.path, ..chunk.clone() }, scratch, matches);
    }

    fn rule(&self, rule: RuleIndex) -> RuleInfo<'_> {
        self.detector.rule(rule)
    }
}

/// Keeps every finding.
#[derive(Debug, Default)]
struct KeepAll(Mutex<Vec<Finding>>);

impl Sink for KeepAll {
    fn finding(&self, finding: Finding) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(finding);
    }
}

/// What the text of an explanation is made from.
struct Report<'a> {
    detector: &'a SecretDetector,
    findings: &'a [Finding],
    suppression: &'a Suppression,
    settings: &'a Settings,
}

impl Report<'_> {
    /// Adds a candidate, a line for each step.
    fn add(&self, number: usize, explanation: &Explanation, text: &mut String) {
        let RuleInfo { id, description, .. } = self.detector.rule(explanation.rule);
        let mut heading = format!("{number}. {}", escape::visible(id));
        // (Writing to a string cannot fail.)
        if explanation.masked.is_empty() {
            heading.push_str(", by the name of the file");
        } else {
            let _ = write!(heading, ": {}", explanation.masked);
            let _ =
                write!(heading, ", bytes {}..{}", explanation.secret.start, explanation.secret.end);
        }
        if explanation.encoding != heist_scan::Encoding::Plain {
            let _ = write!(heading, ", in {}", explanation.encoding);
        }
        let _ = writeln!(text, "{heading}\n   {}", escape::visible(description));
        for step in &explanation.steps {
            let outcome = match step.outcome {
                StepOutcome::Passed => "passed",
                StepOutcome::Lowered => "lowered",
                StepOutcome::Failed => "failed",
            };
            add_step(step.step.as_str(), outcome, &step.detail, text);
        }
        let is_reported = match &explanation.verdict {
            Verdict::Rejected { .. } => false,
            Verdict::Reported { confidence, reason } => {
                self.add_later_steps(explanation, *confidence, reason, text)
            }
        };
        let result = if is_reported { "reported" } else { "not reported" };
        let _ = writeln!(text, "   => {result}");
    }

    /// Adds what comes after the detector's verdict. Returns `true` if the candidate is reported.
    fn add_later_steps(
        &self,
        explanation: &Explanation,
        confidence: Confidence,
        reason: &str,
        text: &mut String,
    ) -> bool {
        add_step("verdict", confidence.as_str(), reason, text);
        let id = self.detector.rule(explanation.rule).id;
        let is_own =
            |finding: &&Finding| *finding.rule == *id && finding.offset == explanation.secret;
        let Some(finding) = self.findings.iter().find(is_own) else {
            let overlaps = |finding: &&Finding| {
                finding.offset.start < explanation.secret.end
                    && explanation.secret.start < finding.offset.end
            };
            let detail = match self.findings.iter().find(overlaps) {
                Some(stronger) => format!("a stronger finding covers it, of {}", stronger.rule),
                None => "a stronger finding covers it".to_owned(),
            };
            add_step("overlap", "failed", &detail, text);
            return false;
        };
        add_step("overlap", "passed", "no stronger finding covers it", text);

        let least = self.settings.confidence;
        let is_sure = confidence >= least;
        let detail = format!("{confidence}, and --confidence is {least}");
        add_step("confidence", if is_sure { "passed" } else { "failed" }, &detail, text);

        let known = self.suppression.check(finding);
        let detail = match known {
            None => "no allow comment, baseline or .gitleaksignore suppresses it",
            Some(Known::Allowed) => "a comment in its line allows it",
            Some(Known::InBaseline) => "the baseline contains the secret",
            Some(Known::Ignored) => "a .gitleaksignore names its place",
            Some(Known::Own) => "it is in a file that this run reads itself",
        };
        add_step("suppression", if known.is_none() { "passed" } else { "failed" }, detail, text);
        is_sure && known.is_none()
    }
}

fn add_step(step: &str, outcome: &str, detail: &str, text: &mut String) {
    let _ = writeln!(text, "   {step:<15}  {outcome:<7}  {}", escape::visible(detail));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_path_and_a_line() {
        let parse = |text: &str| LineOfFile::parse(text.as_ref());
        let place = |file: &str, line| Some(LineOfFile { file: file.into(), line });
        assert_eq!(parse("src/main.rs:12"), place("src/main.rs", 12));
        assert_eq!(parse("a:b:3"), place("a:b", 3));
        for text in ["", "a", "a:", ":3", "a:0", "a:-1", "a:x", "a:1:"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn rules_see_the_path_below_an_absolute_root() {
        let seen = |file: &str, roots: &[&str]| {
            let roots: Vec<PathBuf> = roots.iter().map(PathBuf::from).collect();
            path_for_rules(Path::new(file), &roots)
        };
        assert_eq!(seen("./a/b", &["."]), Path::new("a/b"));
        assert_eq!(seen("../a/b", &[".."]), Path::new("a/b"));
        assert_eq!(seen("/t/a/b", &["/t"]), Path::new("a/b"));
        assert_eq!(seen("/t/a/b", &["."]), Path::new("b"));
    }
}
