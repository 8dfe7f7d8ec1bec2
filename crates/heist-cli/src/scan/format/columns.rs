//! [`Columns`]: the columns of findings in UTF-16 code units, counted by reading the files again.
//!
//! A whole file may be one line with many findings. Findings come in order, so counting continues
//! from the previous finding on the same line, and each byte is read about once. Not guaranteed:
//! that a file still has the content that was scanned. If the line looks different, columns count
//! bytes.

use crate::scan::reported_finding::ReportedFinding;
use std::fs::File;
use std::io::{BufReader, Read as _};
use std::path::Path;
use std::sync::Arc;

/// How much of a line is read. After that, columns count bytes.
const LINE_BYTES_MAX: u64 = 1 << 20;

/// Enough for findings that are close to each other.
const BUFFER_BYTES: usize = 16 * 1024;

/// Counts the UTF-16 units before findings. This is fast if findings come in order.
#[derive(Debug, Default)]
pub(super) struct Columns {
    /// The file of the last finding.
    path: Option<Arc<Path>>,
    line: Option<LineReader>,
}

/// An open file, and how far its current line has been counted.
#[derive(Debug)]
struct LineReader {
    reader: BufReader<File>,
    /// The offset of the next byte that the reader returns.
    position: u64,
    /// At the start and at the end of the last finding, which may be on different lines.
    marks: [Option<Mark>; 2],
    bytes: Vec<u8>,
}

/// The number of UTF-16 units between the start of a line and an offset, at a character boundary.
#[derive(Clone, Copy, Debug)]
struct Mark {
    line_start: u64,
    at: u64,
    units: u64,
}

impl Columns {
    /// Returns the columns where a finding begins and ends.
    pub(super) fn of(&mut self, finding: &ReportedFinding) -> (u64, u64) {
        if finding.history.is_some() {
            // The path is one in a commit, and not that of a file.
            return (finding.column, finding.end_column);
        }
        if self.path.as_ref() != Some(&finding.path) {
            // Opening a FIFO would block.
            let file = finding.path.is_file().then(|| File::open(&finding.path).ok()).flatten();
            self.line = file.map(LineReader::new);
            self.path = Some(Arc::clone(&finding.path));
        }
        let Some(line) = &mut self.line else { return (finding.column, finding.end_column) };
        let mut column = |mark, at, bytes: u64| line.column(mark, at, bytes).unwrap_or(bytes);
        (
            column(0, finding.offset.start, finding.column),
            column(1, finding.offset.end, finding.end_column),
        )
    }
}

impl LineReader {
    fn new(file: File) -> Self {
        let reader = BufReader::with_capacity(BUFFER_BYTES, file);
        Self { reader, position: 0, marks: [None; 2], bytes: Vec::new() }
    }

    /// Returns the column of the offset `at`, whose column in bytes is `column`. Returns `None` if
    /// the line cannot be read or has changed.
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

/// Returns the number of UTF-16 units, and the number of bytes at the end that begin a character.
/// Invalid UTF-8 counts as U+FFFD.
fn utf16_units(bytes: &[u8]) -> (u64, usize) {
    let mut units = 0;
    let mut chunks = bytes.utf8_chunks().peekable();
    while let Some(chunk) = chunks.next() {
        // One unit per character, and a second one for characters of four bytes.
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
    use crate::scan::reported_finding::tests::finding;
    use heist_scan::Confidence;
    use std::path::Path;
    use std::sync::Arc;

    /// The slow, obvious way.
    fn slow(line: &[u8], at: usize) -> u64 {
        String::from_utf8_lossy(&line[..at]).encode_utf16().count() as u64 + 1
    }

    #[test]
    fn continuing_a_count_equals_starting_over() {
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
                    // Some findings overlap with the next ones.
                    let end = (begin + 1 + begin % 7).min(line.len());
                    let mut finding = finding("", number, "x", Confidence::High);
                    finding.path = Arc::clone(&path);
                    finding.offset = (line_start + begin) as u64..(line_start + end) as u64;
                    (finding.column, finding.end_column) = (begin as u64 + 1, end as u64 + 1);
                    assert_eq!(columns.of(&finding), (slow(line, begin), slow(line, end)));
                }
                line_start += line.len() + 1;
            }
        }
    }

    #[test]
    fn a_line_with_many_findings_is_read_once() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("file");
        std::fs::write(&path, "x".repeat(1 << 20)).expect("a file");
        let mut finding = finding("", 1, "x", Confidence::High);
        finding.path = Arc::from(path);
        let mut columns = Columns::default();
        let started = std::time::Instant::now();
        for at in (0..(1 << 20) - 40).step_by(40) {
            finding.offset = at..at + 39;
            (finding.column, finding.end_column) = (at + 1, at + 40);
            assert_eq!(columns.of(&finding), (at + 1, at + 40));
        }
        // This takes milliseconds. Counting from the start of the line each time would read 26 GB.
        assert!(started.elapsed() < std::time::Duration::from_secs(20));
    }

    #[test]
    fn columns_count_bytes_if_the_line_cannot_be_read() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("file");
        std::fs::write(&path, "é\né").expect("a file");
        let mut finding = finding("/no/such/file", 1, "x", Confidence::High);
        (finding.offset, finding.column, finding.end_column) = (2..3, 3, 4);
        assert_eq!(Columns::default().of(&finding), (3, 4));
        finding.path = Arc::from(path);
        assert_eq!(Columns::default().of(&finding), (2, 4), "the line ends before");
        finding.offset = 2..90;
        finding.end_column = 91;
        assert_eq!(Columns::default().of(&finding), (2, 91), "the file ends before");
    }
}
