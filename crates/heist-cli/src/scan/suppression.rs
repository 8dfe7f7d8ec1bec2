//! [`Suppression`]: which findings are not reported, and why.

use super::places::ScannedRoots;
use super::policy::Overruled;
use super::settings::{Settings, is_stdin};
use crate::error::reason;
use crate::escape;
use crate::messages::Messages;
use crate::units::grouped;
use heist_scan::suppress::{Acceptance, Baseline, Date, GitleaksIgnore, IgnoreNote, UnusedReason};
use heist_scan::{Finding, HistoryPlace, read_small_file};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// The name of a file that lists locations to ignore.
const IGNORE_FILE: &str = ".gitleaksignore";

/// The largest such file that heist reads: enough for more than 100,000 locations of 100 bytes
/// each.
const IGNORE_BYTES_MAX: u64 = 16 << 20;

/// Why a finding is not reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SuppressionReason {
    /// A comment on its line allows it.
    AllowedByComment,
    /// The baseline contains its secret.
    InBaseline,
    /// A `.gitleaksignore` lists its location.
    InGitleaksIgnore,
    /// It is in the output, the trace or the baseline of this run.
    InOwnFile,
}

/// Everything that suppresses findings.
#[derive(Debug)]
pub(crate) struct Suppression {
    baseline: Option<Baseline>,
    /// The day of the scan, which decides what has expired.
    today: Date,
    /// The roots of the scan.
    roots: ScannedRoots,
    /// The `.gitleaksignore` files, each with the real path of its directory, which its paths are
    /// relative to.
    ignored: Vec<(PathBuf, GitleaksIgnore)>,
    /// The canonical paths of the files that this run itself reads or writes.
    own: HashSet<PathBuf>,
    /// The baseline among them, if the scanned tree names it.
    tree_baseline: Option<PathBuf>,
    /// Whether comments in the scanned tree have no effect.
    ignores_comments: bool,
    /// The `.gitleaksignore` files that a policy forbids.
    overruled: Vec<Overruled>,
}

/// Suppresses nothing, today.
impl Default for Suppression {
    fn default() -> Self {
        Self {
            baseline: None,
            today: Date::today(),
            roots: ScannedRoots::default(),
            ignored: Vec::new(),
            own: HashSet::new(),
            tree_baseline: None,
            ignores_comments: false,
            overruled: Vec::new(),
        }
    }
}

impl Suppression {
    /// Reads the `.gitleaksignore` files and prints notes about lines that heist does not use. The
    /// files are those of the paths, of the directories above them up to the project root, and of
    /// the current directory. With `--untrusted` it reads none, and comments have no effect; a
    /// policy can forbid each of the two.
    pub(crate) fn read(settings: &Settings, messages: &Messages) -> Self {
        let Settings { paths, quiet, untrusted, history, .. } = settings;
        let roots = ScannedRoots::new(paths);
        if *untrusted {
            return Self { roots, ignores_comments: true, ..Self::default() };
        }
        let ignores_comments = settings.policies.forbids("comments").is_some();
        let forbidden = settings.policies.forbids("gitleaksignore");
        let mut overruled = Vec::new();
        let mut ignored_by = Vec::new();
        let mut seen = HashSet::new();
        let mut directories = vec![PathBuf::new()];
        // As the user gave them, so that the notes name the file as the user knows it.
        directories.extend(paths.iter().filter(|path| !is_stdin(path)).cloned());
        for place in roots.places() {
            if let (Some(real), Some(project)) = (place.real(), place.project()) {
                let above = real.ancestors().take_while(|above| above.starts_with(project));
                directories.extend(above.map(Path::to_owned));
            }
        }
        for directory in directories {
            let file = directory.join(IGNORE_FILE);
            let here = if directory.as_os_str().is_empty() { Path::new(".") } else { &*directory };
            let Ok(real) = here.canonicalize() else { continue };
            if !seen.insert(real.clone()) || file.symlink_metadata().is_err() {
                continue;
            }
            if let Some(by) = forbidden.clone() {
                let (setting, is_whole_file) = ("gitleaksignore", true);
                overruled.push(Overruled { setting, file, is_whole_file, by });
                continue;
            }
            let shown = escape::for_terminal(file.as_os_str()).into_owned();
            match read_small_file(&file, IGNORE_BYTES_MAX) {
                Ok(content) => {
                    let (ignored, mut notes) = GitleaksIgnore::parse(&content);
                    if history.is_some() {
                        notes.retain(|note| note.reason != UnusedReason::Commit);
                    }
                    if !*quiet {
                        say_unused(&notes, &shown, messages);
                    }
                    ignored_by.push((real, ignored));
                }
                Err(error) => {
                    messages.say(&format!("note: '{shown}' is not used: {}", reason(&error)));
                }
            }
        }
        Self { roots, ignored: ignored_by, ignores_comments, overruled, ..Self::default() }
    }

    /// Adds the secrets of a baseline.
    pub(crate) fn with_baseline(mut self, baseline: Option<Baseline>) -> Self {
        self.baseline = baseline;
        self
    }

    /// Takes what the policies overrule about ignore files.
    pub(crate) fn take_overruled(&mut self) -> Vec<Overruled> {
        std::mem::take(&mut self.overruled)
    }

