//! [`BlobScan`]: the scan of objects that the caller has in memory, before their paths are known.
//!
//! In a history, one object has many paths, and they are found long after its bytes were in
//! memory. So the scan has two halves. The first, [`BlobScanner::scan`], needs the bytes and keeps
//! what a finding shows of them. The second, [`BlobScanner::report`], needs a path and hands the
//! findings to the sink.
//!
//! Invariant: for each path, the sink gets the findings and the outcome that a scan of a file with
//! this path and these bytes has.

use super::assemble::Assembler;
use super::builder::Scan;
use super::builtin_search::BuiltinSearch;
use super::capture::{Captured, capture_in_order};
use super::context::ScanContext;
use super::emit::{CurrentObject, Emitter, ObjectFindings};
use super::lines::{LineCursor, LinePosition};
use super::object_scanner::panic_message;
use crate::chunk::{Chunk, StopCheck};
use crate::detector::{Detector, Match};
use crate::newline::Newline;
use crate::report::{Outcome, ScanReport};
use crate::sink::Sink;
use crate::version::{Memory, PathFreeMatch, Version};
use crate::window::is_binary;
use heist::{CancelToken, MetricsSnapshot};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A scan of objects that the caller has in memory. Its workers are the caller's; each has a
/// [`BlobScanner`].
///
/// Create it with [`Scan::blobs`].
///
/// # Examples
/// ```
/// use heist::{CancelToken, MetricsSnapshot};
/// use heist_scan::rules::RuleSet;
/// use heist_scan::{DetectorOptions, Scan, SecretDetector, Version};
/// use std::sync::{Arc, Mutex};
///
/// let detector = SecretDetector::new(RuleSet::builtin(), DetectorOptions::default());
/// let findings = Arc::new(Mutex::new(Vec::new()));
/// let scan = Scan::new(detector).blobs(Arc::clone(&findings), &CancelToken::new());
/// let mut scanner = scan.scanner();
/// let blob = scanner.scan(Version::new(b"password = \"7tRmq!x2Lw9z\"\n")); // heist:allow
/// for path in ["a.ini", "b.ini"] {
///     scanner.report(&blob, path.as_ref(), path.as_ref());
/// }
/// drop(scanner);
/// let report = scan.finish(1, MetricsSnapshot::default());
/// assert_eq!((report.outcomes.scanned, report.findings), (2, 2));
/// assert_eq!(findings.lock().unwrap()[1].path.to_str(), Some("b.ini"));
/// ```
pub struct BlobScan<D: Detector> {
    context: Arc<ScanContext<D>>,
}

impl<D: Detector> Scan<D> {
    /// Creates a scan of objects that the caller has in memory and scans on its own threads. `sink`
    /// gets the findings. When `cancel` is cancelled or the [deadline](Scan::deadline) passes, the
    /// scan ends early.
    ///
    /// The settings about threads, reading and chunks have no effect, nor has a token that was set
    /// with [`cancel`](Scan::cancel).
    pub fn blobs(self, sink: impl Sink + 'static, cancel: &CancelToken) -> BlobScan<D> {
        let Self { detector, settings, .. } = self;
        BlobScan { context: ScanContext::new(detector, Arc::new(sink), settings, cancel) }
    }
}

impl<D: Detector> BlobScan<D> {
    /// Creates the tools of one worker.
    #[must_use]
    pub fn scanner(&self) -> BlobScanner<D> {
        let counts = self.context.settings.progress.add_worker();
        BlobScanner {
            context: Arc::clone(&self.context),
            scratch: None,
            matches: Vec::new(),
            search: BuiltinSearch::beside(&*self.context.detector),
            assembler: Assembler::default(),
            emitter: Emitter::new(&self.context, counts),
        }
    }

    /// Returns `true` if the scan was cancelled or its deadline has passed.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.context.is_stopped()
    }

    /// Returns the report of the scan, which counts what the dropped scanners reported. `threads`
    /// and `metrics` are those of the caller's executor.
    #[must_use]
    pub fn finish(self, threads: usize, metrics: MetricsSnapshot) -> ScanReport {
        self.context.report(threads, metrics)
    }
}

