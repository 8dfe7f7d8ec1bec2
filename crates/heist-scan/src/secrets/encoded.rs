//! Scans text inside one layer of encoding: base64, hexadecimal digits, escapes, UTF-16.
//!
//! The detector decodes the text and scans the result like any other text. It skips generic rules
//! there, because random values in decoded text are mostly noise, while vendor tokens are not.
//! UTF-16 is only a way to write text, so all rules apply to it.
//!
//! The detector scans encoded text in *pieces* and decodes each piece together with its
//! surroundings. A piece ends at the end of the chunk's owned part, or when it is long enough.
//! These cuts must not change the result. They do not, because
//! - every position of encoded text is in exactly one piece, and the bytes within [`MARGIN`] of a
//!   position decide whether it is scanned at all (see [`LONG_STRETCH`]);
//! - from each position a rule sees the same part of the source, [`View::seen`], regardless of the
//!   piece;
//! - a match belongs to the position from which it was found: a candidate, or a search start
//!   ([`search_starts`](super::search_starts)). The first scanned position is also a search start.

use super::examine::{Examiner, FoundSecret, Text, TextOrigin, View};
use super::explain::Explanation;
use super::owned_match::{Cause, OwnedMatch};
use super::plan::LiteralUse;
use super::prefilter::{AnchorHit, Candidates};
use super::prices;
use super::search_starts::DECODED_SEARCH_MAX;
use super::{Scratch, SecretDetector};
use crate::chunk::Chunk;
use crate::decode::{
    BASE64_PHASES, BASE64_STRETCH_MIN, DECODE_MARGIN, Decoded, EscapeKind, HEX_PHASES, NEAR_AFTER,
    NEAR_BEFORE, UTF16_SPAN_MIN, after_break, base64_begin, base64_end, base64_phase,
    begins_base64, begins_hex, escaped, gather_base64, hex, hex_stretch, is_base64, may_be_base64,
    utf16, utf16_span,
};
use crate::detector::{Match, Overlap, RuleIndex};
use crate::encoding::Encoding;
use crate::version::PathFreeMatch;
use std::ops::Range;

/// A stretch of base64 is always scanned from this many digits on. Earlier digits are scanned only
/// if a run of letters and digits begins there, starting [`NEAR_RUN`] bytes before that run.
const LONG_STRETCH: usize = 2048;

/// How far before a run of letters and digits the scan of its base64 starts. Base64 also contains
/// signs, which interrupt runs.
const NEAR_RUN: usize = 512;

/// How far from a position the bytes are that decide whether it is scanned.
const MARGIN: usize = 2 * LONG_STRETCH + DECODE_MARGIN;

// The prefilter must search far enough outside the owned part to see these runs and escapes.
const _: () = assert!(NEAR_AFTER <= LONG_STRETCH && NEAR_BEFORE <= NEAR_RUN);
const _: () = assert!(2 * UTF16_SPAN_MIN <= LONG_STRETCH);

/// The greatest length of a piece. Each piece is decoded with its surroundings, so much shorter
/// pieces would cost more.
const PIECE_BYTES: usize = 32 * 1024;

/// Returns how far a rule sees in encoded text, given how far it sees in plain text. In UTF-16 each
/// character has two bytes; the other encodings see the same part of the source.
pub(crate) fn seen_encoded(plain: Overlap) -> Overlap {
    Overlap { before: 2 * plain.before, after: 2 * plain.after }
}

/// Returns how much of an object the detector needs around a position so that a rule can see this
/// much of encoded text.
pub(crate) fn with_encoded(seen: Overlap) -> Overlap {
    Overlap {
        before: seen.before.max(MARGIN) + DECODE_MARGIN,
        after: seen.after.max(MARGIN) + DECODE_MARGIN,
    }
}

/// A worker's buffers for scanning encoded text.
#[derive(Debug)]
pub(crate) struct EncodedScratch {
    inner: Examiner,
    /// The candidates in encoded text, recorded only for explanations.
    pub(crate) explanations: Vec<Explanation>,
    decoded: Decoded,
    /// Prefilter candidates just outside the chunk's owned part.
    outside: Candidates,
    escapes: Vec<usize>,
    /// Pieces that are decoded together.
    places: Vec<WaitingPiece>,
    /// The work of decoding.
    work: u64,
}

impl EncodedScratch {
    pub(crate) fn new(rules: usize) -> Self {
        Self {
            inner: Examiner::new(rules),
            explanations: Vec::new(),
            decoded: Decoded::new(),
            outside: Candidates::default(),
            escapes: Vec::new(),
            places: Vec::new(),
            work: 0,
        }
    }

