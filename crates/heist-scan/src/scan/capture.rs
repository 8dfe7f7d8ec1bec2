//! [`Captured`]: a match together with the text around it, copied while that text is in memory.
//!
//! Invariant: a capture depends on the object alone and not on the window. It uses only bytes
//! within [`CONTEXT_BYTES`] of the secret, and the window always contains them.

use super::lines::{LineCursor, LinePosition};
use crate::detector::Match;
use crate::encoding::Encoding;
use crate::newline::Newline;
use memchr::memmem;
use std::ops::Range;
use std::sync::LazyLock;

/// The maximum distance between a secret and a comment that allows it. Excerpts look no further
/// either.
pub(crate) const CONTEXT_BYTES: usize = 512;

/// The number of bytes that an excerpt shows before the secret, and after it.
pub(crate) const EXCERPT_BYTES: usize = 80;

/// The comments that allow a secret.
const ALLOW: [&[u8]; 3] = [b"heist:allow", b"gitleaks:allow", b"pragma: allowlist secret"];

/// Built once, because building a finder costs more than searching a line with it.
static ALLOW_FINDER: LazyLock<memmem::Finder<'static>> =
    LazyLock::new(|| memmem::Finder::new(b"allow"));

/// A match together with the text around it.
#[derive(Clone, Debug)]
pub(crate) struct Captured {
    pub(crate) found: Match,
    /// The line of the first byte of the secret.
    pub(crate) start: LinePosition,
    /// The line of the last byte of the secret.
    pub(crate) last: LinePosition,
    /// The offsets of the excerpt in the object.
    pub(crate) excerpt: Range<u64>,
    /// The bytes of the excerpt, and of the rest of the secret if that is longer.
    text: Box<[u8]>,
    pub(crate) allowed: bool,
}

impl Captured {
    /// Counts its lines from the beginning of the object, if they were counted from `before`.
    pub(crate) fn after(self, before: LinePosition) -> Self {
        Self { start: self.start.after(before), last: self.last.after(before), ..self }
    }

    /// Returns about how much memory it takes.
    pub(crate) fn memory(&self) -> u64 {
        let decoded = self.found.decoded.as_ref().map_or(0, |decoded| decoded.len());
        (size_of::<Self>() + self.text.len() + decoded) as u64
    }

    /// Returns the excerpt as the object contains it.
    pub(crate) fn excerpt_bytes(&self) -> &[u8] {
        &self.text[..distance(self.excerpt.start, self.excerpt.end).min(self.text.len())]
    }

    /// Returns the secret as the object contains it.
    pub(crate) fn raw_secret(&self) -> &[u8] {
        let from = distance(self.excerpt.start, self.found.secret.start).min(self.text.len());
        let to = distance(self.excerpt.start, self.found.secret.end).min(self.text.len());
        &self.text[from..to]
    }

    /// Returns the decoded secret.
    pub(crate) fn secret(&self) -> &[u8] {
        self.found.decoded.as_deref().unwrap_or_else(|| self.raw_secret())
    }

    /// Returns the offset up to which other secrets affect this one, because they overlap it or are
    /// in its excerpt.
    pub(crate) fn concerned_to(&self) -> u64 {
        self.found.secret.end.max(self.excerpt.end)
    }
}

fn distance(from: u64, to: u64) -> usize {
    usize::try_from(to.saturating_sub(from)).unwrap_or(usize::MAX)
}

/// Captures the matches of a chunk, given the window around it. The window and `cursor` begin at
/// `offset`.
pub(crate) fn capture(
    matches: &mut Vec<Match>,
    window: &[u8],
    offset: u64,
    mut cursor: LineCursor,
    captured: &mut Vec<Captured>,
) {
    matches.sort_unstable_by_key(|found| found.secret.start);
    let matches = matches.drain(..);
    captured.extend(matches.map(|found| capture_next(found, window, offset, &mut cursor)));
}

/// Captures a match whose secret begins at the cursor or after it. The window begins at `offset`.
pub(crate) fn capture_next(
    mut found: Match,
    window: &[u8],
    offset: u64,
    cursor: &mut LineCursor,
) -> Captured {
    // A detector that reports offsets outside of the window is wrong, but must not cause a panic.
    let end = offset + window.len() as u64;
    found.secret.start = found.secret.start.clamp(offset, end);
    found.secret.end = found.secret.end.clamp(found.secret.start, end);
    let (from, to) = (distance(offset, found.secret.start), distance(offset, found.secret.end));
    cursor.move_to(found.secret.start, window, offset);
    let start = cursor.position;
    let mut last = *cursor;
    last.move_to(found.secret.end.saturating_sub(1), window, offset);

    let newline = cursor.newline;
    let line = newline.line_around(window, offset, &(from..to), CONTEXT_BYTES);
    let comments = [&window[line.start..from], &window[to..line.end]];
    let excerpt = excerpt_of(window, offset, from..to, &line, newline, found.encoding);
    let text = window[excerpt.start..excerpt.end.max(to)].into();
    Captured {
        start,
        last: last.position,
        excerpt: offset + excerpt.start as u64..offset + excerpt.end as u64,
        text,
        allowed: comments.into_iter().any(|comment| allows(comment, found.encoding)),
        found,
    }
}

/// Returns the part of the line that the excerpt shows: what is near the secret, and only the first
/// line of a secret with several lines.
fn excerpt_of(
    window: &[u8],
    offset: u64,
    secret: Range<usize>,
    line: &Range<usize>,
    newline: Newline,
    encoding: Encoding,
) -> Range<usize> {
    let Range { start: from, end: to } = secret;
    let mut start = line.start.max(from.saturating_sub(EXCERPT_BYTES));
    let mut end = line.end.min(to + EXCERPT_BYTES);
    if let Some(at) = newline.first_in(&window[from..to], offset + from as u64) {
        end = from + at;
    }
    if matches!(encoding, Encoding::Utf16Le | Encoding::Utf16Be) {
        return start..end;
    }
    // Do not cut a character of UTF-8.
    if start > line.start {
        let continued = |byte: u8| byte & 0b1100_0000 == 0b1000_0000;
        while start < from && from - start > EXCERPT_BYTES - 3 && continued(window[start]) {
            start += 1;
        }
    }
    if end < line.end && end > to {
        let lead = (to..end).rev().take(3).find(|&at| window[at] & 0b1100_0000 == 0b1100_0000);
        if let Some(at) = lead
            && at + (window[at].leading_ones() as usize).min(4) > end
        {
            end = at;
        }
    }
    if end > start && end == line.end && window[end - 1] == b'\r' && end > to {
        end -= 1;
    }
    start..end
}

/// Returns `true` if a comment in `text` allows the secret.
fn allows(text: &[u8], encoding: Encoding) -> bool {
    if matches!(encoding, Encoding::Utf16Le | Encoding::Utf16Be) {
        let narrow: Vec<u8> = text.iter().copied().filter(|&byte| byte != 0).collect();
        return allows(&narrow, Encoding::Plain);
    }
    // All of these comments contain this word, and few lines do.
    ALLOW_FINDER.find(text).is_some()
        && ALLOW.iter().any(|comment| memmem::find(text, comment).is_some())
}
