//! Two hexadecimal digits for each byte, of either case. In a stretch of digits either of the first two may begin a
//! byte: they are its two *phases*.

use super::decoded::Decoded;
use super::text::has_text;
use std::ops::Range;

/// Shorter stretches are not decoded.
pub(crate) const HEX_STRETCH_MIN: usize = 32;

/// Which digits of a stretch can be the first of a byte.
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

/// The first stretch that has a digit in `places`, cut off at the ends of the window. A look at every 32nd byte is
/// enough to find those that are long enough.
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

/// Returns `true` if a stretch begins at `at`, and not before it.
pub(crate) fn begins_hex(text: &[u8], at: usize) -> bool {
    !text[..at].last().is_some_and(is_digit)
}

/// Decodes the digits in `window` from the one on that `phase` says. Any other byte ends it.
///
/// `false` unless there is text in it.
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

/// Not a printable character, if one of the two is not a digit.
fn byte_of([high, low]: [u8; 2]) -> u8 {
    VALUES[usize::from(high)] << 4 | VALUES[usize::from(low)]
}
