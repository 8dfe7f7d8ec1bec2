//! [`Scan`]: what to scan and how. The scan's executor is configured from it.

use super::from_source::run_source;
use super::progress::ScanProgress;
use super::tree::run_walk;
use super::work::WorkLimit;
use crate::detector::Detector;
use crate::report::{ScanError, ScanReport};
use crate::sink::Sink;
use crate::source::Source;
use heist::trace::{NoTrace, Tracer};
use heist::{CancelToken, ExecutorConfig};
use heist_walk::Walk;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

/// The prefix of the names of scanning threads.
pub(super) const THREAD_NAME: &str = "heist-scan";

/// A scan: a detector, what it searches, and how.
///
/// Create it with [`Scan::new`], give it something to search with [`walk`](Scan::walk) or
/// [`source`](Scan::source), and call `run`. `run` returns when everything is scanned.
///
/// # Examples
///
/// Scan a tree and collect the findings:
///
/// ```
/// use heist_scan::rules::RuleSet;
/// use heist_scan::{DetectorOptions, Scan, SecretDetector};
/// use heist_walk::{Filter, Walk};
/// use std::sync::{Arc, Mutex};
///
/// let detector = SecretDetector::new(RuleSet::builtin(), DetectorOptions::default());
/// let findings = Arc::new(Mutex::new(Vec::new()));
/// let report = Scan::new(detector)
///     .walk(Walk::new("src/window").filter(Filter::new().git_ignore(true)))
///     .max_file_size(Some(64 << 20))
///     .run(Arc::clone(&findings))?;
/// assert!(report.is_complete());
/// assert_eq!(findings.lock().unwrap().len() as u64, report.findings);
/// # Ok::<(), heist_scan::ScanError>(())
/// ```
///
/// Scan a stream:
///
/// ```
/// use heist_scan::{NullDetector, ReaderSource, Scan};
/// use std::sync::Mutex;
///
/// let source = ReaderSource::new("greeting", &b"hello\n"[..]);
/// let report = Scan::new(NullDetector).source(source).run(Mutex::new(Vec::new()))?;
/// assert_eq!((report.outcomes.scanned, report.bytes), (1, 6));
/// # Ok::<(), heist_scan::ScanError>(())
/// ```
#[must_use = "a scan does nothing until `run` is called"]
pub struct Scan<D, I = (), T = NoTrace> {
    pub(super) detector: Arc<D>,
    pub(super) input: I,
    pub(super) tracer: T,
    pub(super) settings: ScanSettings,
}

type ExecutorChange = Arc<dyn Fn(&mut ExecutorConfig) + Send + Sync>;

/// The settings of a [`Scan`]. See its methods.
#[derive(Clone)]
pub(crate) struct ScanSettings {
    pub(super) threads: Option<usize>,
    pub(super) chunk_size: usize,
    pub(super) range_size: u64,
    pub(super) max_objects_in_flight: usize,
    pub(super) max_reads: usize,
    pub(super) max_read_bytes: u64,
    pub(super) max_file_size: Option<u64>,
    pub(super) max_findings_per_object: Option<u64>,
    pub(super) work_limit: Option<WorkLimit>,
    pub(super) binary: bool,
    pub(super) deadline: Option<Instant>,
    pub(super) progress: ScanProgress,
    cancel: Option<CancelToken>,
    executor_changes: Vec<ExecutorChange>,
}

impl ScanSettings {
    pub(super) fn new() -> Self {
        Self {
            threads: None,
            chunk_size: 256 << 10,
            range_size: 8 << 20,
            max_objects_in_flight: 1024,
            max_reads: 256,
            max_read_bytes: 256 << 20,
            max_file_size: None,
            max_findings_per_object: Some(100_000),
            work_limit: Some(WorkLimit::default()),
            binary: false,
            deadline: None,
            progress: ScanProgress::new(),
            cancel: None,
            executor_changes: Vec::new(),
        }
    }

    /// Applies what the caller set to the configuration of the executor that will run the scan.
    pub(super) fn configure(&self, executor: &mut ExecutorConfig) {
        for change in &self.executor_changes {
            change(executor);
        }
        if let Some(cancel) = &self.cancel {
            executor.cancel = cancel.clone();
        }
    }
}

impl<D: Detector> Scan<D> {
    /// Creates a scan that searches with `detector`.
    ///
    /// Pass an `Arc` of a detector to use it again after the scan.
    pub fn new(detector: D) -> Self {
        let settings = ScanSettings::new();
        Self { detector: Arc::new(detector), input: (), tracer: NoTrace, settings }
    }
}

impl<D, I, T> Scan<D, I, T> {
    /// Scans the files below the roots of `walk`, and its roots.
    ///
    /// The walk decides which files are scanned, which symbolic links are followed and how many
    /// files may wait ([`Walk::max_waiting_files`]). The workers that walk also scan, so the
    /// threads and the executor settings of the walk are those of the scan, unless
    /// [`threads`](Self::threads), [`executor`](Self::executor) or [`cancel`](Self::cancel) change
    /// them. A root that is named twice or lies inside another root is scanned once.
    ///
    /// Only regular files are opened: pipes, sockets and devices never are.
    pub fn walk(self, walk: Walk) -> Scan<D, Walk, T> {
        self.with_input(walk)
    }

