//! Base64 of either alphabet, with or without padding, on one line or wrapped.
//!
//! A run is made of the 66 digits of both alphabets; padding ends it and is no part of it. A run goes on after a line
//! break, and spaces or tabs after that, if the line before has [`WRAPPED_LINE_MIN`] digits up to the break.

use super::decoded::Decoded;
use super::text::{HEAD, is_text};
use super::{DECODE_BEFORE, begins_cell, cell, within_reach};

/// Shorter runs are not decoded: they have no room for a secret and a reason to encode it.
pub const BASE64_RUN_MIN: usize = 24;

/// Encoders wrap at 64 or 76; a line of fewer digits is the last one.
const WRAPPED_LINE_MIN: usize = 60;

/// How deep the next line may be indented.
const INDENTATION_MAX: usize = 64;

/// After this many more bytes it is looked at again whether they are text.
const BLOCK: usize = 48;

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

/// How many digits there are before `at`; it is looked for `most` at most.
fn digits_behind(text: &[u8], at: usize, most: usize) -> usize {
    text[..at].iter().rev().take(most).take_while(|&&byte| is_digit(byte)).count()
}

/// Whether a decode is to begin at `at`, which holds a digit: where a run begins (not on the following lines of wrapped
/// text), and where a cell of the object's grid begins inside of one. `offset` is the object's offset of `text[0]`.
#[must_use]
pub fn base64_starts(text: &[u8], at: usize, offset: u64) -> bool {
    if !text.get(at).is_some_and(|&byte| is_digit(byte)) {
        return false;
    }
    if digits_behind(text, at, 1) == 1 {
        return begins_cell(offset, at);
    }
    match wrapped_line_before(text, at) {
        None => true,
        // A cell that begins in the line break begins here.
        Some(line_end) => line_end == 0 || cell(offset, line_end - 1) != cell(offset, at),
    }
}

/// How far back the beginning of a text is looked for. To know that it is one takes a look at the line before.
const BACK_MAX: usize = DECODE_BEFORE - (WRAPPED_LINE_MIN + INDENTATION_MAX + 2);

/// Where texts of base64 begin, for positions in them that are asked about from the front to the back. Each byte is
/// looked at once, however many positions of a text are asked about.
#[derive(Debug, Default)]
pub(crate) struct Base64Begins {
    /// The position that was asked about last, and where its text begins.
    last: Option<(usize, Option<usize>)>,
}

impl Base64Begins {
    /// Where the text begins that the digit at `at` belongs to, on this line or on one before. `None` if that is
    /// further back than a decoder looks. Depends on the text alone, not on what else was asked.
    pub(crate) fn of(&mut self, text: &[u8], at: usize) -> Option<usize> {
        let begin = self.search(text, at);
        self.last = Some((at, begin));
        begin
    }

    fn search(&self, text: &[u8], at: usize) -> Option<usize> {
        let furthest = at.saturating_sub(BACK_MAX);
        let known = self.last.filter(|&(last, _)| last >= furthest);
        let stop = known.map_or(furthest, |(last, _)| last);
        let mut line_end = at;
        loop {
            let begin = line_end - digits_behind(text, line_end, line_end - stop);
            if begin == stop
                && let Some((_, begin)) = known
            {
                return begin.filter(|&begin| begin >= furthest);
            }
            let is_cut = begin > 0 && is_digit(text[begin - 1]);
            match wrapped_line_before(text, begin) {
                _ if is_cut => return None,
                None => return Some(begin),
                Some(end) if end <= stop => return None,
                Some(end) => line_end = end,
            }
        }
    }
}

/// Where the line before ends, if it is one of wrapped text that goes on at `at`.
fn wrapped_line_before(text: &[u8], at: usize) -> Option<usize> {
    let indentation = text[..at]
        .iter()
        .rev()
        .take(INDENTATION_MAX)
        .take_while(|&&byte| matches!(byte, b' ' | b'\t'))
        .count();
    let line_break = text[..at - indentation].strip_suffix(b"\n")?;
    let line = line_break.strip_suffix(b"\r").unwrap_or(line_break);
    let digits = digits_behind(line, line.len(), WRAPPED_LINE_MIN);
    (digits == WRAPPED_LINE_MIN).then_some(line.len())
}

