//! [`HistoryScan`]: finds secrets in all versions of all files of a repository, and says which
//! commits introduced and removed them.
//!
//! | file | purpose |
//! |---|---|
//! | `read` | reads and scans the objects |
//! | `collect` | one worker's results: objects with candidates wait for their paths |
//! | `place` | from objects and their places to findings |
//! | `settle` | of all versions with the same secret, one is reported |
//! | `report`, `progress` | what a scan has done, and is doing |

mod collect;
mod place;
mod progress;
mod read;
mod report;
mod settle;

pub use progress::HistoryProgress;
pub use report::{BlobCounts, HistoryReport};

use super::attribution::AttributionLimits;
use super::revisions::{RevisionError, Revisions};
use crate::access::Access;
use crate::problem::FileError;
use crate::repo::layout::Layout;
use crate::store::Limits;
use heist::CancelToken;
use heist_scan::{Detector, Scan, Sink};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The memory for objects with candidates whose paths are not known yet.
const KEPT_BYTES_MAX: u64 = 64 << 20;

type Excludes = Arc<dyn Fn(&Path) -> bool + Send + Sync>;

/// Why a history could not be scanned at all.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HistoryError {
    /// The repository cannot be opened.
    Repository(FileError),
    /// The revisions stand for no commits.
    Revision(RevisionError),
    /// The executor cannot start.
    Start(Arc<str>),
}

impl fmt::Display for HistoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Repository(error) => error.fmt(f),
            Self::Revision(error) => error.fmt(f),
            Self::Start(reason) => write!(f, "the threads cannot be started: {reason}"),
        }
    }
}

impl std::error::Error for HistoryError {}

impl From<FileError> for HistoryError {
    fn from(error: FileError) -> Self {
        Self::Repository(error)
    }
}

impl From<RevisionError> for HistoryError {
    fn from(error: RevisionError) -> Self {
        Self::Revision(error)
    }
}

/// A scan of a git history.
///
/// Every blob is scanned once, whatever its number of paths and commits. A secret at a path is one
/// finding, however many versions of the file have it: the version that is sure, then the earliest.
/// Messages of commits and annotated tags are scanned, too.
///
/// No git process, hook or filter is run, and nothing is fetched or written.
///
/// # Examples
/// ```no_run
/// use heist_git::{Access, HistoryScan, Trust};
/// use heist_scan::rules::RuleSet;
/// use heist_scan::{DetectorOptions, Finding, Scan, SecretDetector};
/// use std::sync::{Arc, Mutex};
///
/// let detector = SecretDetector::new(RuleSet::builtin(), DetectorOptions::default());
/// let access = Access::new(["/src/project"], Trust::RootsOnly)?;
/// let findings = Arc::new(Mutex::new(Vec::<Finding>::new()));
/// let report = HistoryScan::new(Scan::new(detector), "/src/project", access)
///     .run(Arc::clone(&findings))?;
/// for finding in findings.lock().unwrap().iter() {
///     let commit = finding.history.as_ref().and_then(|history| history.introduced.as_ref());
///     println!("{}:{}: {commit:?}", finding.path.display(), finding.line);
/// }
/// assert!(report.is_complete());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a scan does nothing until `run` is called"]
pub struct HistoryScan<D: Detector> {
    scan: Scan<D>,
    repository: PathBuf,
    shown_as: PathBuf,
    access: Access,
    limits: Limits,
    attribution: AttributionLimits,
    objects: Option<PathBuf>,
    revisions: Revisions,
    unreachable: bool,
    verify_delta: bool,
    threads: Option<usize>,
    kept_bytes: u64,
    cancel: CancelToken,
    progress: HistoryProgress,
    excludes: Option<Excludes>,
}

impl<D: Detector> HistoryScan<D> {
    /// Creates a scan of the repository at this path: a work tree, a bare repository, or a `.git`
    /// directory. Of the settings of `scan`, those about objects and findings count, and its
    /// deadline.
    pub fn new(scan: Scan<D>, repository: impl Into<PathBuf>, access: Access) -> Self {
        let repository = repository.into();
        Self {
            scan,
            shown_as: repository.clone(),
            repository,
            access,
            limits: Limits::default(),
            attribution: AttributionLimits::default(),
            objects: None,
            revisions: Revisions::default(),
            unreachable: false,
            verify_delta: false,
            threads: None,
            kept_bytes: KEPT_BYTES_MAX,
            cancel: CancelToken::new(),
            progress: HistoryProgress::new(),
            excludes: None,
        }
    }

    /// Sets the path with which findings begin, if it is not that of the repository.
    pub fn shown_as(mut self, path: impl Into<PathBuf>) -> Self {
        self.shown_as = path.into();
        self
    }

    /// Scans only what these commits introduce. By default, everything.
    pub fn revisions(mut self, revisions: Revisions) -> Self {
        self.revisions = revisions;
        self
    }

    /// Reads the objects of this directory, and of its alternates, instead of the repository's own:
    /// while a server receives a push, the new objects are in a quarantine beside them. The ids of
    /// the new commits are [`Revisions::include_ids`], and those of the refs before the push
    /// [`Revisions::exclude_ids`].
    pub fn objects(mut self, directory: impl Into<PathBuf>) -> Self {
        self.objects = Some(directory.into());
        self
    }

    /// Also reports findings in objects that no ref reaches, such as those of dropped stashes. Off
    /// by default: the report counts them.
    pub fn unreachable(mut self, unreachable: bool) -> Self {
        self.unreachable = unreachable;
        self
    }

    /// Also scans every blob whole whose changes were scanned, and lists those of which the results
    /// differ.
    pub fn verify_delta(mut self, verify: bool) -> Self {
        self.verify_delta = verify;
        self
    }

    /// Sets the number of threads; `None` for one per core.
    pub fn threads(mut self, threads: Option<usize>) -> Self {
        self.threads = threads;
        self
    }

    /// Sets what reading objects may cost.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets what the search for paths and commits may cost.
    pub fn attribution_limits(mut self, limits: AttributionLimits) -> Self {
        self.attribution = limits;
        self
    }

    /// Sets the memory for objects with candidates whose paths are not known yet. 64 MiB by
    /// default. What does not fit is counted.
    pub fn kept_bytes(mut self, bytes: u64) -> Self {
        self.kept_bytes = bytes;
        self
    }

    /// Counts in `progress`, which other threads can read.
    pub fn progress(mut self, progress: &HistoryProgress) -> Self {
        self.progress = progress.clone();
        self
    }

    /// Ends the scan early when `cancel` is cancelled.
    pub fn cancel(mut self, cancel: CancelToken) -> Self {
        self.cancel = cancel;
        self
    }

    /// Leaves out findings at paths for which `excludes` returns `true`. It gets the path in the
    /// repository.
    pub fn exclude(mut self, excludes: impl Fn(&Path) -> bool + Send + Sync + 'static) -> Self {
        self.excludes = Some(Arc::new(excludes));
        self
    }

    /// Scans the history and returns when everything is done. `sink` gets the findings, those of
    /// the oldest commits first.
    ///
    /// # Errors
    /// The repository cannot be opened, a revision stands for no commit, or no thread can be
    /// started. Objects that cannot be read are no error: the report counts them.
    pub fn run(self, sink: impl Sink + 'static) -> Result<HistoryReport, HistoryError> {
        let layout = Layout::open(&self.repository, &self.access)?;
        place::run(self, &layout, Arc::new(sink))
    }
}

impl<D: Detector> fmt::Debug for HistoryScan<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HistoryScan")
            .field("repository", &self.repository)
            .field("revisions", &self.revisions)
            .finish_non_exhaustive()
    }
}
