//! [`DiffReader`]: cuts a diff into the new sides of its files and the text between them.

use super::binary;
use super::header::{Names, hunk_header, is_extended_header, name};
use super::hunk::{Hunk, HunkLine};
use super::input::{Input, whole};
use super::places::{FilePlaces, NewLine};
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;

/// How a file of the diff begins.
const FILE_LINES: [&[u8]; 3] = [b"diff --git ", b"diff --cc ", b"diff --combined "];

/// A piece of the input, whose bytes [`DiffReader::pull`] returns.
#[derive(Debug)]
pub(super) enum Piece {
    /// Text that is not part of a file: where it begins in the input.
    Text { newlines: u64, offset: u64 },
    /// The new side of a file.
    File { path: PathBuf, places: Arc<FilePlaces> },
}

#[derive(Debug)]
enum State {
    /// Before a line that may be the header of a file.
    Between,
    /// In text. `is_in_line`: within a line, which is too long to be seen as a whole.
    Text { is_in_line: bool },
    /// Behind the header of a file.
    File(FileState),
}

/// A file of the diff of which a part is read.
#[derive(Debug)]
struct FileState {
    path: PathBuf,
    places: Arc<FilePlaces>,
    hunk: Option<Hunk>,
    /// Whether the object has lines of an earlier hunk.
    has_lines: bool,
    /// Whether the rest of a long line follows, and whether it is a line of the new file.
    rest_of_line: Option<bool>,
    is_begun: bool,
}

/// Reads a diff.
pub(super) struct DiffReader<R> {
    input: Input<R>,
    state: State,
    binary_files: u64,
}

/// Returns the length of a line, if it is whole and `is` it.
fn len_if(line: &[u8], is: impl FnOnce(&[u8]) -> bool) -> Option<usize> {
    whole(line).filter(|content| !line.is_empty() && is(content)).map(|_| line.len())
}

