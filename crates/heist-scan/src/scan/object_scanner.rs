//! [`ObjectScanner`]: the tools of one worker, and the scan of one object with them, chunk by
//! chunk.
//!
//! A worker has only its window of an object in memory, and the size of the window does not depend
//! on the object. A file that fits into the window is opened, read until a read returns nothing,
//! and closed; no other system calls are needed.

use super::assemble::Assembler;
use super::builtin_search::BuiltinSearch;
use super::capture::{Captured, capture};
use super::context::{ScanContext, surroundings};
use super::emit::{CurrentObject, Emitter, ObjectFindings};
use super::in_flight::InFlightGuard;
use super::large::{FileContents, LargeFile};
use super::lines::{LineCursor, LinePosition};
use super::progress::WorkerCounts;
use super::work::{BLOCK_BYTES, WorkLimit, end_of_block};
use crate::chunk::{Chunk, StopCheck};
use crate::decode::utf16_guess;
use crate::detector::{Detector, Match};
use crate::newline::Newline;
use crate::placement::Placement;
use crate::report::Outcome;
use crate::window::{Window, is_binary, read_at};
use heist::ReadPermit;
use heist_walk::FileKind;
use std::any::Any;
use std::fs::File;
use std::io::{self, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

/// What a worker can ask of the other workers of its scan.
pub(crate) trait Helpers {
    /// Offers the worker's other work to them, because its current object takes long.
    fn expect_long_work(&mut self);

    /// Asks them to help with `file`.
    fn call_for_help(&mut self, file: Weak<LargeFile>);

    /// Returns the guard that counts the object as in flight, if it has one. A large file holds the
    /// guard until it is done.
    fn take_in_flight(&mut self) -> Option<InFlightGuard>;
}

/// The tools of one scanner.
pub(crate) struct ObjectScanner<D: Detector> {
    pub(crate) context: Arc<ScanContext<D>>,
    /// Created when it is first needed, and again after a panic.
    scratch: Option<D::Scratch>,
    pub(crate) window: Window,
    matches: Vec<Match>,
    search: BuiltinSearch,
    pub(crate) captured: Vec<Captured>,
    assembler: Assembler,
    pub(crate) emitter: Emitter<D>,
    /// The permit to read an object of a source. Dropped after the last read.
    pub(crate) read_token: Option<ReadPermit>,
}

/// How the scan of a part of an object ended.
#[derive(Debug)]
pub(crate) enum PartEnd {
    /// It reached the end of the part.
    Done,
    /// The object ended before the end of the part.
    Short,
    /// The rest is not needed, or must be scanned later.
    NotWanted,
    /// The object takes too much work, so the rest is not scanned.
    TooMuchWork,
    /// The scan was stopped.
    Stopped,
    Failed(io::Error),
}

impl PartEnd {
    /// Returns the end of a part in which a read may have failed.
    fn unless_failed(self, failure: Option<io::Error>) -> Self {
        match (self, failure) {
            (Self::Done | Self::Short, Some(error)) => Self::Failed(error),
            (end, _) => end,
        }
    }
}

/// A chunk that was scanned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScannedChunk {
    /// The number of positions it owned.
    pub(crate) bytes: u64,
    /// All secrets that begin before this offset are known.
    pub(crate) known_to: u64,
    /// The end of the positions it owned.
    pub(crate) end: u64,
    /// Whether the object ends there.
    pub(crate) is_object_end: bool,
    /// The detector's work for them.
    pub(crate) work: u64,
}

impl ScannedChunk {
    /// Returns `true` if the chunk ends where a block ends.
    pub(crate) fn ends_block(&self) -> bool {
        self.end.is_multiple_of(BLOCK_BYTES)
    }

    /// Returns `true` if the object must be cut at the end of the chunk, because it takes this much
    /// work up to there.
    pub(crate) fn is_cut(&self, work: u64, limit: Option<WorkLimit>) -> bool {
        limit.is_some_and(|limit| limit.cuts(work, self.end, self.is_object_end))
    }
}

