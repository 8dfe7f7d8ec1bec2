//! The scan of trees: the workers of a walk also scan its files, on the walk's own executor.
//!
//! Regular files come in batches by directory. Everything else gets its outcome without being
//! opened. A scan enters a pseudo file system such as `/proc` only if it is a root: what is
//! in it is stored nowhere, and reading some of it has side effects.

use super::builder::{Scan, THREAD_NAME};
use super::context::ScanContext;
use super::in_flight::InFlightGuard;
use super::large::LargeFile;
use super::object_scanner::{Helpers, ObjectScanner};
use super::roots::UniqueRoots;
use crate::detector::Detector;
use crate::report::{Incomplete, Outcome, ScanError, ScanReport};
use crate::sink::Sink;
use heist::trace::Tracer;
use heist::{ExecutorConfig, StartError};
use heist_walk::{Enter, Entry, FileBatch, FileKind, Flow, Symlinks, Visitor, Walk, WalkError};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The maximum number of threads on a machine with fewer cores. More threads than cores help only
/// while they wait for the disk, and each needs its buffers.
const THREADS_FOR_DISKS: usize = 8;

/// The maximum number of paths of pseudo file systems in a report. A scan that follows links can
/// meet the same one many times.
const PSEUDO_PATHS: usize = 10;

/// Runs a scan of the files below the roots of a walk. See [`Scan::run`].
pub(super) fn run_walk<D: Detector, T: Tracer>(
    scan: Scan<D, Walk, T>,
    sink: Arc<dyn Sink>,
) -> Result<ScanReport, ScanError> {
    let Scan { detector, input: walk, tracer, settings } = scan;
    let mut executor = ExecutorConfig::default();
    let walk = walk.executor(|config| {
        set_scan_defaults(config);
        settings.configure(config);
        executor = config.clone();
    });
    let walk = match settings.threads {
        Some(threads) => walk.threads(Some(threads)),
        None => walk,
    };
    let context = ScanContext::new(detector, sink, settings, &executor.cancel);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut roots = UniqueRoots::default();
    let walk = walk
        .map_roots(|named, symlinks| {
            roots = UniqueRoots::new(named, symlinks != Symlinks::Never);
            roots.paths.clone()
        })
        .limit_threads(THREADS_FOR_DISKS.max(cores))
        .cancel(context.stop.clone())
        .trace(tracer);
    let roots = Arc::new(roots);
    let pseudo = Arc::new(Mutex::new(PseudoFileSystems::default()));
    let walked = {
        let pseudo = Arc::clone(&pseudo);
        let context = Arc::clone(&context);
        let progress = context.settings.progress.clone();
        walk.run(move |_worker| TreeVisitor {
            roots: Arc::clone(&roots),
            pseudo: Arc::clone(&pseudo),
            scanner: ObjectScanner::new(&context, progress.add_worker()),
            path: PathBuf::new(),
            below: PathBuf::new(),
        })
        .map_err(StartError::from)?
    };
    // Dropping the visitors adds their counts to those of the scan.
    drop(walked.visitors);
    let mut report = context.report(walked.threads, walked.metrics);
    report.directories = walked.totals.directories;
    report.filtered = walked.totals.excluded;
    report.filtered_by_counted_globs = walked.totals.excluded_by_counted_globs;
    report.filtered_by_ignore_files = walked.totals.excluded_by_ignore_files;
    report.filtered_hidden = walked.totals.excluded_hidden;
    let pseudo = std::mem::take(&mut *pseudo.lock().unwrap_or_else(PoisonError::into_inner));
    report.pseudo_file_systems = pseudo.skipped_count;
    report.pseudo_paths = pseudo.skipped.into_iter().collect();
    report.pseudo_roots = pseudo.roots.into_iter().collect();
    Ok(report)
}

/// Replaces the walker's defaults by those of a scan, unless the caller changed them: threads that
/// scan have a name of their own, and need more stack than threads that only walk.
fn set_scan_defaults(executor: &mut ExecutorConfig) {
    let mut walkers = ExecutorConfig::default();
    let _ = Walk::new("").executor(|config| walkers = config.clone());
    if executor.thread_name == walkers.thread_name {
        executor.thread_name = THREAD_NAME.to_owned();
    }
    if executor.stack_size == walkers.stack_size {
        executor.stack_size = ExecutorConfig::default().stack_size;
    }
}

