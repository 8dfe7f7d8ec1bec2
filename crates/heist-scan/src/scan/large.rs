//! [`LargeFile`]: a file of which several workers read a range each.
//!
//! - The worker that finds it takes the first range and calls for help; all take one range after the other, in order.
//! - A call for help does not hold the file: when all ranges are taken there is nothing to help with, and the last
//!   worker at it closes it.
//! - The first range that is not done is *in turn*. Its findings are given out after each chunk. Those of other ranges
//!   are set aside until all before them are there; then they go through the same assembler, as if the file had been
//!   scanned from the front to the back.
//! - What is ahead is bounded: while all ranges of the scan that are ahead hold more than [`AHEAD_BYTES_MAX`], a worker
//!   takes no more of them, and stops in the middle of the one it has. It does not wait. The worker that brings the
//!   range in turn goes on where the other one stopped. (`turns` has who does what, and why nothing is forgotten.)
//! - What is counted (bytes, findings) is counted in turn, so it does not depend on who ran ahead.
//!
//! Invariant: a worker that takes a range finishes it or sets it aside, whatever happens to its contents. The worker
//! that gives out the last one, or the first that could not be read to its end, tells what became of the file; what
//! comes after that is dropped.

use super::assemble::Assembler;
use super::capture::Captured;
use super::flight::Flight;
use super::lines::{LineCursor, Newline, Place};
use super::shared::{Naming, ObjectFindings};
use super::turns::{Aside, Claim, Turns};
use super::worker::{CAPTURED_KEPT, ChunkDone, Helpers, Part, PartEnd, Worker, panic_message};
use crate::detector::Detector;
use crate::read::read_at;
use crate::report::Outcome;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// More than this do not help: then the disk or the memory is the limit.
const HELPERS_MAX: u64 = 32;

/// How many bytes of matches may be ahead, of all files of a scan, beside a chunk's for each worker.
const AHEAD_BYTES_MAX: u64 = 24 << 20;

/// How many ranges may be ahead: each is a few words, but a file may have any number.
const AHEAD_RANGES_MAX: u64 = 1024;

/// A file, and how it is cut into ranges.
#[derive(Debug)]
pub(super) struct FileContents {
    pub(super) file: File,
    pub(super) size: u64,
    pub(super) range_size: u64,
    pub(super) newline: Newline,
}

impl FileContents {
    fn ranges(&self) -> u64 {
        self.size.div_ceil(self.range_size)
    }
}

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct LargeFile {
    contents: FileContents,
    path: PathBuf,
    below: PathBuf,
    turns: Turns<Front, Range>,
    _flight: Option<Flight>,
}

/// What all ranges before the one in turn have come to.
#[derive(Debug)]
struct Front {
    /// The place where the window of the range in turn begins.
    place: Place,
    assembler: Assembler,
    findings: ObjectFindings,
    bytes: u64,
}

/// What has come of a range so far.
#[derive(Debug)]
struct Range {
    captured: Vec<Captured>,
    /// How many bytes of that are counted as being ahead.
    held: u64,
    /// Of chunks that are done.
    bytes: u64,
    /// Where the window is, counted from where the range's first window began.
    cursor: LineCursor,
    state: RangeState,
}

#[derive(Debug)]
enum RangeState {
    /// Positions from `from` on were not scanned yet.
    Unfinished { from: u64 },
    /// The window is where the next range's begins.
    Finished,
    /// The last range that is scanned of the file.
    Ended(Outcome),
}

impl LargeFile {
    /// Makes the file of an object whose path alone has said something already. Its first range is the caller's.
    pub(super) fn new(
        contents: FileContents,
        object: &Naming<'_>,
        below: &Path,
        flight: Option<Flight>,
    ) -> Self {
        let front = Front {
            place: Place::BEGIN,
            assembler: Assembler::default(),
            findings: object.findings,
            bytes: 0,
        };
        Self {
            turns: Turns::new(contents.ranges(), AHEAD_RANGES_MAX, front),
            contents,
            path: object.path().to_path_buf(),
            below: below.to_path_buf(),
            _flight: flight,
        }
    }

    /// Calls for help, and scans ranges as [`help`](Self::help) does, beginning with the first, of which the worker has
    /// the beginning in its window.
    pub(super) fn begin_with<D: Detector>(
        self: &Arc<Self>,
        worker: &mut Worker<D>,
        helpers: &mut impl Helpers,
    ) {
        for _ in 0..(self.contents.ranges() - 1).min(HELPERS_MAX) {
            helpers.call_for_help(Arc::downgrade(self));
        }
        self.scan_range(worker, 0);
        self.help(worker, helpers);
    }