impl<D: Detector> fmt::Debug for BlobScan<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlobScan").finish_non_exhaustive()
    }
}

/// The tools of one worker of a [`BlobScan`].
pub struct BlobScanner<D: Detector> {
    context: Arc<ScanContext<D>>,
    /// Created when it is first needed, and again after a panic.
    scratch: Option<D::Scratch>,
    matches: Vec<PathFreeMatch>,
    search: BuiltinSearch,
    assembler: Assembler,
    emitter: Emitter<D>,
}

/// A scanned object whose path is not known yet: what is left of it when its bytes are gone.
#[derive(Debug)]
pub struct ScannedBlob {
    /// What the detector keeps, for versions of this object. Empty if the object was not scanned to
    /// its end.
    pub memory: Memory,
    end: BlobEnd,
    bytes: u64,
    captured: Vec<CapturedPathFree>,
}

/// How the scan of an object ended. Unlike an outcome, it can be reported several times.
#[derive(Clone, Debug)]
enum BlobEnd {
    Scanned,
    Binary,
    TooLarge,
    Interrupted,
    Panicked(String),
}

impl BlobEnd {
    fn outcome(&self) -> Outcome {
        match self {
            Self::Scanned => Outcome::Scanned,
            Self::Binary => Outcome::Binary,
            Self::TooLarge => Outcome::TooLarge,
            Self::Interrupted => Outcome::Interrupted,
            Self::Panicked(message) => Outcome::Panicked(message.clone()),
        }
    }
}

/// A match whose path is not known yet, together with the text around it.
#[derive(Debug)]
struct CapturedPathFree {
    /// Its match is the one in `found`.
    captured: Captured,
    found: PathFreeMatch,
}

impl ScannedBlob {
    /// Returns `true` if the object has matches that may count under some path, or was not scanned
    /// to its end. Otherwise only its path can have findings.
    #[must_use]
    pub fn is_worth_reporting(&self) -> bool {
        !self.captured.is_empty() || !matches!(self.end, BlobEnd::Scanned)
    }

    /// Returns about how much memory its matches take.
    #[must_use]
    pub fn captured_size(&self) -> u64 {
        let size =
            |one: &CapturedPathFree| one.captured.memory() + size_of::<PathFreeMatch>() as u64;
        self.captured.iter().map(size).sum()
    }

    /// Returns how the scan of the object ended, if its path does not exclude it.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        self.end.outcome()
    }

    fn unscanned(end: BlobEnd) -> Self {
        Self { memory: Memory::default(), end, bytes: 0, captured: Vec::new() }
    }
}

impl<D: Detector> BlobScanner<D> {
    /// Scans an object. The scan treats it like a file with the same contents: it skips the object
    /// if it is binary or too large, and a panic of the detector ends the object and nothing else.
    pub fn scan(&mut self, version: Version<'_>) -> ScannedBlob {
        let settings = &self.context.settings;
        let bytes = version.bytes();
        if self.context.is_stopped() {
            return ScannedBlob::unscanned(BlobEnd::Interrupted);
        }
        if settings.max_file_size.is_some_and(|most| bytes.len() as u64 > most) {
            return ScannedBlob::unscanned(BlobEnd::TooLarge);
        }
        if !settings.binary && is_binary(bytes) {
            return ScannedBlob::unscanned(BlobEnd::Binary);
        }
        self.matches.clear();
        let scanned = catch_unwind(AssertUnwindSafe(|| self.scan_text(&version)));
        scanned.unwrap_or_else(|panic| {
            self.scratch = None;
            self.matches = Vec::new();
            ScannedBlob::unscanned(BlobEnd::Panicked(panic_message(&*panic)))
        })
    }

