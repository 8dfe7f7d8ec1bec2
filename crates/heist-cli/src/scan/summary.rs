//! [`Summary`]: the result of a scan besides its findings.

use super::hidden::Hidden;
use super::history::ScannedHistory;
use super::policy::Overruled;
use super::settings::ConfigurationInUse;
use heist_scan::Confidence;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A path that was not scanned completely, or whose findings are not all listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Gap {
    pub(crate) path: PathBuf,
    /// The reason, safe to print.
    pub(crate) reason: String,
    /// What the user can do about it.
    pub(crate) help: Option<&'static str>,
    /// Whether the path was scanned but has too many findings to list.
    pub(crate) is_cut: bool,
}

/// Why a scan ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EndedEarly {
    /// The user pressed Ctrl-C.
    Interrupted,
    /// The time of `--timeout` was up.
    TimedOut,
}

impl EndedEarly {
    /// Returns the message for the user.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Interrupted => "interrupted; the report has only the findings so far",
            Self::TimedOut => "stopped after --timeout; the report has only the findings so far",
        }
    }
}

/// The numbers of findings that the report lists, by confidence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) certain: u64,
    pub(crate) high: u64,
    pub(crate) medium: u64,
    pub(crate) low: u64,
}

impl Listed {
    /// Counts a finding.
    pub(crate) fn add(&mut self, confidence: Confidence) {
        *match confidence {
            Confidence::Certain => &mut self.certain,
            Confidence::High => &mut self.high,
            Confidence::Medium => &mut self.medium,
            Confidence::Low => &mut self.low,
        } += 1;
    }
}

/// The numbers of findings that are not reported, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Unreported {
    /// The confidence is below `--confidence`.
    pub(crate) below_confidence: u64,
    /// A comment allows them.
    pub(crate) allowed: u64,
    /// The baseline contains them.
    pub(crate) in_baseline: u64,
    /// A `.gitleaksignore` lists them.
    pub(crate) in_gitleaksignore: u64,
    /// They are in the output, the trace or the baseline of this run.
    pub(crate) in_own_files: u64,
    /// They are not in what a diff or a commit adds.
    pub(crate) not_new: u64,
    /// They did not fit into the memory limit of the report.
    pub(crate) over_limit: u64,
}

/// The numbers of files that were skipped on purpose, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Skipped {
    /// Binary files.
    pub(crate) binary: u64,
    /// Larger than `--max-size`.
    pub(crate) too_large: u64,
    /// FIFOs, sockets and devices.
    pub(crate) special: u64,
    /// Symbolic links that were not followed.
    pub(crate) symlinks: u64,
    /// Pseudo file systems below the PATHs; each counts once.
    pub(crate) pseudo: u64,
    /// Submodules that `--staged` does not enter.
    pub(crate) submodules: u64,
    /// Excluded by `--exclude`, `--gitignore` and similar options; a directory counts once.
    pub(crate) excluded: u64,
}

/// The result of a scan besides its findings.
#[derive(Clone, Debug)]
pub(crate) struct Summary {
    /// The number of scanned files, and of the bytes in them.
    pub(crate) files: u64,
    pub(crate) bytes: u64,
    /// The value of `--confidence`.
    pub(crate) confidence: Confidence,
    pub(crate) listed: Listed,
    pub(crate) unreported: Unreported,
    /// What the scanned tree hides.
    pub(crate) hidden: Hidden,
    pub(crate) skipped: Skipped,
    /// Sorted by path.
    pub(crate) gaps: Vec<Gap>,
    /// The number of gaps that are not in `gaps`.
    pub(crate) gaps_more: u64,
    /// The first pseudo file systems that were skipped, and the first PATHs in one.
    pub(crate) pseudo_paths: Vec<PathBuf>,
    pub(crate) pseudo_roots: Vec<PathBuf>,
    /// Whether every PATH was excluded.
    pub(crate) no_path_is_left: bool,
    /// Whether stderr names the gaps.
    pub(crate) gaps_are_named: bool,
    pub(crate) ended: Option<EndedEarly>,
    /// Rules that are too large to be used.
    pub(crate) failed_rules: Vec<String>,
    /// The configuration files in use: the user's, then the tree's.
    pub(crate) configurations: Vec<ConfigurationInUse>,
    /// The policies in effect, and what they overrule.
    pub(crate) policies: Vec<Arc<Path>>,
    pub(crate) overruled: Vec<Overruled>,
    /// The histories that were scanned instead of files.
    pub(crate) histories: Vec<ScannedHistory>,
    /// The scanned PATHs whose histories were not scanned.
    pub(crate) unscanned_histories: Vec<PathBuf>,
}

impl Summary {
    /// Returns `true` if everything was scanned and every finding can be shown.
    pub(crate) fn is_complete(&self) -> bool {
        self.gap_count() == 0
            && self.ended.is_none()
            && self.failed_rules.is_empty()
            && self.unreported.over_limit == 0
    }

    /// Returns the number of gaps.
    pub(crate) fn gap_count(&self) -> u64 {
        self.gaps.len() as u64 + self.gaps_more
    }
}