    /// Scans ranges until none is left, or none may be taken now. In the second case another worker calls for help when
    /// there is room again.
    pub(crate) fn help<D: Detector>(
        self: &Arc<Self>,
        worker: &mut Worker<D>,
        helpers: &mut impl Helpers,
    ) {
        loop {
            for _ in 0..self.turns.call_missed(has_room(worker)) {
                helpers.call_for_help(Arc::downgrade(self));
            }
            let Some(number) = self.turns.take(has_room(worker)) else { return };
            worker.window.begin(number * self.contents.range_size);
            self.scan_range(worker, number);
        }
    }

    /// Scans a range, which the window is at, and those that come in turn by that and are not finished.
    fn scan_range<D: Detector>(&self, worker: &mut Worker<D>, mut number: u64) {
        let begin = worker.window.offset();
        let counted_from = if begin == 0 { Place::BEGIN } else { Place::SOMEWHERE };
        let mut range = Range {
            captured: Vec::new(),
            held: 0,
            bytes: 0,
            cursor: LineCursor::new(counted_from, begin, self.contents.newline),
            state: RangeState::Unfinished { from: worker.window.owned_from() },
        };
        let mut front = None;
        loop {
            self.read_on(worker, number, &mut range, &mut front);
            let in_turn = match front {
                Some(front) => (front, range),
                None => match self.turns.set_aside(number, range) {
                    Aside::InTurn(front, range) => (front, range),
                    Aside::Kept => return,
                    Aside::NotWanted(range) => return release(worker, range.held),
                },
            };
            let Some((at, again, rest)) = self.give_out_from(worker, number, in_turn) else {
                return;
            };
            let RangeState::Unfinished { from } = rest.state else { return };
            worker.window.begin(from);
            (number, front, range) = (at, Some(again), rest);
        }
    }

    /// Gives out a range that is in turn, and those after it that were set aside, up to the end of the file or to one
    /// that was not scanned yet. Returns the first that is not finished, if there is one.
    fn give_out_from<D: Detector>(
        &self,
        worker: &mut Worker<D>,
        mut number: u64,
        (mut front, mut range): (Front, Range),
    ) -> Option<(u64, Front, Range)> {
        loop {
            let is_last = number + 1 == self.contents.ranges();
            let known_to = match range.state {
                RangeState::Unfinished { from } => worker.window.begin_of(from),
                RangeState::Finished if !is_last => {
                    worker.window.begin_of((number + 1).saturating_mul(self.contents.range_size))
                }
                RangeState::Finished | RangeState::Ended(_) => u64::MAX,
            };
            let given_out = self.give_out(worker, &mut front, &mut range, known_to);
            let outcome = match (given_out, &mut range.state) {
                (Err(panicked), _) => panicked,
                (Ok(()), RangeState::Ended(outcome)) => {
                    std::mem::replace(outcome, Outcome::Scanned)
                }
                (Ok(()), RangeState::Unfinished { .. }) => return Some((number, front, range)),
                (Ok(()), RangeState::Finished) if is_last => self.outcome_at_the_end(),
                (Ok(()), RangeState::Finished) => {
                    front.place = range.cursor.place.after(front.place);
                    number += 1;
                    (front, range) = self.turns.advance(front)?;
                    continue;
                }
            };
            self.tell(worker, &front, outcome);
            return None;
        }
    }

    /// Scans a range from where the window is to its end, or up to where it has to be set aside. A panic ends it.
    fn read_on<D: Detector>(
        &self,
        worker: &mut Worker<D>,
        number: u64,
        range: &mut Range,
        front: &mut Option<Front>,
    ) {
        let read = catch_unwind(AssertUnwindSafe(|| self.read_range(worker, number, range, front)));
        if let Err(panic) = read {
            // What was found in chunks before is found.
            worker.forget();
            range.state = RangeState::Ended(Outcome::Panicked(panic_message(&*panic)));
        }
    }

