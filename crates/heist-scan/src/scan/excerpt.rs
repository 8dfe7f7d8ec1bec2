//! [`Excerpt`]: the line around a secret as text, without the zero bytes of UTF-16, and as it is
//! printed: safe for a terminal, with parts of it replaced.

use super::capture::Captured;
use crate::encoding::Encoding;
use crate::masked::Secret;
use crate::printable::is_printable;
use std::borrow::Cow;
use std::ops::Range;

/// Replaces what is hidden, except the finding's own secret.
const HIDDEN: &str = "******";

/// The line around a secret.
#[derive(Debug)]
pub(super) struct Excerpt<'a> {
    bytes: &'a [u8],
    /// The offset of its first byte in the object.
    begin: u64,
    own: Range<usize>,
    /// Whether the secret is UTF-16.
    is_wide: bool,
    /// The text without zero bytes and where its bytes are in the excerpt, if there are any.
    narrow: Option<(Vec<u8>, Vec<usize>)>,
    /// The text before the excerpt and after it, without zero bytes.
    before: Cow<'a, [u8]>,
    after: Cow<'a, [u8]>,
    /// The pairs of adjacent bytes in the text: one bit for each hash.
    pairs: [u64; 16],
}

/// How far from the excerpt a text may begin or end that it contains a part of.
const CROSSING_BYTES: u64 = 512;

impl<'a> Excerpt<'a> {
    pub(super) fn of(captured: &'a Captured) -> Self {
        let bytes = captured.excerpt_bytes();
        let Range { start: begin, end } = captured.excerpt;
        let is_wide = is_wide(captured);
        let narrow = memchr::memchr(0, bytes).map(|_| {
            let places: Vec<usize> = (0..bytes.len()).filter(|&at| bytes[at] != 0).collect();
            (places.iter().map(|&at| bytes[at]).collect(), places)
        });
        let beside = |range: Range<u64>| {
            let bytes = captured.text_at(&range);
            if narrow.is_some() { without_zeros(bytes) } else { bytes.into() }
        };
        let before = beside(begin.saturating_sub(CROSSING_BYTES)..begin);
        let after = beside(end..end.saturating_add(CROSSING_BYTES));
        let pairs = [0; 16];
        let mut excerpt = Self { bytes, begin, own: 0..0, is_wide, narrow, before, after, pairs };
        excerpt.own = excerpt.part(&captured.found.secret);
        let mut pairs = [0; 16];
        for two in excerpt.text().windows(2) {
            let (word, bit) = hash([two[0], two[1]]);
            pairs[word] |= bit;
        }
        excerpt.pairs = pairs;
        excerpt
    }

    /// Returns the text, without zero bytes.
    pub(super) fn text(&self) -> &[u8] {
        self.narrow.as_ref().map_or(self.bytes, |(text, _)| text)
    }

    pub(super) fn len(&self) -> usize {
        self.text().len()
    }

    /// Returns the part of the text that is in a range of the object; empty if there is none.
    pub(super) fn part(&self, range: &Range<u64>) -> Range<usize> {
        let at = |offset: u64| {
            let at = usize::try_from(offset.saturating_sub(self.begin)).unwrap_or(usize::MAX);
            match &self.narrow {
                None => at.min(self.bytes.len()),
                Some((_, places)) => places.partition_point(|&place| place < at),
            }
        };
        at(range.start)..at(range.end)
    }

