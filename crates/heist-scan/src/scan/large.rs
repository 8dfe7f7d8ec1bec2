//! [`LargeFile`]: a file of which several workers read a range each.
//!
//! - Whoever finds it takes the first range and calls for help; all take one range after the other, in order.
//! - A call for help does not hold the file: when all ranges are taken there is nothing to help with, and the file is
//!   closed by the last who works at it.
//! - The first range that is not done is *in turn*. Its findings are given out after each chunk. Those of other ranges
//!   wait until all before them are there; then they go through the same assembler, as if the file had been scanned
//!   from the front to the back.
//! - What waits is bounded: when all ranges of the scan that are ahead hold [`AHEAD_BYTES_MAX`], whoever would add to
//!   it waits for its turn. Nobody waits for ever: who is in turn never waits, and there is always one.
//! - What is counted (bytes, findings) is counted in turn, so it does not depend on who ran ahead.
//!
//! Invariant: whoever takes a range delivers it, whatever happens to its contents. Who delivers the last one, or the
//! first that could not be read to its end, tells what became of the file; what comes after that is dropped.

use super::assemble::Assembler;
use super::capture::Captured;
use super::lines::{LineCursor, Newline, Place};
use super::shared::{Naming, ObjectFindings};
use super::worker::{CAPTURED_KEPT, ChunkDone, Part, PartEnd, Worker, panic_message};
use crate::detector::Detector;
use crate::read::read_at;
use crate::report::Outcome;
use std::collections::BTreeMap;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// More than this do not help: then the disk or the memory is what one waits for.
const HELPERS_MAX: u64 = 32;

/// How many bytes of matches may wait for their turn, of all files of a scan, beside a chunk's for each worker.
const AHEAD_BYTES_MAX: u64 = 24 << 20;

/// How many ranges may be done before their turn: each is a few words, but a file may have any number.
const AHEAD_RANGES_MAX: u64 = 1024;

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct LargeFile {
    file: File,
    path: PathBuf,
    below: PathBuf,
    size: u64,
    range_size: u64,
    newline: Newline,
    /// The next range to be taken.
    next: AtomicU64,
    delivery: Mutex<Delivery>,
    /// Told when another range is in turn, and when the file is given up.
    turn: Condvar,
}

/// What has come back.
#[derive(Debug)]
struct Delivery {
    /// The range that is in turn.
    in_turn: u64,
    ahead: BTreeMap<u64, Range>,
    /// The place where the window of the range in turn begins.
    place: Place,
    assembler: Assembler,
    findings: ObjectFindings,
    bytes: u64,
    /// Nothing more is wanted: all is told.
    is_done: bool,
}

/// What has come of a range so far.
#[derive(Debug, Default)]
struct Range {
    captured: Vec<Captured>,
    /// How many bytes of that are counted as being ahead.
    held: u64,
    /// Of chunks that are done.
    bytes: u64,
    /// Where the window of the next range begins, counted from where this one's does; when it is done.
    place: Option<Place>,
    outcome: Option<Outcome>,
}

impl LargeFile {
    /// Of a file whose path alone has said something already. Its first range is taken by whoever calls this.
    pub(super) fn new(
        file: File,
        object: &Naming<'_>,
        below: &Path,
        size: u64,
        range_size: u64,
        newline: Newline,
    ) -> Self {
        Self {
            file,
            path: object.path().to_path_buf(),
            below: below.to_path_buf(),
            size,
            range_size,
            newline,
            next: AtomicU64::new(1),
            delivery: Mutex::new(Delivery {
                in_turn: 0,
                ahead: BTreeMap::new(),
                place: Place::BEGIN,
                assembler: Assembler::default(),
                findings: object.findings,
                bytes: 0,
                is_done: false,
            }),
            turn: Condvar::new(),
        }
    }

    fn ranges(&self) -> u64 {
        self.size.div_ceil(self.range_size)
    }

    /// How many others could be of use.
    pub(super) fn helpers_wanted(&self) -> u64 {
        (self.ranges() - 1).min(HELPERS_MAX)
    }

    fn delivery(&self) -> MutexGuard<'_, Delivery> {
        self.delivery.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, delivery: MutexGuard<'a, Delivery>) -> MutexGuard<'a, Delivery> {
        self.turn.wait(delivery).unwrap_or_else(PoisonError::into_inner)
    }

    /// The next range, if there is one that is wanted.
    fn take_range(&self) -> Option<u64> {
        // Relaxed: a number and nothing else.
        let range = self.next.fetch_add(1, Ordering::Relaxed);
        if range >= self.ranges() {
            return None;
        }
        let mut delivery = self.delivery();
        while !delivery.is_done && range - delivery.in_turn > AHEAD_RANGES_MAX {
            delivery = self.wait(delivery);
        }
        (!delivery.is_done).then_some(range)
    }

    /// Scans ranges until none is left, beginning with the first, of which the worker has the beginning in its window.
    pub(super) fn begin_with<D: Detector>(&self, worker: &mut Worker<D>) {
        self.scan_range(worker, 0);
        self.help(worker);
    }

    /// Scans ranges until none is left.
    pub(crate) fn help<D: Detector>(&self, worker: &mut Worker<D>) {
        while let Some(number) = self.take_range() {
            worker.window.begin(number * self.range_size);
            self.scan_range(worker, number);
        }
    }

    fn scan_range<D: Detector>(&self, worker: &mut Worker<D>, number: u64) {
        let mut range = Range::default();
        let scanned =
            catch_unwind(AssertUnwindSafe(|| self.read_range(worker, number, &mut range)));
        if let Err(panic) = scanned {
            // What was found in chunks before is found.
            worker.forget();
            range.outcome = Some(Outcome::Panicked(panic_message(&*panic)));
        }
        self.deliver(worker, number, range);
    }

