//! Looking through one layer of encoding: base64, hex, escapes, UTF-16.
//!
//! What is decoded is looked at as a text of its own, by all rules but the generic ones: a random value in a decoded
//! text is noise, and a vendor's token is not. In UTF-16, which is no disguise, all rules look.

use super::examine::{Examiner, Text};
use super::plan::Use;
use super::rule::Found;
use super::{Scratch, SecretDetector};
use crate::chunk::Chunk;
use crate::decode::{
    Base64Begins, DECODE_STRIDE, Decoded, EscapeKind, after_break, base64_at, base64_starts,
    escape_starts, hex_at, hex_starts, json_escaped_at, url_escaped_at, utf16, utf16_guess,
};
use crate::detector::{Match, Overlap, RuleIndex};
use crate::encoding::Encoding;
use std::ops::Range;

/// If none of a cell's first bytes is zero, it is no UTF-16.
const UTF16_SAMPLE: usize = 32;

/// How far a detector looks that looks so far in text of one byte for each character: in UTF-16 twice as far, from each
/// position of a cell of the object's grid.
pub(crate) fn with_utf16(plain: Overlap) -> Overlap {
    Overlap { before: 2 * plain.before, after: DECODE_STRIDE + 2 * plain.after }
}

/// Adds the matches in encoded text. `scratch.examiner.candidates` are those of the chunk itself.
pub(crate) fn scan_encoded(
    detector: &SecretDetector,
    chunk: &Chunk<'_>,
    scratch: &mut Scratch,
    matches: &mut Vec<Match>,
) {
    let mut decoder = Decoder { detector, chunk, matches };
    let Scratch { examiner, inner, decoded } = scratch;
    let (mut begins, mut last) = (Base64Begins::default(), None);
    for &run in &examiner.candidates.runs {
        // Base64 has signs among its digits: it may begin long before its first run of letters and digits.
        let begin = begins.of(chunk.bytes, run);
        if let Some(begin) = begin.filter(|_| begin != last) {
            decoder.look_at_run(begin, decoded, inner);
            last = Some(begin);
        }
        if begin != Some(run) {
            decoder.look_at_hex(run, decoded, inner);
        }
    }
    // Encoded text that goes on and on is decoded in pieces, which begin where the object's cells do.
    for at in cells(chunk) {
        decoder.look_at_run(after_break(chunk.bytes, at), decoded, inner);
        decoder.look_at_utf16(at, decoded, inner);
    }
    for hit in &examiner.candidates.anchors {
        for place in detector.plan.uses(hit.literal) {
            let kind = match place {
                Use::UrlEscape => EscapeKind::Url,
                Use::JsonEscape => EscapeKind::Json,
                _ => continue,
            };
            decoder.look_at_escape(hit.at, kind, decoded, inner);
        }
    }
}

/// The owned positions at which a cell of the object's grid begins.
fn cells(chunk: &Chunk<'_>) -> impl Iterator<Item = usize> + use<> {
    let stride = DECODE_STRIDE as u64;
    let first = (chunk.offset + chunk.owned.start as u64).next_multiple_of(stride) - chunk.offset;
    (first as usize..chunk.owned.end).step_by(DECODE_STRIDE)
}

/// Which part of an object in UTF-16 was decoded.
struct Piece {
    /// The decoded positions that are to be looked at.
    owned: Range<usize>,
    begins_object: bool,
    ends_object: bool,
}

struct Decoder<'a, 'b> {
    detector: &'a SecretDetector,
    chunk: &'a Chunk<'b>,
    matches: &'a mut Vec<Match>,
}

impl Decoder<'_, '_> {
    fn look_at_run(&mut self, at: usize, decoded: &mut Decoded, inner: &mut Examiner) {
        let (text, offset) = (self.chunk.bytes, self.chunk.offset);
        let is_hex = self.look_at_hex(at, decoded, inner);
        if !is_hex && base64_starts(text, at, offset) && base64_at(text, at, decoded) {
            self.look(Encoding::Base64, decoded, 0, None, inner);
        }
    }

    /// Whether there is something in hexadecimal digits.
    fn look_at_hex(&mut self, at: usize, decoded: &mut Decoded, inner: &mut Examiner) -> bool {
        let (text, offset) = (self.chunk.bytes, self.chunk.offset);
        let is_hex = hex_starts(text, at, offset) && hex_at(text, at, decoded);
        if is_hex {
            self.look(Encoding::Hex, decoded, 0, None, inner);
        }
        is_hex
    }

