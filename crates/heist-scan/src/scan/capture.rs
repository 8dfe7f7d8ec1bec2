//! [`Captured`]: a match together with the text around it, copied while that text is in memory.
//!
//! Invariant: a capture depends on the object alone and not on the window. It uses only bytes
//! within [`NEIGHBOURHOOD_BYTES`](super::visible::NEIGHBOURHOOD_BYTES) of the secret, and the
//! window always contains them.

use super::builtin_search::BuiltinSearch;
use super::lines::LineCursor;
use super::lines::LinePosition;
use super::visible::{KNOWN_BYTES, NEIGHBOURHOOD_BYTES, Near, Neighbourhood, neighbourhoods};
use crate::chunk::Chunk;
use crate::detector::Match;
use crate::encoding::Encoding;
use crate::newline::Newline;
use memchr::memmem;
use std::ops::Range;
use std::sync::{Arc, LazyLock};

/// The maximum distance between a secret and a comment that allows it. Excerpts look no further
/// either.
const CONTEXT_BYTES: usize = 512;

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
    /// The text around it, and around other secrets near it.
    around: Arc<Neighbourhood>,
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
        let share = self.around.bytes.len() / self.around.shared_by;
        (size_of::<Self>() + share + decoded) as u64
    }

    /// Returns the excerpt as the object contains it.
    pub(crate) fn excerpt_bytes(&self) -> &[u8] {
        self.text_at(&self.excerpt)
    }

    /// Returns the secret as the object contains it.
    pub(crate) fn raw_secret(&self) -> &[u8] {
        self.text_at(&self.found.secret)
    }

    /// Returns the text at this place of the object, as far as it is near the secret.
    pub(super) fn text_at(&self, place: &Range<u64>) -> &[u8] {
        let Range { start, end } = self.found.secret;
        let reach = NEIGHBOURHOOD_BYTES as u64;
        let within = start.saturating_sub(reach)..end.saturating_add(reach);
        let at = |offset: u64| {
            let offset = offset.clamp(within.start, within.end);
            distance(self.around.offset, offset).min(self.around.bytes.len())
        };
        &self.around.bytes[at(place.start)..at(place.end)]
    }

    /// Returns the bytes before and after this place, without the zero bytes of UTF-16.
    pub(super) fn bytes_beside(&self, place: &Range<u64>) -> (Option<u8>, Option<u8>) {
        let before = self.text_at(&(place.start.saturating_sub(2)..place.start));
        let after = self.text_at(&(place.end..place.end + 2));
        let is_text = |byte: &&u8| **byte != 0;
        (before.iter().rev().find(is_text).copied(), after.iter().find(is_text).copied())
    }

    /// Returns the part of the object in which other secrets affect what this one shows.
    pub(super) fn known_within(&self) -> Range<u64> {
        let Range { start, end } = self.found.secret;
        start.saturating_sub(KNOWN_BYTES as u64)..end.saturating_add(KNOWN_BYTES as u64)
    }

    /// Returns the values of telling names near the secret.
    pub(super) fn values(&self) -> impl Iterator<Item = &Range<u64>> {
        let (within, values) = (self.known_within(), &self.around.values);
        let first = values.partition_point(|(name_end, _)| *name_end <= within.start);
        let near = values[first..].iter().take_while(move |(name_end, _)| *name_end <= within.end);
        near.map(|(_, place)| place)
    }

    /// Returns what the excerpt must not show, as offsets in the object, in order.
    pub(super) fn doubtful(&self) -> impl Iterator<Item = &Range<u64>> {
        let doubtful = &self.around.doubtful;
        let first = doubtful.partition_point(|range| range.end <= self.excerpt.start);
        doubtful[first..].iter().take_while(|range| range.start < self.excerpt.end)
    }

    /// Returns what the search with the built-in rules found near the secret, or `None` if it was
    /// stopped.
    pub(super) fn near(&self) -> Option<impl Iterator<Item = &Near> + Clone> {
        self.around.is_complete.then(|| self.around.near(self.known_within()))
    }

    /// Returns the decoded secret.
    pub(crate) fn secret(&self) -> &[u8] {
        self.found.decoded.as_deref().unwrap_or_else(|| self.raw_secret())
    }

    /// Returns the offset up to which other secrets affect this one, because they overlap it or are
    /// near it.
    pub(crate) fn concerned_to(&self) -> u64 {
        self.known_within().end
    }
}

fn distance(from: u64, to: u64) -> usize {
    usize::try_from(to.saturating_sub(from)).unwrap_or(usize::MAX)
}

/// Captures the matches of a chunk. `window` contains everything around them, `cursor` is where it
/// begins, and `search` finds other secrets near them.
pub(crate) fn capture(
    matches: &mut Vec<Match>,
    window: &Chunk<'_>,
    cursor: LineCursor,
    search: &mut BuiltinSearch,
    captured: &mut Vec<Captured>,
) {
    matches.sort_unstable_by_key(|found| found.secret.start);
    capture_in_order(matches, window, cursor, search, captured);
}

/// The same for matches in the order of their secrets, which it keeps.
pub(crate) fn capture_in_order(
    matches: &mut Vec<Match>,
    window: &Chunk<'_>,
    mut cursor: LineCursor,
    search: &mut BuiltinSearch,
    captured: &mut Vec<Captured>,
) {
    let (bytes, offset) = (window.bytes, window.offset);
    for found in &mut *matches {
        // A detector that reports offsets outside of the window is wrong, but must not cause a
        // panic.
        let end = offset + bytes.len() as u64;
        found.secret.start = found.secret.start.clamp(offset, end);
        found.secret.end = found.secret.end.clamp(found.secret.start, end);
    }
    let at = |place: &Range<u64>| distance(offset, place.start)..distance(offset, place.end);
    let groups = neighbourhoods(matches.iter().map(|found| at(&found.secret)), bytes.len());
    let mut rest = matches.drain(..);
    for (part, count) in groups {
        let newline = cursor.newline;
        let group: Vec<(Match, Range<usize>, Range<usize>)> = rest
            .by_ref()
            .take(count)
            .map(|found| {
                let secret = at(&found.secret);
                let line = newline.line_around(bytes, offset, &secret, CONTEXT_BYTES);
                let excerpt = excerpt_of(bytes, offset, secret, &line, newline, found.encoding);
                (found, line, excerpt)
            })
            .collect();
        let secrets = group.iter().map(|(found, _, excerpt)| (at(&found.secret), excerpt.clone()));
        let mut around = Neighbourhood::new(bytes, offset, part.clone(), secrets);
        let near = search.find(window, &part);
        around.add_near(near.drain(..), !window.stop.is_stopped());
        let around = Arc::new(around);
        for (found, line, excerpt) in group {
            cursor.move_to(found.secret.start, bytes, offset);
            let start = cursor.position;
            let mut last = cursor;
            last.move_to(found.secret.end.saturating_sub(1), bytes, offset);
            let secret = at(&found.secret);
            let comments = [&bytes[line.start..secret.start], &bytes[secret.end..line.end]];
            captured.push(Captured {
                start,
                last: last.position,
                excerpt: offset + excerpt.start as u64..offset + excerpt.end as u64,
                around: Arc::clone(&around),
                allowed: comments.into_iter().any(|comment| allows(comment, found.encoding)),
                found,
            });
        }
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