    fn read_range<D: Detector>(
        &self,
        worker: &mut Worker<D>,
        number: u64,
        range: &mut Range,
        front: &mut Option<Front>,
    ) {
        if worker.shared.is_stopped() {
            range.state = RangeState::Ended(Outcome::Interrupted);
            return;
        }
        let FileContents { file, size, range_size, .. } = &self.contents;
        let to = (number + 1).saturating_mul(*range_size).min(*size);
        worker.captured.clear();
        let mut cursor = range.cursor;
        let part = Part { to, limit: *size };
        let mut read = |at: u64, into: &mut [u8]| read_at(file, at, into);
        let end = worker.scan_part(&self.below, part, &mut cursor, &mut read, |worker, chunk| {
            self.after_chunk(worker, number, range, front, chunk)
        });
        let ended = match end {
            PartEnd::Done => None,
            PartEnd::NotWanted => {
                range.cursor = cursor;
                // Unless it was ended after the chunk.
                if let RangeState::Unfinished { from } = &mut range.state {
                    *from = worker.window.owned_from();
                }
                return;
            }
            PartEnd::Short => Some(Outcome::Shrunk),
            PartEnd::Stopped => Some(Outcome::Interrupted),
            PartEnd::Failed(error) => Some(Outcome::Unreadable(error)),
        };
        // On to where the next range's window begins.
        worker.window.advance(to.min(worker.window.end_offset()), |leaving| cursor.pass(leaving));
        range.cursor = cursor;
        if matches!(range.state, RangeState::Unfinished { .. }) {
            range.state = ended.map_or(RangeState::Finished, RangeState::Ended);
        }
    }

    /// Takes what a chunk has come to, and gives it out if its range is in turn. Returns whether to go on with the
    /// range: not if the file is done, nor if too much is ahead.
    fn after_chunk<D: Detector>(
        &self,
        worker: &mut Worker<D>,
        number: u64,
        range: &mut Range,
        front: &mut Option<Front>,
        chunk: ChunkDone,
    ) -> bool {
        let added: u64 = worker.captured.iter().map(Captured::memory).sum();
        range.captured.append(&mut worker.captured);
        range.bytes += chunk.bytes;
        // A worker that goes on to another file needs no more than usual.
        worker.captured.shrink_to(CAPTURED_KEPT);
        if front.is_none() {
            match self.turns.claim(number) {
                Claim::InTurn(claimed) => *front = Some(claimed),
                Claim::NotWanted => return false,
                Claim::NotYet => {
                    range.held += added;
                    // Relaxed: a bound that may be passed by what each worker adds at once.
                    worker.shared.captured_ahead.fetch_add(added, Ordering::Relaxed);
                    return added == 0 || has_room(worker);
                }
            }
        }
        let given_out = match front {
            Some(front) => self.give_out(worker, front, range, chunk.known_to),
            None => Ok(()),
        };
        if let Err(panicked) = given_out {
            range.state = RangeState::Ended(panicked);
            return false;
        }
        true
    }

    /// Gives out what is known of the range in turn. The error is what becomes of the file if the sink panics.
    fn give_out<D: Detector>(
        &self,
        worker: &mut Worker<D>,
        front: &mut Front,
        range: &mut Range,
        known_to: u64,
    ) -> Result<(), Outcome> {
        release(worker, std::mem::take(&mut range.held));
        let bytes = std::mem::take(&mut range.bytes);
        front.bytes += bytes;
        worker.emitter.counts.so_far.bytes += bytes;
        let Front { assembler, findings, place, .. } = front;
        assembler.add(range.captured.drain(..).map(|captured| captured.after(*place)));
        let mut object = Naming::new(&self.path, *findings);
        let told = catch_unwind(AssertUnwindSafe(|| {
            assembler.settle(known_to, &mut |assembled| {
                worker.emitter.emit(&mut object, assembled);
            });
        }));
        *findings = object.findings;
        told.map_err(|panic| Outcome::Panicked(panic_message(&*panic)))
    }

    /// Tells what became of the file. Nothing more is wanted of it.
    fn tell<D: Detector>(&self, worker: &mut Worker<D>, front: &Front, outcome: Outcome) {
        let dropped = self.turns.finish();
        release(worker, dropped.values().map(|range| range.held).sum());
        worker.tell(&Naming::new(&self.path, front.findings), outcome, front.bytes);
    }

    /// Returns the outcome of a file of which everything was scanned that was there at first.
    fn outcome_at_the_end(&self) -> Outcome {
        match self.contents.file.metadata() {
            Ok(now) if now.len() > self.contents.size => Outcome::Grown,
            _ => Outcome::Scanned,
        }
    }
}

/// Returns `true` if more may be captured ahead.
fn has_room<D: Detector>(worker: &Worker<D>) -> bool {
    worker.shared.captured_ahead.load(Ordering::Relaxed) <= AHEAD_BYTES_MAX
}

/// Some bytes of matches are no longer ahead.
fn release<D: Detector>(worker: &Worker<D>, held: u64) {
    if held > 0 {
        worker.shared.captured_ahead.fetch_sub(held, Ordering::Relaxed);
    }
}
