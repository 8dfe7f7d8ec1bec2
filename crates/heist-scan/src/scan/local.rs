//! Scanning what a [`Source`] gives out: it is asked on the caller's thread, and its objects are tasks of an executor.
//!
//! Objects in flight are bounded by a budget, for which the caller's thread waits. Reads are bounded by tokens (their
//! number, and their bytes), for which the tasks wait; a source that maps its files takes slots of its devices instead.

use super::large::LargeFile;
use super::progress::ScanProgress;
use super::shared::Shared;
use super::worker::{Helpers, Worker};
use crate::config::ScanConfig;
use crate::detector::Detector;
use crate::report::{Outcome, ScanError, ScanReport};
use crate::sink::Sink;
use crate::source::{Contents, Object, Source};
use heist::device::DeviceSlotsConfig;
use heist::{
    AcquireError, CountBudget, CountPermit, DeviceLanes, DeviceSlots, DeviceTurn, Executor,
    IoModel, ReadPermit, ReadTokens, Spawner,
};
use heist_walk::FileKind;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Arc, Weak};

/// Scans what `source` gives out. Returns when all is done.
///
/// ```
/// use heist_scan::{Finding, ReadOnly, ReaderSource, ScanConfig, Sink, scan_local};
/// use std::sync::Arc;
///
/// struct Nowhere;
/// impl Sink for Nowhere {
///     fn finding(&self, _finding: Finding) {}
/// }
///
/// let source = ReaderSource::new("greeting", &b"hello\n"[..]);
/// let report = scan_local(Arc::new(ReadOnly), source, Arc::new(Nowhere), &ScanConfig::new())?;
/// assert_eq!((report.outcomes.scanned, report.bytes), (1, 6));
/// # Ok::<(), heist_scan::ScanError>(())
/// ```
///
/// # Errors
/// The system refuses a thread, or there cannot be so many. What goes wrong with an object is in the report.
pub fn scan_local<D: Detector>(
    detector: Arc<D>,
    source: impl Source,
    sink: Arc<dyn Sink>,
    config: &ScanConfig,
) -> Result<ScanReport, ScanError> {
    scan_local_with_progress(detector, source, sink, config, &ScanProgress::new())
}

/// [`scan_local`], whose counters can be watched while it runs.
///
/// # Errors
/// As [`scan_local`].
pub fn scan_local_with_progress<D: Detector>(
    detector: Arc<D>,
    mut source: impl Source,
    sink: Arc<dyn Sink>,
    config: &ScanConfig,
    progress: &ScanProgress,
) -> Result<ScanReport, ScanError> {
    let shared = Shared::new(detector, sink, config);
    let defaults = heist::ExecutorConfig::default();
    let workers = config.workers.unwrap_or(defaults.workers);
    let executor = {
        let (shared, progress) = (Arc::clone(&shared), progress.clone());
        Executor::builder()
            .workers(workers)
            .seed(config.seed.unwrap_or(defaults.seed))
            .thread_name("heist-scan")
            .cancel(shared.stop.clone())
            .build(
                move |_worker| Worker::new(&shared, progress.add_worker()),
                |task, ctx| {
                    let (worker, mut queue) = ctx.split();
                    run(task, worker, &mut queue);
                },
            )?
    };
    // The caller's thread counts what it finds, and what could not be found.
    let mut finder = Worker::new(&shared, progress.add_worker());
    let bytes_per_read = finder.window.capacity() as u64;
    let slots =
        DeviceSlots::new(DeviceSlotsConfig::by_kind()).expect("every kind has at least one slot");
    let lanes = DeviceLanes::new(&executor.handle(), slots, Task::OnDevice);
    let objects = budget(config.max_objects_in_flight as u64);
    let reads = ReadTokens::new(workers as u64, workers as u64 * bytes_per_read);
    let io_model = source.io_model();
    while !shared.is_stopped() {
        let Some(next) = source.next_object() else { break };
        finder.emitter.counts.so_far.found += 1;
        finder.emitter.counts.show();
        let object = match next {
            Ok(object) => object,
            Err(error) => {
                finder.note(&error.name, Outcome::Unreadable(error.source));
                continue;
            }
        };
        // Nobody closes the budget, and one is never too many.
        let Ok(permit) = objects.acquire(1) else { break };
        let job = Job { object, _permit: permit };
        // Refused only if the scan was stopped.
        match (io_model, &reads) {
            (IoModel::MmapImplicit, _) => {
                let device = job.object.device;
                let _ = lanes.submit(device, job);
            }
            (IoModel::ExplicitReads, Ok(reads)) => {
                let make = move |granted| Task::Scan(Box::new(job), granted);
                let _ = reads.acquire_then(bytes_per_read, &executor.handle(), make);
            }
            // More workers than can be counted: they bound the reads by themselves.
            (IoModel::ExplicitReads, Err(_)) => {
                let _ =
                    executor.spawn_external(Task::Scan(Box::new(job), Err(AcquireError::NotNow)));
            }
        }
    }
    drop(finder);
    let metrics = executor.join();
    Ok(shared.report(workers, metrics))
}

