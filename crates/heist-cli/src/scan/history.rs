//! Scans git histories, and says when one was not scanned.
//!
//! Nothing of a repository is run and nothing is written. A repository may refer only to what is
//! below the PATHs, below itself, or to the main repository that knows it as one of its linked work
//! trees.

use super::arguments::HistoryArguments;
use super::engine::{FINDINGS_OF_FILE_MAX, Scanned};
use super::settings::{Settings, is_stdin};
use super::summary::{EndedEarly, Gap, Summary};
use crate::error::{CliError, reason};
use crate::escape;
use crate::interrupt::Interrupt;
use crate::messages::{Messages, ProgressLine};
use crate::units::{Unit, grouped};
use heist_git::{
    Access, BlobCounts, FileError, FileProblem, HistoryError, HistoryProgress, HistoryReport,
    HistoryScan, Revisions, Trust, find_repositories, is_repository,
};
use heist_scan::suppress::Date;
use heist_scan::{Scan, SecretDetector, Sink, Stopped};
use heist_walk::Filter;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The longest `.git` or `gitdir` file of a linked work tree.
const PATH_FILE_MAX: u64 = 32 << 10;

/// What of git histories is scanned.
#[derive(Clone, Debug)]
pub(crate) struct HistorySettings {
    revisions: Result<Revisions, heist_git::RevisionError>,
    unreachable: bool,
    verify_delta: bool,
}

impl HistorySettings {
    /// Returns the settings, if any option asks for a history.
    pub(crate) fn of(arguments: &HistoryArguments) -> Option<Self> {
        let HistoryArguments { history, range, branch, commit, since, unreachable, verify_delta } =
            arguments;
        let is_asked_for = *history
            || since.is_some()
            || [range, branch, commit].iter().any(|names| !names.is_empty());
        if !is_asked_for {
            return None;
        }
        let mut revisions = Revisions::default();
        revisions.include.clone_from(branch);
        revisions.only.clone_from(commit);
        revisions.since = since.map(Date::seconds);
        let added = range.iter().try_for_each(|range| revisions.add_range(range));
        Some(Self {
            revisions: added.map(|()| revisions),
            unreachable: *unreachable,
            verify_delta: *verify_delta,
        })
    }
}

/// A history that was scanned, as reports show it.
#[derive(Clone, Debug, Default)]
pub(crate) struct ScannedHistory {
    pub(crate) repository: PathBuf,
    pub(crate) commits: u64,
    pub(crate) commits_scanned: u64,
    pub(crate) refs: u64,
    pub(crate) blobs: BlobCounts,
    pub(crate) messages: u64,
    pub(crate) bytes: u64,
    pub(crate) missing: u64,
    pub(crate) damaged: u64,
    pub(crate) unreachable: u64,
    pub(crate) excluded: u64,
    pub(crate) is_shallow: bool,
    pub(crate) is_partial: bool,
    ended: Option<EndedEarly>,
    gaps: Vec<String>,
    more_gaps: u64,
}

/// The most gaps of one repository that are listed.
const GAPS_LISTED: usize = 100;

