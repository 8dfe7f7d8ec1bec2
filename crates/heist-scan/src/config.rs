//! [`ScanConfig`]: how to scan. The walker's and the executor's configuration are derived from it.

use heist::{CancelToken, ExecutorConfig};
use heist_walk::{Filter, Symlinks};
use std::time::Instant;

/// How to scan: made by [`ScanConfig::new`], changed by its methods.
///
/// ```
/// use heist_scan::ScanConfig;
/// use heist_walk::Filter;
///
/// let config = ScanConfig::new()
///     .max_file_size(Some(64 << 20))
///     .filter(Filter::new().git_ignore(true));
/// # let _ = config;
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct ScanConfig {
    pub(crate) workers: Option<usize>,
    pub(crate) chunk_size: usize,
    pub(crate) range_size: u64,
    pub(crate) max_objects_in_flight: usize,
    pub(crate) max_reads: usize,
    pub(crate) max_read_bytes: u64,
    pub(crate) max_file_size: Option<u64>,
    pub(crate) max_findings_per_object: Option<u64>,
    pub(crate) binary: bool,
    pub(crate) filter: Filter,
    pub(crate) symlinks: Symlinks,
    pub(crate) same_file_system: bool,
    /// Its token is the scan's. `workers` and `on_panic` are set when the scan starts.
    pub(crate) executor: ExecutorConfig,
    pub(crate) deadline: Option<Instant>,
}

impl Default for ScanConfig {
    fn default() -> Self {
        Self::new()
    }
}

impl ScanConfig {
    /// The defaults.
    pub fn new() -> Self {
        Self {
            workers: None,
            chunk_size: 256 << 10,
            range_size: 8 << 20,
            max_objects_in_flight: 1024,
            max_reads: 256,
            max_read_bytes: 256 << 20,
            max_file_size: None,
            max_findings_per_object: Some(100_000),
            binary: false,
            filter: Filter::new(),
            symlinks: Symlinks::default(),
            same_file_system: false,
            executor: ExecutorConfig {
                thread_name: "heist-scan".to_owned(),
                ..ExecutorConfig::default()
            },
            deadline: None,
        }
    }

    /// How many threads scan. `None`, the default: in a tree what its disks are good for (see
    /// [`Walk::threads`](heist_walk::Walk::threads)), else as many as there are cores.
    pub fn workers(mut self, workers: Option<usize>) -> Self {
        self.workers = workers;
        self
    }

    /// How much of an object a detector sees at a time, beside what it wants to have around that: 256 KiB by default,
    /// at least 1. Findings are the same for every size.
    pub fn chunk_size(mut self, chunk_size: usize) -> Self {
        self.chunk_size = chunk_size.max(1);
        self
    }

    /// Larger files are split into ranges of this size, at least one byte, which several workers read at a time: 8 MiB
    /// by default. Findings are the same for every size.
    pub fn range_size(mut self, range_size: u64) -> Self {
        self.range_size = range_size.max(1);
        self
    }

    /// Sets how many objects may be in flight: found, but not scanned to their end. 1,024 by default, at least 1.
    ///
    /// While so many are, [`scan_local`](crate::scan_local) does not ask its source for more. In a tree this bounds the
    /// files that wait; a worker that finds more of them scans them at once.
    pub fn max_objects_in_flight(mut self, max_objects_in_flight: usize) -> Self {
        self.max_objects_in_flight = max_objects_in_flight.max(1);
        self
    }

    /// Sets how many objects, and ranges of large files, [`scan_local`](crate::scan_local) reads at a time: 256 by
    /// default, at least 1. The rest wait without holding a thread.
    ///
    /// A read counts from its beginning until the worker has all of the object in memory, or has scanned its part of
    /// an object that does not fit. So fewer reads than [workers](Self::workers) leave some workers without work. The
    /// bound does not apply to a source that maps its files ([`MmapImplicit`](heist_device::IoModel::MmapImplicit)),
    /// which takes slots of its devices instead, nor to trees, where the workers of the walk read one file each.
    pub fn max_reads(mut self, max_reads: usize) -> Self {
        self.max_reads = max_reads.max(1);
        self
    }

    /// Sets how many bytes the reads that [`max_reads`](Self::max_reads) counts may ask for together: 256 MiB by
    /// default, at least 1. Each counts with the worker's buffer, a [chunk](Self::chunk_size) and what the detector
    /// wants around it. A buffer that is larger than this is read while nothing else is.
    pub fn max_read_bytes(mut self, max_read_bytes: u64) -> Self {
        self.max_read_bytes = max_read_bytes.max(1);
        self
    }

    /// Larger objects are not scanned. (Of a stream, whose length nobody knows, this much is scanned.) `None` by
    /// default.
    pub fn max_file_size(mut self, max_file_size: Option<u64>) -> Self {
        self.max_file_size = max_file_size;
        self
    }

    /// How many findings of a kind an object may have: 100,000 by default. The rest are left out, and counted. Kinds
    /// are the levels of confidence, and what is allowed: none uses up the room of another, so that nobody can hide a
    /// certain one behind many that are not.
    pub fn max_findings_per_object(mut self, max_findings_per_object: Option<u64>) -> Self {
        self.max_findings_per_object = max_findings_per_object;
        self
    }

    /// Whether binary files (with a zero among their first 8 KiB, and not UTF-16) are scanned, too. Off by default.
    pub fn binary(mut self, binary: bool) -> Self {
        self.binary = binary;
        self
    }

    /// What of a tree is left out. By default nothing.
    pub fn filter(mut self, filter: Filter) -> Self {
        self.filter = filter;
        self
    }

    /// Which symbolic links are followed. By default those that are roots.
    pub fn symlinks(mut self, symlinks: Symlinks) -> Self {
        self.symlinks = symlinks;
        self
    }

    /// Whether the scan stays on the file systems of its roots. Off by default.
    pub fn same_file_system(mut self, same: bool) -> Self {
        self.same_file_system = same;
        self
    }

    /// For the executor's random choices.
    pub fn seed(mut self, seed: u64) -> Self {
        self.executor.seed = seed;
        self
    }

    /// Ends the scan early when it is cancelled. Looked at between chunks.
    pub fn cancel(mut self, cancel: CancelToken) -> Self {
        self.executor.cancel = cancel;
        self
    }

    /// Changes the settings of the executor that runs the scan: whether its threads are pinned to cores, their names
    /// and stack size, how they steal, how they wait. Several calls add up. A value that cannot be used is an error
    /// when the scan starts.
    ///
    /// ```
    /// use heist_scan::ScanConfig;
    ///
    /// let config = ScanConfig::new().executor(|config| config.pin_threads = true);
    /// # let _ = config;
    /// ```
    ///
    /// The closure finds the defaults of [`ExecutorConfig`], except that the threads are named `heist-scan`. `seed` and
    /// `cancel` are what [`seed`](Self::seed) and [`cancel`](Self::cancel) set. The scan overwrites two fields:
    /// `workers` by the number of its [workers](Self::workers), and `on_panic` by
    /// [`OnPanic::StopPool`](heist::OnPanic::StopPool).
    /// (A panic of the detector or the sink ends one object, and does not
    /// reach the executor.) The fields about futures have no effect: a scan spawns none.
    pub fn executor(mut self, change: impl FnOnce(&mut ExecutorConfig)) -> Self {
        change(&mut self.executor);
        self
    }

    /// When the scan has to end. Looked at between chunks.
    pub fn deadline(mut self, deadline: Option<Instant>) -> Self {
        self.deadline = deadline;
        self
    }
}
