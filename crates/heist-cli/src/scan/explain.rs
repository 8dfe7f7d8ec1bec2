//! `heist scan --explain PATH:LINE`: why each candidate in a line is reported, or is not.
//!
//! heist scans the file as a scan of the PATHs would, with the same rules, options and suppression.
//! The detector explains its verdict on each candidate. Three more steps follow: whether a stronger
//! finding covers the candidate, whether its confidence is high enough, and whether it is
//! suppressed.
//!
//! Invariant: the output contains nothing of a secret except its mask.

use super::arguments::ScanArguments;
use super::places::ScannedRoots;
use super::rules;
use super::settings::{self, Settings};
use super::suppression::{Suppression, SuppressionReason};
use crate::error::{CliError, reason};
use crate::escape;
use crate::exit::Exit;
use crate::messages::Messages;
use crate::stdout;
use heist_scan::{
    Chunk, Confidence, Detector, Explanation, Finding, HiddenBy, Match, Overlap, ReaderSource,
    RuleIndex, RuleInfo, Scan, Scratch, SecretDetector, Sink, Standing, StepOutcome, Verdict,
    read_small_file,
};
use std::ffi::{OsStr, OsString};
use std::fmt::{self, Write as _};
use std::io::{self, Cursor};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The largest file that heist explains. It is read into memory.
const FILE_BYTES_MAX: u64 = 1 << 30;

/// The line of a file that `--explain` names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LineOfFile {
    file: PathBuf,
    line: u64,
}

impl LineOfFile {
    /// Parses `PATH:LINE`.
    pub(crate) fn parse(text: &OsStr) -> Option<Self> {
        // The path may contain any bytes, the line number only digits.
        let bytes = text.as_encoded_bytes();
        let colon = bytes.iter().rposition(|&byte| byte == b':')?;
        let line = std::str::from_utf8(&bytes[colon + 1..]).ok()?.parse().ok()?;
        let file = PathBuf::from(without_suffix(text, bytes.len() - colon)?);
        (line > 0 && !file.as_os_str().is_empty()).then_some(Self { file, line })
    }
}

/// Returns the text without its last `count` bytes, which are ASCII.
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

/// Why a line cannot be explained.
#[derive(Debug)]
pub(crate) enum ExplainError {
    /// The argument is not of the form PATH:LINE.
    NotALine(OsString),
    /// The file cannot be read.
    Read { path: PathBuf, source: io::Error },
    /// The file ends before the line.
    NoSuchLine { path: PathBuf, line: u64 },
    /// The file is above `--max-size`, so a scan skips it.
    TooLarge(PathBuf),
    /// The file is binary, so a scan skips it.
    Binary(PathBuf),
    /// An allowlist of the rules contains the path, so a scan skips the file.
    ExcludedByRules(PathBuf),
}

impl ExplainError {
    /// Returns what the user can do about it.
    pub(crate) fn help(&self) -> Option<String> {
        let text = match self {
            Self::NotALine(_) => "give a file and a line, for example src/main.rs:12",
            Self::Read { .. } => "give a file that exists and that you may read",
            Self::NoSuchLine { .. } => "lines are counted from 1",
            Self::TooLarge(_) => "raise --max-size",
            Self::Binary(_) => "--binary scans binary files",
            Self::ExcludedByRules(_) => return None,
        };
        Some(text.to_owned())
    }
}

impl fmt::Display for ExplainError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |path: &Path| escape::for_terminal(path.as_os_str()).into_owned();
        match self {
            Self::NotALine(text) => {
                write!(
                    f,
                    "--explain: '{}' is not of the form PATH:LINE",
                    escape::for_terminal(text)
                )
            }
            Self::Read { path, source } => {
                write!(f, "--explain: cannot read '{}': {}", shown(path), reason(source))
            }
            Self::NoSuchLine { path, line } => {
                write!(f, "--explain: '{}' ends before line {line}", shown(path))
            }
            Self::TooLarge(path) => write!(
                f,
                "--explain: a scan skips '{}', because it is larger than --max-size",
                shown(path)
            ),
            Self::Binary(path) => {
                write!(f, "--explain: a scan skips '{}', because it is a binary file", shown(path))
            }
            Self::ExcludedByRules(path) => write!(
                f,
                "--explain: a scan skips '{}', because an allowlist of the rules contains its path",
                shown(path)
            ),
        }
    }
}

