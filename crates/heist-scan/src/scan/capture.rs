//! [`Captured`]: a match with what is around it, taken while that is in memory.
//!
//! Invariant: it depends on the object alone, and not on where the window was: nothing further than [`CONTEXT_BYTES`]
//! from the secret is looked at, and that much is always there.

use super::lines::{LineCursor, Newline, Place};
use crate::detector::Match;
use crate::encoding::Encoding;
use memchr::memmem;
use std::ops::Range;
use std::sync::LazyLock;

/// How far from a secret a comment may be that allows it, and the most that is looked at for an excerpt.
pub(crate) const CONTEXT_BYTES: usize = 512;

/// How much of the line an excerpt shows before the secret, and after it.
pub(crate) const EXCERPT_BYTES: usize = 80;

/// What a comment says that allows a secret.
const ALLOW: [&[u8]; 3] = [b"heist:allow", b"gitleaks:allow", b"pragma: allowlist secret"];

/// Prepared once: to prepare it costs more than to look through a line.
static ALLOW_FINDER: LazyLock<memmem::Finder<'static>> =
    LazyLock::new(|| memmem::Finder::new(b"allow"));

/// A match with what is around it.
#[derive(Clone, Debug)]
pub(crate) struct Captured {
    pub(crate) found: Match,
    /// Where it begins ...
    pub(crate) start: Place,
    /// ... and where its last byte is.
    pub(crate) last: Place,
    /// The excerpt's part of the object. At the end of it comes the rest of the secret, if that is longer.
    pub(crate) excerpt: Range<u64>,
    /// The bytes from where the excerpt begins.
    text: Box<[u8]>,
    pub(crate) allowed: bool,
}

impl Captured {
    /// The same, if its places were counted from `before`.
    pub(crate) fn after(self, before: Place) -> Self {
        Self { start: self.start.after(before), last: self.last.after(before), ..self }
    }

    /// How much memory it takes, about.
    pub(crate) fn memory(&self) -> u64 {
        let decoded = self.found.decoded.as_ref().map_or(0, |decoded| decoded.len());
        (size_of::<Self>() + self.text.len() + decoded) as u64
    }

    /// The excerpt as it is in the object.
    pub(crate) fn excerpt_bytes(&self) -> &[u8] {
        &self.text[..distance(self.excerpt.start, self.excerpt.end).min(self.text.len())]
    }

    /// The secret as it is in the object.
    pub(crate) fn raw_secret(&self) -> &[u8] {
        let from = distance(self.excerpt.start, self.found.secret.start).min(self.text.len());
        let to = distance(self.excerpt.start, self.found.secret.end).min(self.text.len());
        &self.text[from..to]
    }

    /// The secret.
    pub(crate) fn secret(&self) -> &[u8] {
        self.found.decoded.as_deref().unwrap_or_else(|| self.raw_secret())
    }

    /// Up to where other secrets concern it: as its rivals, or because they are in its excerpt.
    pub(crate) fn concerned_to(&self) -> u64 {
        self.found.secret.end.max(self.excerpt.end)
    }
}

fn distance(from: u64, to: u64) -> usize {
    usize::try_from(to.saturating_sub(from)).unwrap_or(usize::MAX)
}

/// Captures matches of a chunk, given the window around it, which begins at `offset`; `cursor` is there, too.
pub(crate) fn capture(
    matches: &mut Vec<Match>,
    window: &[u8],
    offset: u64,
    mut cursor: LineCursor,
    captured: &mut Vec<Captured>,
) {
    matches.sort_unstable_by_key(|found| found.secret.start);
    for mut found in matches.drain(..) {
        // A detector that points to somewhere else is wrong, but no reason to fall over.
        let end = offset + window.len() as u64;
        found.secret.start = found.secret.start.clamp(offset, end);
        found.secret.end = found.secret.end.clamp(found.secret.start, end);
        let (from, to) = (distance(offset, found.secret.start), distance(offset, found.secret.end));
        cursor.move_to(found.secret.start, window, offset);
        let start = cursor.place;
        let mut last = cursor;
        last.move_to(found.secret.end.saturating_sub(1), window, offset);

        let newline = cursor.newline;
        let line = line_around(window, offset, from..to, newline);
        let comments = [&window[line.start..from], &window[to..line.end]];
        let excerpt = excerpt_of(window, offset, from..to, &line, newline, found.encoding);
        let text = window[excerpt.start..excerpt.end.max(to)].into();
        captured.push(Captured {
            start,
            last: last.place,
            excerpt: offset + excerpt.start as u64..offset + excerpt.end as u64,
            text,
            allowed: comments.into_iter().any(|comment| allows(comment, found.encoding)),
            found,
        });
    }
}

/// The line of a secret, or the lines, as far as that is within [`CONTEXT_BYTES`] of it.
fn line_around(window: &[u8], offset: u64, secret: Range<usize>, newline: Newline) -> Range<usize> {
    let Range { start: from, end: to } = secret;
    let near = from.saturating_sub(CONTEXT_BYTES);
    let start = newline
        .last_in(&window[near..from], offset + near as u64)
        .map_or(near, |at| near + at + newline.len());
    let far = (to + CONTEXT_BYTES).min(window.len());
    // A secret that ends with its line has nothing behind it.
    let tail = to.saturating_sub(newline.len()).max(from);
    let end = if newline.first_in(&window[tail..to], offset + tail as u64).is_some() {
        to
    } else {
        newline.first_in(&window[to..far], offset + to as u64).map_or(far, |at| to + at)
    };
    start..end
}

/// What of the line is shown: what is near, and of a secret of several lines the first.
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
    // Not half a character.
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

/// Whether a comment in `text` allows the secret.
fn allows(text: &[u8], encoding: Encoding) -> bool {
    if matches!(encoding, Encoding::Utf16Le | Encoding::Utf16Be) {
        let narrow: Vec<u8> = text.iter().copied().filter(|&byte| byte != 0).collect();
        return allows(&narrow, Encoding::Plain);
    }
    // All of them have that in common, and few lines have it.
    ALLOW_FINDER.find(text).is_some()
        && ALLOW.iter().any(|comment| memmem::find(text, comment).is_some())
}
