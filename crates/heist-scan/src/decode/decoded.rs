//! [`Decoded`]: decoded bytes, and where they came from.
//!
//! Invariant: whoever fills it calls one of the `begin_*` first, which forgets what was there and keeps the memory.

use std::ops::Range;

/// Decoded bytes, and where in the source each of them came from. Made to be used again and again.
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
    /// The bytes. A caller that changes them keeps a map that does not fit.
    pub bytes: Vec<u8>,
    map: Map,
    /// The source position of the first unit.
    origin: usize,
    /// Base64: where each line's digits begin.
    lines: Vec<Line>,
    /// Base64: the values of all digits, and which of them is the first of a group.
    pub(super) digits: Vec<u8>,
    pub(super) phase: usize,
    /// Escapes: where each of them stands. Between them, a byte is a byte.
    escapes: Vec<Escape>,
}

/// How positions are computed.
#[derive(Clone, Copy, Debug, Default)]
enum Map {
    /// Two source bytes for each decoded one: hex, UTF-16.
    #[default]
    Pairs,
    /// Four digits for three bytes, on lines.
    Base64,
    /// Byte for byte, except for the escapes.
    Escapes,
}

/// A line of Base64 digits: how many digits were before it, and where its first one stands.
#[derive(Clone, Copy, Debug)]
struct Line {
    digits_before: usize,
    source: usize,
}

/// An escape: where its bytes are, and where it stands in the source.
#[derive(Clone, Copy, Debug)]
struct Escape {
    decoded: usize,
    source: usize,
    /// How many bytes it stands for: up to 4.
    decoded_len: u8,
    /// How long it is: up to 12.
    source_len: u8,
}

impl Decoded {
    /// Empty.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// From positions in `bytes` to positions in the source: the smallest range from which these bytes came. An empty
    /// range gives an empty one; what lies beyond the end is cut off.
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

    /// Whether these bytes stand in the source just as they are, so that a look at the source finds them, too.
    #[must_use]
    pub fn is_verbatim(&self, range: Range<usize>) -> bool {
        matches!(self.map, Map::Escapes) && {
            let following = self.escapes.partition_point(|escape| escape.decoded < range.end);
            following == 0 || {
                let last = self.escapes[following - 1];
                last.decoded + usize::from(last.decoded_len) <= range.start
            }
        }
    }

    /// The first decoded byte that came from `source` or from further on; the end if there is none.
    pub(crate) fn first_from(&self, source: usize) -> usize {
        self.first_where(|came_from| came_from.start >= source)
    }

    /// The first decoded byte that came, also in part, from beyond `source`; the end if there is none.
    pub(crate) fn first_beyond(&self, source: usize) -> usize {
        self.first_where(|came_from| came_from.end > source)
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

    /// Where one byte came from.
    fn byte_source(&self, at: usize) -> Range<usize> {
        match self.map {
            Map::Pairs => self.origin + 2 * at..self.origin + 2 * at + 2,
            Map::Base64 => {
                // A byte has bits of two digits: of the first and second, second and third, or third and fourth.
                let digit = self.phase + at / 3 * 4 + at % 3;
                self.digit_source(digit)..self.digit_source(digit + 1) + 1
            }
            Map::Escapes => {
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
        self.begin(Map::Pairs, origin);
    }

    pub(super) fn begin_base64(&mut self, origin: usize) {
        self.begin(Map::Base64, origin);
    }

    pub(super) fn begin_escapes(&mut self, origin: usize) {
        self.begin(Map::Escapes, origin);
    }

    fn begin(&mut self, map: Map, origin: usize) {
        self.bytes.clear();
        self.lines.clear();
        self.digits.clear();
        self.phase = 0;
        self.escapes.clear();
        self.map = map;
        self.origin = origin;
    }

    /// A line of Base64 digits, which stand from `source` on.
    pub(super) fn push_line(&mut self, source: usize, values: impl Iterator<Item = u8>) {
        self.lines.push(Line { digits_before: self.digits.len(), source });
        self.digits.extend(values);
    }

    /// Bytes that stand for themselves.
    pub(super) fn push_verbatim(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// An escape of `source_len` bytes at `source`, for `bytes`.
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
