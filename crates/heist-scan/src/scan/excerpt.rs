//! Excerpts: the line around a secret, safe to print on a terminal, with every secret in it masked.

use super::capture::Captured;
use crate::encoding::Encoding;
use crate::masked::{Secret, mask};
use crate::printable::is_printable;
use std::ops::Range;

/// Replaces a secret in the excerpt that is not the finding's own.
const HIDDEN: &str = "******";

/// The minimum length of a secret whose repetitions are masked. Shorter byte strings occur by
/// chance.
const REPEATED_BYTES_MIN: usize = 6;

/// Returns the excerpt of a finding with its secrets masked, and the excerpt with its secrets.
/// `others` are the secrets around it.
pub(super) fn excerpts(captured: &Captured, others: &mut Vec<Range<u64>>) -> (String, Secret) {
    let bytes = captured.excerpt_bytes();
    let begin = captured.excerpt.start;
    let own = &captured.found.secret;
    // The excerpt may contain the same secret again, where no rule matched it.
    let raw = captured.raw_secret();
    if raw.len() >= REPEATED_BYTES_MIN {
        // The text is short and each secret is searched once, so building a finder would not pay.
        let again = memchr::memchr_iter(raw[0], bytes)
            .filter(|&at| bytes[at..].starts_with(raw))
            .map(|at| begin + at as u64);
        others.extend(again.map(|at| at..at + raw.len() as u64));
    }
    others.push(own.clone());
    others.retain(|secret| secret.start < captured.excerpt.end && secret.end > begin);
    others.sort_unstable_by_key(|secret| (secret.start, secret.end));

    let narrow = matches!(captured.found.encoding, Encoding::Utf16Le | Encoding::Utf16Be);
    let at = |offset: u64| {
        usize::try_from(offset.saturating_sub(begin)).unwrap_or(usize::MAX).min(bytes.len())
    };
    let mut masked = String::with_capacity(bytes.len());
    let mut shown_to = 0;
    let mut secrets = others.iter().peekable();
    while let Some(first) = secrets.next() {
        let mut hidden = first.clone();
        while let Some(next) = secrets.next_if(|next| next.start < hidden.end) {
            hidden.end = hidden.end.max(next.end);
        }
        push_printable(&bytes[shown_to..at(hidden.start)], narrow, &mut masked);
        if hidden.start <= own.start && own.end <= hidden.end {
            masked.push_str(&mask(captured.secret()));
        } else {
            masked.push_str(HIDDEN);
        }
        shown_to = at(hidden.end);
    }
    push_printable(&bytes[shown_to..], narrow, &mut masked);

    let mut revealed = String::with_capacity(bytes.len());
    push_printable(bytes, narrow, &mut revealed);
    (masked, Secret::new(revealed.into_bytes()))
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
