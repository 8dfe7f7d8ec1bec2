//! Base64 in either alphabet, with or without padding, on one line or wrapped.
//!
//! A *stretch* consists of the 66 digits of both alphabets. Padding ends a stretch and is not part
//! of it. A stretch continues after a line break (and spaces or tabs after that) if the line before
//! the break ends with at least [`WRAPPED_LINE_MIN`] digits.
//!
//! A decoder cannot know at which digit the groups of four begin, not even at the beginning of a
//! stretch: `/` and `-` are digits, and often belong to something else in front of the encoded
//! text. So there are four *phases*, and every phase that yields text is decoded.

use super::decoded::Decoded;
use super::text::has_text;
use super::{DECODE_MARGIN, INDENTATION_MAX};
use std::ops::Range;

/// The shortest stretch that is decoded. A shorter one has no room for a secret.
pub(crate) const BASE64_STRETCH_MIN: usize = 24;

/// The shortest line that can continue on the next one. Encoders wrap at 64 or 76 digits, so a
/// shorter line is the last.
pub(super) const WRAPPED_LINE_MIN: usize = 60;

/// The number of digits at which the first group of a stretch can begin.
pub const BASE64_PHASES: usize = 4;

const NO_DIGIT: u8 = 0xFF;

/// The value of each digit in both alphabets.
const VALUES: [u8; 256] = {
    let mut values = [NO_DIGIT; 256];
    let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut value = 0;
    while value < 64 {
        values[digits[value] as usize] = value as u8;
        value += 1;
    }
    values[b'-' as usize] = 62;
    values[b'_' as usize] = 63;
    values
};

fn is_digit(byte: u8) -> bool {
    VALUES[usize::from(byte)] != NO_DIGIT
}

/// Returns the number of digits at the beginning of `text`.
fn digits_ahead(text: &[u8]) -> usize {
    text.iter().position(|&byte| !is_digit(byte)).unwrap_or(text.len())
}

/// Returns the number of digits directly before `at`, counting up to `most`.
fn digits_behind(text: &[u8], at: usize, most: usize) -> usize {
    let near = &text[at - most.min(at)..at];
    near.len() - near.iter().rposition(|&byte| !is_digit(byte)).map_or(0, |other| other + 1)
}

/// Returns `true` if there is a digit at `at`.
pub(crate) fn is_base64(text: &[u8], at: usize) -> bool {
    text.get(at).is_some_and(|&byte| is_digit(byte))
}

/// Returns the start of the stretch that contains the digit at `at`, on this line or an earlier
/// one, searching back to `limit`. Returns `limit` or less if the stretch begins before `limit`.
pub(crate) fn base64_begin(text: &[u8], at: usize, limit: usize) -> usize {
    let mut begin = at;
    loop {
        begin -= digits_behind(text, begin, begin.saturating_sub(limit));
        if begin <= limit {
            return begin;
        }
        match line_before(text, begin) {
            Some(end) => begin = end,
            None => return begin,
        }
    }
}

/// Returns where wrapped base64 continues if `at` is in a line break, and `at` otherwise.
pub(crate) fn after_break(text: &[u8], at: usize) -> usize {
    let rest = text[at..].iter().take(DECODE_MARGIN);
    at + rest.take_while(|byte| matches!(byte, b'\r' | b'\n' | b' ' | b'\t')).count()
}

/// Returns `true` if a stretch begins exactly at `at`.
pub(crate) fn begins_base64(text: &[u8], at: usize) -> bool {
    digits_behind(text, at, 1) == 0 && line_before(text, at).is_none()
}

/// Returns the end of the stretch that contains the digit at `at`, searching up to `limit`.
pub(crate) fn base64_end(text: &[u8], at: usize, limit: usize) -> usize {
    let mut end = at;
    loop {
        end += digits_ahead(&text[end..limit]);
        match line_after(text, end) {
            Some(next) if next < limit => end = next,
            _ => return end,
        }
    }
}

/// Returns the end of the previous line if it is a line of wrapped text that continues at `at`.
fn line_before(text: &[u8], at: usize) -> Option<usize> {
    let near = &text[at.saturating_sub(INDENTATION_MAX)..at];
    let other = near.iter().rposition(|&byte| !matches!(byte, b' ' | b'\t'));
    let indentation = near.len() - other.map_or(0, |other| other + 1);
    let line_break = text[..at - indentation].strip_suffix(b"\n")?;
    let line = line_break.strip_suffix(b"\r").unwrap_or(line_break);
    is_wrapped(line, line.len()).then_some(line.len())
}