    /// Returns the work since the last call.
    pub(crate) fn take_work(&mut self) -> u64 {
        std::mem::take(&mut self.work) + self.inner.take_work()
    }

    /// Starts recording every candidate, for an explanation.
    pub(crate) fn take_notes(&mut self) {
        self.inner.notes = Some(Vec::new());
    }
}

/// Adds the matches in encoded text. `scratch.examiner.candidates` must be the candidates of the
/// chunk itself.
pub(crate) fn scan_encoded(
    detector: &SecretDetector,
    chunk: &Chunk<'_>,
    scratch: &mut Scratch,
    matches: &mut Vec<OwnedMatch>,
) {
    let Scratch { examiner, encoded, .. } = scratch;
    let (text, owned) = (chunk.bytes, chunk.owned.clone());
    encoded.outside.clear();
    let before = owned.start.saturating_sub(AROUND_OWNED.before)..owned.start;
    let after = owned.end..(owned.end + AROUND_OWNED.after).min(text.len());
    for margin in [before, after] {
        if !margin.is_empty() {
            detector.prefilter.sweep(text, margin, &mut encoded.outside);
        }
    }
    let outside = std::mem::take(&mut encoded.outside);
    let (before, after) =
        outside.runs.split_at(outside.runs.partition_point(|&run| run < owned.start));
    let (before, after) = (before.iter().copied(), after.iter().copied());
    let runs = before.chain(examiner.candidates.runs.iter().copied()).chain(after);
    let mut decoder = Decoder::new(detector, chunk, matches, encoded);
    decoder.scan_utf16();
    decoder.scan_digits(runs);
    for kind in [EscapeKind::Url, EscapeKind::Json] {
        let wanted = match kind {
            EscapeKind::Url => LiteralUse::UrlEscape,
            EscapeKind::Json => LiteralUse::JsonEscape,
        };
        let hits = examiner.candidates.anchors.iter().chain(&outside.anchors);
        let is_one = |hit: &&AnchorHit| {
            kind.is_at(text, hit.at) && detector.plan.uses(hit.literal).contains(&wanted)
        };
        decoder.scan_escapes(kind, hits.filter(is_one).map(|hit| hit.at));
    }
    encoded.outside = outside;
}

/// How far from the owned positions the runs and escapes are that [`Decoder::scan_digits`] and
/// [`Decoder::scan_escapes`] need.
pub(crate) const AROUND_OWNED: Overlap = Overlap { before: LONG_STRETCH, after: NEAR_RUN };

/// A piece of encoded text that waits to be scanned. See [`EncodedWindow`] for the fields.
#[derive(Debug)]
struct WaitingPiece {
    piece: Range<usize>,
    first: Option<usize>,
}

/// Returns the range from the start of the first piece to the end of the last one.
fn together(places: &[WaitingPiece]) -> Option<Range<usize>> {
    Some(places.first()?.piece.start..places.last()?.piece.end)
}

/// A window of the source, and the known limits of the encoded text in it.
struct EncodedWindow {
    /// The source positions to scan.
    piece: Range<usize>,
    /// The first scanned position of the encoded text, in this piece or an earlier one, if it is
    /// known. No chunk scans anything before it.
    first: Option<usize>,
    /// The start and end of the encoded text, if they are inside the window.
    begin: Option<usize>,
    end: Option<usize>,
}

/// Decodes and scans what a chunk owns.
pub(crate) struct Decoder<'a, 'b> {
    detector: &'a SecretDetector,
    chunk: &'a Chunk<'b>,
    matches: &'a mut Vec<OwnedMatch>,
    scratch: &'a mut EncodedScratch,
}

impl<'a, 'b> Decoder<'a, 'b> {
    pub(crate) fn new(
        detector: &'a SecretDetector,
        chunk: &'a Chunk<'b>,
        matches: &'a mut Vec<OwnedMatch>,
        scratch: &'a mut EncodedScratch,
    ) -> Self {
        Self { detector, chunk, matches, scratch }
    }

    /// Scans base64 and hexadecimal digits: near runs, and in long stretches without a run. `runs`
    /// are those among the owned positions and [around](AROUND_OWNED) them, in order.
    pub(crate) fn scan_digits(&mut self, runs: impl Iterator<Item = usize>) {
        let owned = self.chunk.owned.clone();
        // All base64 before `done` is scanned. At `probe` the loop checks for a long stretch; an
        // object cannot start inside one.
        let begins_object = self.chunk.offset == 0 && owned.start == 0;
        let (mut done, mut probe) = (0, if begins_object { LONG_STRETCH } else { owned.start });
        for run in runs {
            while probe < run.min(owned.end) {
                (done, probe) = self.scan_long_stretch(probe, done);
            }
            if run >= done {
                let begin =
                    base64_begin(self.chunk.bytes, run, run.saturating_sub(NEAR_RUN).max(done));
                done = self.scan_stretch(begin, run);
            }
        }
        while probe < owned.end {
            (done, probe) = self.scan_long_stretch(probe, done);
        }
    }

