//! [`Decoded`]: decoded bytes, and where each of them came from.
//!
//! Invariant: a decoder calls one of the `begin_*` methods first, which clears the contents and
//! keeps the memory.

use std::ops::Range;

/// Decoded bytes, and the position in the encoded text that each of them came from. Meant to be
/// reused.
///
/// ```
/// use heist_scan::decode::{Decoded, EscapeKind, escaped};
///
/// let mut decoded = Decoded::default();
/// let text = b"?name=a%26b";
/// escaped(EscapeKind::Url, text, 0..text.len(), &mut decoded);
/// assert_eq!(decoded.bytes, b"?name=a&b");
/// assert_eq!(decoded.source_of(7..8), 7..10);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Decoded {
    /// The decoded bytes. If a caller changes them, the positions no longer match.
    pub bytes: Vec<u8>,
    map: PositionMap,
    /// The position of the first unit in the encoded text.
    origin: usize,
    /// Base64: where the digits of each line begin.
    lines: Vec<DigitLine>,
    /// Base64: the values of all digits.
    pub(super) digits: Vec<u8>,
    /// Base64: the index of the digit that begins the first group of four.
    pub(super) phase: usize,
    /// Escapes: the position of each escape. Between escapes, each byte stands for itself.
    escapes: Vec<Escape>,
}

/// How positions are mapped back to the encoded text.
#[derive(Clone, Copy, Debug, Default)]
enum PositionMap {
    /// Two encoded bytes for each decoded byte: hexadecimal and UTF-16.
    #[default]
    Pairs,
    /// Four digits for three bytes, on one or more lines.
    Base64,
    /// Byte for byte, except for the escapes.
    Escapes,
}

/// A line of Base64 digits: the number of digits before it, and the position of its first digit.
#[derive(Clone, Copy, Debug)]
struct DigitLine {
    digits_before: usize,
    source: usize,
}

/// An escape: the position of its decoded bytes, and its position in the encoded text.
#[derive(Clone, Copy, Debug)]
struct Escape {
    decoded: usize,
    source: usize,
    /// The number of bytes it stands for, at most 4.
    decoded_len: u8,
    /// Its length in the encoded text, at most 12.
    source_len: u8,
}

impl Decoded {
    /// Creates an empty buffer.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Maps a range of `bytes` back to the encoded text: returns the smallest range that these
    /// bytes came from. An empty range is mapped to an empty range, and a range beyond the end is
    /// cut off.
    #[must_use]
    pub fn source_of(&self, range: Range<usize>) -> Range<usize> {
        let end = range.end.min(self.bytes.len());
        if range.start >= end {
            let at = match range.start.min(self.bytes.len()) {
                0 => self.byte_source(0).start,
                after => self.byte_source(after - 1).end,
            };
            return at..at;
        }
        self.byte_source(range.start).start..self.byte_source(end - 1).end
    }

    /// Returns `true` if these bytes also appear unchanged in the encoded text, where a scan of
    /// that text finds them anyway.
    #[must_use]
    pub fn is_verbatim(&self, range: Range<usize>) -> bool {
        matches!(self.map, PositionMap::Escapes) && {
            let following = self.escapes.partition_point(|escape| escape.decoded < range.end);
            following == 0 || {
                let last = self.escapes[following - 1];
                last.decoded + usize::from(last.decoded_len) <= range.start
            }
        }
    }

    /// Returns the first decoded byte that came from `source` or a later position, or the end if
    /// there is none.
    pub(crate) fn first_from(&self, source: usize) -> usize {
        if !matches!(self.map, PositionMap::Escapes) {
            return self.first_where(|came_from| came_from.start >= source);
        }
        let before = self.escapes.partition_point(|escape| escape.source < source);
        self.after_escapes(before, source)
    }

    /// Returns the first decoded byte that came at least partly from beyond `source`, or the end if
    /// there is none.
    pub(crate) fn first_beyond(&self, source: usize) -> usize {
        if !matches!(self.map, PositionMap::Escapes) {
            return self.first_where(|came_from| came_from.end > source);
        }
        let end_of = |escape: &Escape| escape.source + usize::from(escape.source_len);
        let before = self.escapes.partition_point(|escape| end_of(escape) <= source);
        match self.escapes.get(before) {
            Some(escape) if escape.source <= source => escape.decoded,
            _ => self.after_escapes(before, source),
        }
    }