    fn scan_text(&mut self, version: &Version<'_>) -> ScannedBlob {
        let ended_early = AtomicBool::new(false);
        let context = &self.context;
        let is_stopped = || {
            let is_stopped = context.is_stopped();
            // Relaxed: only this thread uses it.
            ended_early.fetch_or(is_stopped, Ordering::Relaxed);
            is_stopped
        };
        let version = Version { stop: StopCheck(Some(&is_stopped)), ..*version };
        let detector = &context.detector;
        let scratch = self.scratch.get_or_insert_with(|| detector.scratch());
        let memory = detector.scan_changed(&version, scratch, &mut self.matches);
        let (memory, end) = match ended_early.load(Ordering::Relaxed) {
            true => (Memory::default(), BlobEnd::Interrupted),
            false => (memory, BlobEnd::Scanned),
        };
        let bytes = version.bytes();
        self.matches.sort_by_key(|one| one.found.secret.start);
        let mut matches: Vec<Match> = self.matches.iter().map(|one| one.found.clone()).collect();
        let object = Chunk {
            encoding: version.encoding(),
            stop: version.stop,
            ..Chunk::whole(bytes, Path::new(""))
        };
        let newline = Newline::of(Some(version.encoding()));
        let cursor = LineCursor::new(LinePosition::BEGIN, 0, newline);
        let mut captured = Vec::with_capacity(matches.len());
        capture_in_order(&mut matches, &object, cursor, &mut self.search, &mut captured);
        let captured = captured.into_iter().zip(self.matches.drain(..));
        let captured = captured.map(|(captured, mut found)| {
            // It is within the object now, even if the detector is wrong.
            found.found.secret = captured.found.secret.clone();
            CapturedPathFree { captured, found }
        });
        ScannedBlob { memory, end, bytes: bytes.len() as u64, captured: captured.collect() }
    }

    /// Reports the findings and the outcome of an object under a path. Findings show `path`, and
    /// rules see `rule_path`. An object can be reported under several paths.
    pub fn report(&mut self, blob: &ScannedBlob, path: &Path, rule_path: &Path) {
        let mut object = CurrentObject::new(path, ObjectFindings::default());
        let reported =
            catch_unwind(AssertUnwindSafe(|| self.report_findings(blob, rule_path, &mut object)));
        let (outcome, bytes) = reported.unwrap_or_else(|panic| {
            self.assembler = Assembler::default();
            (Outcome::Panicked(panic_message(&*panic)), 0)
        });
        self.emitter.counts.so_far.bytes += bytes;
        // If the sink panics here, other objects still get their outcomes.
        let reported = catch_unwind(AssertUnwindSafe(|| {
            self.emitter.object_done(&object, outcome, bytes);
        }));
        drop(reported);
        self.emitter.counts.publish();
    }

    fn report_findings(
        &mut self,
        blob: &ScannedBlob,
        rule_path: &Path,
        object: &mut CurrentObject<'_>,
    ) -> (Outcome, u64) {
        let Self { context, assembler, emitter, .. } = self;
        let detector = &context.detector;
        let mut of_path: Vec<Match> = Vec::new();
        detector.scan_path(rule_path, &mut of_path);
        for found in of_path {
            emitter.emit_path(object, rule_path, &found);
        }
        // If the detector panics here, the object is wanted.
        let is_wanted =
            catch_unwind(AssertUnwindSafe(|| detector.wants(rule_path))).unwrap_or(true);
        if !is_wanted {
            return (Outcome::Excluded, 0);
        }
        assembler.clear();
        assembler.add(blob.captured.iter().filter_map(|one| {
            let found = detector.settle(&one.found, rule_path)?;
            let mut captured = one.captured.clone();
            captured.found = found;
            Some(captured)
        }));
        assembler.settle(u64::MAX, &mut |assembled| emitter.emit(object, &assembled));
        (blob.end.outcome(), blob.bytes)
    }
}

impl<D: Detector> fmt::Debug for BlobScanner<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlobScanner").finish_non_exhaustive()
    }
}