/// The number of matches for which a worker keeps memory allocated between files.
pub(crate) const CAPTURED_CAPACITY_MAX: usize = 1024;

/// The part of an object to scan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    /// The end of the part.
    pub(crate) to: u64,
    /// The end of the object, as far as this scan is concerned.
    pub(crate) limit: u64,
}

impl Part {
    /// All of an object of unknown length.
    pub(crate) const UNKNOWN_LENGTH: Self = Self { to: u64::MAX, limit: u64::MAX };
}

/// The outcome of an object and the number of bytes scanned, or `None` if other workers still scan
/// it and the last of them will report the outcome.
type ObjectEnd = Option<(Outcome, u64)>;

impl<D: Detector> ObjectScanner<D> {
    pub(crate) fn new(context: &Arc<ScanContext<D>>, counts: WorkerCounts) -> Self {
        let around = surroundings(&*context.detector);
        Self {
            context: Arc::clone(context),
            scratch: None,
            window: Window::new(context.settings.chunk_size, around),
            matches: Vec::new(),
            search: BuiltinSearch::beside(&*context.detector),
            captured: Vec::new(),
            assembler: Assembler::default(),
            emitter: Emitter::new(context, counts),
            read_token: None,
        }
    }

    /// Returns `false` if the detector does not want the object, given the path that rules see. If
    /// the detector panics here, the object is scanned.
    pub(crate) fn wants(&self, rule_path: &Path) -> bool {
        catch_unwind(AssertUnwindSafe(|| self.context.detector.wants(rule_path))).unwrap_or(true)
    }

    /// Scans a file. Findings show `path`, and rules see `rule_path`. `opened` is `None` if the
    /// detector does not want the file.
    pub(crate) fn scan_file(
        &mut self,
        path: &Path,
        rule_path: &Path,
        opened: Option<io::Result<File>>,
        helpers: &mut impl Helpers,
    ) {
        self.scan_object(path, rule_path, |scanner, object| {
            let file = match opened {
                Some(Ok(file)) => file,
                Some(Err(error)) => return Some((outcome_of(error), 0)),
                None => return Some((Outcome::Excluded, 0)),
            };
            scanner.window.begin(0);
            // Without an offset, so that it also works for files that cannot seek.
            let mut read = |_: u64, into: &mut [u8]| (&file).read(into);
            let mut failure = scanner.fill_first(&mut read).err();
            let refused = scanner.refuse(scanner.window.end_offset());
            if let Some(outcome) = scanner.ends_at_once(&mut failure, refused) {
                return Some((outcome, 0));
            }
            if scanner.window.is_ended() {
                let end = scanner.scan_rest(object, rule_path, Part::UNKNOWN_LENGTH, &mut read);
                return scanner.end_of(end.unless_failed(failure));
            }
            // The file is not small. Only now is it worth asking for its size.
            helpers.expect_long_work();
            scanner.scan_long_file(object, rule_path, file, helpers)
        });
    }

    /// Scans a file that does not fit into the window, which contains its beginning.
    fn scan_long_file(
        &mut self,
        object: &mut CurrentObject<'_>,
        rule_path: &Path,
        file: File,
        helpers: &mut impl Helpers,
    ) -> ObjectEnd {
        let metadata = match file.metadata() {
            Ok(metadata) => metadata,
            Err(error) => return Some((outcome_of(error), 0)),
        };
        let kind = FileKind::from(metadata.file_type());
        if !kind.is_file() {
            return Some((Outcome::Special(kind), 0));
        }
        let size = metadata.len();
        if let Some(outcome) = self.refuse(size) {
            return Some((outcome, 0));
        }
        if size < self.window.end_offset() {
            // The system does not know the size (as in /proc), or the file has become shorter. Scan
            // to its end.
            let mut read = |_: u64, into: &mut [u8]| (&file).read(into);
            let end = self.scan_rest(object, rule_path, Part::UNKNOWN_LENGTH, &mut read);
            return self.end_of(end);
        }
        if size > self.context.settings.range_size {
            let range_size = self.context.settings.range_size;
            let contents = FileContents { file, size, range_size, newline: self.newline() };
            let large =
                Arc::new(LargeFile::new(contents, object, rule_path, helpers.take_in_flight()));
            large.begin_with(self, helpers);
            return None;
        }
        let part = Part { to: size, limit: size };
        let mut read = |at: u64, into: &mut [u8]| read_at(&file, at, into);
        let end = self.scan_rest(object, rule_path, part, &mut read);
        let end = match (self.end_of(end), file.metadata()) {
            (Some((Outcome::Scanned, bytes)), Ok(now)) if now.len() > size => {
                (Outcome::Grown, bytes)
            }
            (Some(end), _) => end,
            (None, _) => return None,
        };
        Some(end)
    }