    /// Scans the stretch of base64 at `probe` if it began long before. Returns how far base64 is
    /// scanned now, and the next position to probe.
    fn scan_long_stretch(&mut self, probe: usize, done: usize) -> (usize, usize) {
        let text = self.chunk.bytes;
        let (at, next) = (after_break(text, probe), probe + LONG_STRETCH);
        if at < done || !is_base64(text, at) {
            return (done, next);
        }
        let begin = base64_begin(text, at, at.saturating_sub(2 * LONG_STRETCH).max(done));
        let from = begin + LONG_STRETCH;
        if from <= at {
            (self.scan_stretch(from, at), next)
        } else {
            // Scan the runs before that point first.
            let goes_on = base64_end(text, at, (from + DECODE_MARGIN).min(text.len())) > from;
            (done, if goes_on { from } else { next })
        }
    }

    /// Scans a stretch of base64 that contains the digit at `at`, from `begin` on. Returns its end.
    fn scan_stretch(&mut self, begin: usize, at: usize) -> usize {
        let (text, owned) = (self.chunk.bytes, self.chunk.owned.clone());
        let limit = (owned.end.max(at) + BASE64_STRETCH_MIN).min(text.len());
        let end = base64_end(text, at, limit);
        let place = begin.max(owned.start)..end.min(owned.end);
        if end < begin + BASE64_STRETCH_MIN || place.is_empty() {
            return end;
        }
        // Most stretches are short, with both ends in view.
        let is_whole = end + DECODE_MARGIN < limit && begins_base64(text, begin);
        if is_whole && place.len() <= PIECE_BYTES {
            let seen = begin..end;
            let (begin, last) = (Some(begin), Some(end));
            let window = EncodedWindow { piece: place, first: begin, begin, end: last };
            self.scan_base64(&window, seen);
            return end;
        }
        for piece in pieces(place) {
            let at = after_break(text, piece.start);
            if at < piece.end {
                let first = Some(begin);
                let Range { start, end: limit } = self.seen_around(&piece);
                let seen = base64_begin(text, at, start)..base64_end(text, at, limit);
                let begin = begins_base64(text, seen.start).then_some(seen.start);
                let end = self.end_before(seen.end, limit);
                self.scan_base64(&EncodedWindow { piece, first, begin, end }, seen);
            }
        }
        end
    }

    /// Scans a piece of base64. `seen` is the part of the source that rules see from it.
    fn scan_base64(&mut self, window: &EncodedWindow, seen: Range<usize>) {
        let text = self.chunk.bytes;
        self.scratch.work += prices::DIGIT * window.piece.len() as u64;
        // Everything that a match in this piece depends on is this near, unless there are line
        // breaks: it may begin before the piece, and a search from there may continue after it.
        let near = seen.start.max(window.piece.start.saturating_sub(DECODE_MARGIN))
            ..seen.end.min(window.piece.end + 2 * DECODED_SEARCH_MAX);
        let near = &text[near];
        if memchr::memchr(b'\n', near).is_some() || may_be_base64(near) {
            gather_base64(text, seen.clone(), &mut self.scratch.decoded);
            for phase in 0..BASE64_PHASES {
                if base64_phase(phase, &mut self.scratch.decoded) {
                    self.scan_decoded(Encoding::Base64, window);
                }
            }
        }
        self.scan_hex(window, seen);
    }

    /// Scans hexadecimal digits in a piece of base64.
    fn scan_hex(&mut self, base64: &EncodedWindow, seen: Range<usize>) {
        let (text, piece) = (self.chunk.bytes, base64.piece.clone());
        let mut places = piece.clone();
        while let Some(stretch) = hex_stretch(text, seen.clone(), places.clone()) {
            places.start = stretch.end;
            let begin = begins_hex(text, stretch.start).then_some(stretch.start);
            let end = (stretch.end < seen.end).then_some(stretch.end).or(base64.end);
            let window = EncodedWindow { piece: piece.clone(), first: base64.first, begin, end };
            for phase in 0..HEX_PHASES {
                if hex(text, stretch.clone(), phase, &mut self.scratch.decoded) {
                    self.scan_decoded(Encoding::Hex, &window);
                }
            }
        }
    }

