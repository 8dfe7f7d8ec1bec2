//! [`LargeFile`]: a file of which several workers scan a range each.
//!
//! - The worker that opens the file scans the first range and calls for help. All workers take one
//!   range after the other, in order.
//! - A call for help holds only a weak reference: once all ranges are taken there is nothing to
//!   help with, and the last worker at the file closes it.
//! - The first range that is not completely reported is *leading*. Its findings are reported after
//!   each chunk. Other ranges are stored until all ranges before them are reported. Then their
//!   matches go through the same assembler, as if one worker had scanned the file from front to
//!   back.
//! - What is held ahead is bounded. While the ranges ahead in all files of the scan hold more than
//!   [`AHEAD_BYTES_MAX`], a worker takes no more of them, and stops in the middle of the range it
//!   has. It does not wait: the worker that makes the range leading continues it. (`range_order`
//!   decides who does what, and says why no range is forgotten.)
//! - Bytes and findings are counted when they are reported, so the counts do not depend on which
//!   workers ran ahead.
//! - The work of each chunk is counted when it is reported, in the order of the file, so the place
//!   of a cut does not depend on which worker scans which range. A worker whose range alone takes
//!   too much work stops ahead: the file is cut there or earlier.
//!
//! Invariant: a worker that takes a range finishes or stores it, whatever the range contains. The
//! worker that reports the last range, or the first range that could not be read to its end,
//! reports the outcome of the file; all later ranges are dropped.

use super::assemble::Assembler;
use super::capture::Captured;
use super::emit::{CurrentObject, ObjectFindings};
use super::in_flight::InFlightGuard;
use super::lines::{LineCursor, LinePosition};
use super::object_scanner::{
    CAPTURED_CAPACITY_MAX, Helpers, ObjectScanner, Part, PartEnd, ScannedChunk, panic_message,
};
use super::range_order::{BatonClaim, RangeOrder, StoreResult};
use crate::detector::Detector;
use crate::newline::Newline;
use crate::report::Outcome;
use crate::window::read_at;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The maximum number of helpers. With more, the disk or the memory is the limit.
const HELPERS_MAX: u64 = 32;

/// The number of bytes of matches that all files of a scan may hold ahead. Each worker may exceed
/// it by the matches of one chunk.
const AHEAD_BYTES_MAX: u64 = 24 << 20;

/// The number of ranges that may be taken ahead. A stored range is small, but a file may have any
/// number of ranges.
const AHEAD_RANGES_MAX: u64 = 1024;

/// An open file, and how it is split into ranges.
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

/// A file of which several workers scan a range each.
#[derive(Debug)]
pub(crate) struct LargeFile {
    contents: FileContents,
    path: PathBuf,
    rule_path: PathBuf,
    order: RangeOrder<Baton, RangeResult>,
    _in_flight: Option<InFlightGuard>,
}

/// What all ranges before the leading one came to.
#[derive(Debug)]
struct Baton {
    /// The line in which the first window of the leading range begins.
    position: LinePosition,
    assembler: Assembler,
    findings: ObjectFindings,
    bytes: u64,
    work: u64,
}

/// What the scan of a range came to so far.
#[derive(Debug)]
struct RangeResult {
    captured: Vec<Captured>,
    /// The part of `captured`, in bytes, that counts as held ahead.
    held: u64,
    /// The scanned chunks that are not reported yet, as far as they are not counted together.
    tallies: Vec<Tally>,
    /// The work of all chunks of the range.
    work: u64,
    /// All secrets of the file that begin before this offset are known, if all ranges before this
    /// one are.
    known_to: u64,
    /// The position of the window, with lines counted from the range's first window.
    cursor: LineCursor,
    state: RangeState,
}

/// What some chunks in one block of a file came to.
#[derive(Clone, Copy, Debug)]
struct Tally {
    /// The last of the chunks, with the bytes and the work of all of them.
    chunk: ScannedChunk,
    /// The number of their matches.
    captured: usize,
}

#[derive(Debug)]
enum RangeState {
    /// The positions from `from` on were not scanned yet.
    Unfinished { from: u64 },
    /// The range was scanned, and the cursor is where the first window of the next range begins.
    Finished,
    /// The file ends with this range, with this outcome.
    Ended(Outcome),
}

