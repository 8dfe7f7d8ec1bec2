//! Scans of sources: every object has an outcome wherever the scan is called, and the limits of
//! objects in flight, reads and device slots hold.

use crate::support::{Keys, Log, scan_objects};
use heist::Executor;
use heist_device::DeviceSlotsConfig;
use heist_device::{DeviceId, DeviceSlots, IoModel};
use heist_scan::{
    Chunk, Detector, Finding, Match, Object, ObjectOutcome, Overlap, RuleIndex, RuleInfo, Scan,
    ScanReport, Sink, Source, SourceError,
};
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// How long a test waits for something that must happen.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long a test watches for something that must not happen.
const LINGER: Duration = Duration::from_millis(100);

/// Runs `test` on its own thread, and fails if it hangs.
fn within_a_minute<T: Send + 'static>(test: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = channel();
    std::thread::spawn(move || sender.send(test()));
    receiver.recv_timeout(PATIENCE).expect("it neither hangs nor panics")
}

/// A source of numbered streams, created by `make`.
struct Streams<F> {
    io_model: IoModel,
    count: u64,
    given: Arc<AtomicU64>,
    make: F,
}

impl<F, R> Streams<F>
where
    F: FnMut(u64) -> R,
    R: Read + Send + 'static,
{
    fn new(count: u64, make: F) -> Self {
        Self { io_model: IoModel::ExplicitReads, count, given: Arc::default(), make }
    }
}

impl<F, R> Source for Streams<F>
where
    F: FnMut(u64) -> R,
    R: Read + Send + 'static,
{
    fn io_model(&self) -> IoModel {
        self.io_model
    }

    fn next_object(&mut self) -> Option<Result<Object, SourceError>> {
        let number = self.given.load(Ordering::SeqCst);
        if number == self.count {
            return None;
        }
        self.given.fetch_add(1, Ordering::SeqCst);
        Some(Ok(Object::stream(format!("{number:06}"), (self.make)(number))))
    }
}

const OBJECTS: u64 = 5000;

#[test]
fn a_scan_on_a_worker_of_an_executor_scans_everything() {
    let (report, log) = within_a_minute(|| {
        let (sender, receiver) = channel();
        let executor = Executor::builder()
            .threads(1)
            .build(
                |_worker| (),
                move |(), _ctx| {
                    let source = Streams::new(OBJECTS, |_| &b"KEY123"[..]);
                    let scan = Scan::new(Keys).threads(Some(2));
                    sender.send(scan_objects(scan, source)).unwrap();
                },
            )
            .unwrap();
        executor.spawn(()).unwrap();
        executor.join();
        receiver.recv().unwrap()
    });
    assert!(report.is_complete());
    assert_eq!((report.outcomes.scanned, report.findings), (OBJECTS, OBJECTS));
    assert_eq!(log.outcomes.lock().unwrap().len() as u64, OBJECTS);
}

/// Counts how many threads are inside at a time, and holds them until `expected` threads are
/// inside.
struct Meeting {
    expected: u64,
    state: Mutex<Attendance>,
    changed: Condvar,
}

#[derive(Default)]
struct Attendance {
    inside: u64,
    bytes: u64,
    most: u64,
    most_bytes: u64,
    /// When the expected number was first reached.
    full_since: Option<Instant>,
}

impl Meeting {
    fn new(expected: u64) -> Arc<Self> {
        Arc::new(Self { expected, state: Mutex::default(), changed: Condvar::new() })
    }

    /// Enters with `bytes`, and leaves a while after the expected number was reached, so that
    /// further threads would be counted.
    fn attend(&self, bytes: u64) {
        let begin = Instant::now();
        let mut state = self.state.lock().unwrap();
        state.inside += 1;
        state.bytes += bytes;
        state.most = state.most.max(state.inside);
        state.most_bytes = state.most_bytes.max(state.bytes);
        if state.inside >= self.expected {
            state.full_since.get_or_insert_with(Instant::now);
        }
        self.changed.notify_all();
        while begin.elapsed() < PATIENCE
            && state.full_since.is_none_or(|since| since.elapsed() < LINGER)
        {
            (state, _) = self.changed.wait_timeout(state, Duration::from_millis(5)).unwrap();
        }
        state.inside -= 1;
        state.bytes -= bytes;
    }

    /// Returns the maximum number of threads inside at a time, and the maximum number of their
    /// bytes.
    fn most(&self) -> (u64, u64) {
        let state = self.state.lock().unwrap();
        (state.most, state.most_bytes)
    }
}

/// A stream whose first read attends a meeting.
struct Meets {
    meeting: Arc<Meeting>,
    has_met: bool,
}