    /// Scans the text near escapes: near those among the owned positions and
    /// [around](AROUND_OWNED) them.
    pub(crate) fn scan_escapes(&mut self, kind: EscapeKind, near: impl Iterator<Item = usize>) {
        let text = self.chunk.bytes;
        let mut escapes = std::mem::take(&mut self.scratch.escapes);
        escapes.clear();
        escapes.extend(near);
        escapes.sort_unstable();
        let (mut place, mut first) = (0..0, None);
        for &escape in &escapes {
            let limit = (escape + NEAR_AFTER).min(text.len());
            if escape < place.end {
                place.end = kind.end(text, place.end, limit);
                continue;
            }
            let begin = kind.begin(text, escape, escape.saturating_sub(NEAR_BEFORE));
            self.add_escaped(kind, place.clone(), first);
            if begin > place.end || first.is_none() {
                first = Some(begin);
            }
            place = begin.max(place.end)..kind.end(text, escape, limit);
        }
        self.add_escaped(kind, place, first);
        self.scan_escaped(kind);
        self.scratch.escapes = escapes;
    }

    /// Adds the owned part of a place near escapes to the waiting pieces. Scans those first if the
    /// new place is too far from them to be decoded together.
    fn add_escaped(&mut self, kind: EscapeKind, place: Range<usize>, first: Option<usize>) {
        let (text, owned) = (self.chunk.bytes, self.chunk.owned.clone());
        for piece in pieces(place.start.max(owned.start)..place.end.min(owned.end)) {
            if let Some(together) = together(&self.scratch.places) {
                let is_same_stretch = kind.end(text, together.end, piece.start) == piece.start;
                if !is_same_stretch || piece.end - together.start > PIECE_BYTES {
                    self.scan_escaped(kind);
                }
            }
            self.scratch.work += prices::ESCAPED * piece.len() as u64;
            self.scratch.places.push(WaitingPiece { piece, first });
        }
    }

    /// Scans the waiting pieces near escapes.
    fn scan_escaped(&mut self, kind: EscapeKind) {
        let Some(together) = together(&self.scratch.places) else { return };
        let text = self.chunk.bytes;
        let Range { start: first, end: last } = self.seen_around(&together);
        let begin = kind.begin(text, together.start, first);
        let end = kind.end(text, together.start, last);
        escaped(kind, text, begin..end, &mut self.scratch.decoded);
        let begin = kind.begins(text, begin).then_some(begin);
        let end = self.end_before(end, last);
        let encoding = match kind {
            EscapeKind::Url => Encoding::UrlEscaped,
            EscapeKind::Json => Encoding::JsonEscaped,
        };
        self.scan_places(encoding, begin, end);
    }

    /// Scans the waiting pieces, after all of them are decoded.
    fn scan_places(&mut self, encoding: Encoding, begin: Option<usize>, end: Option<usize>) {
        let mut places = std::mem::take(&mut self.scratch.places);
        for WaitingPiece { piece, first } in places.drain(..) {
            self.scan_decoded(encoding, &EncodedWindow { piece, first, begin, end });
        }
        self.scratch.places = places;
    }

    /// Scans UTF-16. If the whole object is UTF-16, scans all of it.
    pub(crate) fn scan_utf16(&mut self) {
        let (text, owned, encoding) =
            (self.chunk.bytes, self.chunk.owned.clone(), self.chunk.encoding);
        if matches!(encoding, Encoding::Utf16Le | Encoding::Utf16Be) {
            // Code units are counted from the start of the object.
            let first_unit = (self.chunk.offset % 2) as usize;
            for piece in pieces(owned) {
                self.scratch.work += prices::UTF16 * piece.len() as u64;
                self.scratch.places.push(WaitingPiece { piece, first: None });
                self.scan_units(encoding, first_unit);
            }
            return;
        }
        let span = 2 * UTF16_SPAN_MIN;
        let window = owned.start.saturating_sub(span)..(owned.end + span).min(text.len());
        let (mut from, mut first_unit) = (window.start, 0);
        while let Some(span) = utf16_span(text, window.clone(), from) {
            from = span.end;
            for piece in pieces(span.start.max(owned.start)..span.end.min(owned.end)) {
                if let Some(together) = together(&self.scratch.places)
                    && (first_unit != span.start % 2 || piece.end - together.start > PIECE_BYTES)
                {
                    self.scan_units(Encoding::Utf16Le, first_unit);
                }
                first_unit = span.start % 2;
                let first = (span.start > window.start).then_some(span.start);
                self.scratch.work += prices::UTF16 * piece.len() as u64;
                self.scratch.places.push(WaitingPiece { piece, first });
            }
        }
        self.scan_units(Encoding::Utf16Le, first_unit);
    }