    /// Scans the objects that `source` provides: the files of a list, a stream, the standard input,
    /// or whatever implements [`Source`].
    pub fn source<S: Source>(self, source: S) -> Scan<D, S, T> {
        self.with_input(source)
    }

    fn with_input<J>(self, input: J) -> Scan<D, J, T> {
        Scan { detector: self.detector, input, tracer: self.tracer, settings: self.settings }
    }

    /// Lets `tracer` watch the workers, for example a [`ChromeTrace`](heist::trace::ChromeTrace).
    pub fn trace<U: Tracer>(self, tracer: U) -> Scan<D, I, U> {
        Scan { detector: self.detector, input: self.input, tracer, settings: self.settings }
    }

    /// Counts in `progress`, which other threads can read while the scan runs.
    pub fn progress(mut self, progress: &ScanProgress) -> Self {
        self.settings.progress = progress.clone();
        self
    }

    /// Stops the scan early when `cancel` is cancelled. Workers check the token between chunks.
    ///
    /// Replaces a token that the walk was given.
    pub fn cancel(mut self, cancel: CancelToken) -> Self {
        self.settings.cancel = Some(cancel);
        self
    }

    /// Stops the scan at `deadline`. Workers check the time between chunks. `None` by default.
    pub fn deadline(mut self, deadline: Option<Instant>) -> Self {
        self.settings.deadline = deadline;
        self
    }

    /// Sets the number of threads that scan.
    ///
    /// By default (`None`), a source gets one thread per core, and a tree gets the threads of its
    /// walk ([`Walk::threads`]): by default as many as its disks can serve, but not more than 8 or
    /// the number of cores, whichever is larger.
    pub fn threads(mut self, threads: Option<usize>) -> Self {
        self.settings.threads = threads;
        self
    }

    /// Sets the number of bytes of an object that the detector searches at a time, not counting the
    /// [overlap](crate::Overlap) around them. 256 KiB by default, at least 1. The findings are the
    /// same for every size.
    pub fn chunk_size(mut self, chunk_size: usize) -> Self {
        self.settings.chunk_size = chunk_size.max(1);
        self
    }

    /// Sets the size of the ranges into which a larger file is split, so that several workers can
    /// scan it. 8 MiB by default, at least 1. The findings are the same for every size.
    pub fn range_size(mut self, range_size: u64) -> Self {
        self.settings.range_size = range_size.max(1);
        self
    }

    /// Sets the maximum number of objects of a source that are in flight: handed out by the source
    /// and not completely scanned. 1,024 by default, at least 1. At the maximum, the scan does not
    /// ask the source for more.
    ///
    /// Does not affect a tree, whose waiting files [`Walk::max_waiting_files`] bounds.
    pub fn max_objects_in_flight(mut self, max_objects_in_flight: usize) -> Self {
        self.settings.max_objects_in_flight = max_objects_in_flight.max(1);
        self
    }

    /// Sets the maximum number of objects of a source, and ranges of large files, that are read at
    /// the same time. 256 by default, at least 1. The others wait without blocking a thread.
    ///
    /// A read counts from its beginning until the worker has the whole object in memory or, if the
    /// object does not fit, until the worker has scanned its part. With fewer reads than
    /// [threads](Self::threads), some threads therefore have nothing to do.
    ///
    /// Does not affect a source that maps its files
    /// ([`IoModel::MmapImplicit`](heist_device::IoModel::MmapImplicit)), which takes slots of its
    /// devices instead, nor a tree, where each worker reads one file at a time.
    pub fn max_reads(mut self, max_reads: usize) -> Self {
        self.settings.max_reads = max_reads.max(1);
        self
    }

    /// Sets the maximum number of bytes that the reads counted by [`max_reads`](Self::max_reads)
    /// ask for together. 256 MiB by default, at least 1.
    ///
    /// Each read counts with the size of a worker's buffer: a [chunk](Self::chunk_size) and the
    /// overlap around it. A buffer that is larger than the maximum is read while nothing else is.
    pub fn max_read_bytes(mut self, max_read_bytes: u64) -> Self {
        self.settings.max_read_bytes = max_read_bytes.max(1);
        self
    }

    /// Skips objects that are larger than `max_file_size` bytes. Of a stream, whose length is
    /// unknown, that many bytes are scanned. `None` by default.
    pub fn max_file_size(mut self, max_file_size: Option<u64>) -> Self {
        self.settings.max_file_size = max_file_size;
        self
    }