impl Read for Meets {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if std::mem::replace(&mut self.has_met, true) {
            return Ok(0);
        }
        self.meeting.attend(into.len() as u64);
        into[..6].copy_from_slice(b"KEY123");
        Ok(6)
    }
}

/// Scans `count` streams whose first reads attend a meeting. Returns the report, the maximum number
/// of reads at a time, and the maximum number of their bytes.
fn meet(io_model: IoModel, count: u64, expected: u64, scan: &Scan<Keys>) -> (ScanReport, u64, u64) {
    let meeting = Meeting::new(expected);
    let meets = Arc::clone(&meeting);
    let source = Streams {
        io_model,
        ..Streams::new(count, move |_| Meets { meeting: Arc::clone(&meets), has_met: false })
    };
    let scan = scan.clone();
    let (report, _) = within_a_minute(move || scan_objects(scan, source));
    let (most, most_bytes) = meeting.most();
    (report, most, most_bytes)
}

fn slots_of_an_unknown_device() -> u64 {
    let slots = DeviceSlots::new(DeviceSlotsConfig::by_kind()).unwrap();
    slots.total(DeviceId::UNKNOWN) as u64
}

#[test]
fn mapped_sources_take_slots_of_their_device() {
    let slots = slots_of_an_unknown_device();
    let scan = Scan::new(Keys).threads(Some(slots as usize + 3));
    let count = 3 * slots;
    let (report, most, _) = meet(IoModel::MmapImplicit, count, slots, &scan);
    assert_eq!((report.outcomes.scanned, report.findings), (count, count));
    assert_eq!(most, slots, "all slots of the device are used, and no more");
    // Explicit reads take no slots.
    let (report, most, _) = meet(IoModel::ExplicitReads, count, slots + 3, &scan);
    assert_eq!((report.outcomes.scanned, most), (count, slots + 3));
}

#[test]
fn reads_are_bounded_by_their_number() {
    let scan = Scan::new(Keys).threads(Some(6));
    let (report, most, _) = meet(IoModel::ExplicitReads, 12, 2, &scan.clone().max_reads(2));
    assert_eq!((report.outcomes.scanned, report.findings, most), (12, 12, 2));
    // Without the limit, all workers read.
    let (report, most, _) = meet(IoModel::ExplicitReads, 12, 6, &scan);
    assert_eq!((report.outcomes.scanned, most), (12, 6));
}

#[test]
fn reads_are_bounded_by_their_bytes() {
    let scan = Scan::new(Keys).threads(Some(6)).chunk_size(256 << 10);
    // Each read takes a chunk and less than 64 KiB around it.
    let bytes = 3 * (320 << 10);
    let bounded = scan.clone().max_read_bytes(bytes);
    let (report, most, most_bytes) = meet(IoModel::ExplicitReads, 12, 3, &bounded);
    assert_eq!((report.outcomes.scanned, most), (12, 3));
    assert!(most_bytes <= bytes && most_bytes > 2 * (256 << 10), "{most_bytes} bytes");
    // A read that is larger than the limit happens alone.
    let (report, most, most_bytes) =
        meet(IoModel::ExplicitReads, 6, 1, &scan.max_read_bytes(64 << 10));
    assert_eq!((report.outcomes.scanned, most), (6, 1));
    assert!(most_bytes >= 256 << 10, "{most_bytes} bytes");
}

/// Finds nothing. At each chunk, the workers that read the file attend a meeting.
struct ChunksMeet(Arc<Meeting>);

impl Detector for ChunksMeet {
    type Scratch = ();

    fn scratch(&self) {}

    fn required_overlap(&self) -> Overlap {
        Overlap::default()
    }

    fn scan(&self, _chunk: &Chunk<'_>, _scratch: &mut (), _matches: &mut Vec<Match>) {
        self.0.attend(1);
    }

    fn rule(&self, rule: RuleIndex) -> RuleInfo<'_> {
        Keys.rule(rule)
    }
}

/// Returns the maximum number of workers that read one file at a time. `limit` sets the limits.
fn most_at_one_file(
    io_model: IoModel,
    expected: u64,
    limit: impl Fn(Scan<ChunksMeet>) -> Scan<ChunksMeet>,
) -> u64 {
    let tree = tempfile::tempdir().unwrap();
    let path = tree.path().join("large");
    std::fs::write(&path, vec![b'x'; 1 << 20]).unwrap();
    let meeting = Meeting::new(expected);
    let scan = Scan::new(ChunksMeet(Arc::clone(&meeting)));
    let scan = limit(scan.chunk_size(8 << 10).range_size(16 << 10));
    let report = within_a_minute(move || {
        let source = OneFile { io_model, path: Some(path) };
        scan.source(source).run(Mutex::new(Vec::new())).unwrap()
    });
    assert_eq!((report.outcomes.scanned, report.bytes), (1, 1 << 20));
    meeting.most().0
}