impl LargeFile {
    /// Creates the scan of a large file, of which the caller takes the first range. `object` has
    /// the findings of the path alone.
    pub(super) fn new(
        contents: FileContents,
        object: &CurrentObject<'_>,
        rule_path: &Path,
        in_flight: Option<InFlightGuard>,
    ) -> Self {
        let baton = Baton {
            position: LinePosition::BEGIN,
            assembler: Assembler::default(),
            findings: object.findings,
            bytes: 0,
            work: 0,
        };
        Self {
            order: RangeOrder::new(contents.ranges(), AHEAD_RANGES_MAX, baton),
            contents,
            path: object.path().to_path_buf(),
            rule_path: rule_path.to_path_buf(),
            _in_flight: in_flight,
        }
    }

    /// Calls for help and scans ranges as [`help`](Self::help) does, beginning with the first
    /// range, whose beginning is in the scanner's window.
    pub(super) fn begin_with<D: Detector>(
        self: &Arc<Self>,
        scanner: &mut ObjectScanner<D>,
        helpers: &mut impl Helpers,
    ) {
        for _ in 0..(self.contents.ranges() - 1).min(HELPERS_MAX) {
            helpers.call_for_help(Arc::downgrade(self));
        }
        self.scan_range(scanner, 0);
        self.help(scanner, helpers);
    }

    /// Scans ranges until none is left or there is no room for more. In the second case, another
    /// worker calls for help when there is room again.
    pub(crate) fn help<D: Detector>(
        self: &Arc<Self>,
        scanner: &mut ObjectScanner<D>,
        helpers: &mut impl Helpers,
    ) {
        loop {
            for _ in 0..self.order.recall_absent(has_room(scanner)) {
                helpers.call_for_help(Arc::downgrade(self));
            }
            let Some(number) = self.order.take_range(has_room(scanner)) else { return };
            scanner.window.begin(number * self.contents.range_size);
            self.scan_range(scanner, number);
        }
    }

    /// Scans the range at which the window is, and then each unfinished range that becomes leading
    /// by that.
    fn scan_range<D: Detector>(&self, scanner: &mut ObjectScanner<D>, mut number: u64) {
        let begin = scanner.window.offset();
        let counted_from = if begin == 0 { LinePosition::BEGIN } else { LinePosition::MIDDLE };
        let mut range = RangeResult {
            captured: Vec::new(),
            held: 0,
            tallies: Vec::new(),
            work: 0,
            known_to: begin,
            cursor: LineCursor::new(counted_from, begin, self.contents.newline),
            state: RangeState::Unfinished { from: scanner.window.owned_from() },
        };
        let mut baton = None;
        loop {
            self.read_on(scanner, number, &mut range, &mut baton);
            let leading = match baton {
                Some(baton) => (baton, range),
                None => match self.order.store(number, range) {
                    StoreResult::Leading(baton, range) => (baton, range),
                    StoreResult::Stored => return,
                    StoreResult::NotWanted(range) => return release(scanner, range.held),
                },
            };
            let Some((at, again, rest)) = self.report_from(scanner, number, leading) else {
                return;
            };
            let RangeState::Unfinished { from } = rest.state else { return };
            scanner.window.begin(from);
            (number, baton, range) = (at, Some(again), rest);
        }
    }

    /// Reports the leading range and the stored ranges after it, up to the end of the file or to a
    /// range that is not stored. Returns the first unfinished range, if there is one.
    fn report_from<D: Detector>(
        &self,
        scanner: &mut ObjectScanner<D>,
        mut number: u64,
        (mut baton, mut range): (Baton, RangeResult),
    ) -> Option<(u64, Baton, RangeResult)> {
        loop {
            count_tallies(scanner, &mut baton, &mut range);
            let is_last = number + 1 == self.contents.ranges();
            let known_to = match range.state {
                RangeState::Unfinished { from } => scanner.window.begin_of(from),
                RangeState::Finished if !is_last => {
                    scanner.window.begin_of((number + 1).saturating_mul(self.contents.range_size))
                }
                RangeState::Finished | RangeState::Ended(_) => u64::MAX,
            };
            if let RangeState::Ended(
                Outcome::Interrupted | Outcome::Panicked(_) | Outcome::WorkCut { .. },
            ) = range.state
            {
                baton.assembler.end_early(range.known_to);
            }
            let reported = self.report(scanner, &mut baton, &mut range, known_to);
            let outcome = match (reported, &mut range.state) {
                (Err(panicked), _) => panicked,
                (Ok(()), RangeState::Ended(outcome)) => {
                    std::mem::replace(outcome, Outcome::Scanned)
                }
                (Ok(()), RangeState::Unfinished { .. }) => return Some((number, baton, range)),
                (Ok(()), RangeState::Finished) if is_last => self.outcome_at_the_end(),
                (Ok(()), RangeState::Finished) => {
                    baton.position = range.cursor.position.after(baton.position);
                    number += 1;
                    (baton, range) = self.order.advance(baton)?;
                    continue;
                }
            };
            self.report_outcome(scanner, &baton, outcome);
            return None;
        }
    }

