//! [`LargeFile`]: a file of which several workers read a range each.
//!
//! - Whoever finds it calls for help and takes one range after the other; so do those who come. Ranges are taken in
//!   order, so what comes out of order is no more than what others are at.
//! - A call for help does not hold the file: when all ranges are taken there is nothing to help with, and the file is
//!   closed by the last who works at it.
//! - A range's matches are kept until all before it are there; then they go through one assembler, as if the file had
//!   been scanned from the front to the back.
//!
//! Invariant: whoever takes a range delivers it, whatever happens to its contents. Who delivers the last one tells what
//! became of the file.

use super::assemble::Assembler;
use super::capture::Captured;
use super::lines::{LineCursor, Place};
use super::shared::{Naming, ObjectFindings};
use super::worker::{Part, PartEnd, Worker, panic_message};
use crate::detector::Detector;
use crate::read::read_at;
use crate::report::Outcome;
use std::collections::BTreeMap;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// More than this do not help: then the disk or the memory is what one waits for.
const HELPERS_MAX: u64 = 32;

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct LargeFile {
    file: File,
    path: PathBuf,
    below: PathBuf,
    size: u64,
    range_size: u64,
    /// The next range to be taken.
    next: AtomicU64,
    /// Set when the rest is not worth reading: it cannot be read, or nobody takes its findings.
    given_up: AtomicBool,
    delivery: Mutex<Delivery>,
}

/// What has come back.
#[derive(Debug)]
struct Delivery {
    /// The range that comes next.
    next: u64,
    out_of_order: BTreeMap<u64, Delivered>,
    /// The place where the window of the next range begins.
    place: Place,
    assembler: Assembler,
    findings: ObjectFindings,
    bytes: u64,
    /// What went wrong first.
    outcome: Option<Outcome>,
}

/// A range that is done.
#[derive(Debug, Default)]
struct Delivered {
    captured: Vec<Captured>,
    /// Where the window of the next range begins, counted from where this one's does.
    place: Option<Place>,
    bytes: u64,
    outcome: Option<Outcome>,
}

impl LargeFile {
    /// Of a file whose path alone has said something already.
    pub(super) fn new(
        file: File,
        object: &Naming<'_>,
        below: &Path,
        size: u64,
        range_size: u64,
    ) -> Self {
        Self {
            file,
            path: object.path().to_path_buf(),
            below: below.to_path_buf(),
            size,
            range_size,
            next: AtomicU64::new(0),
            given_up: AtomicBool::new(false),
            delivery: Mutex::new(Delivery {
                next: 0,
                out_of_order: BTreeMap::new(),
                place: Place::BEGIN,
                assembler: Assembler::default(),
                findings: object.findings,
                bytes: 0,
                outcome: None,
            }),
        }
    }

    fn ranges(&self) -> u64 {
        self.size.div_ceil(self.range_size)
    }

    /// How many others could be of use.
    pub(super) fn helpers_wanted(&self) -> u64 {
        (self.ranges() - 1).min(HELPERS_MAX)
    }

    /// The next range, if there is one.
    fn take_range(&self) -> Option<u64> {
        // Relaxed: a number and nothing else.
        let range = self.next.fetch_add(1, Ordering::Relaxed);
        (range < self.ranges()).then_some(range)
    }

    /// Scans ranges until none is left, beginning with the first, of which the worker has the beginning in its window,
    /// if nobody else has it.
    pub(super) fn begin_with<D: Detector>(&self, worker: &mut Worker<D>) {
        let mut has_beginning = true;
        while let Some(range) = self.take_range() {
            self.scan_range(worker, range, has_beginning && range == 0);
            has_beginning = false;
        }
    }

    /// Scans ranges until none is left.
    pub(crate) fn help<D: Detector>(&self, worker: &mut Worker<D>) {
        while let Some(range) = self.take_range() {
            self.scan_range(worker, range, false);
        }
    }

    fn scan_range<D: Detector>(&self, worker: &mut Worker<D>, range: u64, has_beginning: bool) {
        let scanned =
            catch_unwind(AssertUnwindSafe(|| self.read_range(worker, range, has_beginning)));
        let delivered = scanned.unwrap_or_else(|panic| {
            worker.forget();
            let outcome = Some(Outcome::Panicked(panic_message(&*panic)));
            Delivered { outcome, ..Delivered::default() }
        });
        self.deliver(worker, range, delivered);
    }