/// A source of one file.
struct OneFile {
    io_model: IoModel,
    path: Option<PathBuf>,
}

impl Source for OneFile {
    fn io_model(&self) -> IoModel {
        self.io_model
    }

    fn next_object(&mut self) -> Option<Result<Object, SourceError>> {
        self.path.take().map(|path| Ok(Object::file(path)))
    }
}

#[test]
fn helpers_of_a_large_file_take_read_tokens() {
    let reads = IoModel::ExplicitReads;
    assert_eq!(most_at_one_file(reads, 3, |scan| scan.threads(Some(6)).max_reads(3)), 3);
    assert_eq!(most_at_one_file(reads, 6, |scan| scan.threads(Some(6))), 6);
    assert_eq!(most_at_one_file(reads, 1, |scan| scan.threads(Some(6)).max_read_bytes(1)), 1);
}

#[test]
fn helpers_of_a_large_file_of_a_mapped_source_take_device_slots() {
    let slots = slots_of_an_unknown_device();
    let workers = Some(slots as usize + 3);
    let most =
        most_at_one_file(IoModel::MmapImplicit, slots, |scan| scan.threads(workers).max_reads(1));
    assert_eq!(most, slots);
}

/// Finds keys. The first chunk of `large` waits until `small` was scanned.
struct SmallFirst {
    state: Mutex<SmallFirstState>,
    changed: Condvar,
}

#[derive(Default)]
struct SmallFirstState {
    is_helped: bool,
    is_small_done: bool,
}

impl SmallFirst {
    fn wait_until(&self, is_so: impl Fn(&SmallFirstState) -> bool) {
        let state = self.state.lock().unwrap();
        let (_state, waited) =
            self.changed.wait_timeout_while(state, PATIENCE, |state| !is_so(state)).unwrap();
        assert!(!waited.timed_out(), "a worker waits for the leading range");
    }

    fn change(&self, change: impl FnOnce(&mut SmallFirstState)) {
        change(&mut self.state.lock().unwrap());
        self.changed.notify_all();
    }
}

impl Detector for SmallFirst {
    type Scratch = ();

    fn scratch(&self) {}

    fn required_overlap(&self) -> Overlap {
        Keys.required_overlap()
    }

    fn scan(&self, chunk: &Chunk<'_>, scratch: &mut (), matches: &mut Vec<Match>) {
        if chunk.path.ends_with("small") {
            self.change(|state| state.is_small_done = true);
        } else if chunk.offset == 0 {
            self.wait_until(|state| state.is_small_done);
        } else {
            self.change(|state| state.is_helped = true);
        }
        Keys.scan(chunk, scratch, matches);
    }

    fn rule(&self, rule: RuleIndex) -> RuleInfo<'_> {
        Keys.rule(rule)
    }
}

/// A source of a large file and, when another worker helps with that, a small file.
struct LargeThenSmall {
    detector: Arc<SmallFirst>,
    paths: Vec<PathBuf>,
}

impl Source for LargeThenSmall {
    fn io_model(&self) -> IoModel {
        IoModel::ExplicitReads
    }

    fn next_object(&mut self) -> Option<Result<Object, SourceError>> {
        let path = self.paths.pop()?;
        if path.ends_with("small") {
            self.detector.wait_until(|state| state.is_helped);
        }
        Some(Ok(Object::file(path)))
    }
}

/// A helper that holds more matches ahead than allowed does not wait: it scans another object, and
/// the worker that makes its range leading scans the rest of the range.
#[test]
fn a_worker_that_is_too_far_ahead_in_a_large_file_scans_something_else() {
    // Each key is captured three times, with more than 150 bytes: all ranges except the first hold
    // far more than 24 MiB.
    const KEYS: u64 = 200_000;
    let tree = tempfile::tempdir().unwrap();
    let paths = ["small", "large"].map(|name| tree.path().join(name));
    std::fs::write(&paths[0], "KEY1").unwrap();
    std::fs::write(&paths[1], "KEY1234\n".repeat(KEYS as usize)).unwrap();
    let detector = Arc::new(SmallFirst { state: Mutex::default(), changed: Condvar::new() });
    let source = LargeThenSmall { detector: Arc::clone(&detector), paths: paths.to_vec() };
    let scan = Scan::new(detector)
        .threads(Some(2))
        .chunk_size(16 << 10)
        .range_size(128 << 10)
        .max_findings_per_object(None);
    let log = Arc::new(Log::default());
    let sink = Arc::clone(&log);
    let report = within_a_minute(move || scan.source(source).run(sink).unwrap());
    assert!(report.is_complete(), "{:?}", report.incomplete);
    assert_eq!((report.outcomes.scanned, report.findings), (2, KEYS + 1));
    assert_eq!(report.bytes, 8 * KEYS + 4);
    let findings = log.findings.lock().unwrap();
    let places = findings[&paths[1]].iter().map(|one| (one.offset.start, one.line, one.column));
    assert!(places.eq((0..KEYS).map(|key| (8 * key + 3, key + 1, 4))));
}

