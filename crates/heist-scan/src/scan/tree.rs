//! Scanning trees: files are scanned by the workers that walk, on the walk's own executor.
//!
//! Regular files come in batches by directory; everything else has its outcome without being opened.

use super::flight::Flight;
use super::large::LargeFile;
use super::progress::ScanProgress;
use super::roots::Roots;
use super::shared::Shared;
use super::worker::{Helpers, Worker};
use crate::config::ScanConfig;
use crate::detector::Detector;
use crate::report::{Incomplete, Outcome, ScanError, ScanReport};
use crate::sink::Sink;
use heist::StartError;
use heist::trace::{NoTrace, Tracer};
use heist_walk::{Enter, Entry, FileBatch, FileKind, Flow, Symlinks, Visitor, Walk, WalkError};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Weak};

/// More threads than cores only help while they wait for the disk, and each has its buffers: enough for that. (Where
/// there are more cores, as many as there are cores.)
const THREADS_FOR_DISKS: usize = 8;

/// Scans everything below `roots`, and `roots` themselves; one that is named twice, or inside another one, once.
/// Returns when all is done.
///
/// Directories are read and files are scanned by the same workers: one that has nothing to do takes what there is.
///
/// ```
/// use heist_scan::{Finding, ReadOnly, ScanConfig, ScanProgress, Sink, parallel_scan_dir};
/// use std::sync::Arc;
///
/// struct Nowhere;
/// impl Sink for Nowhere {
///     fn finding(&self, _finding: Finding) {}
/// }
///
/// let progress = ScanProgress::new();
/// let report = parallel_scan_dir(
///     &["src".into()],
///     Arc::new(ReadOnly),
///     Arc::new(Nowhere),
///     &ScanConfig::new(),
///     &progress,
/// )?;
/// assert!(report.is_complete());
/// assert_eq!(report.bytes, progress.snapshot().bytes);
/// # Ok::<(), heist_scan::ScanError>(())
/// ```
///
/// # Errors
/// The system refuses a thread, there cannot be so many, or a field that [`executor`](ScanConfig::executor) changed has
/// an impossible value. What goes wrong in the tree is in the report.
pub fn parallel_scan_dir<D: Detector>(
    roots: &[PathBuf],
    detector: Arc<D>,
    sink: Arc<dyn Sink>,
    config: &ScanConfig,
    progress: &ScanProgress,
) -> Result<ScanReport, ScanError> {
    parallel_scan_dir_traced(roots, detector, sink, config, progress, NoTrace)
}

/// [`parallel_scan_dir`], watched by a tracer, for example a [`heist::trace::ChromeTrace`].
///
/// # Errors
/// As [`parallel_scan_dir`].
pub fn parallel_scan_dir_traced<D: Detector>(
    roots: &[PathBuf],
    detector: Arc<D>,
    sink: Arc<dyn Sink>,
    config: &ScanConfig,
    progress: &ScanProgress,
    tracer: impl Tracer,
) -> Result<ScanReport, ScanError> {
    let shared = Shared::new(detector, sink, config);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let roots = Arc::new(Roots::new(roots, config.symlinks != Symlinks::Never));
    let walk = Walk::over(&roots.each)
        .threads(config.workers)
        .max_threads(THREADS_FOR_DISKS.max(cores))
        .filter(config.filter.clone())
        .symlinks(config.symlinks)
        .same_file_system(config.same_file_system)
        .max_waiting_files(config.max_objects_in_flight)
        .executor(|settings| *settings = config.executor.clone())
        .cancel(shared.stop.clone());
    let walked = {
        let (shared, progress) = (Arc::clone(&shared), progress.clone());
        walk.run_traced(tracer, move |_worker| Scanner {
            roots: Arc::clone(&roots),
            worker: Worker::new(&shared, progress.add_worker()),
            path: PathBuf::new(),
            below: PathBuf::new(),
        })
        .map_err(StartError::from)?
    };
    // With the visitors go what they have counted.
    drop(walked.visitors);
    let mut report = shared.report(walked.threads, walked.metrics);
    report.directories = walked.totals.directories;
    report.filtered = walked.totals.excluded;
    Ok(report)
}

/// The path that rules see: what a relative path says, so that `src/a` is `src/a` whether the root is `.`, `src` or
/// the file itself; and below an absolute root only what is below, so that it does not matter where a tree lies.
fn path_for_rules<'a>(path: &'a Path, below_root: &'a Path) -> &'a Path {
    if path.has_root() {
        return below_root;
    }
    let mut components = path.components();
    while let Some(Component::CurDir | Component::ParentDir) = components.clone().next() {
        components.next();
    }
    components.as_path()
}

