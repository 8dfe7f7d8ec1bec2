//! The scan of a [`Version`]: of an object of which only a part differs from its base.
//!
//! What the detector finds from a position depends on the bytes within a *reach* of it. In copied
//! text, these bytes are mostly the same as in the base. So the scan
//!
//! 1. inherits the base's candidates, and sweeps only where a sweep could see a change;
//! 2. inherits the base's matches whose whole reach is in one copy;
//! 3. tries the rules at all other candidates, and decodes only the encoded text near changes.
//!
//! | file | idea |
//! |---|---|
//! | `delta` | the copies, and the gaps between them |
//! | `reaches` | how far around a candidate the bytes are that decide about it |
//! | `remembered` | the candidates and matches of a scanned object |
//!
//! **Invariant: the matches are those of a scan of the whole object.** A position is *clean* if
//! everything within reach of it is in one copy. Both halves of the scan use the same definition:
//! what is clean is inherited and not searched, and everything else is searched and not inherited.
//! The beginning and the end of an object count as a change, unless the copy touches the same end
//! of both objects.
//!
//! For encoded text, the reach is explicit: what is found in a stretch of digits depends on that
//! stretch, and what is found near an escape depends on its line or word, so a change reaches to
//! the end of those, or as far as the detector sees, whichever is nearer. For UTF-16, it always
//! reaches as far as the detector sees.
//!
//! Not inherited: what the search for expressions without a literal finds in plain text. In text
//! that repeats itself, such a search begins at multiples of a block size, and copied text is
//! mostly at another offset. Objects that are UTF-16 as a whole are scanned whole, for the same
//! reason.

mod delta;
mod reaches;
mod remembered;
#[cfg(test)]
mod tests;

pub(crate) use reaches::Reaches;
pub(crate) use remembered::Remembered;

use super::encoded::{AROUND_OWNED, Decoder};
use super::examine::{LiteralUses, Text};
use super::owned_match::{Cause, OwnedMatch};
use super::{Scratch, SecretDetector};
use crate::chunk::Chunk;
use crate::decode::{EscapeKind, after_break, base64_begin, base64_end};
use crate::detector::Overlap;
use crate::encoding::Encoding;
use crate::version::{Memory, PathFreeMatch, Version};
use delta::{Copy, Delta, Touched};
use remembered::{KnownCandidates, can_be_kept};
use std::ops::Range;
use std::path::Path;

/// The number of positions that are searched at a time. It bounds the memory of the scratch.
const CHUNK_BYTES: usize = 256 << 10;

/// To sweep a shorter range costs less than to begin a sweep after it.
const CORE_BYTES_MIN: usize = 192;

/// Scans a version. See [`Detector::scan_changed`](crate::Detector::scan_changed).
pub(super) fn scan_changed(
    detector: &SecretDetector,
    version: &Version<'_>,
    scratch: &mut Scratch,
    matches: &mut Vec<PathFreeMatch>,
) -> Memory {
    let len = version.bytes.len();
    let mut found = std::mem::take(&mut scratch.found);
    found.clear();
    let is_plain = version.encoding == Encoding::Plain;
    let base = version.base.filter(|_| is_plain).and_then(|(memory, copies)| {
        let base =
            memory.remembered.as_deref().filter(|base| base.detector == detector.identity)?;
        let delta = Delta::new(copies, base.len, len)?;
        (!delta.copies.is_empty() && can_be_kept(detector, len)).then_some((base, delta))
    });
    let (known, may_have_zeros) = match base {
        Some((base, delta)) => {
            let chunk = whole(version);
            let scan = ChangeScan { detector, chunk, base, delta };
            (Some(scan.run(scratch, &mut found)), scan.may_have_zeros())
        }
        None => {
            let is_kept = version.wants_memory && is_plain && can_be_kept(detector, len);
            let known = scan_whole(detector, version, is_kept, scratch, &mut found);
            let may_have_zeros = known.is_some() && has_zeros(version.bytes);
            (known, may_have_zeros)
        }
    };
    let known = known.filter(|known| version.wants_memory && is_worth_keeping(known, &found, len));
    let memory = known.map(|candidates| {
        found.sort_by_key(|one| one.owner);
        Box::new(Remembered {
            detector: detector.identity,
            len,
            may_have_zeros,
            candidates: candidates.compact(),
            matches: found.as_slice().into(),
        })
    });
    matches.extend(found.drain(..).map(|one| one.found));
    scratch.found = found;
    Memory { remembered: memory }
}