    /// Scans the waiting pieces whose code units begin at positions of the same parity as
    /// `first_unit`.
    fn scan_units(&mut self, encoding: Encoding, first_unit: usize) {
        let Some(together) = together(&self.scratch.places) else { return };
        let text = self.chunk.bytes;
        let Range { start, end } = self.seen_around(&together);
        let start = (start + (start + first_unit) % 2).min(end);
        utf16(text, start..end, encoding, &mut self.scratch.decoded);
        let is_object = self.chunk.encoding == encoding;
        let begins = is_object && self.chunk.offset == 0 && start == 0;
        let ends = is_object && self.chunk.is_end && end == text.len();
        self.scan_places(encoding, begins.then_some(start), ends.then_some(end));
    }

    /// Returns the part of the source that rules see from a piece, plus a margin, so that
    /// characters cut at the ends are out of sight.
    fn seen_around(&self, piece: &Range<usize>) -> Range<usize> {
        let Overlap { before, after } = self.detector.seen_encoded;
        let (before, after) = (before + DECODE_MARGIN, after + DECODE_MARGIN);
        piece.start.saturating_sub(before)..(piece.end + after).min(self.chunk.bytes.len())
    }

    /// Returns the end of encoded text that was searched up to `limit`, if the search found it. (A
    /// line break cut by the limit counts as an end; it is too far away to be seen, see
    /// `seen_around`.)
    fn end_before(&self, end: usize, limit: usize) -> Option<usize> {
        let is_object_end = self.chunk.is_end && end == self.chunk.bytes.len();
        (end < limit || is_object_end).then_some(end)
    }

    /// Scans the decoded text.
    fn scan_decoded(&mut self, encoding: Encoding, window: &EncodedWindow) {
        let EncodedScratch { inner, decoded, explanations, .. } = &mut *self.scratch;
        let view = View {
            decoded,
            seen: self.detector.seen_encoded,
            begin: window.begin,
            end: window.end,
            first: window.first,
            must_be_text: matches!(encoding, Encoding::Base64 | Encoding::Hex),
        };
        let text = Text {
            bytes: &decoded.bytes,
            owned: decoded.first_from(window.piece.start)..decoded.first_from(window.piece.end),
            begins_object: window.begin.is_some(),
            ends_object: window.end.is_some(),
            path: self.chunk.path,
            encoding,
            origin: TextOrigin::Decoded(view),
            stop: self.chunk.stop,
        };
        inner.found.clear();
        inner.examine(self.detector, &text);
        let in_object = |found| place(self.chunk.offset, found, encoding, decoded);
        self.matches.extend(inner.found.drain(..).map(in_object));
        if let Some(notes) = &mut inner.notes {
            explanations.extend(notes.drain(..).map(|noted| {
                let is_verbatim = decoded.is_verbatim(noted.secret.clone());
                let encoding = if is_verbatim { Encoding::Plain } else { encoding };
                noted.explanation(encoding, |range| in_source(self.chunk.offset, range, decoded))
            }));
        }
    }
}

/// Cuts a range into pieces.
fn pieces(range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let end = range.end;
    range.step_by(PIECE_BYTES).map(move |start| start..(start + PIECE_BYTES).min(end))
}

/// Maps a range of decoded text to offsets in the object. The chunk begins at `offset`.
fn in_source(offset: u64, range: Range<usize>, decoded: &Decoded) -> Range<u64> {
    let source = decoded.source_of(range);
    offset + source.start as u64..offset + source.end as u64
}

/// Turns a secret in decoded text into a match in the object.
fn place(offset: u64, found: FoundSecret, encoding: Encoding, decoded: &Decoded) -> OwnedMatch {
    // The scan of the plain text can miss a secret that is not escaped itself, because of escapes
    // around it.
    let is_verbatim = decoded.is_verbatim(found.secret.clone());
    let owner = offset + decoded.source_of(found.owner..found.owner + 1).start as u64;
    let conditions = found.conditions;
    let found = Match {
        rule: RuleIndex(found.rule),
        whole: in_source(offset, found.whole, decoded),
        secret: in_source(offset, found.secret.clone(), decoded),
        decoded: (!is_verbatim).then(|| decoded.bytes[found.secret].into()),
        encoding: if is_verbatim { Encoding::Plain } else { encoding },
        confidence: found.confidence,
        reason: found.reason,
        standing: found.standing,
        is_identifier: false,
    };
    let cause = Cause::of_encoding(encoding);
    OwnedMatch { found: PathFreeMatch { found, conditions }, owner, cause }
}
