//! Runs a scan with the library, and turns the library's report into a [`Summary`].

use super::diff::scan_stdin;
use super::hidden::{Hidden, HidingSetting};
use super::named::NamedPaths;
use super::origin::Setting;
use super::settings::{Settings, is_stdin};
use super::staged;
use super::stdin::Stdin;
use super::summary::{EndedEarly, Gap, Listed, Skipped, Summary, Unreported};
use crate::error::{CliError, reason};
use crate::escape;
use crate::interrupt::Interrupt;
use crate::messages::{Messages, ProgressLine};
use crate::trace_file::TraceFile;
use crate::units::{Unit, grouped};
use heist_scan::{
    Incomplete, Scan, ScanProgress, ScanReport, SecretDetector, Sink, Stopped, WorkLimit,
};
use heist_walk::Walk;
use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The name of stdin in reports.
pub(crate) const STDIN_NAME: &str = "stdin";

/// The maximum number of findings of one kind per file. A kind is a level of confidence, or
/// findings that a comment allows. A file with more has false alarms, or more than a person can
/// review.
const FINDINGS_OF_FILE_MAX: u64 = 100_000;

/// With more threads than this, each one reads smaller chunks, so that the memory of all buffers
/// stays small.
const FEW_THREADS: usize = 32;
const SMALL_CHUNK_BYTES: usize = 64 << 10;

/// The maximum number of paths that messages name for one reason why they were not scanned, and in
/// total.
const NAMED_OF_REASON: usize = 10;
const NAMED: usize = 100;

/// The result of a scan.
#[derive(Debug)]
pub(crate) struct Scanned {
    /// The reports of the paths and of stdin.
    pub(crate) reports: Vec<ScanReport>,
    /// The number of submodules with staged changes, which are not scanned.
    submodules: u64,
    /// Rules that are too large to be used.
    pub(crate) failed_rules: Vec<String>,
    /// The PATHs that were named but not scanned.
    missed: Vec<Gap>,
    /// Why the scan ended before stdin did, if it did.
    stdin_ended: Option<EndedEarly>,
    /// Whether the trace could not be written.
    pub(crate) trace_failed: bool,
    pub(crate) elapsed: Duration,
}

/// Scans the paths of the settings and passes the findings to `sink`.
///
/// # Errors
/// The scan cannot be started.
pub(crate) fn scan(
    settings: &Settings,
    detector: SecretDetector,
    sink: &Arc<dyn Sink>,
    interrupt: &Interrupt,
    trace: Option<TraceFile>,
    messages: &Arc<Messages>,
) -> Result<Scanned, CliError> {
    let started = Instant::now();
    let deadline = settings.deadline;
    let progress = ScanProgress::new();
    let detector = Arc::new(detector);
    let mut scan = Scan::new(Arc::clone(&detector));
    if settings.threads.is_some_and(|threads| threads.get() > FEW_THREADS) {
        scan = scan.chunk_size(SMALL_CHUNK_BYTES);
    }
    let scan = scan
        .threads(settings.threads.map(NonZeroUsize::get))
        .max_file_size(settings.max_size.as_ref().map(|size| size.value))
        .max_findings_per_object(Some(FINDINGS_OF_FILE_MAX))
        .work_limit((!settings.no_work_limit).then(WorkLimit::default))
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
    let named = Arc::new(NamedPaths::new(settings, Path::new(STDIN_NAME), sink));
    let sink: Arc<dyn Sink> = Arc::clone(&named) as Arc<dyn Sink>;
    let reports = match &settings.staged {
        Some(place) => staged::scan(place, settings, &scan, &sink, trace.as_ref(), messages)
            .map(|(report, submodules)| (vec![report], submodules)),
        None => scan_all(settings, scan, &sink, trace.as_ref(), stdin).map(|reports| (reports, 0)),
    };
    drop(line);
    let trace_failed = match trace.map_or(Ok(()), TraceFile::finish) {
        Ok(()) => false,
        Err(error) => {
            messages.say_error(&error);
            true
        }
    };
    let failed_rules = detector.failed_rules().map(|rule| rule.id.clone()).collect();
    let cut = is_cut.load(Ordering::Acquire);
    let stdin_ended = cut.then(|| match interrupt.token().is_cancelled() {
        true => EndedEarly::Interrupted,
        false => EndedEarly::TimedOut,
    });
    let (reports, submodules) = reports?;
    Ok(Scanned {
        reports,
        submodules,
        failed_rules,
        missed: named.take(),
        stdin_ended,
        trace_failed,
        elapsed: started.elapsed(),
    })
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
) -> Result<Vec<ScanReport>, CliError> {
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
        reports.push(report.map_err(CliError::StartScan)?);
    }
    if settings.paths.iter().any(|path| is_stdin(path)) {
        reports.push(scan_stdin(settings, scan, sink, stdin)?);
    }
    Ok(reports)
}

