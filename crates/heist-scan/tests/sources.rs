//! Objects of a source: each has an outcome wherever the scan is called, and no more of them are in flight, read or
//! mapped at a time than may be.

mod support;

use heist::Executor;
use heist_device::{DeviceId, DeviceSlots, DeviceSlotsConfig, IoModel};
use heist_scan::{
    Chunk, Detector, Finding, Match, Object, ObjectOutcome, Overlap, RuleIndex, RuleInfo,
    ScanConfig, ScanProgress, ScanReport, Sink, Source, SourceError, scan_local,
    scan_local_with_progress,
};
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};
use support::{Keys, Log, check_report};

/// How long a test waits for what has to happen.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long a test looks out for what must not happen.
const LINGER: Duration = Duration::from_millis(100);

/// Runs `test` on a thread of its own; one that hangs fails.
fn within_a_minute<T: Send + 'static>(test: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = channel();
    std::thread::spawn(move || sender.send(test()));
    receiver.recv_timeout(PATIENCE).expect("it neither hangs nor panics")
}

/// Streams that `make` makes of their numbers.
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

/// Scans with the detector of keys, and checks what holds for every scan.
fn scan(source: impl Source, config: &ScanConfig) -> (ScanReport, Arc<Log>) {
    let (log, progress) = (Arc::new(Log::default()), ScanProgress::new());
    let sink = Arc::clone(&log) as Arc<dyn Sink>;
    let report = scan_local_with_progress(Arc::new(Keys), source, sink, config, &progress).unwrap();
    check_report(&report, &log, &progress);
    assert_eq!(progress.snapshot().found, report.objects(), "every object has an outcome");
    (report, log)
}

const OBJECTS: u64 = 5000;