/// Returns the start of the next line's digits if the line that ends at `at` is wrapped text.
fn line_after(text: &[u8], at: usize) -> Option<usize> {
    let line_break = match *text.get(at..)? {
        [b'\n', ..] => 1,
        [b'\r', b'\n', ..] => 2,
        _ => return None,
    };
    if !is_wrapped(text, at) {
        return None;
    }
    let line = &text[at + line_break..];
    let is_indentation = |byte: &&u8| matches!(byte, b' ' | b'\t');
    let indentation = line.iter().take(INDENTATION_MAX + 1).take_while(is_indentation).count();
    let next = at + line_break + indentation;
    (indentation <= INDENTATION_MAX && is_base64(text, next)).then_some(next)
}

/// Returns `true` if the line that ends at `end` is long enough to continue on the next one.
fn is_wrapped(text: &[u8], end: usize) -> bool {
    // Most lines are too short, and this single look at one byte shows it.
    end >= WRAPPED_LINE_MIN
        && is_digit(text[end - WRAPPED_LINE_MIN])
        && digits_behind(text, end, WRAPPED_LINE_MIN) == WRAPPED_LINE_MIN
}

/// Decodes the digits in `window`, starting at the digit number `phase`. The window must begin with
/// a digit. Any byte that is neither a digit nor part of a line break ends the decoding.
///
/// Returns `false` if the decoded bytes contain no text.
pub fn base64(text: &[u8], window: Range<usize>, phase: usize, into: &mut Decoded) -> bool {
    gather_base64(text, window, into);
    base64_phase(phase, into)
}

/// Collects the digits in `window` for [`base64_phase`].
pub(crate) fn gather_base64(text: &[u8], window: Range<usize>, into: &mut Decoded) {
    into.begin_base64(window.start);
    let mut at = window.start;
    loop {
        let digits = digits_ahead(&text[at..window.end]);
        into.push_line(at, text[at..at + digits].iter().map(|&digit| VALUES[usize::from(digit)]));
        match line_after(text, at + digits) {
            Some(next) if next < window.end => at = next,
            _ => return,
        }
    }
}

/// Decodes the collected digits, starting at the digit number `phase`. Returns `false` if the
/// decoded bytes contain no text.
pub(crate) fn base64_phase(phase: usize, into: &mut Decoded) -> bool {
    into.bytes.clear();
    let Some(digits) = into.digits.get(phase..) else { return false };
    if !has_text(decoded_len(digits.len()), |at| byte_of(|digit| digits[digit], at)) {
        return false;
    }
    into.phase = phase;
    let (groups, rest) = digits.as_chunks::<4>();
    into.bytes.extend(groups.iter().flat_map(|group| {
        let bits = group.iter().fold(0, |bits, &digit| bits << 6 | u32::from(digit));
        let [_, first, second, third] = bits.to_be_bytes();
        [first, second, third]
    }));
    into.bytes.extend((0..decoded_len(rest.len())).map(|at| byte_of(|digit| rest[digit], at)));
    true
}

/// Returns `true` if `line`, which consists of digits only, decodes to text in any phase. If it
/// does not, the caller need not collect its digits.
pub(crate) fn may_be_base64(line: &[u8]) -> bool {
    (0..BASE64_PHASES).any(|phase| {
        let digits = line.get(phase..).unwrap_or_default();
        let value = |at: usize| VALUES[usize::from(digits[at])];
        has_text(decoded_len(digits.len()), |at| byte_of(value, at))
    })
}

/// Returns the number of bytes that `digits` digits stand for. Two or three digits at the end hold
/// one or two bytes.
fn decoded_len(digits: usize) -> usize {
    digits / 4 * 3 + (digits % 4).saturating_sub(1)
}

/// Computes the decoded byte at `at` from the values of the two digits that hold its bits.
fn byte_of(value: impl Fn(usize) -> u8, at: usize) -> u8 {
    let first = at / 3 * 4 + at % 3;
    let bits = u16::from(value(first)) << 6 | u16::from(value(first + 1));
    (bits >> (4 - 2 * (at % 3))) as u8
}