/// Summarizes a scan. `output_failed` says that the scan was cancelled because its output could not
/// be written, and not by the user.
pub(crate) fn summary(
    scanned: &Scanned,
    settings: &Settings,
    (listed, unreported): (Listed, Unreported),
    output_failed: bool,
) -> Summary {
    let mut summary = Summary {
        files: 0,
        bytes: 0,
        confidence: settings.confidence.value,
        listed,
        unreported,
        hidden: Hidden::default(),
        skipped: Skipped {
            excluded: settings.paths_excluded,
            submodules: scanned.submodules,
            ..Skipped::default()
        },
        gaps: scanned.missed.clone(),
        gaps_more: 0,
        gaps_are_named: !settings.quiet,
        pseudo_paths: Vec::new(),
        pseudo_roots: Vec::new(),
        no_path_is_left: settings.paths.is_empty(),
        ended: scanned.stdin_ended.filter(|_| !output_failed),
        failed_rules: scanned.failed_rules.clone(),
        configurations: settings.configurations.clone(),
        policies: settings.policies.files().cloned().collect(),
        overruled: settings.overruled.clone(),
    };
    for report in &scanned.reports {
        let outcomes = &report.outcomes;
        summary.files += outcomes.scanned
            + outcomes.shrunk
            + outcomes.grown
            + outcomes.findings_cut
            + outcomes.work_cut;
        summary.bytes += report.bytes;
        summary.skipped.binary += outcomes.binary;
        summary.skipped.too_large += outcomes.too_large;
        summary.skipped.special += outcomes.special;
        summary.skipped.symlinks += outcomes.symlinks;
        summary.skipped.excluded += outcomes.excluded + report.filtered;
        summary.skipped.pseudo += report.pseudo_file_systems;
        summary.pseudo_paths.extend(report.pseudo_paths.iter().cloned());
        summary.pseudo_roots.extend(report.pseudo_roots.iter().cloned());
        summary.gaps_more += report.incomplete_count - report.incomplete.len() as u64;
        summary.gaps.extend(report.incomplete.iter().map(|(path, why)| gap(path, why)));
        match report.stopped {
            Some(Stopped::Cancelled) if !output_failed => {
                summary.ended = Some(EndedEarly::Interrupted);
            }
            Some(Stopped::Deadline) if summary.ended.is_none() => {
                summary.ended = Some(EndedEarly::TimedOut);
            }
            _ => {}
        }
    }
    summary.hidden = hidden_paths(scanned, settings);
    summary.gaps.sort_by(|first, second| {
        let [first, second] = [first, second].map(|gap| gap.path.as_os_str().as_encoded_bytes());
        first.cmp(second)
    });
    summary
}

/// Counts the paths and files that the scanned tree keeps heist from reading.
fn hidden_paths(scanned: &Scanned, settings: &Settings) -> Hidden {
    let mut hidden = Hidden::default();
    let Some(file) = settings.tree_file() else { return hidden };
    let sum = |of: fn(&ScanReport) -> u64| scanned.reports.iter().map(of).sum::<u64>();
    let excluded = sum(|report| report.filtered_by_counted_globs);
    hidden.add(HidingSetting::Exclude, file, settings.paths_excluded_by_tree + excluded);
    if settings.gitignore.is_of_tree() {
        hidden.add(HidingSetting::Gitignore, file, sum(|report| report.filtered_by_ignore_files));
    }
    if settings.no_hidden.is_of_tree() {
        hidden.add(HidingSetting::NoHidden, file, sum(|report| report.filtered_hidden));
    }
    if settings.max_size.as_ref().is_some_and(Setting::is_of_tree) {
        hidden.add(HidingSetting::MaxSize, file, sum(|report| report.outcomes.too_large));
    }
    hidden
}

