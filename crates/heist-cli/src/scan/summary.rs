//! [`Summary`]: what a scan came to, besides its findings.

use heist_scan::Confidence;
use std::path::PathBuf;

/// Something that should have been scanned and was not, or not completely; or of which not all findings are listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Gap {
    pub(crate) path: PathBuf,
    /// What is the matter, fit to be shown.
    pub(crate) reason: String,
    /// It was scanned, but has too many findings.
    pub(crate) is_cut: bool,
}

/// Why a scan ended before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// By Ctrl-C.
    Interrupted,
    /// `--timeout` was over.
    TimedOut,
}

impl Ended {
    /// For people.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Interrupted => "interrupted; this is only what was found by then",
            Self::TimedOut => "the time is over (--timeout); this is only what was found by then",
        }
    }
}

/// Findings that are not reported, by why they are not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Unreported {
    /// Less sure than `--confidence` wants.
    pub(crate) unsure: u64,
    /// Allowed by a comment.
    pub(crate) allowed: u64,
    /// In the baseline.
    pub(crate) in_baseline: u64,
    /// Named by a `.gitleaksignore`.
    pub(crate) ignored: u64,
    /// In a file that this run reads or writes itself.
    pub(crate) own: u64,
    /// There was no room to keep them.
    pub(crate) too_many: u64,
}

/// What was left out on purpose.
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
    /// Left out by `--exclude`, `--gitignore` and the like; a directory counts once.
    pub(crate) excluded: u64,
}

/// What a scan came to, besides its findings.
#[derive(Clone, Debug)]
pub(crate) struct Summary {
    /// Files that were scanned, and their bytes.
    pub(crate) files: u64,
    pub(crate) bytes: u64,
    /// What `--confidence` wants.
    pub(crate) confidence: Confidence,
    pub(crate) unreported: Unreported,
    pub(crate) skipped: Skipped,
    /// In the order of their paths.
    pub(crate) gaps: Vec<Gap>,
    /// How many more there are.
    pub(crate) gaps_more: u64,
    /// Whether every PATH was excluded.
    pub(crate) no_path_is_left: bool,
    /// Whether stderr names them.
    pub(crate) gaps_are_named: bool,
    pub(crate) ended: Option<Ended>,
    /// Rules that were needed and could not be used.
    pub(crate) failed_rules: Vec<String>,
    /// The configuration file that was used.
    pub(crate) configuration: Option<PathBuf>,
}

impl Summary {
    /// Whether everything was scanned that should have been, and everything can be shown.
    pub(crate) fn is_complete(&self) -> bool {
        self.gap_count() == 0
            && self.ended.is_none()
            && self.failed_rules.is_empty()
            && self.unreported.too_many == 0
    }

    /// How many gaps there are.
    pub(crate) fn gap_count(&self) -> u64 {
        self.gaps.len() as u64 + self.gaps_more
    }
}
