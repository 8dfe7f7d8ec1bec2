//! The scan of a [`Source`]: the calling thread asks for objects, and an executor scans them.
//!
//! - The objects in flight are bounded: the calling thread waits for room before it asks for the
//!   next one (`in_flight`).
//! - An object, or a helper with a large file, needs a *read token* before it is read.
//!   [`ReadTokens`] bound the number of reads under way and their bytes. A worker holds its token
//!   until the last read: if the object fits into the window, until the window is filled, and
//!   otherwise until the worker is done with the object.
//! - A source that maps its files takes slots of their devices instead, from [`DeviceLanes`].
//! - No worker waits for a token or a slot: work that does not get one at once comes back as a task
//!   when it does.

use super::builder::{Scan, ScanSettings, THREAD_NAME};
use super::context::ScanContext;
use super::in_flight::{InFlightGuard, ObjectsInFlight, PendingObject};
use super::large::LargeFile;
use super::object_scanner::{Helpers, ObjectScanner};
use crate::detector::Detector;
use crate::report::{Outcome, ScanError, ScanReport};
use crate::sink::Sink;
use crate::source::{Contents, Object, Source};
use heist::trace::Tracer;
use heist::{
    AcquireError, ExecutorBuilder, ExecutorConfig, ExecutorHandle, OnPanic, ReadPermit, ReadTokens,
    Spawner,
};
use heist_device::DeviceSlotsConfig;
use heist_device::{DeviceId, DeviceLanes, DeviceSlots, DeviceTurn, IoModel};
use heist_walk::FileKind;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Arc, OnceLock, Weak};

/// Runs a scan of the objects of a source. See [`Scan::run`].
pub(super) fn run_source<D: Detector, S: Source, T: Tracer>(
    scan: Scan<D, S, T>,
    sink: Arc<dyn Sink>,
) -> Result<ScanReport, ScanError> {
    let Scan { detector, input: mut source, tracer, settings } = scan;
    let mut executor = ExecutorConfig::default();
    THREAD_NAME.clone_into(&mut executor.thread_name);
    settings.configure(&mut executor);
    let threads = settings.threads.unwrap_or_else(|| ExecutorConfig::default().threads);
    let context = ScanContext::new(detector, sink, settings, &executor.cancel);
    executor.threads = threads;
    executor.on_panic = OnPanic::StopPool;
    executor.cancel = context.stop.clone();
    let progress = context.settings.progress.clone();
    // The calling thread counts the objects, and reports those that the source cannot provide.
    let mut caller = ObjectScanner::new(&context, progress.add_worker());
    let admission = Arc::new(OnceLock::new());
    let executor = {
        let context = Arc::clone(&context);
        let admission = Arc::clone(&admission);
        ExecutorBuilder::new(executor).trace(tracer).build(
            move |_worker| ObjectScanner::new(&context, progress.add_worker()),
            move |task, ctx| {
                let (scanner, queue) = ctx.split();
                if let Some(admission) = admission.get() {
                    TaskContext { admission, queue }.run(task, scanner);
                }
            },
        )?
    };
    let bytes_per_read = caller.window.capacity() as u64;
    // Set before the first task is spawned.
    let admission = admission.get_or_init(|| {
        Admission::new(&executor.handle(), source.io_model(), &context.settings, bytes_per_read)
    });
    let mut in_flight = ObjectsInFlight::new(context.settings.max_objects_in_flight);
    loop {
        in_flight.wait_for_room(|name| caller.report_unscanned(&name, Outcome::Interrupted));
        if context.is_stopped() {
            break;
        }
        let Some(next) = source.next_object() else { break };
        caller.emitter.counts.so_far.found += 1;
        caller.emitter.counts.publish();
        match next {
            Ok(object) => admission.submit(in_flight.add(object)),
            Err(error) => caller.report_unscanned(&error.name, Outcome::Unreadable(error.source)),
        }
    }
    let metrics = executor.join();
    // Every task has run or was dropped, so no object is in flight any more.
    in_flight.count_ended(|name| caller.report_unscanned(&name, Outcome::Interrupted));
    drop(caller);
    Ok(context.report(threads, metrics))
}

/// What a worker can do.
enum Work {
    Object(Box<PendingObject>),
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
    /// Work that has waited for its read token.
    Granted(Work, Result<ReadPermit, AcquireError>),
    /// Work on a mapped file, with a device slot.
    OnDevice(DeviceTurn<Work>),
}

/// Admits work to the workers, by read tokens or by device slots.
struct Admission {
    executor: ExecutorHandle<Task>,
    reads: ReadTokens,
    /// The number of bytes that one worker reads at a time: the size of its window.
    bytes_per_read: u64,
    /// Used if the source maps its files.
    lanes: Option<DeviceLanes<Work>>,
}

/// The maximum that [`ReadTokens`] can count.
const READS_MAX: u64 = (1 << 20) - 1;
const READ_BYTES_MAX: u64 = (1 << 41) - 1;

impl Admission {
    fn new(
        executor: &ExecutorHandle<Task>,
        io_model: IoModel,
        settings: &ScanSettings,
        bytes_per_read: u64,
    ) -> Self {
        let reads = (settings.max_reads as u64).clamp(1, READS_MAX);
        let bytes = settings.max_read_bytes.clamp(1, READ_BYTES_MAX);
        let lanes = io_model.uses_device_slots().then(|| {
            let slots = DeviceSlots::new(DeviceSlotsConfig::by_kind())
                .expect("every kind has at least one slot");
            DeviceLanes::new(executor, slots, Task::OnDevice)
        });
        Self {
            executor: executor.clone(),
            reads: ReadTokens::new(reads, bytes).expect("no more than tokens can count"),
            // A window that is larger than the maximum is read while nothing else is.
            bytes_per_read: bytes_per_read.min(bytes),
            lanes,
        }
    }

