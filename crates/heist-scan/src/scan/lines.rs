//! Lines and columns: [`LineCursor`] counts newlines up to a place, and says where the line of that place begins.
//!
//! A worker that begins in the middle of a file does not know how many lines are before it. It counts from where it
//! begins; whoever knows what was before adds that ([`Place::after`]).

/// A place in an object, as far as its lines are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Newlines before it, from where counting began.
    pub(crate) newlines: u64,
    /// Where its line begins, in the object; `None` if that is before where counting began.
    pub(crate) line_start: Option<u64>,
}

impl Place {
    /// Where an object begins.
    pub(crate) const BEGIN: Self = Self { newlines: 0, line_start: Some(0) };

    /// Somewhere in an object.
    pub(crate) const SOMEWHERE: Self = Self { newlines: 0, line_start: None };

    /// This place, if what it is counted from is `before`.
    pub(crate) fn after(self, before: Self) -> Self {
        Self {
            newlines: before.newlines + self.newlines,
            line_start: self.line_start.or(before.line_start),
        }
    }

    /// The line, counted from 1.
    pub(crate) fn line(self) -> u64 {
        self.newlines + 1
    }

    /// The column of `offset`, which is in the line of this place, counted from 1.
    pub(crate) fn column(self, offset: u64) -> u64 {
        offset.saturating_sub(self.line_start.unwrap_or(0)) + 1
    }
}

/// A place that moves on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LineCursor {
    pub(crate) place: Place,
    offset: u64,
}

impl LineCursor {
    /// At `offset`, which is `place`.
    pub(crate) fn new(place: Place, offset: u64) -> Self {
        Self { place, offset }
    }

    /// Moves over the bytes that come next.
    pub(crate) fn pass(&mut self, bytes: &[u8]) {
        if let Some(last) = memchr::memrchr(b'\n', bytes) {
            self.place.newlines += memchr::memchr_iter(b'\n', bytes).count() as u64;
            self.place.line_start = Some(self.offset + last as u64 + 1);
        }
        self.offset += bytes.len() as u64;
    }

    /// Moves to `offset`, given the bytes of a window that begins at `window`. Never backwards.
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
        let mut cursor = LineCursor::new(Place::BEGIN, 0);
        let expected =
            [(0, 1, 1), (1, 1, 2), (2, 1, 3), (3, 2, 1), (6, 3, 1), (7, 4, 1), (8, 4, 2)];
        for (offset, line, column) in expected {
            cursor.move_to(offset, text, 0);
            assert_eq!((cursor.place.line(), cursor.place.column(offset)), (line, column));
        }
    }

    #[test]
    fn counts_from_the_middle_add_up() {
        let text = b"ab\ncd\n\nx\nyz";
        for middle in 0..=text.len() {
            let mut first = LineCursor::new(Place::BEGIN, 0);
            first.pass(&text[..middle]);
            let mut whole = first;
            let mut rest = LineCursor::new(Place::SOMEWHERE, middle as u64);
            rest.pass(&text[middle..]);
            whole.pass(&text[middle..]);
            assert_eq!(rest.place.after(first.place), whole.place);
        }
    }
}