    /// Scans a stream.
    pub(crate) fn scan_stream(
        &mut self,
        path: &Path,
        rule_path: &Path,
        placement: Option<&dyn Placement>,
        stream: &mut dyn Read,
    ) {
        self.scan_placed(path, rule_path, placement, |scanner, object| {
            scanner.window.begin(0);
            let mut read = |_: u64, into: &mut [u8]| stream.read(into);
            let mut failure = scanner.fill_first(&mut read).err();
            let refused = scanner.refuse(0);
            if let Some(outcome) = scanner.ends_at_once(&mut failure, refused) {
                return Some((outcome, 0));
            }
            let most = scanner.context.settings.max_file_size.unwrap_or(u64::MAX);
            if scanner.window.end_offset() > most {
                return Some((Outcome::TooLarge, 0));
            }
            let end =
                scanner.scan_rest(object, rule_path, Part { to: most, limit: u64::MAX }, &mut read);
            let is_all = scanner.window.is_ended() && scanner.window.end_offset() <= most;
            match scanner.end_of(end.unless_failed(failure)) {
                Some((Outcome::Scanned, bytes)) if !is_all => Some((Outcome::TooLarge, bytes)),
                end => end,
            }
        });
    }

    /// Reads the first bytes of an object. Returns the read token if that is the whole object.
    fn fill_first(
        &mut self,
        read: &mut impl FnMut(u64, &mut [u8]) -> io::Result<usize>,
    ) -> io::Result<()> {
        let filled = self.window.fill_first(read);
        if self.window.is_ended() {
            self.read_token = None;
        }
        filled
    }

    /// Reports the outcome of an object that is not scanned.
    pub(crate) fn report_unscanned(&mut self, path: &Path, outcome: Outcome) {
        self.report_outcome(&CurrentObject::new(path, ObjectFindings::default()), outcome, 0);
    }

    /// Reports the outcome of an object. If the sink panics here, other objects still get theirs.
    pub(crate) fn report_outcome(
        &mut self,
        object: &CurrentObject<'_>,
        outcome: Outcome,
        bytes: u64,
    ) {
        let reported = catch_unwind(AssertUnwindSafe(|| {
            self.emitter.object_done(object, outcome, bytes);
        }));
        drop(reported);
    }

