//! [`Input`]: reads lines, and looks at the next ones before they are taken.
//!
//! Invariant: its memory does not depend on the input. A line that is longer than [`LINE_MAX`] is
//! seen in pieces.

use memchr::memchr;
use std::io::{self, Read};

/// The longest line that is seen as a whole. Git's longest header has two quoted paths, each at
/// most four times the longest path.
pub(super) const LINE_MAX: usize = 64 << 10;

/// The number of lines that can be seen at the same time.
const LINES_AHEAD: usize = 3;

const BUFFER_BYTES: usize = LINES_AHEAD * LINE_MAX + (64 << 10);

/// The input and its next lines.
pub(super) struct Input<R> {
    reader: R,
    buffer: Box<[u8]>,
    /// What was read and not taken is `buffer[start..end]`.
    start: usize,
    end: usize,
    is_ended: bool,
    /// The offset of `buffer[start]` in the input.
    offset: u64,
    /// The number of newlines before it.
    newlines: u64,
}

impl<R: Read> Input<R> {
    pub(super) fn new(reader: R) -> Self {
        let buffer = vec![0; BUFFER_BYTES].into_boxed_slice();
        Self { reader, buffer, start: 0, end: 0, is_ended: false, offset: 0, newlines: 0 }
    }

    /// Returns the line that begins `ahead` bytes after the position, with its newline, or its
    /// first bytes if it is longer than [`LINE_MAX`]. Empty at the end of the input.
    ///
    /// # Errors
    /// The input cannot be read. From then on it counts as ended.
    pub(super) fn line(&mut self, ahead: usize) -> io::Result<&[u8]> {
        loop {
            let begin = (self.start + ahead).min(self.end);
            let available = &self.buffer[begin..self.end];
            let available = &available[..available.len().min(LINE_MAX)];
            let len = match memchr(b'\n', available) {
                Some(newline) => Some(newline + 1),
                None if available.len() == LINE_MAX || self.is_ended => Some(available.len()),
                None => None,
            };
            if let Some(len) = len {
                return Ok(&self.buffer[begin..begin + len]);
            }
            self.fill()?;
        }
    }

    fn fill(&mut self) -> io::Result<()> {
        if self.start > 0 && self.end == self.buffer.len() {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        loop {
            match self.reader.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.is_ended = true,
                Ok(count) => self.end += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    self.is_ended = true;
                    return Err(error);
                }
            }
            return Ok(());
        }
    }

    /// Takes the first `len` bytes: a line as [`line`](Self::line) returned it.
    pub(super) fn take(&mut self, len: usize) {
        let taken = len.min(self.end - self.start);
        let ends_line = taken > 0 && self.buffer[self.start + taken - 1] == b'\n';
        self.start += taken;
        self.offset += taken as u64;
        self.newlines += u64::from(ends_line);
    }

    /// Returns the offset of the next line in the input.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the number of the newlines before it.
    pub(super) fn newlines(&self) -> u64 {
        self.newlines
    }
}

/// Returns a line without its end, which is a newline or CRLF. Returns `None` for a piece of a
/// longer line.
pub(super) fn whole(line: &[u8]) -> Option<&[u8]> {
    let content = match line.strip_suffix(b"\n") {
        Some(content) => content,
        None if line.len() < LINE_MAX => line,
        None => return None,
    };
    Some(content.strip_suffix(b"\r").unwrap_or(content))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads one byte at a time.
    struct Slow<'a>(&'a [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let len = into.len().min(1);
            self.0.read(&mut into[..len])
        }
    }

    #[test]
    fn lines_are_seen_before_they_are_taken() {
        let mut input = Input::new(Slow(b"ab\r\n\ncd"));
        assert_eq!(input.line(0).unwrap(), b"ab\r\n");
        assert_eq!(input.line(4).unwrap(), b"\n");
        assert_eq!(input.line(5).unwrap(), b"cd");
        assert_eq!(input.line(7).unwrap(), b"");
        input.take(4);
        input.take(1);
        assert_eq!(input.line(0).unwrap(), b"cd");
        assert_eq!(input.line(2).unwrap(), b"");
        assert_eq!((input.offset(), input.newlines()), (5, 2));
        assert_eq!((whole(b"ab\r\n"), whole(b"cd")), (Some(&b"ab"[..]), Some(&b"cd"[..])));
    }

    #[test]
    fn a_long_line_is_seen_in_pieces() {
        let text = [vec![b'x'; 5 * LINE_MAX + 7], b"\nend\n".to_vec()].concat();
        let mut input = Input::new(&text[..]);
        let mut lens = Vec::new();
        loop {
            let (len, is_whole) = {
                let line = input.line(0).unwrap();
                (line.len(), whole(line).is_some())
            };
            if len == 0 {
                break;
            }
            lens.push((len, is_whole));
            input.take(len);
        }
        let piece = (LINE_MAX, false);
        assert_eq!(lens, [piece, piece, piece, piece, piece, (8, true), (4, true)]);
        assert_eq!((input.offset(), input.newlines()), (text.len() as u64, 2));
    }
}