    /// Sets the maximum number of findings of one kind that are reported per object. 100,000 by
    /// default. The others are counted.
    ///
    /// The kinds are the four levels of confidence, and allowed findings. Each kind has its own
    /// limit, so thousands of doubtful findings cannot hide a certain one.
    pub fn max_findings_per_object(mut self, max_findings_per_object: Option<u64>) -> Self {
        self.settings.max_findings_per_object = max_findings_per_object;
        self
    }

    /// Sets how much work an object may take for its size. Of an object that takes more, only the
    /// beginning is scanned: see [`Outcome::WorkCut`](crate::Outcome::WorkCut). With `None`, there
    /// is no limit.
    pub fn work_limit(mut self, work_limit: Option<WorkLimit>) -> Self {
        self.settings.work_limit = work_limit;
        self
    }

    /// Also scans binary objects: those in whose first 8 KiB there is a zero byte and at least
    /// every 16th byte is a control character, and that are not UTF-16. Off by default.
    pub fn binary(mut self, binary: bool) -> Self {
        self.settings.binary = binary;
        self
    }

    /// Changes the configuration of the executor that runs the scan, for example whether its
    /// threads are pinned to cores. Several calls add up. A value that the executor refuses is an
    /// error of `run`.
    ///
    /// `change` gets the configuration of the walk, or the defaults for a source. The threads are
    /// named `heist-scan` unless the caller names them. The scan itself sets `threads` and
    /// `on_panic`: a panic of the detector or the sink ends one object and does not reach the
    /// executor. The fields about futures have no effect, because a scan spawns no futures.
    ///
    /// # Examples
    /// ```
    /// use heist_scan::{NullDetector, Scan};
    ///
    /// let scan = Scan::new(NullDetector).executor(|config| config.pin_threads = true);
    /// # let _ = scan;
    /// ```
    pub fn executor(
        mut self,
        change: impl Fn(&mut ExecutorConfig) + Send + Sync + 'static,
    ) -> Self {
        self.settings.executor_changes.push(Arc::new(change));
        self
    }
}

impl<D: Detector, T: Tracer> Scan<D, Walk, T> {
    /// Scans the tree and returns when everything is done. `sink` gets the findings.
    ///
    /// The same workers read directories and scan files, so none is idle while there is work of
    /// either kind. The calling thread blocks; in a future, hand the call to `spawn_blocking`.
    ///
    /// # Errors
    /// The executor cannot start: the system refuses a thread, or a setting has an impossible
    /// value. An error in the tree does not end the scan but is listed in
    /// [`ScanReport::incomplete`].
    pub fn run(self, sink: impl Sink + 'static) -> Result<ScanReport, ScanError> {
        run_walk(self, Arc::new(sink))
    }
}

impl<D: Detector, S: Source, T: Tracer> Scan<D, S, T> {
    /// Scans the objects of the source and returns when everything is done. `sink` gets the
    /// findings.
    ///
    /// The calling thread asks the source for objects, and blocks while the scan's own threads
    /// work. It may be a worker of another executor, which runs nothing else in the meantime; in a
    /// future, hand the call to `spawn_blocking`.
    ///
    /// # Errors
    /// The executor cannot start: the system refuses a thread, or a setting has an impossible
    /// value. An error of an object does not end the scan but is listed in
    /// [`ScanReport::incomplete`].
    pub fn run(self, sink: impl Sink + 'static) -> Result<ScanReport, ScanError> {
        run_source(self, Arc::new(sink))
    }
}

/// Clones share the detector and the progress counters.
impl<D, I: Clone, T: Clone> Clone for Scan<D, I, T> {
    fn clone(&self) -> Self {
        Self {
            detector: Arc::clone(&self.detector),
            input: self.input.clone(),
            tracer: self.tracer.clone(),
            settings: self.settings.clone(),
        }
    }
}

impl<D, I, T> fmt::Debug for Scan<D, I, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scan")
            .field("threads", &self.settings.threads)
            .field("chunk_size", &self.settings.chunk_size)
            .field("range_size", &self.settings.range_size)
            .field("max_file_size", &self.settings.max_file_size)
            .field("binary", &self.settings.binary)
            .field("deadline", &self.settings.deadline)
            .finish_non_exhaustive()
    }
}

/// Scans everything below `root`, and `root` itself, with the default settings.
///
/// Short for `Scan::new(detector).walk(Walk::new(root)).run(sink)`.
///
/// # Errors
/// As [`Scan::run`].
pub fn parallel_scan_dir(
    root: impl Into<PathBuf>,
    detector: impl Detector,
    sink: impl Sink + 'static,
) -> Result<ScanReport, ScanError> {
    Scan::new(detector).walk(Walk::new(root)).run(sink)
}

/// Scans the objects of `source` with the default settings.
///
/// Short for `Scan::new(detector).source(source).run(sink)`.
///
/// # Errors
/// As [`Scan::run`].
pub fn scan_source(
    source: impl Source,
    detector: impl Detector,
    sink: impl Sink + 'static,
) -> Result<ScanReport, ScanError> {
    Scan::new(detector).source(source).run(sink)
}