    /// Returns the byte that came from `source`, which is after this many escapes, or the byte
    /// after the last of them if that contains `source`.
    fn after_escapes(&self, before: usize, source: usize) -> usize {
        let (decoded_end, source_end) = match before.checked_sub(1).map(|last| self.escapes[last]) {
            Some(Escape { decoded, source, decoded_len, source_len }) => {
                (decoded + usize::from(decoded_len), source + usize::from(source_len))
            }
            None => (0, self.origin),
        };
        (decoded_end + source.saturating_sub(source_end)).min(self.bytes.len())
    }

    fn first_where(&self, is_there: impl Fn(Range<usize>) -> bool) -> usize {
        let (mut low, mut high) = (0, self.bytes.len());
        while low < high {
            let middle = low.midpoint(high);
            if is_there(self.byte_source(middle)) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        low
    }

    /// Returns the range that one decoded byte came from.
    fn byte_source(&self, at: usize) -> Range<usize> {
        match self.map {
            PositionMap::Pairs => self.origin + 2 * at..self.origin + 2 * at + 2,
            PositionMap::Base64 => {
                // A byte takes its bits from two digits: the first and second, the second and
                // third, or the third and fourth of a group.
                let digit = self.phase + at / 3 * 4 + at % 3;
                self.digit_source(digit)..self.digit_source(digit + 1) + 1
            }
            PositionMap::Escapes => {
                let following = self.escapes.partition_point(|escape| escape.decoded <= at);
                let Some(escape) = following.checked_sub(1).map(|last| self.escapes[last]) else {
                    return self.origin + at..self.origin + at + 1;
                };
                let decoded_end = escape.decoded + usize::from(escape.decoded_len);
                let source_end = escape.source + usize::from(escape.source_len);
                match at.checked_sub(decoded_end) {
                    None => escape.source..source_end,
                    Some(behind) => source_end + behind..source_end + behind + 1,
                }
            }
        }
    }

    fn digit_source(&self, digit: usize) -> usize {
        let following = self.lines.partition_point(|line| line.digits_before <= digit);
        match following.checked_sub(1).map(|last| self.lines[last]) {
            Some(line) => line.source + (digit - line.digits_before),
            None => self.origin,
        }
    }

    pub(super) fn begin_pairs(&mut self, origin: usize) {
        self.begin(PositionMap::Pairs, origin);
    }

    pub(super) fn begin_base64(&mut self, origin: usize) {
        self.begin(PositionMap::Base64, origin);
    }

    pub(super) fn begin_escapes(&mut self, origin: usize) {
        self.begin(PositionMap::Escapes, origin);
    }

    fn begin(&mut self, map: PositionMap, origin: usize) {
        self.bytes.clear();
        self.lines.clear();
        self.digits.clear();
        self.phase = 0;
        self.escapes.clear();
        self.map = map;
        self.origin = origin;
    }

    /// Appends a line of Base64 digits that begins at `source`.
    pub(super) fn push_line(&mut self, source: usize, values: impl Iterator<Item = u8>) {
        self.lines.push(DigitLine { digits_before: self.digits.len(), source });
        self.digits.extend(values);
    }

    /// Appends bytes that stand for themselves.
    pub(super) fn push_verbatim(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Appends an escape of `source_len` bytes at `source` that stands for `bytes`.
    pub(super) fn push_escape(&mut self, source: usize, source_len: usize, bytes: &[u8]) {
        debug_assert!(bytes.len() <= 4 && source_len <= 12, "no escape is longer");
        self.escapes.push(Escape {
            decoded: self.bytes.len(),
            source,
            decoded_len: bytes.len() as u8,
            source_len: source_len as u8,
        });
        self.bytes.extend_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{EscapeKind, escaped};
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The search among the escapes finds what a search among the bytes finds.
        #[test]
        fn positions_between_escapes(
            text in "([a-z]{0,3}|%2[0-9A-F]|\\\\u00[4-6][0-9a-f]|\\\\n|%|\\\\){0,20}",
            begin in 0..4_usize,
        ) {
            let text = text.as_bytes();
            for kind in [EscapeKind::Url, EscapeKind::Json] {
                let mut decoded = Decoded::default();
                escaped(kind, text, begin.min(text.len())..text.len(), &mut decoded);
                for source in 0..text.len() + 2 {
                    let slowly = decoded.first_where(|came_from| came_from.start >= source);
                    prop_assert_eq!(decoded.first_from(source), slowly, "from {}", source);
                    let slowly = decoded.first_where(|came_from| came_from.end > source);
                    prop_assert_eq!(decoded.first_beyond(source), slowly, "beyond {}", source);
                }
            }
        }
    }
}
