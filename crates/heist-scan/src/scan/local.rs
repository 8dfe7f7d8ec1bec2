//! Scanning what a [`Source`] gives out: it is asked on the caller's thread, and its objects are tasks of an executor.
//!
//! - Objects in flight are bounded, and the caller's thread waits for room before it asks for the next one (`flight`).
//! - An object, or a helper with a large one, needs a *read token* before it is read: [`ReadTokens`] bound how many
//!   read at a time, and of how many bytes. A token is held until the last read: of an object that fits into the window
//!   until that is filled, otherwise until the worker is done with it.
//! - A source that maps its files takes slots of their devices instead, from [`DeviceLanes`].
//! - No worker waits for either: what is not granted at once comes back as a task when it is.

use super::flight::{Flight, Flights, Job};
use super::large::LargeFile;
use super::progress::ScanProgress;
use super::shared::Shared;
use super::worker::{Helpers, Worker};
use crate::config::ScanConfig;
use crate::detector::Detector;
use crate::report::{Outcome, ScanError, ScanReport};
use crate::sink::Sink;
use crate::source::{Contents, Object, Source};
use heist::{
    AcquireError, Executor, ExecutorConfig, ExecutorHandle, OnPanic, ReadPermit, ReadTokens,
    Spawner,
};
use heist_device::{DeviceId, DeviceLanes, DeviceSlots, DeviceSlotsConfig, DeviceTurn, IoModel};
use heist_walk::FileKind;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Arc, OnceLock, Weak};

/// Scans what `source` gives out. Returns when all is done.
///
/// The calling thread asks the source, and blocks while the scan's own threads work. It may be a worker of another
/// executor, which then runs nothing else meanwhile; in a future, hand the call to `spawn_blocking`.
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
/// The system refuses a thread, there cannot be so many, or a field that [`executor`](ScanConfig::executor) changed has
/// an impossible value. What goes wrong with an object is in the report.
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
    let workers = config.workers.unwrap_or_else(|| ExecutorConfig::default().workers);
    let settings = ExecutorConfig {
        workers,
        on_panic: OnPanic::StopPool,
        cancel: shared.stop.clone(),
        ..config.executor.clone()
    };
    // The caller's thread counts what it finds, and what could not be found.
    let mut finder = Worker::new(&shared, progress.add_worker());
    let admission = Arc::new(OnceLock::new());
    let executor = {
        let (shared, progress) = (Arc::clone(&shared), progress.clone());
        let admission = Arc::clone(&admission);
        Executor::new(
            settings,
            move |_worker| Worker::new(&shared, progress.add_worker()),
            move |task, ctx| {
                let (worker, queue) = ctx.split();
                if let Some(admission) = admission.get() {
                    AtWork { admission, queue }.run(task, worker);
                }
            },
        )?
    };
    let bytes_per_read = finder.window.capacity() as u64;
    // Set before there is any task that could want it.
    let admission = admission.get_or_init(|| {
        Admission::new(&executor.handle(), source.io_model(), config, bytes_per_read)
    });
    let mut flights = Flights::new(config.max_objects_in_flight);
    loop {
        flights.wait_for_room(|name| finder.note(&name, Outcome::Interrupted));
        if shared.is_stopped() {
            break;
        }
        let Some(next) = source.next_object() else { break };
        finder.emitter.counts.so_far.found += 1;
        finder.emitter.counts.show();
        match next {
            Ok(object) => admission.submit(flights.begin(object)),
            Err(error) => finder.note(&error.name, Outcome::Unreadable(error.source)),
        }
    }
    let metrics = executor.join();
    // Every task has run or was dropped: no flight is left.
    flights.count_ended(|name| finder.note(&name, Outcome::Interrupted));
    drop(finder);
    Ok(shared.report(workers, metrics))
}

/// Something for a worker to do.
enum Work {
    Object(Box<Job>),
    Help(Weak<LargeFile>),
}

impl Work {
    /// Returns `false` for a call for help with a file that is done.
    fn is_wanted(&self) -> bool {
        match self {
            Self::Object(_) => true,
            Self::Help(file) => file.strong_count() > 0,
        }
    }
}

enum Task {
    /// Work that needs a read token first.
    Reads(Work),
    /// Work that had to wait for its token.
    Granted(Work, Result<ReadPermit, AcquireError>),
    /// Work on a mapped file, with a slot of its device.
    OnDevice(DeviceTurn<Work>),
}

/// How work is let in: by read tokens, or by slots of devices.
struct Admission {
    executor: ExecutorHandle<Task>,
    reads: ReadTokens,
    /// What one worker reads at a time: its window.
    bytes_per_read: u64,
    /// For a source that maps its files.
    lanes: Option<DeviceLanes<Work>>,
}

/// What [`ReadTokens`] can count.
const READS_MAX: u64 = (1 << 20) - 1;
const READ_BYTES_MAX: u64 = (1 << 41) - 1;

