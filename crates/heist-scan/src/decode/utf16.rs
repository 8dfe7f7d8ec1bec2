//! UTF-16 in either byte order.
//!
//! Each two-byte unit is decoded to exactly one byte: ASCII to itself, everything else to
//! [`NOT_ASCII`]. So text can be cut at any even position, and mapping a position back only means
//! doubling it. This loses no secrets, because tokens are ASCII.

use super::decoded::Decoded;
use crate::encoding::Encoding;
use std::ops::Range;

/// Stands for a unit that is not an ASCII character. This byte never occurs in UTF-8 text.
const NOT_ASCII: u8 = 0xFF;

/// Decodes a window of UTF-16 text. The window must begin with a whole unit; an odd byte at its end
/// is ignored. Decodes nothing if `encoding` is not UTF-16.
pub fn utf16(text: &[u8], window: Range<usize>, encoding: Encoding, into: &mut Decoded) {
    into.begin_pairs(window.start);
    let from_units = |unit: fn([u8; 2]) -> u16, bytes: &mut Vec<u8>| {
        let (units, _single) = text[window].as_chunks::<2>();
        bytes.extend(units.iter().map(|&pair| match unit(pair) {
            ascii @ 0..0x80 => ascii as u8,
            _ => NOT_ASCII,
        }));
    };
    match encoding {
        Encoding::Utf16Le => from_units(u16::from_le_bytes, &mut into.bytes),
        Encoding::Utf16Be => from_units(u16::from_be_bytes, &mut into.bytes),
        _ => {}
    }
}

/// How many bytes at the beginning of an object decide whether it is UTF-16.
const LOOKED_AT: usize = 512;

/// The minimum number of units for a guess.
const UNITS_MIN: usize = 4;

/// Guesses from its first bytes whether an object is UTF-16: it has a byte order mark, or nearly
/// every second byte is zero and nearly all others are text.
#[must_use]
pub fn utf16_guess(first_bytes: &[u8]) -> Option<Encoding> {
    match first_bytes {
        // The byte order mark of little-endian UTF-32 begins with that of UTF-16.
        [0xFF, 0xFE, 0, 0, ..] => return None,
        [0xFF, 0xFE, ..] => return Some(Encoding::Utf16Le),
        [0xFE, 0xFF, ..] => return Some(Encoding::Utf16Be),
        _ => {}
    }
    let first_bytes = &first_bytes[..first_bytes.len().min(LOOKED_AT)];
    let (units, _single) = first_bytes.as_chunks::<2>();
    // Most objects contain no zeros at all, so this check is the fast path.
    if units.len() < UNITS_MIN || memchr::memchr(0, first_bytes).is_none() {
        return None;
    }
    let is_text = |byte: u8| matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r');
    let is_most = |count: usize| count * 10 >= units.len() * 9;
    // Binary files contain zeros, but rarely this many. Counting zeros alone is fast, so it comes
    // first.
    let are_most = |text_at: usize, zero_at: usize| {
        is_most(units.iter().filter(|unit| unit[zero_at] == 0).count())
            && is_most(
                units.iter().filter(|unit| unit[zero_at] == 0 && is_text(unit[text_at])).count(),
            )
    };
    if are_most(0, 1) {
        Some(Encoding::Utf16Le)
    } else if are_most(1, 0) {
        Some(Encoding::Utf16Be)
    } else {
        None
    }
}

/// The minimum number of consecutive units that count as UTF-16 text inside another kind of object.
pub(crate) const UTF16_SPAN_MIN: usize = 129;

/// Returns the first run of little-endian UTF-16 text in `text[window]` that ends after `from`: at
/// least [`UTF16_SPAN_MIN`] units without control characters, each with a zero high byte. Looking
/// at every 256th byte is enough to find it. (Big-endian text looks the same, shifted by one byte.)
pub(crate) fn utf16_span(text: &[u8], window: Range<usize>, from: usize) -> Option<Range<usize>> {
    let is_unit = |unit: &&[u8; 2]| unit[1] == 0 && matches!(unit[0], b' '..|b'\t'| b'\n' | b'\r');
    let window_text = &text[window.clone()];
    let mut at = from.max(window.start) - window.start;
    loop {
        // Of two adjacent bytes in a run, one is the zero byte of a unit.
        let mut pairs = window_text.get(at..)?.windows(2).step_by(STEP);
        at += STEP * pairs.position(|pair| pair[0] == 0 || pair[1] == 0)?;
        let zero = if window_text[at] == 0 { at } else { at + 1 };
        if zero == 0 {
            at = 1;
            continue;
        }
        let (units_behind, units_ahead) = window_text.split_at(zero - 1);
        let behind = units_behind.as_rchunks::<2>().1.iter().rev().take_while(is_unit).count();
        let ahead = units_ahead.as_chunks::<2>().0.iter().take_while(is_unit).count();
        if ahead == 0 {
            // This zero does not belong to a unit, so no run contains it.
            at += STEP;
            continue;
        }
        let span = zero - 1 - 2 * behind..zero - 1 + 2 * ahead;
        if behind + ahead >= UTF16_SPAN_MIN {
            return Some(span.start + window.start..span.end + window.start);
        }
        at = span.end.max(at) + STEP;
    }
}

const STEP: usize = 256;