/// The pseudo file systems that a walk has met.
#[derive(Debug, Default)]
struct PseudoFileSystems {
    skipped_count: u64,
    /// The first by path, and the first roots: at most [`PSEUDO_PATHS`] of each.
    skipped: BTreeSet<PathBuf>,
    roots: BTreeSet<PathBuf>,
}

impl PseudoFileSystems {
    fn add(&mut self, path: PathBuf, is_root: bool) {
        self.skipped_count += u64::from(!is_root);
        let paths = if is_root { &mut self.roots } else { &mut self.skipped };
        paths.insert(path);
        if paths.len() > PSEUDO_PATHS {
            paths.pop_last();
        }
    }
}

/// The visitor of one worker.
struct TreeVisitor<D: Detector> {
    roots: Arc<UniqueRoots>,
    pseudo: Arc<Mutex<PseudoFileSystems>>,
    scanner: ObjectScanner<D>,
    /// The paths of the current file. Fields only to reuse their memory.
    path: PathBuf,
    below: PathBuf,
}

impl<D: Detector> TreeVisitor<D> {
    /// Returns `true` if the entry is a root itself and must not be scanned here.
    fn is_nested_root(&mut self, entry: &Entry<'_>, parent: Option<&()>) -> bool {
        self.roots.has_nested() && parent.is_some() && {
            entry.path_into(&mut self.path);
            self.roots.is_nested_root(&self.path)
        }
    }
}

impl<D: Detector> Visitor for TreeVisitor<D> {
    type Dir = ();
    type Task = Weak<LargeFile>;

    const READS_FILES: bool = true;

    fn enter_dir(&mut self, dir: &Entry<'_>, parent: Option<&()>) -> Enter<()> {
        if self.scanner.context.is_stopped() {
            Enter::Quit
        } else if self.is_nested_root(dir, parent) {
            Enter::Skip
        } else {
            Enter::Into(())
        }
    }

    fn pseudo_file_system(&mut self, dir: &Entry<'_>, parent: Option<&()>) -> bool {
        // Such a root is scanned as a root, whatever this walk of the outer one does.
        if !self.is_nested_root(dir, parent) {
            let mut path = PathBuf::new();
            dir.path_into(&mut path);
            let mut pseudo = self.pseudo.lock().unwrap_or_else(PoisonError::into_inner);
            pseudo.add(path, parent.is_none());
        }
        false
    }

    fn file(&mut self, file: &Entry<'_>, parent: Option<&()>) -> Flow {
        if self.is_nested_root(file, parent) {
            return Flow::Continue;
        }
        self.scanner.emitter.counts.so_far.found += 1;
        match file.kind() {
            FileKind::File => Flow::Later,
            kind => {
                file.path_into(&mut self.path);
                self.scanner.report_unscanned(&self.path, Outcome::Special(kind));
                Flow::Continue
            }
        }
    }

    fn files(&mut self, files: &mut FileBatch<'_, (), Weak<LargeFile>>) {
        let root = files.root();
        while !self.scanner.context.is_stopped() {
            // Opened here, because `file` borrows the batch, which the scan may hand on.
            let Some(file) = files.next() else { break };
            file.path_into(&mut self.path);
            file.path_below_root_into(&mut self.below);
            let rule_path = &*self.roots.places[root].path_in_project(&self.below);
            let opened = match self.scanner.wants(rule_path).then(|| file.open().transpose()) {
                None => None,
                Some(Some(opened)) => Some(opened),
                // No descriptor is free. The walk will hand out the file again.
                Some(None) => break,
            };
            self.scanner.scan_file(&self.path, rule_path, opened, &mut BatchHelpers(files));
        }
        self.scanner.emitter.counts.publish();
    }

    fn task(&mut self, task: Weak<LargeFile>, spawn: &mut dyn FnMut(Weak<LargeFile>)) {
        if let Some(file) = task.upgrade() {
            file.help(&mut self.scanner, &mut TaskHelpers(spawn));
        }
    }

    fn before_sleep(&mut self) {
        self.scanner.emitter.counts.publish();
    }

    fn error(&mut self, error: WalkError, _parent: Option<&()>) -> Flow {
        self.scanner.context.add_incomplete(error.path.clone(), Incomplete::Walk(error));
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

    fn take_in_flight(&mut self) -> Option<InFlightGuard> {
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

    fn take_in_flight(&mut self) -> Option<InFlightGuard> {
        None
    }
}
