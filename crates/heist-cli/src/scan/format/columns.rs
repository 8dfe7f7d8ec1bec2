//! [`Columns`]: where places begin and end in their lines, counted in UTF-16 code units, in the files themselves.
//!
//! Places come in order, and most lines have few of them; but a line may be a whole file, with a place in every part of
//! it. So what was counted for one place is where the next one in the same line goes on: each byte is read about once.
//! Not guaranteed: that a file is still what was scanned. What does not look like the same line counts bytes.

use crate::scan::place::Place;
use std::fs::File;
use std::io::{BufReader, Read as _};
use std::path::Path;
use std::sync::Arc;

/// How much of a line is read to count its characters. Beyond this, columns count bytes.
const LINE_BYTES_MAX: u64 = 1 << 20;

/// Enough for the places that are near to each other.
const BUFFER_BYTES: usize = 16 * 1024;

/// Counts the characters before places. They are best asked about in order.
#[derive(Debug, Default)]
pub(super) struct Columns {
    /// The file that was asked about last.
    path: Option<Arc<Path>>,
    line: Option<Line>,
}

/// The file, and how far its current lines were counted.
#[derive(Debug)]
struct Line {
    reader: BufReader<File>,
    /// What the reader gives next.
    position: u64,
    /// Up to the begin and up to the end of the last place: these may be in two lines.
    marks: [Option<Mark>; 2],
    bytes: Vec<u8>,
}

/// How many units are between the begin of a line and a place in it. No character is cut in two there.
#[derive(Clone, Copy, Debug)]
struct Mark {
    line_start: u64,
    at: u64,
    units: u64,
}

impl Columns {
    /// The columns where a place begins and ends.
    pub(super) fn of(&mut self, place: &Place) -> (u64, u64) {
        if self.path.as_ref() != Some(&place.path) {
            // Never a FIFO, which would be waited for.
            let file = place.path.is_file().then(|| File::open(&place.path).ok()).flatten();
            self.line = file.map(Line::new);
            self.path = Some(Arc::clone(&place.path));
        }
        let Some(line) = &mut self.line else { return (place.column, place.end_column) };
        let mut column = |mark, at, bytes: u64| line.column(mark, at, bytes).unwrap_or(bytes);
        (column(0, place.offset.start, place.column), column(1, place.offset.end, place.end_column))
    }
}

impl Line {
    fn new(file: File) -> Self {
        let reader = BufReader::with_capacity(BUFFER_BYTES, file);
        Self { reader, position: 0, marks: [None; 2], bytes: Vec::new() }
    }

    /// The column of what is at `at` and in column `column` in bytes. `None` if the line cannot be read, or is another
    /// one by now.
    fn column(&mut self, mark: usize, at: u64, column: u64) -> Option<u64> {
        let before = column.checked_sub(1)?;
        let line_start = at.checked_sub(before)?;
        if before > LINE_BYTES_MAX {
            return None;
        }
        let known = self.marks.iter().flatten();
        let nearest = known
            .filter(|mark| mark.line_start == line_start && mark.at <= at)
            .max_by_key(|mark| mark.at)
            .copied();
        let from = nearest.unwrap_or(Mark { line_start, at: line_start, units: 0 });
        self.read(from.at, at)?;
        if self.bytes.contains(&b'\n') {
            return None;
        }
        let (units, rest) = utf16_units(&self.bytes);
        let (at, units) = (at - rest as u64, from.units + units);
        self.marks[mark] = Some(Mark { line_start, at, units });
        Some(units + u64::from(rest > 0) + 1)
    }

    fn read(&mut self, from: u64, to: u64) -> Option<()> {
        let step = from.checked_signed_diff(self.position)?;
        self.reader.seek_relative(step).ok()?;
        self.bytes.clear();
        let read = self.reader.by_ref().take(to - from).read_to_end(&mut self.bytes);
        self.position = from + self.bytes.len() as u64;
        read.ok().filter(|&read| read as u64 == to - from).map(|_| ())
    }
}