impl Admission {
    fn new(
        executor: &ExecutorHandle<Task>,
        io_model: IoModel,
        config: &ScanConfig,
        bytes_per_read: u64,
    ) -> Self {
        let reads = (config.max_reads as u64).clamp(1, READS_MAX);
        let bytes = config.max_read_bytes.clamp(1, READ_BYTES_MAX);
        let lanes = io_model.uses_device_slots().then(|| {
            let slots = DeviceSlots::new(DeviceSlotsConfig::by_kind())
                .expect("every kind has at least one slot");
            DeviceLanes::new(executor, slots, Task::OnDevice)
        });
        Self {
            executor: executor.clone(),
            reads: ReadTokens::new(reads, bytes).expect("no more than tokens can count"),
            // A window that is larger than all reads together may be is read while nothing else is.
            bytes_per_read: bytes_per_read.min(bytes),
            lanes,
        }
    }

    /// Hands an object to the workers. A stopped executor refuses it, which ends its flight.
    fn submit(&self, job: Job) {
        match &self.lanes {
            Some(lanes) => {
                let device = job.device();
                let _ = lanes.submit(device, Work::Object(Box::new(job)));
            }
            None => {
                let _ = self.executor.spawn(Task::Reads(Work::Object(Box::new(job))));
            }
        }
    }

    /// Takes a read token for some work. If there is none, the work waits for it, and comes back as a task.
    fn admit(&self, work: Work) -> Option<(Work, ReadPermit)> {
        match self.reads.try_acquire(self.bytes_per_read) {
            Ok(token) => Some((work, token)),
            Err(_) => {
                let granted = move |token| Task::Granted(work, token);
                // From a running task it is never refused.
                let _ = self.reads.acquire_then(self.bytes_per_read, &self.executor, granted);
                None
            }
        }
    }
}

/// A worker's surroundings while it runs a task.
struct AtWork<'a, 'w> {
    admission: &'a Admission,
    queue: Spawner<'w, Task>,
}

impl AtWork<'_, '_> {
    fn run<D: Detector>(mut self, task: Task, worker: &mut Worker<D>) {
        match task {
            Task::Reads(work) if work.is_wanted() => {
                if let Some((work, token)) = self.admission.admit(work) {
                    self.read(work, token, worker);
                }
            }
            Task::Granted(work, Ok(token)) => self.read(work, token, worker),
            // Its result is not needed any more, or the scan was stopped; the end of its flight reports the object.
            Task::Reads(_) | Task::Granted(_, Err(_)) => {}
            Task::OnDevice(turn) => {
                turn.run(|work, slot| {
                    let device = slot.device();
                    self.work(work, device, worker);
                    drop(slot);
                });
            }
        }
        worker.emitter.counts.show();
    }

    fn read<D: Detector>(&mut self, work: Work, token: ReadPermit, worker: &mut Worker<D>) {
        worker.read_token = Some(token);
        self.work(work, DeviceId::UNKNOWN, worker);
        worker.read_token = None;
    }

    fn work<D: Detector>(&mut self, work: Work, device: DeviceId, worker: &mut Worker<D>) {
        let Self { admission, queue } = self;
        match work {
            Work::Object(job) => {
                let (object, flight) = job.begin();
                let mut others = Others { admission, queue, device, flight: Some(flight) };
                scan(object, worker, &mut others);
            }
            Work::Help(file) => {
                if let Some(file) = file.upgrade() {
                    file.help(worker, &mut Others { admission, queue, device, flight: None });
                }
            }
        }
    }
}

fn scan<D: Detector>(object: Object, worker: &mut Worker<D>, others: &mut Others<'_, '_>) {
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
            worker.scan_file(&name, &name, opened, others);
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

/// Opens a file, if it is a regular one; says what else it is. Asked first: opening a pipe may block.
fn open(path: &Path) -> io::Result<Result<File, FileKind>> {
    let kind = FileKind::from(path.metadata()?.file_type());
    Ok(if kind.is_file() { Ok(File::open(path)?) } else { Err(kind) })
}

/// The other workers, for the worker that scans an object.
struct Others<'a, 'w> {
    admission: &'a Admission,
    queue: &'a mut Spawner<'w, Task>,
    /// Where the object is, if its source maps its files.
    device: DeviceId,
    /// The object's, until a large file takes it over.
    flight: Option<Flight>,
}

impl Helpers for Others<'_, '_> {
    fn expect_long_work(&mut self) {}

    fn call_for_help(&mut self, file: Weak<LargeFile>) {
        match &self.admission.lanes {
            Some(lanes) => {
                // From a running task it is never refused; lanes without a bound are never full.
                let _ = lanes.submit(self.device, Work::Help(file));
            }
            None => self.queue.spawn_local(Task::Reads(Work::Help(file))),
        }
    }

    fn take_flight(&mut self) -> Option<Flight> {
        self.flight.take()
    }
}