impl ScannedHistory {
    fn new(repository: PathBuf, report: &HistoryReport) -> Self {
        let mut gaps = Vec::new();
        let mut say = |count: u64, one: &str, many: &str| {
            if count > 0 {
                let what = if count == 1 { one } else { many };
                gaps.push(format!("{} {what}", grouped(count)));
            }
        };
        let why = match report.is_partial {
            true => " (the clone is partial: they were never fetched)",
            false => "",
        };
        say(
            report.unreadable.missing,
            &format!("object is missing{why}"),
            &format!("objects are missing{why}"),
        );
        say(
            report.unreadable.damaged,
            "object is damaged or too large",
            "objects are damaged or too large",
        );
        say(
            report.over_memory,
            "object has findings that do not fit into memory",
            "objects have findings that do not fit into memory",
        );
        say(
            report.places_left_out,
            "more place of an object is not listed",
            "more places of objects are not listed",
        );
        say(report.findings_left_out, "finding is not listed", "findings are not listed");
        say(report.blobs.panicked, "object made a rule panic", "objects made a rule panic");
        if report.stopped.is_none() {
            let why = "not looked at: the packs inflate to too many bytes";
            say(report.not_looked_at, &format!("object was {why}"), &format!("objects were {why}"));
        }
        if report.attribution_is_cut {
            gaps.push("it has too many paths, so some commits are not known".to_owned());
        }
        for id in &report.differences {
            gaps.push(format!("the scan of the changes of blob {id} is not that of all of it"));
        }
        gaps.extend(report.problems.iter().map(shown_problem));
        let listed = report.unreadable.listed.iter();
        gaps.extend(
            listed
                .map(|(id, error)| format!("object {id}: {}", escape::visible(&error.to_string()))),
        );
        let more_gaps = gaps.len().saturating_sub(GAPS_LISTED) as u64;
        gaps.truncate(GAPS_LISTED);
        Self {
            repository,
            commits: report.commits,
            commits_scanned: report.commits_scanned,
            refs: report.refs,
            blobs: report.blobs,
            messages: report.messages,
            bytes: report.bytes,
            missing: report.unreadable.missing,
            damaged: report.unreadable.damaged,
            unreachable: report.unreachable,
            excluded: report.excluded,
            is_shallow: report.is_shallow,
            is_partial: report.is_partial,
            ended: report.stopped.map(|stopped| match stopped {
                Stopped::Deadline => EndedEarly::TimedOut,
                _ => EndedEarly::Interrupted,
            }),
            gaps,
            more_gaps,
        }
    }

    /// Adds the counts to a summary. `output_failed` says that the scan was cancelled because its
    /// output could not be written.
    pub(crate) fn add_to(&self, summary: &mut Summary, output_failed: bool) {
        summary.files += self.blobs.scanned;
        summary.bytes += self.bytes;
        summary.skipped.binary += self.blobs.binary;
        summary.skipped.too_large += self.blobs.too_large;
        summary.skipped.excluded += self.excluded;
        if !output_failed {
            summary.ended = summary.ended.or(self.ended);
        }
        let path = &self.repository;
        summary.gaps.extend(self.gaps.iter().map(|reason| gap(path, reason.clone())));
        summary.gaps_more += self.more_gaps;
    }
}

fn gap(path: &Path, reason: String) -> Gap {
    Gap { path: path.to_owned(), reason, help: None, is_cut: false }
}

fn shown_problem(error: &FileError) -> String {
    let path = escape::for_terminal(error.path().as_os_str());
    format!("'{path}': {}", escape::visible(&error.problem().to_string()))
}

