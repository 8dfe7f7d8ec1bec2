//! [`Worker`]: scans objects, chunk by chunk.
//!
//! What a worker has in memory of an object is its window, whose size does not depend on the object's. A file that fits
//! into it is opened, read until there is no more, and closed; nothing else is asked of the system.

use super::assemble::Assembler;
use super::capture::{Captured, capture};
use super::flight::Flight;
use super::large::{FileContents, LargeFile};
use super::lines::{LineCursor, Newline, Place};
use super::progress::WorkerCounts;
use super::shared::{Emitter, Naming, ObjectFindings, Shared};
use crate::chunk::Chunk;
use crate::decode::utf16_guess;
use crate::detector::{Detector, Match};
use crate::read::{Window, is_binary, read_at};
use crate::report::Outcome;
use heist::ReadPermit;
use heist_walk::FileKind;
use std::any::Any;
use std::fs::File;
use std::io::{self, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Weak};

/// What a worker can ask of those around it.
pub(crate) trait Helpers {
    /// What comes next takes long: others may have whatever else there is to do.
    fn expect_long_work(&mut self);

    /// Others may help with this file.
    fn call_for_help(&mut self, file: Weak<LargeFile>);

    /// Gives away the object's place among those in flight, if it has one: a large file has it until it is done.
    fn take_flight(&mut self) -> Option<Flight>;
}

/// See the module's documentation.
pub(crate) struct Worker<D: Detector> {
    pub(crate) shared: Arc<Shared<D>>,
    /// Made when it is first needed, and anew after a panic.
    scratch: Option<D::Scratch>,
    pub(crate) window: Window,
    matches: Vec<Match>,
    pub(crate) captured: Vec<Captured>,
    assembler: Assembler,
    pub(crate) emitter: Emitter<D>,
    /// The right to read, where that is needed. Dropped after the last read.
    pub(crate) read_token: Option<ReadPermit>,
}

/// How scanning a part of an object ended.
#[derive(Debug)]
pub(crate) enum PartEnd {
    /// At the end of the part.
    Done,
    /// Before that, because the object ended.
    Short,
    /// Before that, because nobody wants the rest.
    NotWanted,
    /// The scan was stopped.
    Stopped,
    Failed(io::Error),
}

impl PartEnd {
    /// The end of a part up to where a read failed, if one did.
    fn unless_failed(self, failure: Option<io::Error>) -> Self {
        match (self, failure) {
            (Self::Done | Self::Short, Some(error)) => Self::Failed(error),
            (end, _) => end,
        }
    }
}

/// A chunk that was scanned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChunkDone {
    /// How much of the object it owned.
    pub(crate) bytes: u64,
    /// Up to where all secrets are known that begin there.
    pub(crate) known_to: u64,
}

/// For how many matches a worker keeps room.
pub(crate) const CAPTURED_KEPT: usize = 1024;

/// What of an object to scan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    /// Positions up to here.
    pub(crate) to: u64,
    /// Where the object ends, as far as this scan is concerned.
    pub(crate) limit: u64,
}

impl Part {
    /// All of an object of which nobody knows how long it is.
    pub(crate) const UNKNOWN: Self = Self { to: u64::MAX, limit: u64::MAX };
}

/// How an object ended: with an outcome, after so many bytes; `None` if others still work at it, and the last of them
/// will tell.
type End = Option<(Outcome, u64)>;

impl<D: Detector> Worker<D> {
    pub(crate) fn new(shared: &Arc<Shared<D>>, counts: WorkerCounts) -> Self {
        Self {
            shared: Arc::clone(shared),
            scratch: None,
            window: Window::new(shared.config.chunk_size, shared.overlaps()),
            matches: Vec::new(),
            captured: Vec::new(),
            assembler: Assembler::default(),
            emitter: Emitter::new(shared, counts),
            read_token: None,
        }
    }

    /// Whether an object is worth opening, by the path that rules see. A detector that panics here will see the object.
    pub(crate) fn wants(&self, below: &Path) -> bool {
        catch_unwind(AssertUnwindSafe(|| self.shared.detector.wants(below))).unwrap_or(true)
    }

    /// Scans a file. `path` is what it is called, `below` the path that rules see; it was opened if it is wanted.
    pub(crate) fn scan_file(
        &mut self,
        path: &Path,
        below: &Path,
        opened: Option<io::Result<File>>,
        helpers: &mut impl Helpers,
    ) {
        self.scan_object(path, below, |worker, object| {
            let file = match opened {
                Some(Ok(file)) => file,
                Some(Err(error)) => return Some((outcome_of(error), 0)),
                None => return Some((Outcome::Excluded, 0)),
            };
            worker.window.begin(0);
            // The first read does not need to say where: saves nothing, but works for what cannot seek.
            let mut read = |_: u64, into: &mut [u8]| (&file).read(into);
            let mut failure = worker.fill_first(&mut read).err();
            let refused = worker.refuse(worker.window.end_offset());
            if let Some(outcome) = worker.ends_at_once(&mut failure, refused) {
                return Some((outcome, 0));
            }
            if worker.window.is_ended() {
                let end = worker.scan_rest(object, below, Part::UNKNOWN, &mut read);
                return worker.end_of(end.unless_failed(failure));
            }
            // It is not small: only now it is worth asking how large it is.
            helpers.expect_long_work();
            worker.scan_long_file(object, below, file, helpers)
        });
    }