    /// Returns bytes of the object as the text contains them.
    pub(super) fn as_text<'b>(&self, bytes: &'b [u8]) -> Cow<'b, [u8]> {
        if self.narrow.is_none() { bytes.into() } else { without_zeros(bytes) }
    }

    /// Calls `found` with each part of the text that is in an occurrence of `wanted`, which must
    /// have at least two bytes. An occurrence may begin before the text, or end after it.
    pub(super) fn find(&self, wanted: &[u8], mut found: impl FnMut(Range<usize>)) {
        let [first, second, ..] = *wanted else { return };
        let [.., last_but_one, last] = *wanted else { return };
        let may_contain = |pair: [u8; 2]| {
            let (word, bit) = hash(pair);
            self.pairs[word] & bit != 0
        };
        // Most secrets are not repeated, so these checks decide nearly always.
        let text = self.text();
        if may_contain([first, second]) {
            for at in memchr::memchr_iter(first, text) {
                let here = &text[at..text.len().min(at + wanted.len())];
                let (inside, beyond) = wanted.split_at(here.len());
                if here == inside && self.after.starts_with(beyond) {
                    found(at..at + here.len());
                }
            }
        }
        if may_contain([last_but_one, last]) {
            for inside in 1..wanted.len() {
                let (ahead, rest) = wanted.split_at(wanted.len() - inside);
                if text.starts_with(rest) && self.before.ends_with(ahead) {
                    found(0..inside);
                }
            }
        }
    }

    /// Returns the excerpt with the `hidden` ranges of the text replaced: the one with the
    /// finding's own secret by `own`.
    pub(super) fn masked(&self, hidden: &[Range<usize>], own: &str) -> String {
        let mut masked = String::with_capacity(self.bytes.len() + own.len());
        let mut shown_to = 0;
        for range in hidden {
            self.push(shown_to..range.start, &mut masked);
            let is_own = range.start <= self.own.start && self.own.start < range.end;
            masked.push_str(if is_own { own } else { HIDDEN });
            shown_to = range.end;
        }
        self.push(shown_to..self.len(), &mut masked);
        masked
    }

    fn push(&self, part: Range<usize>, into: &mut String) {
        if part.is_empty() {
            return;
        }
        let part = match &self.narrow {
            Some((_, places)) => places[part.start]..places[part.end - 1] + 1,
            None => part,
        };
        push_printable(&self.bytes[part], self.is_wide, into);
    }
}

/// Returns the excerpt with everything in it.
pub(super) fn revealed(captured: &Captured) -> Secret {
    let bytes = captured.excerpt_bytes();
    let mut revealed = String::with_capacity(bytes.len());
    push_printable(bytes, is_wide(captured), &mut revealed);
    Secret::new(revealed.into_bytes())
}

/// Returns `true` if the secret is UTF-16.
fn is_wide(captured: &Captured) -> bool {
    matches!(captured.found.encoding, Encoding::Utf16Le | Encoding::Utf16Be)
}

fn without_zeros(bytes: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memchr(0, bytes).is_none() {
        return bytes.into();
    }
    bytes.iter().copied().filter(|&byte| byte != 0).collect()
}

/// Returns the bit for a pair of bytes, and the word that it is in.
fn hash(pair: [u8; 2]) -> (usize, u64) {
    let hash = u32::from(u16::from_le_bytes(pair)).wrapping_mul(0x9E37_79B1) >> 22;
    ((hash >> 6) as usize, 1 << (hash & 63))
}

/// Appends `bytes` as printable text: tabs become spaces, and control characters and invalid UTF-8
/// become replacement characters.
fn push_printable(bytes: &[u8], narrow: bool, text: &mut String) {
    if narrow {
        let narrow: Vec<u8> = bytes.iter().copied().filter(|&byte| byte != 0).collect();
        return push_printable(&narrow, false, text);
    }
    if bytes.iter().all(|&byte| byte == b' ' || byte.is_ascii_graphic())
        && let Ok(plain) = str::from_utf8(bytes)
    {
        return text.push_str(plain);
    }
    for part in bytes.utf8_chunks() {
        text.extend(part.valid().chars().map(|character| match character {
            '\t' => ' ',
            character if is_printable(character) => character,
            _ => char::REPLACEMENT_CHARACTER,
        }));
        if !part.invalid().is_empty() {
            text.push(char::REPLACEMENT_CHARACTER);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printable(bytes: &[u8]) -> String {
        let mut text = String::new();
        push_printable(bytes, false, &mut text);
        text
    }

    #[test]
    fn control_and_direction_characters_do_not_reach_a_terminal() {
        assert_eq!(printable(b"plain text"), "plain text");
        assert_eq!(printable(b"a\tb\x1b[31m\x07"), "a b\u{fffd}[31m\u{fffd}");
        assert_eq!(printable("für \u{202e}".as_bytes()), "für \u{fffd}");
        assert_eq!(printable(b"\xff\xfe!"), "\u{fffd}\u{fffd}!");
    }
}