/// Returns `false` if the memory would take too much room: then the object is full of candidates,
/// and a version of it costs about as much as any object.
fn is_worth_keeping(known: &KnownCandidates, found: &[OwnedMatch], len: usize) -> bool {
    known.size() + size_of_val(found) <= len / 2 + (4 << 10)
}

fn has_zeros(bytes: &[u8]) -> bool {
    memchr::memchr(0, bytes).is_some()
}

/// Returns the chunk that is the whole object.
fn whole<'a>(version: &Version<'a>) -> Chunk<'a> {
    let chunk = Chunk::whole(version.bytes, Path::new("")).with_encoding(version.encoding);
    Chunk { stop: version.stop, ..chunk }
}

/// Scans a whole object, a part at a time. Returns its candidates, if they are to be kept.
fn scan_whole(
    detector: &SecretDetector,
    version: &Version<'_>,
    is_kept: bool,
    scratch: &mut Scratch,
    found: &mut Vec<OwnedMatch>,
) -> Option<KnownCandidates> {
    let len = version.bytes.len();
    let mut known = is_kept.then(KnownCandidates::default);
    for from in (0..len).step_by(CHUNK_BYTES) {
        if from > 0 && version.stop.is_stopped() {
            return None;
        }
        let owned = from..(from + CHUNK_BYTES).min(len);
        let chunk = Chunk { owned, ..whole(version) };
        detector.scan_chunk(&chunk, scratch, found);
        if let Some(candidates) = &mut known {
            candidates.add_swept(&scratch.examiner.candidates, &mut scratch.sorted);
            if !is_worth_keeping(candidates, found, len) {
                known = None;
            }
        }
    }
    known
}

/// The scan of a version whose base is known.
struct ChangeScan<'a> {
    detector: &'a SecretDetector,
    /// The whole version.
    chunk: Chunk<'a>,
    base: &'a Remembered,
    delta: Delta,
}

/// The ranges in which encoded text is scanned.
#[derive(Debug, Default)]
struct TouchedEncoded {
    utf16: Touched,
    digits: Touched,
    url: Touched,
    json: Touched,
}