    /// Scans the rest of a file that does not fit into the window, which has its beginning.
    fn scan_long_file(
        &mut self,
        object: &mut Naming<'_>,
        below: &Path,
        file: File,
        helpers: &mut impl Helpers,
    ) -> End {
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
            // The system does not know how long it is (as in /proc), or it has become shorter: to the end, then.
            let mut read = |_: u64, into: &mut [u8]| (&file).read(into);
            let end = self.scan_rest(object, below, Part::UNKNOWN, &mut read);
            return self.end_of(end);
        }
        if size > self.shared.config.range_size {
            let range_size = self.shared.config.range_size;
            let contents = FileContents { file, size, range_size, newline: self.newline() };
            let large = Arc::new(LargeFile::new(contents, object, below, helpers.take_flight()));
            large.begin_with(self, helpers);
            return None;
        }
        let part = Part { to: size, limit: size };
        let mut read = |at: u64, into: &mut [u8]| read_at(&file, at, into);
        let end = self.scan_rest(object, below, part, &mut read);
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
    pub(crate) fn scan_stream(&mut self, path: &Path, below: &Path, stream: &mut dyn Read) {
        self.scan_object(path, below, |worker, object| {
            worker.window.begin(0);
            let mut read = |_: u64, into: &mut [u8]| stream.read(into);
            let mut failure = worker.fill_first(&mut read).err();
            let refused = worker.refuse(0);
            if let Some(outcome) = worker.ends_at_once(&mut failure, refused) {
                return Some((outcome, 0));
            }
            let most = worker.shared.config.max_file_size.unwrap_or(u64::MAX);
            if worker.window.end_offset() > most {
                return Some((Outcome::TooLarge, 0));
            }
            let end =
                worker.scan_rest(object, below, Part { to: most, limit: u64::MAX }, &mut read);
            let is_all = worker.window.is_ended() && worker.window.end_offset() <= most;
            match worker.end_of(end.unless_failed(failure)) {
                Some((Outcome::Scanned, bytes)) if !is_all => Some((Outcome::TooLarge, bytes)),
                end => end,
            }
        });
    }

    /// Reads an object's first bytes. If that is all of it, nothing more is read.
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

    /// An object for which the walk or the source has an outcome already.
    pub(crate) fn note(&mut self, path: &Path, outcome: Outcome) {
        self.tell(&Naming::new(path, ObjectFindings::default()), outcome, 0);
    }

    /// Tells what became of an object. A sink that panics here keeps no other object from its outcome.
    pub(crate) fn tell(&mut self, object: &Naming<'_>, outcome: Outcome, bytes: u64) {
        let told = catch_unwind(AssertUnwindSafe(|| {
            self.emitter.object_done(object, outcome, bytes);
        }));
        drop(told);
    }

