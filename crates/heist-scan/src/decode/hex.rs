//! Hexadecimal: two digits of either case for each byte. Either of the first two digits of a
//! stretch may begin a byte; these are its two *phases*.

use super::decoded::Decoded;
use super::text::has_text;
use std::ops::Range;

/// The shortest stretch of digits that is decoded.
pub(crate) const HEX_STRETCH_MIN: usize = 32;

/// The number of digits at which the first byte of a stretch can begin.
pub const HEX_PHASES: usize = 2;

const NO_DIGIT: u8 = 0xFF;

const VALUES: [u8; 256] = {
    let mut values = [NO_DIGIT; 256];
    let mut value = 0;
    while value < 16 {
        values[b"0123456789abcdef"[value] as usize] = value as u8;
        values[b"0123456789ABCDEF"[value] as usize] = value as u8;
        value += 1;
    }
    values
};

fn is_digit(byte: &u8) -> bool {
    VALUES[usize::from(*byte)] != NO_DIGIT
}

/// Returns the first stretch that has a digit in `places`, clipped to the window. Looking at every
/// 32nd byte is enough to find all stretches of the minimum length.
pub(crate) fn hex_stretch(
    text: &[u8],
    window: Range<usize>,
    places: Range<usize>,
) -> Option<Range<usize>> {
    let mut at = places.start;
    while at < window.end.min(places.end + HEX_STRETCH_MIN) {
        if is_digit(&text[at]) {
            let behind = text[window.start..at].iter().rev().take_while(|byte| is_digit(byte));
            let ahead = text[at..window.end].iter().take_while(|byte| is_digit(byte));
            let stretch = at - behind.count()..at + ahead.count();
            if stretch.start >= places.end {
                return None;
            }
            if stretch.len() >= HEX_STRETCH_MIN {
                return Some(stretch);
            }
            at = stretch.end;
        }
        at += HEX_STRETCH_MIN;
    }
    None
}

/// Returns `true` if a stretch begins exactly at `at`.
pub(crate) fn begins_hex(text: &[u8], at: usize) -> bool {
    !text[..at].last().is_some_and(is_digit)
}

/// Decodes the digits in `window`, starting at the digit number `phase`. Any byte that is not a
/// digit ends the decoding.
///
/// Returns `false` if the decoded bytes contain no text.
pub fn hex(text: &[u8], window: Range<usize>, phase: usize, into: &mut Decoded) -> bool {
    into.begin_pairs(window.start + phase);
    let Some(digits) = text[window].get(phase..) else { return false };
    let (pairs, _single) = digits.as_chunks::<2>();
    if !has_text(pairs.len(), |at| byte_of(pairs[at])) {
        return false;
    }
    let are_digits = |pair: &&[u8; 2]| pair.iter().all(is_digit);
    into.bytes.extend(pairs.iter().take_while(are_digits).copied().map(byte_of));
    !into.bytes.is_empty()
}

/// Combines two digits. If one of them is not a digit, the result is not a printable character.
fn byte_of([high, low]: [u8; 2]) -> u8 {
    VALUES[usize::from(high)] << 4 | VALUES[usize::from(low)]
}