/// Scans the histories of the repositories in the PATHs.
///
/// # Errors
/// A PATH has no repository, or the options stand for no commits.
pub(super) fn scan(
    history: &HistorySettings,
    settings: &Settings,
    detector: SecretDetector,
    sink: &Arc<dyn Sink>,
    interrupt: &Interrupt,
    messages: &Arc<Messages>,
) -> Result<Scanned, CliError> {
    let started = Instant::now();
    let revisions = history
        .revisions
        .clone()
        .map_err(|error| CliError::Revision { repository: None, reason: error.to_string() })?;
    let mut repositories: Vec<(PathBuf, Access)> = Vec::new();
    let mut missed = Vec::new();
    for path in &settings.paths {
        if is_stdin(path) {
            return Err(CliError::NoRepository { path: path.clone() });
        }
        let (found, access) = repositories_of(path, &mut missed)?;
        repositories.extend(found.into_iter().map(|one| (one, access.clone())));
    }
    let progress = HistoryProgress::new();
    let shown = progress.clone();
    let line = settings
        .progress
        .then(|| ProgressLine::start_with(messages, move |elapsed| progress_line(&shown, elapsed)))
        .flatten();
    let detector = Arc::new(detector);
    let mut histories = Vec::new();
    let mut unknown_revision = None;
    for (repository, access) in repositories {
        let scan = Scan::new(Arc::clone(&detector))
            .max_file_size(settings.max_size.as_ref().map(|size| size.value))
            .max_findings_per_object(Some(FINDINGS_OF_FILE_MAX))
            .binary(settings.binary)
            .deadline(settings.deadline);
        let filter = settings.filter.clone();
        let report = HistoryScan::new(scan, &repository, access)
            .revisions(revisions.clone())
            .unreachable(history.unreachable)
            .verify_delta(history.verify_delta)
            .threads(settings.threads.map(NonZeroUsize::get))
            .progress(&progress)
            .cancel(interrupt.token())
            .exclude(move |path| is_excluded(&filter, path))
            .run(Arc::clone(sink));
        match report {
            Ok(report) => histories.push(ScannedHistory::new(repository, &report)),
            // Of many repositories, most do not have a given branch.
            Err(HistoryError::Revision(error)) => {
                let reason = error.to_string();
                unknown_revision =
                    Some(CliError::Revision { repository: Some(repository), reason });
            }
            Err(HistoryError::Repository(error)) => {
                missed.push(gap(&repository, shown_problem(&error)));
            }
            Err(error) => missed.push(gap(&repository, error.to_string())),
        }
    }
    drop(line);
    if let (true, Some(error)) = (histories.is_empty(), unknown_revision) {
        return Err(error);
    }
    Ok(Scanned {
        reports: Vec::new(),
        submodules: 0,
        failed_rules: detector.failed_rules().map(|rule| rule.id.clone()).collect(),
        missed,
        stdin_ended: None,
        histories,
        trace_failed: false,
        elapsed: started.elapsed(),
    })
}

fn progress_line(progress: &HistoryProgress, elapsed: Duration) -> String {
    let rate = (progress.bytes() as f64 / elapsed.as_secs_f64().max(0.001)) as u64;
    format!(
        "{} objects  {}  {}/s  {} with candidates",
        grouped(progress.objects()),
        Unit::HUMAN.show(progress.bytes()),
        Unit::HUMAN.show(rate),
        grouped(progress.candidates())
    )
}

/// Returns `true` if `--exclude` leaves a path of a repository out, or a directory above it.
fn is_excluded(filter: &Filter, path: &Path) -> bool {
    let mut above = path.ancestors().filter(|path| !path.as_os_str().is_empty());
    let excludes = |path: &Path, is_dir| filter.excludes_path(path, is_dir).unwrap_or(false);
    above.next().is_some_and(|path| excludes(path, false)) || above.any(|path| excludes(path, true))
}

/// Finds the repositories at and below a PATH, or else the one that it is in.
fn repositories_of(path: &Path, missed: &mut Vec<Gap>) -> Result<(Vec<PathBuf>, Access), CliError> {
    let real = path.canonicalize();
    let real =
        real.map_err(|source| CliError::ReadFile { what: "the PATH", path: path.into(), source })?;
    let access = |roots: &[&Path]| {
        let main = roots.iter().filter_map(|root| main_repository(root));
        let mut all: Vec<PathBuf> = main.collect();
        all.extend(roots.iter().map(|root| root.to_path_buf()));
        Access::new(all, Trust::RootsOnly).map_err(|_| CliError::NoRepository { path: path.into() })
    };
    if real.is_dir() {
        let access = access(&[path])?;
        let found = find_repositories(path, &access);
        missed.extend(found.problems.iter().map(|error| {
            let help = matches!(error.problem(), FileProblem::OutsideRoots(_))
                .then_some("give the repository that it belongs to as PATH");
            let problem = match error.problem() {
                FileProblem::Io(kind) => reason(&(*kind).into()),
                problem => escape::visible(&problem.to_string()).into_owned(),
            };
            Gap { help, ..gap(error.path(), problem) }
        }));
        if !found.repositories.is_empty() || !found.problems.is_empty() {
            return Ok((found.repositories, access));
        }
    }
    let Some(above) = repository_above(&real) else {
        return Err(CliError::NoRepository { path: path.into() });
    };
    let shown = match (path.is_relative(), std::env::current_dir()) {
        (true, Ok(here)) if here.canonicalize().is_ok_and(|here| here == above) => ".".into(),
        _ => above,
    };
    let access = access(&[&shown])?;
    Ok((vec![shown], access))
}

