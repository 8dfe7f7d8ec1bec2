//! Which parts of a text stay hidden although no rule found a secret there: values beside telling
//! names, the bodies of PEM blocks, passwords in URLs, and everything that is not clearly ordinary.
//!
//! Invariant: whether a byte is hidden depends only on the text within [`SURVEYED_REACH`] of the
//! excerpt that contains it, so it does not matter which other excerpts are surveyed together with
//! it.

use super::telling::add_values;
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

/// Returns what to hide in each of the `parts` of a text, which must be sorted and must not
/// overlap.
pub(super) fn doubtful(text: &[u8], parts: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut denied = Denied::default();
    for part in parts {
        add_words(text, part, &mut denied);
        add_values(text, part, &mut denied);
        add_bodies(text, part, &mut denied);
        add_user_information(text, part, &mut denied);
    }
    denied.merged()
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
        let length = text[at..].iter().take_while(|&&byte| is_word(byte)).count();
        // Base64 may end with padding.
        let padding = text[at + length..].iter().take(2).take_while(|&&byte| byte == b'=').count();
        let ends = text.get(at + length + padding).is_none_or(|&byte| !is_word(byte));
        let end = at + length + if ends { padding } else { 0 };
        let word = trimmed(&text[at..at + length]);
        if word.len() >= WORD_MIN && (word.len() > WORD_MAX || !is_ordinary(word)) {
            denied.add(at..end);
        }
        at = end;
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
    const HEADING_MAX: usize = 64;
    let near = part.start.saturating_sub(REACH + HEADING_MAX)
        ..text.len().min(part.end + REACH + HEADING_MAX);
    let mut from = near.start;
    while let Some(found) = memmem::find(&text[from..near.end], MARK) {
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
fn add_user_information(text: &[u8], part: &Range<usize>, denied: &mut Denied) {
    let near = part.start.saturating_sub(REACH)..part.end.min(text.len());
    for found in memmem::find_iter(&text[near.clone()], b"://") {
        let begin = near.start + found + 3;
        let rest = &text[begin..text.len().min(begin + REACH)];
        let ends =
            |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'<' | b'>' | b'`');
        let rest = &rest[..rest.iter().position(ends).unwrap_or(rest.len())];
        if let Some(at) = memchr::memrchr(b'@', rest) {
            let colon = memchr::memchr(b':', &rest[..at]).map_or(0, |colon| colon + 1);
            denied.add(begin + colon..begin + at);
        }
    }
}