/// How many units there are, and how many bytes at the end are the beginning of a character. What is not UTF-8 counts
/// as U+FFFD.
fn utf16_units(bytes: &[u8]) -> (u64, usize) {
    let mut units = 0;
    let mut chunks = bytes.utf8_chunks().peekable();
    while let Some(chunk) = chunks.next() {
        // A unit for each character, and another one for those that are written as four bytes.
        let starts = chunk.valid().bytes().filter(|byte| byte & 0xc0 != 0x80).count();
        let pairs = chunk.valid().bytes().filter(|byte| *byte >= 0xf0).count();
        units += (starts + pairs) as u64;
        let invalid = chunk.invalid();
        let is_cut =
            || std::str::from_utf8(invalid).is_err_and(|error| error.error_len().is_none());
        if chunks.peek().is_none() && is_cut() {
            return (units, invalid.len());
        }
        units += u64::from(!invalid.is_empty());
    }
    (units, 0)
}

#[cfg(test)]
mod tests {
    use super::Columns;
    use crate::scan::place::tests::place;
    use heist_scan::Confidence;
    use std::path::Path;
    use std::sync::Arc;

    /// All at once, and obvious.
    fn slow(line: &[u8], at: usize) -> u64 {
        String::from_utf8_lossy(&line[..at]).encode_utf16().count() as u64 + 1
    }

    #[test]
    fn going_on_counts_as_much_as_beginning_anew() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("file");
        let lines: [&[u8]; 4] = [
            b"plain text, nothing else in it",
            "é日🦀 é日🦀é日🦀 x".as_bytes(),
            b"a\xff\xf0\x9f\xa6 b\xf0\x9f c\xe6 \xc3\xa9\xc3",
            "🦀🦀🦀🦀".as_bytes(),
        ];
        std::fs::write(&path, lines.join(&b'\n')).expect("a file");
        let path: Arc<Path> = Arc::from(path);
        for step in 1..9 {
            let mut columns = Columns::default();
            let mut line_start = 0;
            for (number, line) in (1..).zip(lines) {
                for begin in (0..line.len()).step_by(step) {
                    // Some overlap with the next ones, and end after these begin.
                    let end = (begin + 1 + begin % 7).min(line.len());
                    let mut place = place("", number, "x", Confidence::High);
                    place.path = Arc::clone(&path);
                    place.offset = (line_start + begin) as u64..(line_start + end) as u64;
                    (place.column, place.end_column) = (begin as u64 + 1, end as u64 + 1);
                    assert_eq!(columns.of(&place), (slow(line, begin), slow(line, end)));
                }
                line_start += line.len() + 1;
            }
        }
    }

    #[test]
    fn a_line_is_read_once_however_many_places_it_has() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("file");
        std::fs::write(&path, "x".repeat(1 << 20)).expect("a file");
        let mut place = place("", 1, "x", Confidence::High);
        place.path = Arc::from(path);
        let mut columns = Columns::default();
        let started = std::time::Instant::now();
        for at in (0..(1 << 20) - 40).step_by(40) {
            place.offset = at..at + 39;
            (place.column, place.end_column) = (at + 1, at + 40);
            assert_eq!(columns.of(&place), (at + 1, at + 40));
        }
        // Some milliseconds; from the line's begin each time it would be 26 GB, and minutes.
        assert!(started.elapsed() < std::time::Duration::from_secs(20));
    }

    #[test]
    fn what_cannot_be_read_counts_bytes() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("file");
        std::fs::write(&path, "é\né").expect("a file");
        let mut place = place("/no/such/file", 1, "x", Confidence::High);
        (place.offset, place.column, place.end_column) = (2..3, 3, 4);
        assert_eq!(Columns::default().of(&place), (3, 4));
        place.path = Arc::from(path);
        assert_eq!(Columns::default().of(&place), (2, 4), "the line ends before");
        place.offset = 2..90;
        place.end_column = 91;
        assert_eq!(Columns::default().of(&place), (2, 91), "the file ends before");
    }
}