impl std::error::Error for ExplainError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Read { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// Runs `heist scan --explain`.
///
/// # Errors
/// The line cannot be explained, or the options cannot be used.
pub(super) fn run(
    arguments: &ScanArguments,
    place: &OsStr,
    messages: &Messages,
) -> Result<Exit, CliError> {
    let LineOfFile { file, line } =
        LineOfFile::parse(place).ok_or_else(|| ExplainError::NotALine(place.to_owned()))?;
    let (mut settings, _) = settings::of_scan(arguments, messages)?;
    let path = ScannedRoots::new(&settings.paths).in_project_of(&file);
    let detection = rules::detector(&settings, messages)?;
    let detector = Arc::new(AtPath { detector: detection.detector, path });
    let baseline = settings.baseline.as_ref().map(|file| file.value.load_baseline()).transpose()?;
    let mut suppression = Suppression::read(&settings, messages).with_baseline(baseline);
    settings.add_baseline_to(&mut suppression);
    settings.add_overruled([detection.overruled, suppression.take_overruled()], messages);

    let object = read_small_file(&file, FILE_BYTES_MAX)
        .map_err(|source| ExplainError::Read { path: file.clone(), source })?;
    let findings = findings(&file, &object, &detector, &settings)?;
    let AtPath { detector, path } = &*detector;
    let explanations = detector
        .explain_line(&object, path, line)
        .ok_or_else(|| ExplainError::NoSuchLine { path: file.clone(), line })?;

    let shown = escape::for_terminal(file.as_os_str());
    let mut text = match explanations.len() {
        0 => format!(
            "{shown}:{line}: no candidate: no rule's literal, expression or parser matches on this line\n"
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
    stdout::print(text.as_bytes())?;
    Ok(Exit::Success)
}

/// Scans the file and returns all its findings, of any confidence and suppressed or not.
fn findings(
    file: &Path,
    object: &[u8],
    detector: &Arc<AtPath>,
    settings: &Settings,
) -> Result<Vec<Finding>, CliError> {
    if settings.max_size.as_ref().is_some_and(|max| object.len() as u64 > max.value) {
        return Err(ExplainError::TooLarge(file.to_owned()).into());
    }
    let findings = Arc::new(Mutex::new(Vec::new()));
    let source = ReaderSource::new(file, Cursor::new(object.to_vec()));
    let report = Scan::new(Arc::clone(detector))
        .threads(Some(1))
        .binary(settings.binary)
        .source(source)
        .run(Arc::clone(&findings) as Arc<dyn Sink>)
        .map_err(CliError::StartScan)?;
    if report.outcomes.binary > 0 {
        return Err(ExplainError::Binary(file.to_owned()).into());
    }
    if report.outcomes.excluded > 0 {
        return Err(ExplainError::ExcludedByRules(file.to_owned()).into());
    }
    let mut findings = findings.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(std::mem::take(&mut *findings))
}

/// A detector that sees the given path instead of the object's.
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

    fn finds_builtin(&self) -> bool {
        self.detector.finds_builtin()
    }

    fn wants(&self, _: &Path) -> bool {
        self.detector.wants(&self.path)
    }

    fn scan_path(&self, _: &Path, matches: &mut Vec<Match>) {
        self.detector.scan_path(&self.path, matches);
    }

    fn scan(&self, chunk: &Chunk<'_>, scratch: &mut Scratch, matches: &mut Vec<Match>) {
        let mut chunk = chunk.clone();
        chunk.path = &self.path;
        self.detector.scan(&chunk, scratch, matches);
    }

    fn rule(&self, rule: RuleIndex) -> RuleInfo<'_> {
        self.detector.rule(rule)
    }
}

/// The input of an explanation's text.
struct Report<'a> {
    detector: &'a SecretDetector,
    findings: &'a [Finding],
    suppression: &'a Suppression,
    settings: &'a Settings,
}

impl Report<'_> {
    /// Adds a candidate, with one line per step.
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
            Verdict::Reported { confidence, reason, standing, .. } => {
                self.add_later_steps(explanation, (*confidence, *standing), reason, text)
            }
        };
        let result = if is_reported { "reported" } else { "not reported" };
        let _ = writeln!(text, "   => {result}");
    }

    /// Adds the steps after the detector's verdict. Returns `true` if the candidate is reported.
    fn add_later_steps(
        &self,
        explanation: &Explanation,
        (confidence, standing): (Confidence, Standing),
        reason: &str,
        text: &mut String,
    ) -> bool {
        add_step("verdict", confidence.as_str(), reason, text);
        let id = self.detector.rule(explanation.rule).id;
        let is_own = |finding: &&Finding| {
            *finding.rule == *id
                && finding.offset == explanation.secret
                && finding.standing == standing
        };
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

        if let Standing::Hidden(by) = standing {
            let detail = match by {
                HiddenBy::RuleOff => "the scanned tree switches the rule off",
                HiddenBy::NoDecode => "the scanned tree switches the search in decoded text off",
                _ => "an allowlist of the scanned tree names it",
            };
            add_step("tree", "failed", detail, text);
            return false;
        }
        let least = self.settings.confidence.value;
        let is_sure = confidence >= least;
        let detail = format!("{confidence}, and --confidence is {least}");
        add_step("confidence", if is_sure { "passed" } else { "failed" }, &detail, text);

        let known = self.suppression.check(finding);
        let detail = match known {
            None => "no allow comment, baseline or .gitleaksignore suppresses it",
            Some(SuppressionReason::AllowedByComment) => "a comment on its line allows it",
            Some(SuppressionReason::InBaseline) => "the baseline contains the secret",
            Some(SuppressionReason::InGitleaksIgnore) => "a .gitleaksignore lists its location",
            Some(SuppressionReason::InOwnFile) => "it is in a file that this run itself reads",
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
}
