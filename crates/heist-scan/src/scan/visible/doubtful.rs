//! Which parts of a text stay hidden although no rule found a secret there: values beside telling
//! names, the bodies of PEM blocks, passwords in URLs, and everything that is not clearly ordinary.
//!
//! Invariant: whether a byte is hidden depends only on the text within [`SURVEYED_REACH`] of the
//! excerpt that contains it, so it does not matter which other excerpts are surveyed together with
//! it.

use super::telling::{Value, add_values};
use super::values::begins_pair;
use super::{Denied, REACH};
use crate::noise::is_ordinary;
use memchr::memmem;
use std::ops::Range;

/// How far from an excerpt the text can affect what it shows, in characters.
pub(super) const SURVEYED_REACH: usize = REACH + 112;

/// A shorter word stays visible: hiding it would hide the sense of the line.
const WORD_MIN: usize = 8;

/// A longer word is not ordinary text.
const WORD_MAX: usize = 192;

/// A word of this length is a token even if signs follow it, and at most this many.
const TOKEN_MIN: usize = 24;
const TAIL_MAX: usize = 100;

/// How far from an excerpt the heading of a block around it is sought.
const BODY_REACH: usize = REACH + HEADING_MAX;
const HEADING_MAX: usize = 64;

/// Returns what to hide in each of the `parts` of a text, and the values beside telling names in
/// the parts `known`. Both must be sorted.
pub(super) fn doubtful(
    text: &[u8],
    parts: &[Range<usize>],
    known: &[Range<usize>],
) -> (Vec<Range<usize>>, Vec<Value>) {
    let (mut denied, mut values) = (Denied::default(), Vec::new());
    for part in widened(parts, TAIL_MAX, 0, text.len()) {
        add_words(text, &part, &mut denied);
        add_scrambled(text, &part, &mut denied);
    }
    let before = widened(parts, REACH, 0, text.len());
    for part in united(before.iter().chain(known).cloned().collect()) {
        add_values(text, &part, &mut denied, &mut values);
        add_user_information(text, &part, &mut denied, &mut values);
    }
    values.sort_by_key(|value| value.name_end);
    for part in widened(parts, BODY_REACH, BODY_REACH, text.len()) {
        add_bodies(text, &part, &mut denied);
    }
    (denied.merged(), values)
}

/// Returns the parts with more text on both sides, united where they meet.
fn widened(parts: &[Range<usize>], before: usize, after: usize, len: usize) -> Vec<Range<usize>> {
    let wider = |part: &Range<usize>| {
        part.start.saturating_sub(before)..part.end.saturating_add(after).min(len)
    };
    united(parts.iter().map(wider).collect())
}

fn united(parts: Vec<Range<usize>>) -> Vec<Range<usize>> {
    Denied(parts).merged()
}

/// Returns `true` for the bytes of a word: the alphabets of tokens, and of paths.
pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'+' | b'/' | b'_' | b'.' | b'%' | b'~' | b'-' | b'\\')
}

/// Adds the words that are not clearly ordinary. A word that the excerpt cuts is judged as a whole.
fn add_words(text: &[u8], part: &Range<usize>, denied: &mut Denied) {
    let mut at = part.start;
    if at < text.len() && is_word(text[at]) {
        let before = &text[at.saturating_sub(WORD_MAX + 1)..at];
        at -= before.iter().rev().take_while(|&&byte| is_word(byte)).count();
    }
    while at < part.end {
        if !is_word(text[at]) {
            at += 1;
            continue;
        }
        let length = length_of_word(&text[at..]);
        // Base64 may end with padding.
        let padding = text[at + length..].iter().take(2).take_while(|&&byte| byte == b'=').count();
        let ends = text.get(at + length + padding).is_none_or(|&byte| !is_word(byte));
        let end = at + length + if ends { padding } else { 0 };
        let word = trimmed(&text[at..at + length]);
        if word.len() >= WORD_MIN && (word.len() > WORD_MAX || !is_ordinary(word)) {
            let end = if word.len() >= TOKEN_MIN { end_of_token(text, end) } else { end };
            denied.add(at..end);
        }
        at = end;
    }
}

/// Returns where a long token ends of which the word before `at` is a part: a few kinds contain
/// any sign.
fn end_of_token(text: &[u8], at: usize) -> usize {
    let rest = &text[at..text.len().min(at + TAIL_MAX)];
    let is_end = |(index, byte): (usize, &u8)| {
        !byte.is_ascii_graphic()
            || matches!(byte, b'"' | b'\'' | b'<' | b'>')
            || matches!(byte, b'&' | b',' | b';' | b'}' | b')') && begins_pair(text, at + index + 1)
    };
    at + rest.iter().enumerate().position(is_end).unwrap_or(rest.len())
}

/// Adds what looks like a password with signs: no white space, letters and digits, and several
/// signs that are rare in names, numbers and code.
fn add_scrambled(text: &[u8], part: &Range<usize>, denied: &mut Denied) {
    let is_inside = |byte: &&u8| {
        byte.is_ascii_graphic()
            && !matches!(byte, b'"' | b'\'' | b'`' | b'<' | b'>' | b',' | b';' | b'(' | b')')
    };
    let before = &text[part.start.saturating_sub(WORD_MAX + 1)..part.start];
    let mut at = part.start - before.iter().rev().take_while(is_inside).count();
    while at < part.end {
        // A longer one is out of reach: its beginning may not be known.
        let length = text[at..].iter().take_while(is_inside).count();
        if (WORD_MIN..=WORD_MAX).contains(&length) && is_scrambled(&text[at..at + length]) {
            denied.add(at..at + length);
        }
        at += length.max(1);
    }
}