impl<R: Read> DiffReader<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { input: Input::new(reader), state: State::Between, binary_files: 0 }
    }

    /// Returns the number of binary files so far, whose content the diff does not show as text.
    pub(super) fn binary_files(&self) -> u64 {
        self.binary_files
    }

    /// Begins the next piece. The last one must have been pulled to its end.
    ///
    /// # Errors
    /// The input cannot be read.
    pub(super) fn next(&mut self) -> io::Result<Option<Piece>> {
        loop {
            if let State::File(file) = &mut self.state {
                let is_hunk = whole(self.input.line(0)?).and_then(hunk_header).is_some();
                if is_hunk && !std::mem::replace(&mut file.is_begun, true) {
                    let (path, places) = (file.path.clone(), Arc::clone(&file.places));
                    return Ok(Some(Piece::File { path, places }));
                }
                self.state = State::Between;
            }
            if self.input.line(0)?.is_empty() {
                return Ok(None);
            }
            match self.file_header()? {
                Some(names) => self.begin_file(&names),
                None => {
                    let (newlines, offset) = (self.input.newlines(), self.input.offset());
                    self.state = State::Text { is_in_line: false };
                    return Ok(Some(Piece::Text { newlines, offset }));
                }
            }
        }
    }

    fn begin_file(&mut self, names: &Names) {
        self.state = State::File(FileState {
            path: names.path(),
            places: Arc::new(FilePlaces::new(names.is_new())),
            hunk: None,
            has_lines: false,
            rest_of_line: None,
            is_begun: false,
        });
    }

    /// Adds more bytes of the piece to `out`. Returns `false` at its end.
    ///
    /// # Errors
    /// The input cannot be read.
    pub(super) fn pull(&mut self, out: &mut Vec<u8>) -> io::Result<bool> {
        match &self.state {
            State::Between => Ok(false),
            State::Text { is_in_line } => {
                let is_in_line = *is_in_line;
                self.pull_text(is_in_line, out)
            }
            State::File(_) => self.pull_file(out),
        }
    }

    fn pull_text(&mut self, is_in_line: bool, out: &mut Vec<u8>) -> io::Result<bool> {
        if !is_in_line && self.is_file_header()? {
            self.state = State::Between;
            return Ok(false);
        }
        let line = self.input.line(0)?;
        let len = line.len();
        out.extend_from_slice(line);
        let is_in_line = whole(line).is_none();
        self.input.take(len);
        self.state = if len == 0 { State::Between } else { State::Text { is_in_line } };
        Ok(len > 0)
    }

    fn pull_file(&mut self, out: &mut Vec<u8>) -> io::Result<bool> {
        let Self { input, state, .. } = self;
        let State::File(file) = state else { return Ok(false) };
        if let Some(is_new) = file.rest_of_line {
            let line = input.line(0)?;
            if is_new {
                out.extend_from_slice(line);
                file.places.add(line.len());
            }
            let (len, is_whole) = (line.len(), whole(line).is_some());
            input.take(len);
            if is_whole {
                file.rest_of_line = None;
            }
            return Ok(true);
        }
        let line = input.line(0)?;
        let len = line.len();
        let Some(hunk) = file.hunk.as_mut().filter(|_| len > 0) else {
            // Between hunks.
            let note = len_if(line, |line| line.starts_with(b"\\ ") && file.has_lines);
            let header = whole(line).and_then(hunk_header).filter(|_| len > 0);
            if let Some(note) = note {
                input.take(note);
            } else if let Some(header) = header {
                if std::mem::replace(&mut file.has_lines, true) {
                    // What follows does not continue the line before the gap.
                    let (number, input) = (header.new_start, input.offset());
                    let gap = NewLine { number, input, prefix: 0, is_added: false };
                    file.places.begin_line(gap);
                    file.places.add(1);
                    out.push(b'\n');
                }
                file.hunk = Some(Hunk::new(header)).filter(|hunk| !hunk.is_done());
                input.take(len);
            } else {
                *state = State::Between;
                return Ok(false);
            }
            return Ok(true);
        };
        let (number, offset) = (hunk.next_line, input.offset());
        let line = input.line(0)?;
        let Some(kind) = hunk.count(line) else {
            // The rest does not parse as a part of this file.
            *state = State::Between;
            return Ok(false);
        };
        if let HunkLine::New { is_added } = kind {
            let is_blank = matches!(line, b"\n" | b"\r\n");
            let prefix = if is_blank { 0 } else { hunk.prefix() };
            let content = &line[prefix..];
            let input = offset + prefix as u64;
            file.places.begin_line(NewLine { number, input, prefix, is_added });
            file.places.add(content.len());
            out.extend_from_slice(content);
        }
        if whole(line).is_none() {
            file.rest_of_line = Some(matches!(kind, HunkLine::New { .. }));
        }
        input.take(len);
        if hunk.is_done() {
            file.hunk = None;
        }
        Ok(true)
    }

    /// Returns `true` if the next line begins the header of a file.
    fn is_file_header(&mut self) -> io::Result<bool> {
        match self.input.line(0)?.first() {
            Some(b'd') => Ok(self.git_header()?.is_some()),
            Some(b'-') => Ok(self.plain_header(0)?.is_some()),
            _ => Ok(false),
        }
    }

    /// Takes the header of a file up to its first hunk, if there is one here.
    fn file_header(&mut self) -> io::Result<Option<Names>> {
        if let Some((names, len)) = self.plain_header(0)? {
            self.input.take(len);
            return Ok(Some(names));
        }
        let Some(mut names) = self.git_header()? else { return Ok(None) };
        let len = self.input.line(0)?.len();
        self.input.take(len);
        loop {
            let line = self.input.line(0)?;
            let Some(content) = whole(line).filter(|_| !line.is_empty()) else { break };
            let len = line.len();
            if is_extended_header(content) {
                let renamed = content.strip_prefix(b"rename to ");
                if let Some(bare) = renamed.or_else(|| content.strip_prefix(b"copy to ")) {
                    names.bare = name(bare);
                }
            } else if binary::is_difference(content) {
                self.binary_files += 1;
            } else if binary::is_patch(content) {
                self.binary_files += 1;
                self.input.take(len);
                self.take_binary_patch()?;
                continue;
            } else {
                break;
            }
            self.input.take(len);
        }
        if let Some((sides, len)) = self.plain_header(0)? {
            (names.old, names.new) = (sides.old, sides.new);
            self.input.take(len);
        }
        Ok(Some(names))
    }

    /// Takes the lines of a binary patch.
    fn take_binary_patch(&mut self) -> io::Result<()> {
        while let Some(len) = len_if(self.input.line(0)?, binary::is_in_patch) {
            self.input.take(len);
        }
        Ok(())
    }

    /// Returns the names in a line such as `diff --git a/x b/x`, if the next line belongs to the
    /// same header. Otherwise it is just text.
    fn git_header(&mut self) -> io::Result<Option<Names>> {
        let line = self.input.line(0)?;
        let len = line.len();
        let Some(content) = whole(line) else { return Ok(None) };
        let Some((at, rest)) = FILE_LINES
            .iter()
            .enumerate()
            .find_map(|(at, start)| Some((at, content.strip_prefix(*start)?)))
        else {
            return Ok(None);
        };
        let mut names = Names::default();
        match at {
            0 => names.git = Some(rest.to_vec()),
            _ => names.bare = name(rest),
        }
        let next = self.input.line(len)?;
        let is_header = len_if(next, |next| {
            is_extended_header(next) || binary::is_difference(next) || binary::is_patch(next)
        });
        let is_known = is_header.is_some() || self.plain_header(len)?.is_some();
        Ok(is_known.then_some(names))
    }

    /// Returns the names in a `---` line, a `+++` line and a hunk that follow each other, and the
    /// length of the first two lines. `ahead` is where the first one begins.
    fn plain_header(&mut self, ahead: usize) -> io::Result<Option<(Names, usize)>> {
        let side = |line: &[u8], start: &[u8]| {
            Some((name(whole(line)?.strip_prefix(start)?)?, line.len()))
        };
        let Some((old, old_len)) = side(self.input.line(ahead)?, b"--- ") else { return Ok(None) };
        let new = side(self.input.line(ahead + old_len)?, b"+++ ");
        let Some((new, new_len)) = new else { return Ok(None) };
        let len = old_len + new_len;
        let hunk = self.input.line(ahead + len)?;
        let is_file = whole(hunk).and_then(hunk_header).is_some();
        Ok(is_file.then_some((Names { old, new, ..Names::default() }, len)))
    }
}