/// A worker's visitor.
struct Scanner<D: Detector> {
    roots: Arc<Roots>,
    worker: Worker<D>,
    /// Paths of the file at hand; here only to be used again.
    path: PathBuf,
    below: PathBuf,
}

impl<D: Detector> Scanner<D> {
    /// Whether an entry is scanned as a root, and not here.
    fn is_scanned_elsewhere(&mut self, entry: &Entry<'_>, parent: Option<&()>) -> bool {
        self.roots.overlap() && parent.is_some() && {
            entry.path_into(&mut self.path);
            self.roots.has_inside(&self.path)
        }
    }
}

impl<D: Detector> Visitor for Scanner<D> {
    type Dir = ();
    type Task = Weak<LargeFile>;

    const READS_FILES: bool = true;

    fn enter_dir(&mut self, dir: &Entry<'_>, parent: Option<&()>) -> Enter<()> {
        if self.worker.shared.is_stopped() {
            Enter::Quit
        } else if self.is_scanned_elsewhere(dir, parent) {
            Enter::Skip
        } else {
            Enter::Into(())
        }
    }

    fn file(&mut self, file: &Entry<'_>, parent: Option<&()>) -> Flow {
        if self.is_scanned_elsewhere(file, parent) {
            return Flow::Continue;
        }
        self.worker.emitter.counts.so_far.found += 1;
        match file.kind() {
            FileKind::File => Flow::Later,
            kind => {
                file.path_into(&mut self.path);
                self.worker.note(&self.path, Outcome::Special(kind));
                Flow::Continue
            }
        }
    }

    fn files(&mut self, files: &mut FileBatch<'_, (), Weak<LargeFile>>) {
        while !self.worker.shared.is_stopped() {
            // The file borrows from the batch, which the scan may want to hand on: so it is opened first.
            let Some(file) = files.next() else { break };
            file.path_into(&mut self.path);
            file.path_below_root_into(&mut self.below);
            let seen_by_rules = path_for_rules(&self.path, &self.below);
            let opened = match self.worker.wants(seen_by_rules).then(|| file.open().transpose()) {
                None => None,
                Some(Some(opened)) => Some(opened),
                // The walk has put it off.
                Some(None) => break,
            };
            self.worker.scan_file(&self.path, seen_by_rules, opened, &mut BatchHelpers(files));
        }
        self.worker.emitter.counts.show();
    }

    fn task(&mut self, task: Weak<LargeFile>, spawn: &mut dyn FnMut(Weak<LargeFile>)) {
        if let Some(file) = task.upgrade() {
            file.help(&mut self.worker, &mut TaskHelpers(spawn));
        }
    }

    fn before_sleep(&mut self) {
        self.worker.emitter.counts.show();
    }

    fn error(&mut self, error: WalkError, _parent: Option<&()>) -> Flow {
        self.worker.shared.add_incomplete(error.path.clone(), Incomplete::Walk(error));
        Flow::Continue
    }
}

/// The other workers of the walk, for a worker with a batch of files.
struct BatchHelpers<'a, 'b>(&'a mut FileBatch<'b, (), Weak<LargeFile>>);

impl Helpers for BatchHelpers<'_, '_> {
    fn expect_long_work(&mut self) {
        self.0.share_rest();
    }

    fn call_for_help(&mut self, file: Weak<LargeFile>) {
        self.0.spawn(file);
    }

    fn take_flight(&mut self) -> Option<Flight> {
        None
    }
}

/// The other workers of the walk, for a worker that helps.
struct TaskHelpers<'a>(&'a mut dyn FnMut(Weak<LargeFile>));

impl Helpers for TaskHelpers<'_> {
    fn expect_long_work(&mut self) {}

    fn call_for_help(&mut self, file: Weak<LargeFile>) {
        (self.0)(file);
    }

    fn take_flight(&mut self) -> Option<Flight> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::path_for_rules;
    use std::path::Path;

    #[test]
    fn rules_see_the_same_path_from_everywhere_in_a_tree() {
        for (path, below, expected) in [
            ("./src/a", "src/a", "src/a"),
            ("src/a", "a", "src/a"),
            ("../../src/a", "a", "src/a"),
            ("../src/../a", "a", "src/../a"),
            ("a", "a", "a"),
            ("/srv/tests/src/a", "src/a", "src/a"),
            ("/srv/a", "a", "a"),
        ] {
            assert_eq!(path_for_rules(Path::new(path), Path::new(below)), Path::new(expected));
        }
    }
}
