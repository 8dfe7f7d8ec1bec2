//! Base64 of either alphabet, with or without padding, on one line or wrapped.
//!
//! A *stretch* is made of the 66 digits of both alphabets; padding ends it and is not part of it. A stretch goes on
//! after a line break, and spaces or tabs after that, if the line before has [`WRAPPED_LINE_MIN`] digits up to the
//! break.
//!
//! Which digit of a group of four a position holds is not known, not even at the beginning of a stretch: `/` and `-`
//! are digits, and often the end of something else. So there are four *phases*, and each that makes text is decoded.

use super::INDENTATION_MAX;
use super::decoded::Decoded;
use super::text::has_text;
use std::ops::Range;

/// Shorter stretches are not decoded: they have no room for a secret and a reason to encode it.
pub(crate) const BASE64_STRETCH_MIN: usize = 24;

/// Encoders wrap at 64 or 76; a line of fewer digits is the last one.
pub(super) const WRAPPED_LINE_MIN: usize = 60;

/// Which digits of a stretch can be the first of a group.
pub const BASE64_PHASES: usize = 4;

const NO_DIGIT: u8 = 0xFF;

/// The values of the digits of both alphabets.
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

/// How many digits there are at the beginning.
fn digits_ahead(text: &[u8]) -> usize {
    text.iter().position(|&byte| !is_digit(byte)).unwrap_or(text.len())
}

/// How many digits there are before `at`, counted up to `most`.
fn digits_behind(text: &[u8], at: usize, most: usize) -> usize {
    let near = &text[at - most.min(at)..at];
    near.len() - near.iter().rposition(|&byte| !is_digit(byte)).map_or(0, |other| other + 1)
}

/// Returns `true` if a digit stands at `at`.
pub(crate) fn is_base64(text: &[u8], at: usize) -> bool {
    text.get(at).is_some_and(|&byte| is_digit(byte))
}

/// Where the stretch begins that the digit at `at` belongs to, on this line or on one before. It is looked for down to
/// `limit`; the answer is `limit` or less if the stretch begins before it.
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

/// Returns `true` if a stretch begins at `at`, and not before it.
pub(crate) fn begins_base64(text: &[u8], at: usize) -> bool {
    digits_behind(text, at, 1) == 0 && line_before(text, at).is_none()
}

/// Where the stretch ends that the digit at `at` belongs to; it is looked for up to `limit`.
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

/// Where the line before ends, if it is one of wrapped text that goes on at `at`.
fn line_before(text: &[u8], at: usize) -> Option<usize> {
    let near = &text[at.saturating_sub(INDENTATION_MAX)..at];
    let other = near.iter().rposition(|&byte| !matches!(byte, b' ' | b'\t'));
    let indentation = near.len() - other.map_or(0, |other| other + 1);
    let line_break = text[..at - indentation].strip_suffix(b"\n")?;
    let line = line_break.strip_suffix(b"\r").unwrap_or(line_break);
    is_wrapped(line, line.len()).then_some(line.len())
}

/// Where the next line's digits begin, if the line that ends at `at` is one of wrapped text.
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

/// Returns `true` if the line that ends at `end` is long enough to go on.
fn is_wrapped(text: &[u8], end: usize) -> bool {
    // Most lines are not, and one look is enough.
    end >= WRAPPED_LINE_MIN
        && is_digit(text[end - WRAPPED_LINE_MIN])
        && digits_behind(text, end, WRAPPED_LINE_MIN) == WRAPPED_LINE_MIN
}

/// Decodes the digits in `window`, which begins with one, from the one on that `phase` says. Other bytes than those of
/// a line break end it.
///
/// `false` unless there is text in it.
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

/// Decodes the digits that were gathered, from the one on that `phase` says. `false` unless there is text.
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

/// Returns `true` if the digits of `line`, which has nothing else, are text in any phase. If they are not, there is no
/// need to gather them.
pub(crate) fn may_be_base64(line: &[u8]) -> bool {
    (0..BASE64_PHASES).any(|phase| {
        let digits = line.get(phase..).unwrap_or_default();
        let value = |at: usize| VALUES[usize::from(digits[at])];
        has_text(decoded_len(digits.len()), |at| byte_of(value, at))
    })
}

/// How many bytes so many digits stand for: two or three at the end hold one or two.
fn decoded_len(digits: usize) -> usize {
    digits / 4 * 3 + (digits % 4).saturating_sub(1)
}

/// The byte at `at` of what digits stand for, by the digits' values: it has bits of two of them.
fn byte_of(value: impl Fn(usize) -> u8, at: usize) -> u8 {
    let first = at / 3 * 4 + at % 3;
    let bits = u16::from(value(first)) << 6 | u16::from(value(first + 1));
    (bits >> (4 - 2 * (at % 3))) as u8
}