#[test]
fn a_scan_on_a_worker_of_an_executor_scans_everything() {
    let (report, log) = within_a_minute(|| {
        let (sender, receiver) = channel();
        let executor = Executor::builder()
            .workers(1)
            .build(
                |_worker| (),
                move |(), _ctx| {
                    let source = Streams::new(OBJECTS, |_| &b"KEY123"[..]);
                    sender.send(scan(source, &ScanConfig::new().workers(Some(2)))).unwrap();
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

/// Counts how many are inside at a time, and holds those that are until `expected` are.
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
    /// When as many as expected were first there.
    full_since: Option<Instant>,
}

impl Meeting {
    fn new(expected: u64) -> Arc<Self> {
        Arc::new(Self { expected, state: Mutex::default(), changed: Condvar::new() })
    }

    /// Goes in with `bytes`, and leaves when as many as expected have been there, and none more came for a while.
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

    /// The most that were inside at a time, and the most bytes.
    fn most(&self) -> (u64, u64) {
        let state = self.state.lock().unwrap();
        (state.most, state.most_bytes)
    }
}

/// A stream whose first read is a meeting.
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

/// Scans `count` streams whose first reads meet: the report, the most reads at a time, and the most bytes.
fn meet(
    io_model: IoModel,
    count: u64,
    expected: u64,
    config: &ScanConfig,
) -> (ScanReport, u64, u64) {
    let meeting = Meeting::new(expected);
    let meets = Arc::clone(&meeting);
    let source = Streams {
        io_model,
        ..Streams::new(count, move |_| Meets { meeting: Arc::clone(&meets), has_met: false })
    };
    let config = config.clone();
    let (report, _) = within_a_minute(move || scan(source, &config));
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
    let config = ScanConfig::new().workers(Some(slots as usize + 3));
    let count = 3 * slots;
    let (report, most, _) = meet(IoModel::MmapImplicit, count, slots, &config);
    assert_eq!((report.outcomes.scanned, report.findings), (count, count));
    assert_eq!(most, slots, "all slots of the device are used, and no more");
    // Explicit reads take none.
    let (report, most, _) = meet(IoModel::ExplicitReads, count, slots + 3, &config);
    assert_eq!((report.outcomes.scanned, most), (count, slots + 3));
}

#[test]
fn reads_are_bounded_by_their_number() {
    let config = ScanConfig::new().workers(Some(6));
    let (report, most, _) = meet(IoModel::ExplicitReads, 12, 2, &config.clone().max_reads(2));
    assert_eq!((report.outcomes.scanned, report.findings, most), (12, 12, 2));
    // The workers alone allow more.
    let (report, most, _) = meet(IoModel::ExplicitReads, 12, 6, &config);
    assert_eq!((report.outcomes.scanned, most), (12, 6));
}

#[test]
fn reads_are_bounded_by_their_bytes() {
    let config = ScanConfig::new().workers(Some(6)).chunk_size(256 << 10);
    // Each takes a chunk, and less than 64 KiB around it.
    let bytes = 3 * (320 << 10);
    let bounded = config.clone().max_read_bytes(bytes);
    let (report, most, most_bytes) = meet(IoModel::ExplicitReads, 12, 3, &bounded);
    assert_eq!((report.outcomes.scanned, most), (12, 3));
    assert!(most_bytes <= bytes && most_bytes > 2 * (256 << 10), "{most_bytes} bytes");
    // One that is larger than the bound is read alone.
    let (report, most, most_bytes) =
        meet(IoModel::ExplicitReads, 6, 1, &config.max_read_bytes(64 << 10));
    assert_eq!((report.outcomes.scanned, most), (6, 1));
    assert!(most_bytes >= 256 << 10, "{most_bytes} bytes");
}

/// Finds nothing. Each chunk is a meeting of the workers that read the file.
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

/// Counts, and prints nothing.
struct Nowhere;

impl Sink for Nowhere {
    fn finding(&self, _finding: Finding) {}
}

/// The most workers that read one file at a time.
fn most_at_one_file(io_model: IoModel, expected: u64, config: &ScanConfig) -> u64 {
    let tree = tempfile::tempdir().unwrap();
    let path = tree.path().join("large");
    std::fs::write(&path, vec![b'x'; 1 << 20]).unwrap();
    let meeting = Meeting::new(expected);
    let detector = Arc::new(ChunksMeet(Arc::clone(&meeting)));
    let config = config.clone().chunk_size(8 << 10).range_size(16 << 10);
    let report = within_a_minute(move || {
        let source = OneFile { io_model, path: Some(path) };
        scan_local(detector, source, Arc::new(Nowhere), &config).unwrap()
    });
    assert_eq!((report.outcomes.scanned, report.bytes), (1, 1 << 20));
    meeting.most().0
}

/// One file.
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
fn helpers_of_a_large_file_take_read_tokens_too() {
    let config = ScanConfig::new().workers(Some(6));
    let bounded = config.clone().max_reads(3);
    assert_eq!(most_at_one_file(IoModel::ExplicitReads, 3, &bounded), 3);
    assert_eq!(most_at_one_file(IoModel::ExplicitReads, 6, &config), 6);
    let alone = config.max_read_bytes(1);
    assert_eq!(most_at_one_file(IoModel::ExplicitReads, 1, &alone), 1);
}

#[test]
fn helpers_of_a_large_file_take_slots_of_its_device_if_that_is_what_its_source_does() {
    let slots = slots_of_an_unknown_device();
    let config = ScanConfig::new().workers(Some(slots as usize + 3)).max_reads(1);
    assert_eq!(most_at_one_file(IoModel::MmapImplicit, slots, &config), slots);
}

/// The detector of keys. The first chunk of `large` waits until `small` was scanned.
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
        assert!(!waited.timed_out(), "a worker waits for the range in turn");
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

/// A large file; and when another worker helps with it, a small one.
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

/// A helper with more matches than may be ahead does not wait for its turn: it scans another object, and the rest of
/// its range is scanned by the worker that brings it in turn.
#[test]
fn a_worker_that_is_too_far_ahead_in_a_large_file_scans_something_else() {
    // Each is captured three times, at more than 150 bytes: all ranges but the first hold far more than 24 MiB.
    const KEYS: u64 = 200_000;
    let tree = tempfile::tempdir().unwrap();
    let paths = ["small", "large"].map(|name| tree.path().join(name));
    std::fs::write(&paths[0], "KEY1").unwrap();
    std::fs::write(&paths[1], "KEY1234\n".repeat(KEYS as usize)).unwrap();
    let detector = Arc::new(SmallFirst { state: Mutex::default(), changed: Condvar::new() });
    let source = LargeThenSmall { detector: Arc::clone(&detector), paths: paths.to_vec() };
    let config = ScanConfig::new()
        .workers(Some(2))
        .chunk_size(16 << 10)
        .range_size(128 << 10)
        .max_findings_per_object(None);
    let log = Arc::new(Log::default());
    let sink = Arc::clone(&log);
    let report = within_a_minute(move || scan_local(detector, source, sink, &config).unwrap());
    assert!(report.is_complete(), "{:?}", report.incomplete);
    assert_eq!((report.outcomes.scanned, report.findings), (2, KEYS + 1));
    assert_eq!(report.bytes, 8 * KEYS + 4);
    let findings = log.findings.lock().unwrap();
    let places = findings[&paths[1]].iter().map(|one| (one.offset.start, one.line, one.column));
    assert!(places.eq((0..KEYS).map(|key| (8 * key + 3, key + 1, 4))));
}

/// Finds nothing, and waits at the first chunk until it may go on.
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

/// Compares how many objects were given out with how many are done.
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

/// The most objects in flight at a time, if all workers are held until the source is not asked any more.
fn most_in_flight(config: ScanConfig, expected: u64) -> u64 {
    let (detector, sink) = (Arc::new(Held::default()), Arc::new(InFlight::default()));
    let mut source = Streams::new(3 * expected, |_| &b"x"[..]);
    source.given = Arc::clone(&sink.given);
    let scanning = {
        let (detector, sink) = (Arc::clone(&detector), Arc::clone(&sink));
        std::thread::spawn(move || {
            within_a_minute(move || scan_local(detector, source, sink, &config).unwrap())
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
    assert_eq!(most_in_flight(ScanConfig::new().workers(Some(2)), 1024), 1024);
}

#[test]
fn the_number_of_objects_in_flight_can_be_set() {
    for most in [1, 7] {
        let config = ScanConfig::new().workers(Some(3)).max_objects_in_flight(most);
        assert_eq!(most_in_flight(config, most as u64), most as u64);
    }
}

/// Cancels the scan at an object.
struct Canceller(heist::CancelToken);

impl Read for Canceller {
    fn read(&mut self, _into: &mut [u8]) -> io::Result<usize> {
        self.0.cancel();
        Ok(0)
    }
}

#[test]
fn objects_that_a_cancelled_scan_leaves_out_have_an_outcome() {
    for io_model in [IoModel::ExplicitReads, IoModel::MmapImplicit] {
        // With room for few, the caller waits for room when the scan is cancelled.
        for in_flight in [4, 1_024] {
            let cancel = heist::CancelToken::new();
            let config = ScanConfig::new().workers(Some(2)).cancel(cancel.child());
            let config = config.max_objects_in_flight(in_flight);
            let canceller = move |_| Canceller(cancel.clone());
            let source = Streams { io_model, ..Streams::new(500, canceller) };
            let (report, _) = within_a_minute(move || scan(source, &config));
            assert!(!report.is_complete());
            assert!(report.objects() > 0, "it was cancelled by its first object");
            assert_eq!(report.outcomes.scanned + report.outcomes.interrupted, report.objects());
        }
    }
}