    /// What comes before the contents of every object and after them. A panic ends the object and nothing else.
    fn scan_object(
        &mut self,
        path: &Path,
        below: &Path,
        scan: impl FnOnce(&mut Self, &mut Naming<'_>) -> End,
    ) {
        let mut object = Naming::new(path, ObjectFindings::default());
        let ended = catch_unwind(AssertUnwindSafe(|| {
            self.shared.detector.scan_path(below, &mut self.matches);
            for found in self.matches.drain(..) {
                self.emitter.emit_path(&mut object, below, found);
            }
            scan(self, &mut object)
        }));
        let end = ended.unwrap_or_else(|panic| {
            self.forget();
            Some((Outcome::Panicked(panic_message(&*panic)), 0))
        });
        if let Some((outcome, bytes)) = end {
            self.tell(&object, outcome, bytes);
        }
    }

    /// After a panic nobody knows what state things are in.
    pub(crate) fn forget(&mut self) {
        self.scratch = None;
        self.matches = Vec::new();
        self.captured = Vec::new();
        self.assembler = Assembler::default();
    }

    /// What ends a line in an object that begins as the window does.
    fn newline(&self) -> Newline {
        Newline::of(utf16_guess(self.window.bytes()))
    }

    /// Whether an object of `size` that begins as the window does is not to be scanned.
    fn refuse(&self, size: u64) -> Option<Outcome> {
        let config = &self.shared.config;
        if config.max_file_size.is_some_and(|most| size > most) {
            return Some(Outcome::TooLarge);
        }
        (!config.binary && is_binary(self.window.bytes())).then_some(Outcome::Binary)
    }

    /// What becomes of an object that is refused, or of which nothing could be read. What was read before a failure is
    /// scanned.
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

    fn end_of(&self, end: PartEnd) -> End {
        let outcome = match end {
            PartEnd::Done | PartEnd::NotWanted => Outcome::Scanned,
            PartEnd::Short => Outcome::Shrunk,
            PartEnd::Stopped => Outcome::Interrupted,
            PartEnd::Failed(error) => Outcome::Unreadable(error),
        };
        Some((outcome, self.window.owned_from()))
    }

    /// Scans from where the window is to the end of the object, and gives out its findings.
    fn scan_rest(
        &mut self,
        object: &mut Naming<'_>,
        below: &Path,
        part: Part,
        read: &mut impl FnMut(u64, &mut [u8]) -> io::Result<usize>,
    ) -> PartEnd {
        self.assembler.clear();
        let mut cursor = LineCursor::new(Place::BEGIN, 0, self.newline());
        let end = self.scan_part(below, part, &mut cursor, read, |worker, chunk| {
            worker.emitter.counts.so_far.bytes += chunk.bytes;
            // What waits can wait for the next chunk, if that has some, too.
            if !worker.captured.is_empty() {
                let Self { assembler, captured, emitter, .. } = worker;
                assembler.add(captured.drain(..));
                assembler.settle(chunk.known_to, &mut |assembled| emitter.emit(object, assembled));
            }
            true
        });
        // Also of an object that could not be read to its end: what was found is found.
        let Self { assembler, captured, emitter, .. } = self;
        assembler.add(captured.drain(..));
        assembler.settle(u64::MAX, &mut |assembled| emitter.emit(object, assembled));
        end
    }

    /// Scans from where the window is to the end of `part`, or up to where it cannot be read any further. After each
    /// chunk `after_chunk` is told of it, and says whether to go on.
    pub(crate) fn scan_part(
        &mut self,
        below: &Path,
        part: Part,
        cursor: &mut LineCursor,
        read: &mut impl FnMut(u64, &mut [u8]) -> io::Result<usize>,
        mut after_chunk: impl FnMut(&mut Self, ChunkDone) -> bool,
    ) -> PartEnd {
        loop {
            // After a failure there is one more chunk, which ends the object.
            let failure = self.window.fill(part.limit, read).err();
            let owned = self.window.next_owned(part.to);
            self.scan_chunk(&owned, below, *cursor);
            let bytes = owned.end - owned.start;
            let is_short = self.window.is_ended()
                && part.limit != u64::MAX
                && self.window.end_offset() < part.limit;
            let is_end = self.window.is_ended() && owned.end >= self.window.end_offset();
            if is_end || owned.end >= part.to {
                self.window.set_owned(owned.end);
                let known_to = self.window.begin_of(owned.end);
                after_chunk(self, ChunkDone { bytes, known_to });
                let end = if is_short { PartEnd::Short } else { PartEnd::Done };
                return end.unless_failed(failure);
            }
            let known_to = self.window.begin_of(owned.end);
            self.window.advance(owned.end, |leaving| cursor.pass(leaving));
            if !after_chunk(self, ChunkDone { bytes, known_to }) {
                return PartEnd::NotWanted;
            }
            self.emitter.counts.show();
            if self.shared.is_stopped() {
                return PartEnd::Stopped;
            }
        }
    }

    /// Has the detector look at the positions `owned`, and captures what it finds. The cursor is where the window
    /// begins.
    fn scan_chunk(&mut self, owned: &std::ops::Range<u64>, below: &Path, cursor: LineCursor) {
        let (bytes, offset) = (self.window.bytes(), self.window.offset());
        let at = |position: u64| usize::try_from(position - offset).unwrap_or(usize::MAX);
        let chunk = Chunk {
            bytes,
            owned: at(owned.start)..at(owned.end),
            offset,
            is_end: self.window.is_ended(),
            encoding: cursor.newline.encoding(),
            path: below,
        };
        let detector = &self.shared.detector;
        let scratch = self.scratch.get_or_insert_with(|| detector.scratch());
        detector.scan(&chunk, scratch, &mut self.matches);
        if !self.matches.is_empty() {
            capture(&mut self.matches, bytes, offset, cursor, &mut self.captured);
        }
    }
}

/// What becomes of a file that cannot be opened or read.
fn outcome_of(error: io::Error) -> Outcome {
    match error.kind() {
        io::ErrorKind::NotFound => Outcome::Vanished,
        io::ErrorKind::IsADirectory => Outcome::Special(FileKind::Directory),
        _ => Outcome::Unreadable(error),
    }
}

/// What a panic said.
pub(crate) fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "(without a message)".to_string())
}