fn budget(total: u64) -> CountBudget {
    CountBudget::new(total.clamp(1, u64::from(u32::MAX))).expect("2^32 is not too many")
}

/// An object, and its right to be in flight.
struct Job {
    object: Object,
    _permit: CountPermit,
}

enum Task {
    /// With the tokens for its reads. (Without, if there is no bound.)
    Scan(Box<Job>, Result<ReadPermit, AcquireError>),
    OnDevice(DeviceTurn<Job>),
    Help(Weak<LargeFile>),
}

fn run<D: Detector>(task: Task, worker: &mut Worker<D>, queue: &mut Spawner<'_, Task>) {
    match task {
        Task::Scan(job, tokens) => {
            scan(job.object, worker, queue);
            drop(tokens);
        }
        Task::OnDevice(turn) => {
            turn.run(|job, slot| {
                scan(job.object, worker, queue);
                drop(slot);
            });
        }
        Task::Help(file) => {
            if let Some(file) = file.upgrade() {
                file.help(worker);
            }
        }
    }
    worker.emitter.counts.show();
}

fn scan<D: Detector>(object: Object, worker: &mut Worker<D>, queue: &mut Spawner<'_, Task>) {
    let Object { name, contents, size_hint, .. } = object;
    // A stop drops what waits; what was taken out of the queue just before is no different.
    if worker.shared.is_stopped() {
        return worker.note(&name, Outcome::Interrupted);
    }
    let most = worker.shared.config.max_file_size;
    if size_hint.zip(most).is_some_and(|(size, most)| size > most) {
        return worker.note(&name, Outcome::TooLarge);
    }
    match contents {
        Contents::File => {
            let opened = match worker.wants(&name).then(|| open(&name)) {
                Some(Ok(Err(kind))) => return worker.note(&name, Outcome::Special(kind)),
                Some(Ok(Ok(file))) => Some(Ok(file)),
                Some(Err(error)) => Some(Err(error)),
                None => None,
            };
            worker.scan_file(&name, &name, opened, &mut Others(queue));
        }
        Contents::Stream(mut stream) => {
            if worker.wants(&name) {
                worker.scan_stream(&name, &name, &mut *stream);
            } else {
                worker.note(&name, Outcome::Excluded);
            }
        }
    }
}

/// Opens a file, if it is a regular one; says what else it is. Asked first: whoever opens a pipe may wait for ever.
fn open(path: &Path) -> io::Result<Result<File, FileKind>> {
    let kind = FileKind::from(path.metadata()?.file_type());
    Ok(if kind.is_file() { Ok(File::open(path)?) } else { Err(kind) })
}

/// The other workers.
struct Others<'a, 'w>(&'a mut Spawner<'w, Task>);

impl Helpers for Others<'_, '_> {
    fn expect_long_work(&mut self) {}

    fn call_for_help(&mut self, file: Weak<LargeFile>) {
        self.0.spawn_local(Task::Help(file));
    }
}