impl ChangeScan<'_> {
    fn run(&self, scratch: &mut Scratch, found: &mut Vec<OwnedMatch>) -> KnownCandidates {
        let known = self.candidates(scratch);
        let escapes = self.examine(&known, scratch, found);
        let mut touched = TouchedEncoded::default();
        if self.detector.decode {
            touched = self.touched_encoded(&escapes);
            self.scan_encoded(&touched, &known, &escapes, scratch, found);
        }
        self.inherit_matches(&touched, found);
        known
    }

    /// Returns `false` if the version has no zero byte.
    fn may_have_zeros(&self) -> bool {
        let bytes = self.chunk.bytes;
        let mut gaps = self.delta.gaps.iter();
        self.base.may_have_zeros || gaps.any(|gap| has_zeros(&bytes[gap.clone()]))
    }

    /// Returns the candidates of the version: inherited where possible, and else swept.
    fn candidates(&self, scratch: &mut Scratch) -> KnownCandidates {
        let mut known = KnownCandidates::default();
        let mut swept_to = 0;
        let mut sweep = |to: usize, swept_to: usize, known: &mut KnownCandidates| {
            let candidates = &mut scratch.examiner.candidates;
            candidates.clear();
            if swept_to < to {
                self.detector.prefilter.sweep(self.chunk.bytes, swept_to..to, candidates);
                known.add_swept(candidates, &mut scratch.sorted);
            }
        };
        for copy in &self.delta.copies {
            let core = copy.core(self.detector.reaches.sweep);
            if core.len() < CORE_BYTES_MIN {
                continue;
            }
            sweep(core.start, swept_to, &mut known);
            let in_base = copy.in_base_of(&core);
            known.add_copied(&self.base.candidates, in_base, core.start);
            swept_to = core.end;
        }
        sweep(self.chunk.bytes.len(), swept_to, &mut known);
        known
    }

    /// Adds the base's matches that are clean in the version.
    fn inherit_matches(&self, touched: &TouchedEncoded, found: &mut Vec<OwnedMatch>) {
        let matches = &self.base.matches;
        if matches.is_empty() {
            return;
        }
        for copy in &self.delta.copies {
            let range = copy.in_base();
            let from = |at: usize| matches.partition_point(|one| one.owner < at as u64);
            for one in &matches[from(range.start)..from(range.end)] {
                let at = copy.to.start + (one.owner as usize - copy.from);
                let is_clean = match one.cause {
                    Cause::Literal(literal) => {
                        copy.shows(at, self.detector.reaches.literals[literal as usize].reach)
                    }
                    Cause::Value => copy.shows(at, self.detector.reaches.value),
                    Cause::Search => false,
                    Cause::Utf16 => !touched.utf16.contains(at),
                    Cause::Digits => !touched.digits.contains(at),
                    Cause::Escapes(EscapeKind::Url) => !touched.url.contains(at),
                    Cause::Escapes(EscapeKind::Json) => !touched.json.contains(at),
                };
                if is_clean {
                    found.push(one.moved(copy.from as u64, copy.to.start as u64));
                }
            }
        }
    }

    /// Tries the rules at all candidates that are not clean. Returns the literals that may be
    /// escapes.
    fn examine(
        &self,
        known: &KnownCandidates,
        scratch: &mut Scratch,
        found: &mut Vec<OwnedMatch>,
    ) -> Escapes {
        let Self { detector, chunk, .. } = self;
        let reaches = &detector.reaches;
        let examiner = &mut scratch.examiner;
        let mut text = Text::of_chunk(chunk);
        let mut escapes = Escapes::default();
        examiner.found.clear();
        examiner.begin_text();
        let mut copies = self.delta.copies.iter().peekable();
        for (at, kind) in known.iter() {
            while copies.next_if(|copy| copy.to.end <= at).is_some() {}
            let copy = copies.peek().filter(|copy| copy.to.start <= at);
            let is_clean = |reach: Overlap| copy.is_some_and(|copy| copy.shows(at, reach));
            let goes_on = match kind {
                remembered::Kind::Run { has_digit } => {
                    is_clean(reaches.value) || examiner.examine_run(detector, &text, at, has_digit)
                }
                remembered::Kind::Literal(literal) => {
                    let of_literal = reaches.literals[literal as usize];
                    if let Some(kind) = of_literal.escape {
                        escapes.add(kind, at);
                    }
                    let hit = super::prefilter::AnchorHit { at, literal };
                    let uses = match (is_clean(of_literal.reach), of_literal.is_near) {
                        (false, _) => Some(LiteralUses::All),
                        (true, true) => Some(LiteralUses::Near),
                        (true, false) => None,
                    };
                    uses.is_none_or(|uses| examiner.examine_literal(detector, &text, hit, uses))
                }
            };
            if !goes_on {
                break;
            }
        }
        // A part at a time, because the search keeps where it begins.
        for from in (0..chunk.bytes.len()).step_by(CHUNK_BYTES) {
            text.owned = from..(from + CHUNK_BYTES).min(chunk.bytes.len());
            examiner.search_everywhere(detector, &text);
        }
        examiner.take_found(0, found);
        escapes
    }

    /// Returns where encoded text must be scanned. Leaves out what neither the version nor the
    /// base has.
    fn touched_encoded(&self, escapes: &Escapes) -> TouchedEncoded {
        let Overlap { before, after } = self.detector.overlap;
        let text = self.chunk.bytes;
        // Nothing that changes after a position can affect it from here on, nor before it.
        let limit_back = |at: usize| at.saturating_sub(after);
        let limit_forward = |at: usize| (at + before).min(text.len());
        let margin = self.detector.reaches.encoded_margin;
        let near_back = |at: usize| at.saturating_sub(margin);
        let near_forward = |at: usize| (at + margin).min(text.len());
        let mut utf16 = Touched::default();
        if self.may_have_zeros() {
            utf16 = self.delta.around_gaps(limit_back, limit_forward);
        }
        let digits = self.delta.around_gaps(
            |at| base64_begin(text, after_break(text, near_back(at)).min(at), limit_back(at)),
            |at| {
                let near = after_break(text, near_forward(at));
                base64_end(text, near, limit_forward(at).max(near))
            },
        );
        let around_escapes = |kind: EscapeKind| {
            let is_of_escape = |one: &OwnedMatch| one.cause == Cause::Escapes(kind);
            if escapes.of(kind).is_empty() && !self.base.matches.iter().any(is_of_escape) {
                return Touched::default();
            }
            self.delta.around_gaps(
                |at| kind.begin(text, near_back(at), limit_back(at)),
                |at| kind.end(text, near_forward(at), limit_forward(at).max(near_forward(at))),
            )
        };
        let (url, json) = (around_escapes(EscapeKind::Url), around_escapes(EscapeKind::Json));
        TouchedEncoded { utf16, digits, url, json }
    }

    /// Scans the encoded text near changes.
    fn scan_encoded(
        &self,
        touched: &TouchedEncoded,
        known: &KnownCandidates,
        escapes: &Escapes,
        scratch: &mut Scratch,
        found: &mut Vec<OwnedMatch>,
    ) {
        let Self { detector, chunk, .. } = self;
        let around = |range: &Range<usize>| {
            range.start.saturating_sub(AROUND_OWNED.before)..range.end + AROUND_OWNED.after
        };
        let mut each = |range: &Range<usize>, scan: &mut dyn FnMut(&mut Decoder<'_, '_>)| {
            let chunk = Chunk { owned: range.clone(), ..chunk.clone() };
            if !chunk.stop.is_stopped() {
                scan(&mut Decoder::new(detector, &chunk, found, &mut scratch.encoded));
            }
        };
        for range in &touched.utf16.0 {
            each(range, &mut |decoder| decoder.scan_utf16());
        }
        for range in &touched.digits.0 {
            each(range, &mut |decoder| decoder.scan_digits(known.runs_within(around(range))));
        }
        for (kind, touched) in [(EscapeKind::Url, &touched.url), (EscapeKind::Json, &touched.json)]
        {
            for range in &touched.0 {
                let near = escapes.within(kind, around(range));
                let near = near.iter().copied().filter(|&at| kind.is_at(chunk.bytes, at));
                each(range, &mut |decoder| decoder.scan_escapes(kind, near.clone()));
            }
        }
    }
}

impl Copy {
    /// Returns where a part of the copy is in the base.
    fn in_base_of(&self, part: &Range<usize>) -> Range<usize> {
        let start = self.from + (part.start - self.to.start);
        start..start + part.len()
    }
}

/// The literals that may be escapes, in order.
#[derive(Debug, Default)]
struct Escapes {
    url: Vec<usize>,
    json: Vec<usize>,
}

impl Escapes {
    fn add(&mut self, kind: EscapeKind, at: usize) {
        match kind {
            EscapeKind::Url => self.url.push(at),
            EscapeKind::Json => self.json.push(at),
        }
    }

    fn of(&self, kind: EscapeKind) -> &[usize] {
        match kind {
            EscapeKind::Url => &self.url,
            EscapeKind::Json => &self.json,
        }
    }

    fn within(&self, kind: EscapeKind, range: Range<usize>) -> &[usize] {
        let all = self.of(kind);
        let from = |at: usize| all.partition_point(|&one| one < at);
        &all[from(range.start)..from(range.end)]
    }
}