    /// Adds a file that this run itself reads or writes.
    pub(crate) fn add_own(&mut self, path: &Path) {
        self.own.extend(path.canonicalize());
    }

    /// Adds the baseline of the scanned tree, so that findings in it count as hidden by the tree.
    pub(crate) fn add_tree_baseline(&mut self, path: &Path) {
        self.tree_baseline = path.canonicalize().ok();
        self.add_own(path);
    }

    /// Returns `true` if the user accepts the finding, whatever the scanned tree says: a baseline
    /// of the user contains it, or it is in a file of this run. `is_of_tree` says whose the
    /// baseline is.
    pub(crate) fn is_accepted(&self, finding: &Finding, is_of_tree: bool) -> bool {
        let in_baseline = || self.acceptance(finding) == Acceptance::Accepted;
        let in_tree_baseline = || {
            self.tree_baseline.is_some()
                && finding.history.is_none()
                && finding.path.canonicalize().ok() == self.tree_baseline
        };
        (!is_of_tree && in_baseline()) || (self.is_own(finding) && !in_tree_baseline())
    }

    fn is_own(&self, finding: &Finding) -> bool {
        let path = &*finding.path;
        if finding.history.is_some() {
            // The path is one in a commit, and not that of a file.
            return false;
        }
        // Compare names first: resolving a path is a system call, and there may be many findings.
        let has_name = self.own.iter().any(|own| own.file_name() == path.file_name());
        has_name && path.canonicalize().is_ok_and(|path| self.own.contains(&path))
    }

    /// Returns the `.gitleaksignore` that lists the location of the finding.
    pub(crate) fn ignoring_file(&self, finding: &Finding) -> Option<PathBuf> {
        if self.ignored.iter().all(|(_, ignored)| ignored.is_empty()) {
            return None;
        }
        if let Some(place) = &finding.history {
            return self.ignoring_file_of_history(finding, place);
        }
        let real = self.roots.real(&finding.path).or_else(|| finding.path.canonicalize().ok());
        let path = real.as_deref().unwrap_or(&finding.path);
        let (directory, _) = self.ignored.iter().find(|(directory, ignored)| {
            // What has no real path, such as stdin, can only be listed by its name.
            let below = if real.is_some() { path.strip_prefix(directory) } else { Ok(path) };
            below.is_ok_and(|below| {
                let below = below.as_os_str().as_encoded_bytes();
                ignored.contains(below, &finding.rule, finding.line)
            })
        })?;
        Some(directory.join(IGNORE_FILE))
    }

    /// Returns the `.gitleaksignore` that lists a finding in a history: with its commit, or by its
    /// path in the repository alone.
    fn ignoring_file_of_history(&self, finding: &Finding, place: &HistoryPlace) -> Option<PathBuf> {
        let commit = place.introduced.as_ref().map(|commit| &*commit.id);
        let real = place.repository.canonicalize().ok()?;
        let here = std::env::current_dir().and_then(|here| here.canonicalize()).ok();
        let (directory, _) = self.ignored.iter().find(|(directory, ignored)| {
            let with_commit = commit.is_some_and(|commit| {
                ignored.contains_in_commit(commit, &place.path, &finding.rule, finding.line)
            });
            let is_at_top = *directory == real || Some(directory) == here.as_ref();
            with_commit || (is_at_top && ignored.contains(&place.path, &finding.rule, finding.line))
        })?;
        Some(directory.join(IGNORE_FILE))
    }

    fn acceptance(&self, finding: &Finding) -> Acceptance {
        match &self.baseline {
            Some(baseline) => baseline.acceptance(&finding.secret, self.today),
            None => Acceptance::Unknown,
        }
    }

    /// Returns the day until which the baseline accepted a finding, if that day is over.
    pub(crate) fn accepted_until(&self, finding: &Finding) -> Option<Date> {
        match self.acceptance(finding) {
            Acceptance::Expired(until) => Some(until),
            _ => None,
        }
    }

    /// Returns why a finding is not reported, or `None` if it is.
    pub(crate) fn check(&self, finding: &Finding) -> Option<SuppressionReason> {
        if finding.allowed && !self.ignores_comments {
            return Some(SuppressionReason::AllowedByComment);
        }
        if self.acceptance(finding) == Acceptance::Accepted {
            return Some(SuppressionReason::InBaseline);
        }
        if self.ignoring_file(finding).is_some() {
            return Some(SuppressionReason::InGitleaksIgnore);
        }
        self.is_own(finding).then_some(SuppressionReason::InOwnFile)
    }
}

/// Prints which lines of a `.gitleaksignore` heist does not use. There is one note per reason,
/// because a file written for a git history may have thousands of such lines.
fn say_unused(notes: &[IgnoreNote], file: &str, messages: &Messages) {
    let mut by_reason: Vec<(&IgnoreNote, u64)> = Vec::new();
    for note in notes {
        match by_reason.iter_mut().find(|(first, _)| first.reason == note.reason) {
            Some((_, count)) => *count += 1,
            None => by_reason.push((note, 1)),
        }
    }
    for (IgnoreNote { line, reason, .. }, count) in by_reason {
        messages.say(&match count {
            1 => format!("note: line {line} of '{file}' is not used: {reason}"),
            _ => format!(
                "note: {} lines of '{file}' are not used (the first is line {line}): {reason}",
                grouped(count)
            ),
        });
    }
}
