//! The scan itself: settings and a detector become a run of the library, and its report what is told of it.

use super::settings::{Settings, is_stdin};
use super::stdin::Stdin;
use super::summary::{Ended, Gap, Skipped, Summary, Unreported};
use crate::escape;
use crate::interrupt::Interrupt;
use crate::messages::{Messages, ProgressLine, reason};
use crate::trace_file::TraceFile;
use crate::units::{Unit, grouped};
use heist_scan::suppress::BaselineError;
use heist_scan::{
    Incomplete, ReaderSource, Scan, ScanError, ScanProgress, ScanReport, SecretDetector, Sink,
    Stopped,
};
use heist_walk::Walk;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// What stdin is called in reports.
pub(crate) const STDIN_NAME: &str = "stdin";

/// How many findings of a kind are taken from a file: of a level of confidence, or allowed. So many are no secrets, or
/// none that anybody looks through.
const FINDINGS_OF_FILE_MAX: u64 = 100_000;

/// What a scan came to.
#[derive(Debug)]
pub(crate) struct Scanned {
    /// Of the paths, and of stdin.
    pub(crate) reports: Vec<ScanReport>,
    /// Rules that were needed and could not be used.
    pub(crate) failed_rules: Vec<String>,
    /// Why stdin was not read to its end, if the scan was over before.
    stdin_ended: Option<Ended>,
    pub(crate) elapsed: Duration,
}

/// Scans.
///
/// # Errors
/// The scan could not be started, or its trace not be made; the text says why.
pub(crate) fn scan(
    settings: &Settings,
    detector: SecretDetector,
    sink: &Arc<dyn Sink>,
    interrupt: &Interrupt,
    messages: &Arc<Messages>,
) -> Result<Scanned, String> {
    let trace = settings.trace.as_deref().map(TraceFile::create).transpose()?;
    let started = Instant::now();
    // A time that is too far away never comes.
    let deadline = settings.timeout.and_then(|timeout| started.checked_add(timeout));
    let progress = ScanProgress::new();
    let detector = Arc::new(detector);
    let scan = Scan::new(Arc::clone(&detector))
        .workers(settings.threads.map(NonZeroUsize::get))
        .max_file_size(settings.max_size)
        .max_findings_per_object(Some(FINDINGS_OF_FILE_MAX))
        .binary(settings.binary)
        .cancel(interrupt.token())
        .deadline(deadline)
        .progress(&progress);
    let shown = progress.clone();
    let line = settings
        .progress
        .then(|| ProgressLine::start_with(messages, move |elapsed| progress_line(&shown, elapsed)))
        .flatten();
    let stdin = Stdin::new(interrupt.token(), deadline);
    let is_cut = stdin.is_cut();
    let reports = scan_all(settings, scan, sink, trace.as_ref(), stdin);
    drop(line);
    if let Some(Err(text)) = trace.map(TraceFile::finish) {
        // The scan is what was asked for; its trace is not worth another exit code.
        messages.say(&text);
    }
    let failed_rules = detector.failed_rules().map(|rule| rule.id.clone()).collect();
    let cut = is_cut.load(Ordering::Acquire);
    let stdin_ended = cut.then(|| match interrupt.token().is_cancelled() {
        true => Ended::Interrupted,
        false => Ended::TimedOut,
    });
    Ok(Scanned { reports: reports?, failed_rules, stdin_ended, elapsed: started.elapsed() })
}

fn progress_line(progress: &ScanProgress, elapsed: Duration) -> String {
    let now = progress.snapshot();
    let rate = (now.bytes as f64 / elapsed.as_secs_f64().max(0.001)) as u64;
    let findings = match now.findings {
        1 => "1 finding".to_owned(),
        count => format!("{} findings", grouped(count)),
    };
    format!(
        "{} files  {}  {}/s  {findings}",
        grouped(now.objects),
        Unit::HUMAN.show(now.bytes),
        Unit::HUMAN.show(rate)
    )
}

fn scan_all(
    settings: &Settings,
    scan: Scan<Arc<SecretDetector>>,
    sink: &Arc<dyn Sink>,
    trace: Option<&TraceFile>,
    stdin: Stdin,
) -> Result<Vec<ScanReport>, String> {
    let cannot = |error: ScanError| format!("{error}; try fewer threads, with -j");
    let roots: Vec<PathBuf> =
        settings.paths.iter().filter(|path| !is_stdin(path)).cloned().collect();
    let mut reports = Vec::new();
    if !roots.is_empty() {
        let walk = Walk::over(roots)
            .filter(settings.filter.clone())
            .symlinks(settings.symlinks)
            .same_file_system(settings.one_file_system);
        let (scan, sink) = (scan.clone().walk(walk), Arc::clone(sink));
        let report = match trace {
            None => scan.run(sink),
            Some(trace) => scan.trace(trace.tracer()).run(sink),
        };
        reports.push(report.map_err(cannot)?);
    }
    if settings.paths.iter().any(|path| is_stdin(path)) {
        let source = ReaderSource::new(STDIN_NAME, stdin);
        let report = scan.source(source).run(Arc::clone(sink));
        reports.push(report.map_err(cannot)?);
    }
    Ok(reports)
}