    /// Does what every object needs before and after its contents are scanned by `scan`. A panic
    /// ends the object and nothing else.
    fn scan_object(
        &mut self,
        path: &Path,
        rule_path: &Path,
        scan: impl FnOnce(&mut Self, &mut CurrentObject<'_>) -> ObjectEnd,
    ) {
        self.scan_placed(path, rule_path, None, scan);
    }

    fn scan_placed(
        &mut self,
        path: &Path,
        rule_path: &Path,
        placement: Option<&dyn Placement>,
        scan: impl FnOnce(&mut Self, &mut CurrentObject<'_>) -> ObjectEnd,
    ) {
        let object = CurrentObject::new(path, ObjectFindings::default());
        let mut object = object.placed_by(placement);
        let ended = catch_unwind(AssertUnwindSafe(|| {
            self.context.detector.scan_path(rule_path, &mut self.matches);
            for found in self.matches.drain(..) {
                self.emitter.emit_path(&mut object, rule_path, &found);
            }
            scan(self, &mut object)
        }));
        let end = ended.unwrap_or_else(|panic| {
            self.reset_after_panic();
            Some((Outcome::Panicked(panic_message(&*panic)), 0))
        });
        if let Some((outcome, bytes)) = end {
            self.report_outcome(&object, outcome, bytes);
        }
    }

    /// Replaces everything that a panic may have left in an inconsistent state.
    pub(crate) fn reset_after_panic(&mut self) {
        self.scratch = None;
        self.matches = Vec::new();
        self.search = BuiltinSearch::beside(&*self.context.detector);
        self.captured = Vec::new();
        self.assembler = Assembler::default();
    }

    /// Returns what ends a line in the object whose beginning is in the window.
    fn newline(&self) -> Newline {
        Newline::of(utf16_guess(self.window.bytes()))
    }

    /// Returns the outcome of an object of `size` bytes that must not be scanned. Its beginning is
    /// in the window.
    fn refuse(&self, size: u64) -> Option<Outcome> {
        let settings = &self.context.settings;
        if settings.max_file_size.is_some_and(|most| size > most) {
            return Some(Outcome::TooLarge);
        }
        (!settings.binary && is_binary(self.window.bytes())).then_some(Outcome::Binary)
    }

    /// Returns the outcome of an object that is refused or of which nothing could be read. Bytes
    /// that were read before a failure are scanned.
    fn ends_at_once(
        &self,
        failure: &mut Option<io::Error>,
        refused: Option<Outcome>,
    ) -> Option<Outcome> {
        if refused.is_none() && !self.window.bytes().is_empty() {
            return None;
        }
        failure.take().map(outcome_of).or(refused)
    }

    fn end_of(&self, end: PartEnd) -> ObjectEnd {
        let outcome = match end {
            PartEnd::Done | PartEnd::NotWanted => Outcome::Scanned,
            PartEnd::Short => Outcome::Shrunk,
            PartEnd::TooMuchWork => Outcome::WorkCut { scanned_to: self.window.owned_from() },
            PartEnd::Stopped => Outcome::Interrupted,
            PartEnd::Failed(error) => Outcome::Unreadable(error),
        };
        Some((outcome, self.window.owned_from()))
    }

    /// Scans from the window to the end of the object and emits its findings.
    fn scan_rest(
        &mut self,
        object: &mut CurrentObject<'_>,
        rule_path: &Path,
        part: Part,
        read: &mut impl FnMut(u64, &mut [u8]) -> io::Result<usize>,
    ) -> PartEnd {
        self.assembler.clear();
        let mut cursor = LineCursor::new(LinePosition::BEGIN, 0, self.newline());
        let (limit, mut work) = (self.context.settings.work_limit, 0_u64);
        let mut is_cut = false;
        let mut known_to = 0;
        let end = self.scan_part(rule_path, part, &mut cursor, read, |scanner, chunk| {
            known_to = chunk.known_to;
            scanner.emitter.counts.so_far.bytes += chunk.bytes;
            // If the chunk has no matches, earlier ones can wait for a chunk that has some.
            if !scanner.captured.is_empty() {
                let Self { assembler, captured, emitter, .. } = scanner;
                assembler.add(captured.drain(..));
                assembler.settle(chunk.known_to, &mut |assembled| emitter.emit(object, &assembled));
            }
            work = work.saturating_add(chunk.work);
            is_cut = chunk.is_cut(work, limit);
            !is_cut
        });
        // Also for an object that could not be read to its end.
        let Self { assembler, captured, emitter, .. } = self;
        assembler.add(captured.drain(..));
        if is_cut || matches!(end, PartEnd::Stopped) {
            assembler.end_early(known_to);
        }
        assembler.settle(u64::MAX, &mut |assembled| emitter.emit(object, &assembled));
        if is_cut { PartEnd::TooMuchWork } else { end }
    }

    /// Scans from the window to the end of `part`, or to where reading fails. Calls `after_chunk`
    /// after each chunk and stops if it returns `false`.
    pub(crate) fn scan_part(
        &mut self,
        rule_path: &Path,
        part: Part,
        cursor: &mut LineCursor,
        read: &mut impl FnMut(u64, &mut [u8]) -> io::Result<usize>,
        mut after_chunk: impl FnMut(&mut Self, ScannedChunk) -> bool,
    ) -> PartEnd {
        loop {
            // After a failed read, one more chunk ends the object.
            let failure = self.window.fill(part.limit, read).err();
            let block_end = end_of_block(self.window.owned_from());
            let owned = self.window.next_owned(part.to.min(block_end));
            let Some(work) = self.scan_chunk(&owned, rule_path, *cursor) else {
                return PartEnd::Stopped;
            };
            let bytes = owned.end - owned.start;
            let is_short = self.window.is_ended()
                && part.limit != u64::MAX
                && self.window.end_offset() < part.limit;
            let is_end = self.window.is_ended() && owned.end >= self.window.end_offset();
            let known_to = self.window.begin_of(owned.end);
            let is_object_end = is_end || owned.end >= part.limit;
            let chunk = ScannedChunk { bytes, known_to, end: owned.end, is_object_end, work };
            if is_end || owned.end >= part.to {
                self.window.set_owned(owned.end);
                after_chunk(self, chunk);
                let end = if is_short { PartEnd::Short } else { PartEnd::Done };
                return end.unless_failed(failure);
            }
            self.window.advance(owned.end, |leaving| cursor.pass(leaving));
            if !after_chunk(self, chunk) {
                return PartEnd::NotWanted;
            }
            self.emitter.counts.publish();
            if self.context.is_stopped() {
                return PartEnd::Stopped;
            }
        }
    }

    /// Lets the detector search the positions `owned` and captures its matches. `cursor` is where
    /// the window begins.
    ///
    /// Returns the detector's work, or `None` if the search ended early.
    fn scan_chunk(
        &mut self,
        owned: &std::ops::Range<u64>,
        rule_path: &Path,
        cursor: LineCursor,
    ) -> Option<u64> {
        let ended_early = AtomicBool::new(false);
        let context = &self.context;
        let is_stopped = || {
            let is_stopped = context.is_stopped();
            // Relaxed: only this thread uses it.
            ended_early.fetch_or(is_stopped, Ordering::Relaxed);
            is_stopped
        };
        let (bytes, offset) = (self.window.bytes(), self.window.offset());
        let at = |position: u64| usize::try_from(position - offset).unwrap_or(usize::MAX);
        let chunk = Chunk {
            bytes,
            owned: at(owned.start)..at(owned.end),
            offset,
            is_end: self.window.is_ended(),
            encoding: cursor.newline.encoding(),
            path: rule_path,
            stop: StopCheck(Some(&is_stopped)),
        };
        let detector = &self.context.detector;
        let scratch = self.scratch.get_or_insert_with(|| detector.scratch());
        detector.scan(&chunk, scratch, &mut self.matches);
        let work = detector.take_work(scratch);
        if !self.matches.is_empty() {
            capture(&mut self.matches, &chunk, cursor, &mut self.search, &mut self.captured);
        }
        (!ended_early.into_inner()).then_some(work)
    }
}

/// Returns the outcome of a file that cannot be opened or read.
fn outcome_of(error: io::Error) -> Outcome {
    match error.kind() {
        io::ErrorKind::NotFound => Outcome::Vanished,
        io::ErrorKind::IsADirectory => Outcome::Special(FileKind::Directory),
        _ => Outcome::Unreadable(error),
    }
}

/// Returns the message of a panic.
pub(crate) fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "(without a message)".to_string())
}