    /// Scans a range from the window to its end, or until it must be stored. A panic ends the
    /// range.
    fn read_on<D: Detector>(
        &self,
        scanner: &mut ObjectScanner<D>,
        number: u64,
        range: &mut RangeResult,
        baton: &mut Option<Baton>,
    ) {
        let read =
            catch_unwind(AssertUnwindSafe(|| self.read_range(scanner, number, range, baton)));
        if let Err(panic) = read {
            // The matches of earlier chunks stay valid.
            scanner.reset_after_panic();
            range.state = RangeState::Ended(Outcome::Panicked(panic_message(&*panic)));
        }
    }

    fn read_range<D: Detector>(
        &self,
        scanner: &mut ObjectScanner<D>,
        number: u64,
        range: &mut RangeResult,
        baton: &mut Option<Baton>,
    ) {
        if scanner.context.is_stopped() {
            range.state = RangeState::Ended(Outcome::Interrupted);
            return;
        }
        let FileContents { file, size, range_size, .. } = &self.contents;
        let to = (number + 1).saturating_mul(*range_size).min(*size);
        scanner.captured.clear();
        let mut cursor = range.cursor;
        let part = Part { to, limit: *size };
        let mut read = |at: u64, into: &mut [u8]| read_at(file, at, into);
        let end =
            scanner.scan_part(&self.rule_path, part, &mut cursor, &mut read, |scanner, chunk| {
                self.after_chunk(scanner, number, range, baton, chunk)
            });
        let ended = match end {
            PartEnd::Done => None,
            PartEnd::NotWanted => {
                range.cursor = cursor;
                // Unless a panic of the sink ended it.
                if let RangeState::Unfinished { from } = &mut range.state {
                    *from = scanner.window.owned_from();
                }
                return;
            }
            PartEnd::TooMuchWork => {
                Some(Outcome::WorkCut { scanned_to: scanner.window.owned_from() })
            }
            PartEnd::Short => Some(Outcome::Shrunk),
            PartEnd::Stopped => Some(Outcome::Interrupted),
            PartEnd::Failed(error) => Some(Outcome::Unreadable(error)),
        };
        // Move to where the first window of the next range begins.
        scanner.window.advance(to.min(scanner.window.end_offset()), |leaving| cursor.pass(leaving));
        range.cursor = cursor;
        if matches!(range.state, RangeState::Unfinished { .. }) {
            range.state = ended.map_or(RangeState::Finished, RangeState::Ended);
        }
    }

    /// Takes the matches of a chunk, and reports them if the range is leading. Returns `false` if
    /// the worker must not continue the range, because the file is done or too much is held ahead.
    fn after_chunk<D: Detector>(
        &self,
        scanner: &mut ObjectScanner<D>,
        number: u64,
        range: &mut RangeResult,
        baton: &mut Option<Baton>,
        chunk: ScannedChunk,
    ) -> bool {
        let added: u64 = scanner.captured.iter().map(Captured::memory).sum();
        range.add(chunk, &mut scanner.captured);
        // The scanner will scan other files, most of which need less.
        scanner.captured.shrink_to(CAPTURED_CAPACITY_MAX);
        if baton.is_none() {
            match self.order.claim_baton(number) {
                BatonClaim::Granted(claimed) => *baton = Some(claimed),
                BatonClaim::NotWanted => return false,
                BatonClaim::NotYet => {
                    range.held += added;
                    // Relaxed: each worker may exceed the bound by one chunk anyway.
                    scanner.context.captured_ahead.fetch_add(added, Ordering::Relaxed);
                    if chunk.is_cut(range.work, scanner.context.settings.work_limit) {
                        let cut = Outcome::WorkCut { scanned_to: chunk.end };
                        range.state = RangeState::Ended(cut);
                        return false;
                    }
                    return added == 0 || has_room(scanner);
                }
            }
        }
        let Some(baton) = baton else { return true };
        count_tallies(scanner, baton, range);
        if matches!(range.state, RangeState::Ended(_)) {
            // The rest of what is known is reported with the outcome.
            return false;
        }
        if let Err(panicked) = self.report(scanner, baton, range, chunk.known_to) {
            range.state = RangeState::Ended(panicked);
            return false;
        }
        true
    }

