//! UTF-16 in either byte order.
//!
//! Each unit is decoded on its own, to exactly one byte: ASCII to itself, all else to [`NOT_ASCII`]. So it does not
//! matter where a text is cut, as long as the cuts are even, and positions are a matter of doubling. No secret loses by
//! it: tokens are ASCII.

use super::decoded::Decoded;
use crate::encoding::Encoding;

/// What stands for a unit that is no ASCII character. It occurs in no UTF-8 text.
const NOT_ASCII: u8 = 0xFF;

/// Decodes a chunk of UTF-16 text, which begins at an even offset of its object. A single byte at the end is left out.
/// Of an encoding that is not UTF-16 nothing is decoded.
pub fn utf16(text: &[u8], encoding: Encoding, into: &mut Decoded) {
    into.begin_pairs(0);
    let from_units = |unit: fn([u8; 2]) -> u16, bytes: &mut Vec<u8>| {
        let (units, _single) = text.as_chunks::<2>();
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

/// How much of an object's beginning says whether it is UTF-16.
const LOOKED_AT: usize = 512;

/// Fewer units say nothing.
const UNITS_MIN: usize = 4;

/// Whether an object that begins with these bytes is UTF-16: by its byte order mark, or because nearly every second
/// byte is zero and nearly every other one is text.
#[must_use]
pub fn utf16_guess(first_bytes: &[u8]) -> Option<Encoding> {
    match first_bytes {
        // The mark of UTF-32, low byte first, begins like that of UTF-16.
        [0xFF, 0xFE, 0, 0, ..] => return None,
        [0xFF, 0xFE, ..] => return Some(Encoding::Utf16Le),
        [0xFE, 0xFF, ..] => return Some(Encoding::Utf16Be),
        _ => {}
    }
    let first_bytes = &first_bytes[..first_bytes.len().min(LOOKED_AT)];
    let (units, _single) = first_bytes.as_chunks::<2>();
    // Most objects have no zeros at all.
    if units.len() < UNITS_MIN || memchr::memchr(0, first_bytes).is_none() {
        return None;
    }
    let is_text = |byte: u8| matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r');
    let count = |is_one: fn(&[u8; 2], &dyn Fn(u8) -> bool) -> bool| {
        units.iter().filter(|unit| is_one(unit, &is_text)).count()
    };
    let low_first = count(|unit, is_text| unit[1] == 0 && is_text(unit[0]));
    let high_first = count(|unit, is_text| unit[0] == 0 && is_text(unit[1]));
    let is_most = |count: usize| count * 10 >= units.len() * 9;
    if is_most(low_first) {
        Some(Encoding::Utf16Le)
    } else if is_most(high_first) {
        Some(Encoding::Utf16Be)
    } else {
        None
    }
}