/// Finds nothing, and waits at each chunk until it may continue.
#[derive(Default)]
struct Held {
    may_go_on: Mutex<bool>,
    changed: Condvar,
}

impl Detector for Held {
    type Scratch = ();

    fn scratch(&self) {}

    fn required_overlap(&self) -> Overlap {
        Overlap::default()
    }

    fn scan(&self, _chunk: &Chunk<'_>, _scratch: &mut (), _matches: &mut Vec<Match>) {
        let guard = self.may_go_on.lock().unwrap();
        drop(self.changed.wait_while(guard, |may_go_on| !*may_go_on).unwrap());
    }

    fn rule(&self, rule: RuleIndex) -> RuleInfo<'_> {
        Keys.rule(rule)
    }
}

/// Compares the number of objects that the source has handed out with the number of objects done.
#[derive(Default)]
struct InFlight {
    given: Arc<AtomicU64>,
    done: AtomicU64,
    most: AtomicU64,
}

impl Sink for InFlight {
    fn finding(&self, _finding: Finding) {}

    fn object(&self, _outcome: &ObjectOutcome<'_>) {
        let done = self.done.fetch_add(1, Ordering::SeqCst);
        self.most.fetch_max(self.given.load(Ordering::SeqCst) - done, Ordering::SeqCst);
    }
}

/// Returns the maximum number of objects in flight, if all workers are held until the scan stops
/// asking the source. `max` sets the limit.
fn most_in_flight(workers: usize, max: Option<usize>, expected: u64) -> u64 {
    let (detector, sink) = (Arc::new(Held::default()), Arc::new(InFlight::default()));
    let mut source = Streams::new(3 * expected, |_| &b"x"[..]);
    source.given = Arc::clone(&sink.given);
    let scanning = {
        let (detector, sink) = (Arc::clone(&detector), Arc::clone(&sink));
        std::thread::spawn(move || {
            let scan = Scan::new(detector).threads(Some(workers));
            let scan = match max {
                Some(max) => scan.max_objects_in_flight(max),
                None => scan,
            };
            within_a_minute(move || scan.source(source).run(sink).unwrap())
        })
    };
    let begin = Instant::now();
    while sink.given.load(Ordering::SeqCst) < expected && begin.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(LINGER);
    let given = sink.given.load(Ordering::SeqCst);
    *detector.may_go_on.lock().unwrap() = true;
    detector.changed.notify_all();
    let report = scanning.join().unwrap();
    assert_eq!((report.outcomes.scanned, report.objects()), (3 * expected, 3 * expected));
    given.max(sink.most.load(Ordering::SeqCst))
}

#[test]
fn at_most_1024_objects_are_in_flight_by_default() {
    assert_eq!(most_in_flight(2, None, 1024), 1024);
}

#[test]
fn the_number_of_objects_in_flight_can_be_set() {
    for most in [1, 7] {
        assert_eq!(most_in_flight(3, Some(most), most as u64), most as u64);
    }
}

/// A stream that cancels the scan.
struct Canceller(heist::CancelToken);

impl Read for Canceller {
    fn read(&mut self, _into: &mut [u8]) -> io::Result<usize> {
        self.0.cancel();
        Ok(0)
    }
}

#[test]
fn objects_that_a_cancelled_scan_does_not_start_have_an_outcome() {
    for io_model in [IoModel::ExplicitReads, IoModel::MmapImplicit] {
        // With few objects in flight, the caller waits for room when the scan is cancelled.
        for in_flight in [4, 1_024] {
            let cancel = heist::CancelToken::new();
            let scan = Scan::new(Keys).threads(Some(2)).cancel(cancel.child());
            let scan = scan.max_objects_in_flight(in_flight);
            let canceller = move |_| Canceller(cancel.clone());
            let source = Streams { io_model, ..Streams::new(500, canceller) };
            let (report, _) = within_a_minute(move || scan_objects(scan, source));
            assert!(!report.is_complete());
            assert!(report.objects() > 0, "its first object cancels the scan");
            assert_eq!(report.outcomes.scanned + report.outcomes.interrupted, report.objects());
        }
    }
}