    /// Scans a range, which the window is at.
    fn read_range<D: Detector>(&self, worker: &mut Worker<D>, number: u64, range: &mut Range) {
        if worker.shared.is_stopped() {
            range.outcome = Some(Outcome::Interrupted);
            return;
        }
        let to = (number + 1).saturating_mul(self.range_size).min(self.size);
        worker.captured.clear();
        let begin = worker.window.offset();
        let counted_from = if begin == 0 { Place::BEGIN } else { Place::SOMEWHERE };
        let mut cursor = LineCursor::new(counted_from, begin, self.newline);
        let part = Part { to, limit: self.size };
        let mut read = |at: u64, into: &mut [u8]| read_at(&self.file, at, into);
        let end = worker.scan_part(&self.below, part, &mut cursor, &mut read, |worker, chunk| {
            self.after_chunk(worker, number, range, chunk)
        });
        // On to where the next range's window begins.
        worker.window.advance(to.min(worker.window.end_offset()), |leaving| cursor.pass(leaving));
        range.place = Some(cursor.place);
        range.outcome = match end {
            PartEnd::Done | PartEnd::NotWanted => None,
            PartEnd::Short => Some(Outcome::Shrunk),
            PartEnd::Stopped => Some(Outcome::Interrupted),
            PartEnd::Failed(error) => Some(Outcome::Unreadable(error)),
        };
    }

    /// Takes what a chunk has come to, and gives it out if its range is in turn; if not, and too much waits already,
    /// waits until it is. Whether the rest is wanted.
    fn after_chunk<D: Detector>(
        &self,
        worker: &mut Worker<D>,
        number: u64,
        range: &mut Range,
        chunk: ChunkDone,
    ) -> bool {
        let added: u64 = worker.captured.iter().map(Captured::memory).sum();
        range.captured.append(&mut worker.captured);
        range.bytes += chunk.bytes;
        // A worker that goes on to another file needs no more than usual.
        worker.captured.shrink_to(CAPTURED_KEPT);
        let mut delivery = self.delivery();
        loop {
            if delivery.is_done {
                return false;
            }
            if delivery.in_turn == number {
                let told = self.give_out(worker, &mut delivery, range, chunk.known_to);
                if let Err(outcome) = told {
                    self.tell(worker, &mut delivery, outcome);
                }
                return !delivery.is_done;
            }
            // Relaxed: a bound that may be passed by what each worker adds at once.
            let ahead = &worker.shared.captured_ahead;
            if added == 0 || ahead.load(Ordering::Relaxed) + added <= AHEAD_BYTES_MAX {
                ahead.fetch_add(added, Ordering::Relaxed);
                range.held += added;
                return true;
            }
            delivery = self.wait(delivery);
        }
    }

    /// Puts a range to those that are done, and gives out the findings of all that are now in turn.
    fn deliver<D: Detector>(&self, worker: &mut Worker<D>, number: u64, range: Range) {
        let mut delivery = self.delivery();
        if delivery.is_done {
            worker.shared.captured_ahead.fetch_sub(range.held, Ordering::Relaxed);
            return;
        }
        delivery.ahead.insert(number, range);
        while !delivery.is_done {
            let in_turn = delivery.in_turn;
            let Some(mut range) = delivery.ahead.remove(&in_turn) else { break };
            let is_last = in_turn + 1 == self.ranges();
            let known_to = if is_last || range.outcome.is_some() {
                u64::MAX
            } else {
                worker.window.begin_of((in_turn + 1).saturating_mul(self.range_size))
            };
            let told = self.give_out(worker, &mut delivery, &mut range, known_to);
            if let Some(place) = range.place {
                delivery.place = place.after(delivery.place);
            }
            delivery.in_turn += 1;
            match (told, range.outcome) {
                (Err(outcome), _) | (Ok(()), Some(outcome)) => {
                    self.tell(worker, &mut delivery, outcome);
                }
                (Ok(()), None) if is_last => {
                    let outcome = self.outcome_at_the_end();
                    self.tell(worker, &mut delivery, outcome);
                }
                (Ok(()), None) => {}
            }
        }
        drop(delivery);
        self.turn.notify_all();
    }

    /// Gives out what is known of the range in turn.
    fn give_out<D: Detector>(
        &self,
        worker: &mut Worker<D>,
        delivery: &mut Delivery,
        range: &mut Range,
        known_to: u64,
    ) -> Result<(), Outcome> {
        let held = std::mem::take(&mut range.held);
        worker.shared.captured_ahead.fetch_sub(held, Ordering::Relaxed);
        let bytes = std::mem::take(&mut range.bytes);
        delivery.bytes += bytes;
        worker.emitter.counts.so_far.bytes += bytes;
        let Delivery { assembler, findings, place, .. } = delivery;
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
    fn tell<D: Detector>(&self, worker: &mut Worker<D>, delivery: &mut Delivery, outcome: Outcome) {
        delivery.is_done = true;
        delivery.assembler = Assembler::default();
        let held: u64 = delivery.ahead.values().map(|range| range.held).sum();
        delivery.ahead.clear();
        worker.shared.captured_ahead.fetch_sub(held, Ordering::Relaxed);
        self.turn.notify_all();
        let object = Naming::new(&self.path, delivery.findings);
        let bytes = delivery.bytes;
        let told = catch_unwind(AssertUnwindSafe(|| {
            worker.emitter.object_done(&object, outcome, bytes);
        }));
        drop(told);
    }

    /// Everything was scanned that was there at first.
    fn outcome_at_the_end(&self) -> Outcome {
        match self.file.metadata() {
            Ok(now) if now.len() > self.size => Outcome::Grown,
            _ => Outcome::Scanned,
        }
    }
}