    /// Hands an object to the workers. A stopped executor refuses it, which drops its guard.
    fn submit(&self, object: PendingObject) {
        match &self.lanes {
            Some(lanes) => {
                let device = object.device();
                let _ = lanes.submit(device, Work::Object(Box::new(object)));
            }
            None => {
                let _ = self.executor.spawn(Task::Reads(Work::Object(Box::new(object))));
            }
        }
    }

    /// Takes a read token for `work`. If none is free, the work waits for one and comes back as a
    /// task.
    fn admit(&self, work: Work) -> Option<(Work, ReadPermit)> {
        match self.reads.try_acquire(self.bytes_per_read) {
            Ok(token) => Some((work, token)),
            Err(_) => {
                let granted = move |token| Task::Granted(work, token);
                // A running task is never refused.
                let _ = self.reads.acquire_then(self.bytes_per_read, &self.executor, granted);
                None
            }
        }
    }
}

/// What a worker can reach while it runs a task.
struct TaskContext<'a, 'w> {
    admission: &'a Admission,
    queue: Spawner<'w, Task>,
}

impl TaskContext<'_, '_> {
    fn run<D: Detector>(mut self, task: Task, scanner: &mut ObjectScanner<D>) {
        match task {
            Task::Reads(work) if work.is_wanted() => {
                if let Some((work, token)) = self.admission.admit(work) {
                    self.read(work, token, scanner);
                }
            }
            Task::Granted(work, Ok(token)) => self.read(work, token, scanner),
            // The file is done, or the scan was stopped; then the object's guard reports it.
            Task::Reads(_) | Task::Granted(_, Err(_)) => {}
            Task::OnDevice(turn) => {
                turn.run(|work, slot| {
                    let device = slot.device();
                    self.work(work, device, scanner);
                    drop(slot);
                });
            }
        }
        scanner.emitter.counts.publish();
    }

    fn read<D: Detector>(&mut self, work: Work, token: ReadPermit, scanner: &mut ObjectScanner<D>) {
        scanner.read_token = Some(token);
        self.work(work, DeviceId::UNKNOWN, scanner);
        scanner.read_token = None;
    }

    fn work<D: Detector>(&mut self, work: Work, device: DeviceId, scanner: &mut ObjectScanner<D>) {
        let Self { admission, queue } = self;
        match work {
            Work::Object(object) => {
                let (object, guard) = object.start();
                let mut helpers = OtherWorkers { admission, queue, device, in_flight: Some(guard) };
                scan_object(object, scanner, &mut helpers);
            }
            Work::Help(file) => {
                if let Some(file) = file.upgrade() {
                    let mut helpers = OtherWorkers { admission, queue, device, in_flight: None };
                    file.help(scanner, &mut helpers);
                }
            }
        }
    }
}

fn scan_object<D: Detector>(
    object: Object,
    scanner: &mut ObjectScanner<D>,
    helpers: &mut OtherWorkers<'_, '_>,
) {
    let Object { name, contents, size_hint, rule_path, placement, .. } = object;
    let rule_path = rule_path.as_deref().unwrap_or(&name);
    // Stopping a scan drops its queued objects. An object that was just taken from the queue is
    // treated the same.
    if scanner.context.is_stopped() {
        return scanner.report_unscanned(&name, Outcome::Interrupted);
    }
    let most = scanner.context.settings.max_file_size;
    if size_hint.zip(most).is_some_and(|(size, most)| size > most) {
        return scanner.report_unscanned(&name, Outcome::TooLarge);
    }
    match contents {
        Contents::File => {
            let opened = match scanner.wants(rule_path).then(|| open(&name)) {
                Some(Ok(Err(kind))) => {
                    return scanner.report_unscanned(&name, Outcome::Special(kind));
                }
                Some(Ok(Ok(file))) => Some(Ok(file)),
                Some(Err(error)) => Some(Err(error)),
                None => None,
            };
            scanner.scan_file(&name, rule_path, opened, helpers);
        }
        Contents::Stream(mut stream) => {
            if scanner.wants(rule_path) {
                scanner.scan_stream(&name, rule_path, placement.as_deref(), &mut *stream);
            } else {
                scanner.report_unscanned(&name, Outcome::Excluded);
            }
        }
    }
}

/// Opens a regular file. Returns the kind of anything else without opening it, because opening a
/// pipe may block.
fn open(path: &Path) -> io::Result<Result<File, FileKind>> {
    let kind = FileKind::from(path.metadata()?.file_type());
    Ok(if kind.is_file() { Ok(File::open(path)?) } else { Err(kind) })
}

/// The other workers, for the worker that scans an object.
struct OtherWorkers<'a, 'w> {
    admission: &'a Admission,
    queue: &'a mut Spawner<'w, Task>,
    /// The device of the object, if the source maps its files.
    device: DeviceId,
    /// The guard of the object, until a large file takes it over.
    in_flight: Option<InFlightGuard>,
}

impl Helpers for OtherWorkers<'_, '_> {
    fn expect_long_work(&mut self) {}

    fn call_for_help(&mut self, file: Weak<LargeFile>) {
        match &self.admission.lanes {
            Some(lanes) => {
                // A running task is never refused, and lanes without a bound are never full.
                let _ = lanes.submit(self.device, Work::Help(file));
            }
            None => self.queue.spawn_local(Task::Reads(Work::Help(file))),
        }
    }

    fn take_in_flight(&mut self) -> Option<InFlightGuard> {
        self.in_flight.take()
    }
}