    fn read_range<D: Detector>(
        &self,
        worker: &mut Worker<D>,
        range: u64,
        has_beginning: bool,
    ) -> Delivered {
        let from = range * self.range_size;
        let to = from.saturating_add(self.range_size).min(self.size);
        if self.given_up.load(Ordering::Relaxed) {
            return Delivered::default();
        }
        if worker.shared.is_stopped() {
            return Delivered { outcome: Some(Outcome::Interrupted), ..Delivered::default() };
        }
        if !has_beginning {
            worker.window.begin(from);
        }
        worker.captured.clear();
        let begin = worker.window.offset();
        let counted_from = if begin == 0 { Place::BEGIN } else { Place::SOMEWHERE };
        let mut cursor = LineCursor::new(counted_from, begin);
        let part = Part { to, limit: self.size };
        let mut read = |at: u64, into: &mut [u8]| read_at(&self.file, at, into);
        let end = worker.scan_part(&self.below, part, &mut cursor, &mut read, |_, _| ());
        let bytes = worker.window.owned_from() - from;
        // On to where the next range's window begins.
        worker.window.advance(to.min(worker.window.end_offset()), |leaving| cursor.pass(leaving));
        let outcome = match end {
            PartEnd::Done => None,
            PartEnd::Short => Some(Outcome::Shrunk),
            PartEnd::Stopped => Some(Outcome::Interrupted),
            PartEnd::Failed(error) => Some(Outcome::Unreadable(error)),
        };
        let captured = std::mem::take(&mut worker.captured);
        Delivered { captured, place: Some(cursor.place), bytes, outcome }
    }

    /// Puts a range to those that are done, and gives out the findings of all that are now in order.
    fn deliver<D: Detector>(&self, worker: &mut Worker<D>, range: u64, delivered: Delivered) {
        let mut delivery = self.delivery.lock().unwrap_or_else(PoisonError::into_inner);
        delivery.out_of_order.insert(range, delivered);
        loop {
            let next = delivery.next;
            let Some(delivered) = delivery.out_of_order.remove(&next) else { return };
            delivery.next += 1;
            let is_last = delivery.next == self.ranges();
            let told = catch_unwind(AssertUnwindSafe(|| {
                self.put_together(worker, &mut delivery, delivered, is_last);
            }));
            if let Err(panic) = told {
                self.given_up.store(true, Ordering::Relaxed);
                delivery.assembler = Assembler::default();
                delivery.outcome = Some(Outcome::Panicked(panic_message(&*panic)));
            }
            if is_last {
                let outcome = delivery.outcome.take().unwrap_or_else(|| self.outcome_at_the_end());
                let object = Naming::new(&self.path, delivery.findings);
                let bytes = delivery.bytes;
                let told = catch_unwind(AssertUnwindSafe(|| {
                    worker.emitter.object_done(&object, outcome, bytes);
                }));
                return drop(told);
            }
        }
    }

    /// Adds the next range.
    fn put_together<D: Detector>(
        &self,
        worker: &mut Worker<D>,
        delivery: &mut Delivery,
        delivered: Delivered,
        is_last: bool,
    ) {
        let before = delivery.place;
        let Delivered { captured, place, bytes, outcome } = delivered;
        if let Some(place) = place {
            delivery.place = place.after(before);
        }
        delivery.bytes += bytes;
        if delivery.outcome.is_some() {
            // Behind a range that was not read to its end nobody knows which line it is.
            return;
        }
        if outcome.is_some() {
            self.given_up.store(true, Ordering::Relaxed);
            delivery.outcome = outcome;
        }
        delivery.assembler.add(captured.into_iter().map(|captured| captured.after(before)));
        let end = delivery.next.saturating_mul(self.range_size);
        let known_to = if is_last || delivery.outcome.is_some() {
            u64::MAX
        } else {
            worker.window.begin_of(end)
        };
        let mut object = Naming::new(&self.path, delivery.findings);
        delivery
            .assembler
            .settle(known_to, &mut |assembled| worker.emitter.emit(&mut object, assembled));
        delivery.findings = object.findings;
    }

    /// Everything was scanned that was there at first.
    fn outcome_at_the_end(&self) -> Outcome {
        match self.file.metadata() {
            Ok(now) if now.len() > self.size => Outcome::Grown,
            _ => Outcome::Scanned,
        }
    }
}
