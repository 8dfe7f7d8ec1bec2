//! Excerpts: the line around a secret, fit for a terminal, with every secret in it masked.

use super::capture::Captured;
use crate::encoding::Encoding;
use crate::secret::{Secret, mask};
use std::ops::Range;

/// What stands for a secret of which not all is in the excerpt, or which is not the finding's own.
const HIDDEN: &str = "******";

/// Shorter ones are in every text.
const REPEATED_BYTES_MIN: usize = 6;

/// The excerpt of a finding, with the secrets in it masked and without. `others` are secrets around.
pub(super) fn excerpts(captured: &Captured, others: &mut Vec<Range<u64>>) -> (String, Secret) {
    let bytes = captured.excerpt_bytes();
    let begin = captured.excerpt.start;
    let own = &captured.found.secret;
    // The same secret may be there a second time, where no rule looked for it.
    let raw = captured.raw_secret();
    if raw.len() >= REPEATED_BYTES_MIN {
        // The text is short, and each secret is looked for once: a prepared search would cost more than it saves.
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

/// Adds text as it can be printed: tabs as spaces, and a replacement for what would do something to a terminal, or is
/// no text.
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

/// Neither a control character nor one that turns the text around or hides in it.
fn is_printable(character: char) -> bool {
    !character.is_control()
        && !matches!(
            character,
            '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        )
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
    fn nothing_reaches_a_terminal_that_would_do_something_there() {
        assert_eq!(printable(b"plain text"), "plain text");
        assert_eq!(printable(b"a\tb\x1b[31m\x07"), "a b\u{fffd}[31m\u{fffd}");
        assert_eq!(printable("für \u{202e}".as_bytes()), "für \u{fffd}");
        assert_eq!(printable(b"\xff\xfe!"), "\u{fffd}\u{fffd}!");
    }
}