    /// Reports what is known of the leading range. If the sink panics, the error is the outcome of
    /// the file.
    fn report<D: Detector>(
        &self,
        scanner: &mut ObjectScanner<D>,
        baton: &mut Baton,
        range: &mut RangeResult,
        known_to: u64,
    ) -> Result<(), Outcome> {
        release(scanner, std::mem::take(&mut range.held));
        let Baton { assembler, findings, position, .. } = baton;
        assembler.add(range.captured.drain(..).map(|captured| captured.after(*position)));
        let mut object = CurrentObject::new(&self.path, *findings);
        let emitted = catch_unwind(AssertUnwindSafe(|| {
            assembler.settle(known_to, &mut |assembled| {
                scanner.emitter.emit(&mut object, &assembled);
            });
        }));
        *findings = object.findings;
        emitted.map_err(|panic| Outcome::Panicked(panic_message(&*panic)))
    }

    /// Reports the outcome of the file, and drops the ranges that are not reported.
    fn report_outcome<D: Detector>(
        &self,
        scanner: &mut ObjectScanner<D>,
        baton: &Baton,
        outcome: Outcome,
    ) {
        let dropped = self.order.finish();
        release(scanner, dropped.values().map(|range| range.held).sum());
        let object = CurrentObject::new(&self.path, baton.findings);
        scanner.report_outcome(&object, outcome, baton.bytes);
    }

    /// Returns the outcome of a file whose original length was scanned.
    fn outcome_at_the_end(&self) -> Outcome {
        match self.contents.file.metadata() {
            Ok(now) if now.len() > self.contents.size => Outcome::Grown,
            _ => Outcome::Scanned,
        }
    }
}

impl RangeResult {
    /// Adds a chunk and its matches.
    fn add(&mut self, chunk: ScannedChunk, captured: &mut Vec<Captured>) {
        self.work = self.work.saturating_add(chunk.work);
        self.known_to = chunk.known_to;
        let mut tally = Tally { chunk, captured: captured.len() };
        self.captured.append(captured);
        // The limit is compared with the work at the ends of blocks, so the rest can be added up.
        if let Some(before) = self.tallies.pop_if(|before| !before.chunk.ends_block()) {
            tally.chunk.bytes += before.chunk.bytes;
            tally.chunk.work = tally.chunk.work.saturating_add(before.chunk.work);
            tally.captured += before.captured;
        }
        self.tallies.push(tally);
    }
}

/// Counts the bytes and the work of the chunks that are about to be reported. If the file takes too
/// much work, the range ends there, and what was found later is dropped.
fn count_tallies<D: Detector>(
    scanner: &mut ObjectScanner<D>,
    baton: &mut Baton,
    range: &mut RangeResult,
) {
    let limit = scanner.context.settings.work_limit;
    let mut captured = 0;
    for Tally { chunk, captured: of_chunk } in range.tallies.drain(..) {
        baton.bytes += chunk.bytes;
        scanner.emitter.counts.so_far.bytes += chunk.bytes;
        baton.work = baton.work.saturating_add(chunk.work);
        captured += of_chunk;
        if chunk.is_cut(baton.work, limit) {
            range.captured.truncate(captured);
            range.known_to = chunk.known_to;
            range.state = RangeState::Ended(Outcome::WorkCut { scanned_to: chunk.end });
            break;
        }
    }
}

/// Returns `true` if more matches may be held ahead.
fn has_room<D: Detector>(scanner: &ObjectScanner<D>) -> bool {
    scanner.context.captured_ahead.load(Ordering::Relaxed) <= AHEAD_BYTES_MAX
}

/// Counts `held` bytes of matches as no longer held ahead.
fn release<D: Detector>(scanner: &ObjectScanner<D>, held: u64) {
    if held > 0 {
        scanner.context.captured_ahead.fetch_sub(held, Ordering::Relaxed);
    }
}