fn is_scrambled(text: &[u8]) -> bool {
    const SIGNS: &[u8] = b"!#$%^*?~@";
    let signs = || text.iter().filter(|byte| SIGNS.contains(byte));
    let is_mixed = signs().any(|sign| Some(sign) != signs().next());
    // `$6$...$...` is a hash of a password.
    (is_mixed || signs().count() >= 3)
        && text.iter().any(u8::is_ascii_digit)
        && text.iter().any(u8::is_ascii_alphabetic)
}

/// Returns the length of the word that begins here. A row of one sign ends it: such rows separate.
fn length_of_word(text: &[u8]) -> usize {
    let length = text.iter().take_while(|&&byte| is_word(byte)).count();
    let is_row = |three: &[u8]| {
        three[0] == three[1]
            && three[1] == three[2]
            && matches!(three[0], b'.' | b'-' | b'_' | b'~')
    };
    match text[..length].windows(3).position(is_row) {
        None => length,
        Some(0) => text[..length].iter().take_while(|&&byte| byte == text[0]).count(),
        Some(row) => row,
    }
}

/// Returns a word without signs around it, which belong to the sentence.
fn trimmed(word: &[u8]) -> &[u8] {
    let is_sign = |byte: &u8| matches!(byte, b'.' | b'-' | b'/' | b'_' | b'\\' | b'~');
    let begin = word.iter().take_while(|byte| is_sign(byte)).count();
    let end = word.iter().rev().take_while(|byte| is_sign(byte)).count();
    &word[begin..(word.len() - end).max(begin)]
}

/// Adds what is near the heading of a PEM block, after it, or near the last line, before it.
fn add_bodies(text: &[u8], part: &Range<usize>, denied: &mut Denied) {
    const MARK: &[u8] = b"-----";
    let mut from = part.start;
    // A heading may begin before the end of the part and end after it.
    while let Some(found) = text.get(from..part.end).and_then(|rest| memmem::find(rest, MARK)) {
        let at = from + found;
        let rest = &text[at + MARK.len()..];
        let heading = &rest[..rest.len().min(HEADING_MAX)];
        let close = memmem::find(heading, MARK).map(|length| at + 2 * MARK.len() + length);
        match close {
            Some(close) if heading.starts_with(b"BEGIN ") => {
                let body = &text[close..text.len().min(close + REACH)];
                let end = memmem::find(body, b"-----END ").unwrap_or(body.len());
                denied.add(close..close + end);
                from = close;
            }
            Some(close) if heading.starts_with(b"END ") => {
                let begin = at.saturating_sub(REACH);
                let body = &text[begin..at];
                // After the heading, or after the end of the block before.
                let begin =
                    memmem::rfind(body, MARK).map_or(begin, |last| begin + last + MARK.len());
                denied.add(begin..at);
                from = close;
            }
            _ => from = at + 1,
        }
    }
}

/// Adds the passwords in URLs: what is between `://` and the last `@` of the word, from a colon on
/// if there is one.
fn add_user_information(
    text: &[u8],
    part: &Range<usize>,
    denied: &mut Denied,
    values: &mut Vec<Value>,
) {
    for found in memmem::find_iter(&text[part.clone()], b"://") {
        let begin = part.start + found + 3;
        let rest = &text[begin..text.len().min(begin + REACH)];
        let ends =
            |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'<' | b'>' | b'`');
        let rest = &rest[..rest.iter().position(ends).unwrap_or(rest.len())];
        if let Some(at) = memchr::memrchr(b'@', rest) {
            let colon = memchr::memchr(b':', &rest[..at]).map_or(0, |colon| colon + 1);
            let place = begin + colon..begin + at;
            if !place.is_empty() {
                denied.add(place.clone());
                values.push(Value { name_end: begin, place });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::doubtful;
    use proptest::prelude::*;
    use std::ops::Range;

    /// What the notations of names and values consist of, and pieces of them.
    const PIECES: [&str; 42] = [
        "-----BEGIN RSA PRIVATE KEY-----",
        "-----BEGIN ",
        "-----END ",
        "-----",
        "password",
        "token",
        "api_key",
        "user",
        "=",
        ": ",
        ":",
        "://",
        "@",
        " ",
        "\n",
        "\r\n",
        "\n  ",
        "\t",
        "\"",
        "'",
        "`",
        "<secret>",
        "</secret>",
        "<![CDATA[",
        "]]>",
        "<",
        ">",
        "- ",
        "--",
        "-p ",
        "|",
        ">-",
        "!!str",
        "&a",
        "#",
        "//",
        "\\",
        "{",
        "}",
        ",",
        "k3Qz9fVq3rT8xLm2Zp6K",
        "é",
    ];

    proptest! {
        #[test]
        fn every_text_and_every_part_of_it_can_be_surveyed(
            pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..60),
            ends in prop::collection::vec(any::<prop::sample::Index>(), 4),
        ) {
            let text = pieces.concat().into_bytes();
            let mut ends: Vec<usize> = ends.iter().map(|end| end.index(text.len() + 1)).collect();
            ends.sort_unstable();
            let part = |from, to| -> Range<usize> { ends[from]..ends[to] };
            for parts in [vec![part(0, 1), part(2, 3)], vec![part(0, 3)]] {
                let (hidden, values) = doubtful(&text, &parts, &[part(1, 2)]);
                let within = |range: &Range<usize>| {
                    range.start <= range.end && range.end <= text.len()
                };
                prop_assert!(hidden.iter().all(within));
                prop_assert!(values.iter().all(|value| within(&value.place)));
            }
        }
    }
}