/// What is told of a scan. `output_failed`: it was ended because nobody could hear of the rest.
pub(crate) fn summary(
    scanned: &Scanned,
    settings: &Settings,
    unreported: Unreported,
    output_failed: bool,
) -> Summary {
    let mut summary = Summary {
        files: 0,
        bytes: 0,
        confidence: settings.confidence,
        unreported,
        skipped: Skipped { excluded: settings.paths_excluded, ..Skipped::default() },
        gaps: Vec::new(),
        gaps_more: 0,
        gaps_are_named: !settings.quiet,
        no_path_is_left: settings.paths.is_empty(),
        ended: scanned.stdin_ended.filter(|_| !output_failed),
        failed_rules: scanned.failed_rules.clone(),
        configuration: settings.configuration.clone(),
    };
    for report in &scanned.reports {
        let outcomes = &report.outcomes;
        summary.files +=
            outcomes.scanned + outcomes.shrunk + outcomes.grown + outcomes.findings_cut;
        summary.bytes += report.bytes;
        summary.skipped.binary += outcomes.binary;
        summary.skipped.too_large += outcomes.too_large;
        summary.skipped.special += outcomes.special;
        summary.skipped.symlinks += outcomes.symlinks;
        summary.skipped.excluded += outcomes.excluded + report.filtered;
        summary.gaps_more += report.incomplete_count - report.incomplete.len() as u64;
        summary.gaps.extend(report.incomplete.iter().map(|(path, why)| gap(path, why)));
        match report.stopped {
            Some(Stopped::Cancelled) if !output_failed => {
                summary.ended = Some(Ended::Interrupted);
            }
            Some(Stopped::Deadline) if summary.ended.is_none() => {
                summary.ended = Some(Ended::TimedOut);
            }
            _ => {}
        }
    }
    summary.gaps.sort_by(|first, second| {
        let bytes = |gap: &Gap| gap.path.as_os_str().as_encoded_bytes().to_vec();
        bytes(first).cmp(&bytes(second))
    });
    summary
}

/// What was not scanned or not listed, and why; without what is said of its path.
fn gap(path: &Path, why: &Incomplete) -> Gap {
    let reason = match why {
        Incomplete::Unreadable(error) => reason(error),
        Incomplete::Walk(error) => reason(&error.source),
        Incomplete::FindingsCut { left_out } => format!(
            "it has more than {} findings of a kind, and {} were left out",
            grouped(FINDINGS_OF_FILE_MAX),
            grouped(*left_out)
        ),
        other => escape::visible(&other.to_string()).into_owned(),
    };
    let is_cut = matches!(why, Incomplete::FindingsCut { .. });
    Gap { path: path.to_owned(), reason, is_cut }
}

/// Names on stderr what was not scanned.
pub(crate) fn say_gaps(summary: &Summary, messages: &Messages) {
    if let Some(ended) = summary.ended {
        messages.say(ended.text());
    }
    for rule in &summary.failed_rules {
        let rule = escape::visible(rule);
        messages.say(&format!(
            "the rule `{rule}` is too large to be used; nothing was looked for with it"
        ));
    }
    if summary.no_path_is_left && summary.gaps_are_named {
        messages.say("note: nothing was scanned: every PATH is excluded");
    }
    if summary.unreported.too_many > 0 {
        messages.say(&format!(
            "there is no room to list {} places; `--format jsonl` without --sorted lists any number",
            grouped(summary.unreported.too_many)
        ));
    }
    if !summary.gaps_are_named {
        return;
    }
    for gap in &summary.gaps {
        let path = escape::for_terminal(gap.path.as_os_str());
        messages.say(&match gap.is_cut {
            true => format!("not all findings of '{path}' are listed: {}", gap.reason),
            false => format!("cannot scan '{path}': {}", gap.reason),
        });
    }
    if summary.gaps_more > 0 {
        messages.say(&format!("... and {} more", grouped(summary.gaps_more)));
    }
}

/// What is wrong with a baseline.
pub(crate) fn baseline_error(error: &BaselineError) -> String {
    let shown = |path: &Path| escape::for_terminal(path.as_os_str()).into_owned();
    match error {
        BaselineError::Read { path, source } => format!(
            "cannot read the baseline '{}': {}; `heist baseline --output FILE` makes one",
            shown(path),
            reason(source)
        ),
        BaselineError::Write { path, source } => {
            format!("cannot write the baseline '{}': {}", shown(path), reason(source))
        }
        BaselineError::Invalid { path, reason } => format!(
            "'{}' is not a heist baseline: {}; give another FILE, or make a new one with `heist baseline`",
            shown(path),
            escape::visible(&reason.replace('\n', " "))
        ),
        other => escape::visible(&other.to_string()).into_owned(),
    }
}
