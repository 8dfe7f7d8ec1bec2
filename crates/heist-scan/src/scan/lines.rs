//! Line and column numbers: a [`LineCursor`] moves over an object and counts its newlines.
//!
//! A worker that starts in the middle of a file does not know how many lines come before. It counts
//! from where it starts, and [`LinePosition::after`] adds the lines before once they are known.

use crate::newline::Newline;

/// The line of a position in an object, counted from wherever a worker started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LinePosition {
    /// The number of newlines between the start of counting and the position.
    pub(crate) newlines: u64,
    /// The offset at which the line begins, or `None` if that is before the start of counting.
    pub(crate) line_start: Option<u64>,
}

impl LinePosition {
    /// The beginning of an object.
    pub(crate) const BEGIN: Self = Self { newlines: 0, line_start: Some(0) };

    /// The start of counting in the middle of an object.
    pub(crate) const MIDDLE: Self = Self { newlines: 0, line_start: None };

    /// Returns the position counted from the beginning of the object, if counting started at
    /// `before`.
    pub(crate) fn after(self, before: Self) -> Self {
        Self {
            newlines: before.newlines + self.newlines,
            line_start: self.line_start.or(before.line_start),
        }
    }

    /// Returns the line number, counted from 1.
    pub(crate) fn line(self) -> u64 {
        self.newlines + 1
    }

    /// Returns the column of `offset`, which is in this line, counted from 1.
    pub(crate) fn column(self, offset: u64) -> u64 {
        offset.saturating_sub(self.line_start.unwrap_or(0)) + 1
    }
}

/// A position that moves over an object and counts its lines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LineCursor {
    pub(crate) position: LinePosition,
    pub(crate) newline: Newline,
    offset: u64,
}

impl LineCursor {
    /// Creates a cursor at `offset`, which must be even, with the line `position`.
    pub(crate) fn new(position: LinePosition, offset: u64, newline: Newline) -> Self {
        Self { position, newline, offset }
    }

    /// Moves over `bytes`, which come next in the object.
    pub(crate) fn pass(&mut self, bytes: &[u8]) {
        // Half a unit of UTF-16 at the end is left for the next call.
        let passed = bytes.len() - bytes.len() % self.newline.len();
        let bytes = &bytes[..passed];
        if let Some(last) = self.newline.last_in(bytes, self.offset) {
            self.position.newlines += self.newline.count_in(bytes, self.offset);
            self.position.line_start = Some(self.offset + (last + self.newline.len()) as u64);
        }
        self.offset += passed as u64;
    }

    /// Moves forward to `offset`, given the bytes of a window that begins at `window`. Does not
    /// move backwards.
    pub(crate) fn move_to(&mut self, offset: u64, bytes: &[u8], window: u64) {
        let at = |offset: u64| {
            usize::try_from(offset.saturating_sub(window)).unwrap_or(usize::MAX).min(bytes.len())
        };
        let (from, to) = (at(self.offset), at(offset));
        if from < to {
            self.pass(&bytes[from..to]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_count_from_one() {
        let text = b"ab\ncd\n\nx";
        let mut cursor = LineCursor::new(LinePosition::BEGIN, 0, Newline::Byte);
        let expected =
            [(0, 1, 1), (1, 1, 2), (2, 1, 3), (3, 2, 1), (6, 3, 1), (7, 4, 1), (8, 4, 2)];
        for (offset, line, column) in expected {
            cursor.move_to(offset, text, 0);
            assert_eq!((cursor.position.line(), cursor.position.column(offset)), (line, column));
        }
    }

    #[test]
    fn a_line_of_utf_16_ends_with_a_whole_unit() {
        // Units that contain the bytes of a newline, in both byte orders and across two units.
        let text = "\u{feff}\u{10a}\u{a00}x\n\u{a0a}y\u{a00}\n\u{10a}z";
        for (newline, to_bytes) in [
            (Newline::Utf16Le, u16::to_le_bytes as fn(u16) -> [u8; 2]),
            (Newline::Utf16Be, u16::to_be_bytes),
        ] {
            let bytes: Vec<u8> = text.encode_utf16().flat_map(to_bytes).collect();
            let mut cursor = LineCursor::new(LinePosition::BEGIN, 0, newline);
            for (offset, line, column) in
                [(6, 1, 7), (9, 1, 10), (10, 2, 1), (12, 2, 3), (20, 3, 3)]
            {
                cursor.move_to(offset, &bytes, 0);
                assert_eq!(
                    (cursor.position.line(), cursor.position.column(offset)),
                    (line, column)
                );
            }
        }
    }

    #[test]
    fn counts_from_the_middle_add_up() {
        let text = b"ab\ncd\n\nx\nyz";
        for middle in 0..=text.len() {
            let mut first = LineCursor::new(LinePosition::BEGIN, 0, Newline::Byte);
            first.pass(&text[..middle]);
            let mut whole = first;
            let mut rest = LineCursor::new(LinePosition::MIDDLE, middle as u64, Newline::Byte);
            rest.pass(&text[middle..]);
            whole.pass(&text[middle..]);
            assert_eq!(rest.position.after(first.position), whole.position);
        }
    }
}