/// Describes a path that was not scanned completely, or whose findings are not all listed.
fn gap(path: &Path, why: &Incomplete) -> Gap {
    let reason = match why {
        Incomplete::Unreadable(error) => reason(error),
        Incomplete::Walk(error) => reason(&error.source),
        Incomplete::FindingsCut { left_out } => format!(
            "it has more than {} findings of one kind, and {} of them are not listed",
            grouped(FINDINGS_OF_FILE_MAX),
            grouped(*left_out)
        ),
        Incomplete::WorkCut { scanned_to } => format!(
            "it has so many places that could be secrets that only its first {} bytes were \
             scanned; --no-work-limit scans all of it",
            grouped(*scanned_to)
        ),
        other => escape::visible(&other.to_string()).into_owned(),
    };
    let is_cut = matches!(why, Incomplete::FindingsCut { .. });
    Gap { path: path.to_owned(), reason, help: None, is_cut }
}

/// Prints notes about pseudo file systems.
fn say_pseudo(summary: &Summary, messages: &Messages) {
    let names = |paths: &[PathBuf]| {
        let shown = paths.iter().map(|path| escape::for_terminal(path.as_os_str()));
        shown.map(|path| format!("'{path}'")).collect::<Vec<_>>().join(", ")
    };
    if !summary.pseudo_paths.is_empty() {
        let more = summary.skipped.pseudo - summary.pseudo_paths.len() as u64;
        let more = if more > 0 { format!(" and {} more", grouped(more)) } else { String::new() };
        messages.say(&format!(
            "note: pseudo file systems are not scanned: {}{more}\n  help: to scan one, give it as PATH",
            names(&summary.pseudo_paths)
        ));
    }
    if !summary.pseudo_roots.is_empty() {
        messages.say(&format!(
            "note: in pseudo file systems, the system does not let heist read every file: {}",
            names(&summary.pseudo_roots)
        ));
    }
}

/// Prints to stderr what was not scanned.
pub(crate) fn say_gaps(summary: &Summary, messages: &Messages) {
    if let Some(ended) = summary.ended {
        messages.say(ended.text());
    }
    for rule in &summary.failed_rules {
        let rule = escape::visible(rule);
        messages.say(&format!("the rule `{rule}` was not used: its expression is too large"));
    }
    if summary.no_path_is_left && summary.gaps_are_named {
        messages.say("note: nothing was scanned, because every PATH is excluded");
    }
    if summary.unreported.over_limit > 0 {
        messages.say(&format!(
            "{} findings do not fit into memory and are not listed\n  help: use --format jsonl without --sorted",
            grouped(summary.unreported.over_limit)
        ));
    }
    if !summary.gaps_are_named {
        return;
    }
    say_pseudo(summary, messages);
    // One reason often applies to thousands of paths.
    let mut by_reason: HashMap<&str, usize> = HashMap::new();
    let mut named = 0;
    for gap in &summary.gaps {
        let of_reason = by_reason.entry(&gap.reason).or_default();
        *of_reason += 1;
        if *of_reason > NAMED_OF_REASON || named == NAMED {
            continue;
        }
        named += 1;
        let path = escape::for_terminal(gap.path.as_os_str());
        messages.say(&match gap.is_cut {
            true => format!("not all findings of '{path}' are listed: {}", gap.reason),
            false => {
                let help = gap.help.map(|help| format!("\n  help: {help}")).unwrap_or_default();
                format!("cannot scan '{path}': {}{help}", gap.reason)
            }
        });
    }
    let more = summary.gap_count() - named as u64;
    if more > 0 {
        let paths =
            if more == 1 { "1 more path" } else { &format!("{} more paths", grouped(more)) };
        let help = "--format json and sarif list up to 1,000 paths";
        messages.say(&format!("{paths} could not be scanned\n  help: {help}"));
    }
}