/// Where the text goes on if a cell of the object's grid begins at `at`: after the line break, if that is in one.
pub(crate) fn after_break(text: &[u8], at: usize) -> usize {
    let rest = text[at..].iter().take(INDENTATION_MAX + 2);
    at + rest.take_while(|byte| matches!(byte, b'\r' | b'\n' | b' ' | b'\t')).count()
}

/// How long the line break and indentation are after which wrapped text goes on; `None` if none is there.
fn break_and_indentation(rest: &[u8]) -> Option<usize> {
    let after_break = rest.strip_prefix(b"\r\n").or_else(|| rest.strip_prefix(b"\n"))?;
    let indentation = after_break.iter().position(|byte| !matches!(byte, b' ' | b'\t'))?;
    let goes_on = indentation <= INDENTATION_MAX && is_digit(after_break[indentation]);
    goes_on.then_some(rest.len() - after_break.len() + indentation)
}

/// Decodes the run that begins at `at`. Inside of a run, where it is not known which digit of a group `at` holds, the
/// one is taken that makes text.
///
/// `false` unless it decodes to text. Text that is followed by something else is decoded up to there.
pub fn base64_at(text: &[u8], at: usize, into: &mut Decoded) -> bool {
    into.begin_base64(at);
    let reachable = within_reach(text, at);
    let ahead = digits_ahead(&reachable[..reachable.len().min(BASE64_RUN_MIN + 3)]);
    if ahead < BASE64_RUN_MIN {
        return false;
    }
    let behind = digits_behind(text, at, WRAPPED_LINE_MIN.min(DECODE_BEFORE));
    // At the beginning of a run there is no doubt.
    let phases = if behind == 0 { 1 } else { 4 };
    let phase = (0..phases.min(ahead - BASE64_RUN_MIN + 1)).find(|&phase| {
        let mut head = [0; HEAD];
        for (bytes, digits) in head.chunks_exact_mut(3).zip(reachable[phase..].chunks_exact(4)) {
            bytes.copy_from_slice(&group(digits).to_be_bytes()[1..]);
        }
        is_text(&head)
    });
    phase.is_some_and(|phase| decode(reachable, phase, behind, at, into))
}

/// The 24 bits of four digits.
fn group(digits: &[u8]) -> u32 {
    digits.iter().fold(0, |bits, &digit| bits << 6 | u32::from(VALUES[usize::from(digit)] & 63))
}

/// Decodes from `reachable[from]` on, which is at `source + from`.
fn decode(reachable: &[u8], from: usize, behind: usize, source: usize, into: &mut Decoded) -> bool {
    let mut at = from;
    let mut digits_before = 0;
    let mut checked = 0;
    // The bits of digits that are no whole group yet.
    let (mut bits, mut pending) = (0_u32, 0);
    let mut line_digits_before = behind + from;
    'lines: loop {
        let line = &reachable[at..][..digits_ahead(&reachable[at..])];
        into.begin_line(digits_before, source + at);
        digits_before += line.len();
        let mut digits = line;
        while !digits.is_empty() {
            if pending == 0 && digits.len() >= 4 {
                into.bytes.extend_from_slice(&group(&digits[..4]).to_be_bytes()[1..]);
                digits = &digits[4..];
            } else {
                bits = bits << 6 | u32::from(VALUES[usize::from(digits[0])]);
                digits = &digits[1..];
                pending += 1;
                if pending == 4 {
                    into.bytes.extend_from_slice(&bits.to_be_bytes()[1..]);
                    (bits, pending) = (0, 0);
                }
            }
            if into.bytes.len() >= checked + BLOCK {
                if !is_text(&into.bytes[checked..]) {
                    break 'lines;
                }
                checked = into.bytes.len();
            }
        }
        at += line.len();
        let is_wrapped = line.len() + line_digits_before >= WRAPPED_LINE_MIN;
        line_digits_before = 0;
        match break_and_indentation(&reachable[at..]) {
            Some(gap) if is_wrapped => at += gap,
            _ => break,
        }
    }
    // Two or three digits at the end hold one or two more bytes.
    match pending {
        2 => into.bytes.push((bits >> 4) as u8),
        3 => into.bytes.extend_from_slice(&((bits >> 2) as u16).to_be_bytes()),
        _ => {}
    }
    if !is_text(&into.bytes[checked..]) {
        into.bytes.truncate(checked);
    }
    into.bytes.len() >= HEAD
}
