//! [`Newline`]: what ends a line of an object, and the line around a part of it.

use crate::encoding::Encoding;
use std::ops::Range;

/// What ends a line: one byte, or in UTF-16 one unit of two bytes at an even offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Newline {
    Byte,
    Utf16Le,
    Utf16Be,
}

impl Newline {
    /// Returns what ends a line in an object of this encoding.
    pub(crate) fn of(encoding: Option<Encoding>) -> Self {
        match encoding {
            Some(Encoding::Utf16Le) => Self::Utf16Le,
            Some(Encoding::Utf16Be) => Self::Utf16Be,
            _ => Self::Byte,
        }
    }

    /// Returns the encoding of an object whose lines end like this.
    pub(crate) fn encoding(self) -> Encoding {
        match self {
            Self::Byte => Encoding::Plain,
            Self::Utf16Le => Encoding::Utf16Le,
            Self::Utf16Be => Encoding::Utf16Be,
        }
    }

    /// Returns the length of a newline in bytes.
    pub(crate) fn len(self) -> usize {
        if self == Self::Byte { 1 } else { 2 }
    }

    /// Returns where newlines begin in `bytes`, which are at `offset` in the object. For UTF-16
    /// only.
    fn units(self, bytes: &[u8], offset: u64) -> impl DoubleEndedIterator<Item = usize> {
        let newline = if self == Self::Utf16Le { [b'\n', 0] } else { [0, b'\n'] };
        let skipped = usize::from(offset % 2 == 1).min(bytes.len());
        let (units, _half) = bytes[skipped..].as_chunks::<2>();
        let found = units.iter().enumerate().filter(move |(_, unit)| **unit == newline);
        found.map(move |(at, _)| skipped + 2 * at)
    }

    /// Returns where the first newline begins in `bytes`, which are at `offset` in the object.
    pub(crate) fn first_in(self, bytes: &[u8], offset: u64) -> Option<usize> {
        match self {
            Self::Byte => memchr::memchr(b'\n', bytes),
            _ => self.units(bytes, offset).next(),
        }
    }

    /// Returns where the last newline begins in `bytes`, which are at `offset` in the object.
    pub(crate) fn last_in(self, bytes: &[u8], offset: u64) -> Option<usize> {
        match self {
            Self::Byte => memchr::memrchr(b'\n', bytes),
            _ => self.units(bytes, offset).next_back(),
        }
    }

    /// Returns the number of newlines in `bytes`, which are at `offset` in the object.
    pub(crate) fn count_in(self, bytes: &[u8], offset: u64) -> u64 {
        match self {
            Self::Byte => memchr::memchr_iter(b'\n', bytes).count() as u64,
            _ => self.units(bytes, offset).count() as u64,
        }
    }

    /// Returns the line or lines that contain `part` of `text`, as far as they are within `reach`
    /// bytes of it. `text` is at `offset` in the object.
    pub(crate) fn line_around(
        self,
        text: &[u8],
        offset: u64,
        part: &Range<usize>,
        reach: usize,
    ) -> Range<usize> {
        let Range { start: from, end: to } = *part;
        let near = from.saturating_sub(reach);
        let start = self
            .last_in(&text[near..from], offset + near as u64)
            .map_or(near, |at| near + at + self.len());
        let far = (to + reach).min(text.len());
        // What ends with a newline has nothing after it in its line.
        let tail = to.saturating_sub(self.len()).max(from);
        let end = if self.first_in(&text[tail..to], offset + tail as u64).is_some() {
            to
        } else {
            self.first_in(&text[to..far], offset + to as u64).map_or(far, |at| to + at)
        };
        start..end
    }
}

#[cfg(test)]
mod tests {
    use super::Newline;

    #[test]
    fn a_line_ends_at_newlines_or_out_of_reach() {
        let text = b"first\nthe secret is here\nlast";
        let line = |part: std::ops::Range<usize>, reach| {
            let line = Newline::Byte.line_around(text, 0, &part, reach);
            std::str::from_utf8(&text[line]).expect("text")
        };
        assert_eq!(line(10..16, 512), "the secret is here");
        assert_eq!(line(10..16, 3), "he secret is");
        assert_eq!(line(0..2, 512), "first");
        assert_eq!(line(4..12, 512), "first\nthe secret is here");
        // The line of what ends with a newline does not continue after it.
        assert_eq!(line(2..6, 512), "first\n");
    }
}