/// Returns the repository that a directory or file is in, if it belongs to the same user or to the
/// system administrator.
fn repository_above(real: &Path) -> Option<PathBuf> {
    let owner = owner(real);
    let is_trusted = |path: &Path| {
        let of_marker = self::owner(&path.join(".git")).or_else(|| self::owner(path));
        owner.is_none() || of_marker == Some(0) || of_marker == owner
    };
    let found = real.ancestors().find(|path| is_repository(path))?;
    is_trusted(found).then(|| found.to_owned())
}

#[cfg(unix)]
fn owner(path: &Path) -> Option<u32> {
    path.symlink_metadata().ok().map(|metadata| std::os::unix::fs::MetadataExt::uid(&metadata))
}

#[cfg(not(unix))]
fn owner(_path: &Path) -> Option<u32> {
    None
}

/// Returns the git directory of the main repository, if this is a linked work tree that the main
/// repository knows.
fn main_repository(work_tree: &Path) -> Option<PathBuf> {
    let dot_git = work_tree.join(".git");
    let line = |path: &Path| -> Option<String> {
        let metadata = path.symlink_metadata().ok()?;
        if !metadata.is_file() || metadata.len() > PATH_FILE_MAX {
            return None;
        }
        Some(fs::read_to_string(path).ok()?.trim_end_matches(['\n', '\r']).to_owned())
    };
    let private = line(&dot_git)?.strip_prefix("gitdir: ").map(PathBuf::from)?;
    let private = work_tree.join(private).canonicalize().ok()?;
    let back = private.join(line(&private.join("gitdir"))?);
    let knows_it = back.canonicalize().ok()? == dot_git.canonicalize().ok()?;
    let is_same_owner = owner(&private) == owner(&dot_git);
    let main = private.parent().filter(|parent| parent.ends_with("worktrees"))?.parent()?;
    (knows_it && is_same_owner).then(|| main.to_owned())
}

/// Returns the PATHs that are in a repository, or are one, in a scan of files.
pub(super) fn unscanned(paths: &[PathBuf]) -> Vec<PathBuf> {
    let in_repository = |path: &&PathBuf| {
        !is_stdin(path) && path.canonicalize().is_ok_and(|real| repository_above(&real).is_some())
    };
    paths.iter().filter(in_repository).cloned().collect()
}

/// Prints notes about histories: that one was not scanned, or ends early.
pub(super) fn say_notes(summary: &Summary, messages: &Messages) {
    notes(summary).iter().for_each(|note| messages.say(&format!("note: {note}")));
}

/// Returns what a report says about histories besides their counts.
pub(super) fn notes(summary: &Summary) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(first) = summary.unscanned_histories.first() {
        let path = match first.as_os_str() == "." && summary.unscanned_histories.len() == 1 {
            true => String::new(),
            false => {
                let paths = summary.unscanned_histories.iter();
                paths.map(|path| format!(" {}", crate::shell::quoted(path.as_os_str()))).collect()
            }
        };
        notes.push(format!(
            "only files were scanned, not the git history: heist scan --history{path}"
        ));
    }
    for history in &summary.histories {
        let name = escape::for_terminal(history.repository.as_os_str());
        if history.is_shallow {
            notes.push(format!(
                "the history of '{name}' is cut: the clone is shallow, so older commits are not there"
            ));
        }
        if history.unreachable > 0 {
            let objects = match history.unreachable {
                1 => "1 object with findings is".to_owned(),
                count => format!("{} objects with findings are", grouped(count)),
            };
            notes.push(format!(
                "in '{name}', {objects} not on any branch or tag (--unreachable reports them)"
            ));
        }
    }
    notes
}