    fn look_at_escape(
        &mut self,
        at: usize,
        kind: EscapeKind,
        decoded: &mut Decoded,
        inner: &mut Examiner,
    ) {
        let (text, offset) = (self.chunk.bytes, self.chunk.offset);
        if !escape_starts(kind, text, at, offset) {
            return;
        }
        let (is_decoded, encoding) = match kind {
            EscapeKind::Url => (url_escaped_at(text, at, decoded), Encoding::UrlEscaped),
            EscapeKind::Json => (json_escaped_at(text, at, decoded), Encoding::JsonEscaped),
        };
        if is_decoded {
            self.look(encoding, decoded, 0, None, inner);
        }
    }

    fn look_at_utf16(&mut self, at: usize, decoded: &mut Decoded, inner: &mut Examiner) {
        let text = self.chunk.bytes;
        let cell = &text[at..(at + DECODE_STRIDE).min(text.len())];
        let encoding = match self.chunk.encoding {
            // Also where nothing but the object's beginning says so.
            utf16 @ (Encoding::Utf16Le | Encoding::Utf16Be) => utf16,
            _ => {
                // Something else, with UTF-16 in it.
                let has_mark = matches!(cell, [0xFE, 0xFF, ..] | [0xFF, 0xFE, ..]);
                let sample = &cell[..cell.len().min(UTF16_SAMPLE)];
                if !has_mark && memchr::memchr(0, sample).is_none() {
                    return;
                }
                let Some(guess) = utf16_guess(cell) else { return };
                guess
            }
        };
        // As much as every chunk has that owns the cell's beginning, see `with_utf16`.
        let overlap = self.detector.overlap;
        let from = at - at.min(overlap.before);
        let to = (at + overlap.after).min(text.len());
        utf16(&text[from..to], encoding, decoded);
        let owned = (at - from) / 2..(at + cell.len() - from).div_ceil(2).min(decoded.bytes.len());
        let piece = Piece {
            owned,
            begins_object: self.chunk.offset == 0 && from == 0,
            ends_object: self.chunk.is_end && to == text.len(),
        };
        self.look(encoding, decoded, from, Some(piece), inner);
    }

    /// Looks at what was decoded; its positions in the source are counted from `from`. What is no piece of the object
    /// is a text of its own.
    fn look(
        &mut self,
        encoding: Encoding,
        decoded: &Decoded,
        from: usize,
        piece: Option<Piece>,
        inner: &mut Examiner,
    ) {
        let is_disguise = piece.is_none();
        let all = 0..decoded.bytes.len();
        let piece = piece.unwrap_or(Piece { owned: all, begins_object: true, ends_object: true });
        let text = Text {
            bytes: &decoded.bytes,
            owned: piece.owned,
            begins_object: piece.begins_object,
            ends_object: piece.ends_object,
            // Units of UTF-16 are counted from the object's beginning, so that cells and blocks fit together.
            offset: if is_disguise { 0 } else { (self.chunk.offset + from as u64) / 2 },
            path: self.chunk.path,
        };
        inner.found.clear();
        inner.examine(self.detector, &text);
        for found in inner.found.drain(..) {
            let generic = self.detector.rules[found.rule as usize].rule.generic;
            if is_disguise && generic {
                continue;
            }
            self.matches.push(self.place(found, encoding, decoded, from));
        }
    }

    fn place(&self, found: Found, encoding: Encoding, decoded: &Decoded, from: usize) -> Match {
        let offset = self.chunk.offset + from as u64;
        let in_object = |range: Range<usize>| {
            let source = decoded.source_of(range);
            offset + source.start as u64..offset + source.end as u64
        };
        // What stands there as it is was perhaps not seen in the text itself, for what is escaped around it.
        let is_verbatim = decoded.is_verbatim(found.secret.clone());
        Match {
            rule: RuleIndex(found.rule),
            whole: in_object(found.whole),
            secret: in_object(found.secret.clone()),
            decoded: (!is_verbatim).then(|| decoded.bytes[found.secret].into()),
            encoding: if is_verbatim { Encoding::Plain } else { encoding },
            confidence: found.confidence,
            reason: found.reason,
        }
    }
}
