//! The decoders, at chosen positions of a text and wherever a scan would begin to decode near them.
//!
//! What must hold: no panic; every decoded byte comes from a place inside of the text and within the decoder's reach,
//! later bytes from later places, and that place says the byte, read in a slow and obvious way; and what lies beyond
//! the reach makes no difference.

use crate::input::Input;
use heist_scan::Encoding;
use heist_scan::decode::{
    DECODE_BEFORE, DECODE_REACH, Decoded, EscapeKind, base64_at, base64_starts, escape_starts,
    hex_at, hex_starts, json_escaped_at, url_escaped_at, utf16, utf16_guess,
};
use std::ops::Range;

/// What is found at a position of a text.
type Decode = fn(&[u8], usize, &mut Decoded) -> bool;

/// Whether a decode begins at a position of a text, which begins at an offset of its object.
type Starts = fn(&[u8], usize, u64) -> bool;

/// Whether a piece of the source says a byte.
type Says = fn(&[u8], usize, &Decoded) -> bool;

const DECODERS: [(Encoding, Decode, Starts, Says); 4] = [
    (Encoding::Base64, base64_at, base64_starts, says_base64),
    (Encoding::Hex, hex_at, hex_starts, says_hex),
    (
        Encoding::UrlEscaped,
        url_escaped_at,
        |text, at, offset| escape_starts(EscapeKind::Url, text, at, offset),
        says_url,
    ),
    (
        Encoding::JsonEscaped,
        json_escaped_at,
        |text, at, offset| escape_starts(EscapeKind::Json, text, at, offset),
        says_json,
    ),
];

/// How many positions of one text are looked at besides the chosen one.
const POSITIONS_MAX: usize = 48;

/// The decoders.
pub fn target(data: &[u8]) {
    let Some(input) = Input::new(data) else { return };
    let (text, begin) = input.padded();
    let offset = u64::from(input.choice(6)) * 512 + u64::from(input.choice(7) & 1);
    let chosen = begin + usize::from(u16::from_le_bytes([input.choice(4), input.choice(5)]));
    let mut decoded = Decoded::new();
    for (encoding, decode, starts, says) in DECODERS {
        let near = begin..(begin + input.text.len() + 1).min(text.len());
        let begins = near.filter(|&at| check_starts(encoding, starts, &text, at, offset));
        let begins: Vec<usize> = begins.take(POSITIONS_MAX).collect();
        for at in begins.into_iter().chain([chosen.min(text.len())]) {
            if decode(&text, at, &mut decoded) {
                check_map(encoding, &text, at, &decoded, says);
            }
            check_reach(encoding, decode, &text, at, &decoded);
        }
    }
    check_utf16(&text, &mut decoded);
}

/// Whether a decode begins here: the same, if what is out of reach is cut off.
fn check_starts(encoding: Encoding, starts: Starts, text: &[u8], at: usize, offset: u64) -> bool {
    let begins = starts(text, at, offset);
    let seen = reach(text, at);
    let from = seen.start;
    assert_eq!(
        starts(&text[seen], at - from, offset + from as u64),
        begins,
        "{encoding}: whether a decode begins at {at} depends on what is out of reach"
    );
    begins
}

/// What a decoder at this position may look at.
fn reach(text: &[u8], at: usize) -> Range<usize> {
    at.saturating_sub(DECODE_BEFORE)..(at + DECODE_REACH).min(text.len())
}

/// What was decoded must be the same when what is out of reach is cut off.
fn check_reach(encoding: Encoding, decode: Decode, text: &[u8], at: usize, whole: &Decoded) {
    let seen = reach(text, at);
    if seen.len() == text.len() {
        return;
    }
    let from = seen.start;
    let mut cut = Decoded::new();
    let is_decoded = decode(&text[seen], at - from, &mut cut);
    assert_eq!(cut.bytes, whole.bytes, "{encoding}: the bytes at {at} with a cut text");
    if is_decoded {
        let (cut, whole) =
            (cut.source_of(0..cut.bytes.len()), whole.source_of(0..whole.bytes.len()));
        assert_eq!(
            cut.start + from..cut.end + from,
            whole,
            "{encoding}: where the bytes at {at} come from, with a cut text"
        );
    }
}

fn check_map(encoding: Encoding, text: &[u8], at: usize, decoded: &Decoded, says: Says) {
    let length = decoded.bytes.len();
    assert!(length > 0, "{encoding}: nothing was decoded at {at}, and said to be something");
    let allowed = reach(text, at);
    let mut before = allowed.start..allowed.start;
    for index in 0..length {
        let source = decoded.source_of(index..index + 1);
        assert!(
            source.start < source.end && allowed.start <= source.start && source.end <= allowed.end,
            "{encoding} at {at}: byte {index} comes from {source:?}, which is not in {allowed:?}"
        );
        assert!(
            before.start <= source.start && before.end <= source.end,
            "{encoding} at {at}: byte {index} comes from {source:?}, the one before from {before:?}"
        );
        assert!(says(text, index, decoded), "{encoding} at {at}: {source:?} is no byte {index}");
        before = source;
    }
    for range in [0..length, length / 3..length - length / 3, length / 2..length / 2, 0..length + 9]
    {
        check_range(encoding, text, decoded, range);
    }
}

/// A range comes from where its first byte begins to where its last one ends.
fn check_range(encoding: Encoding, text: &[u8], decoded: &Decoded, range: Range<usize>) {
    let source = decoded.source_of(range.clone());
    assert!(source.start <= source.end && source.end <= text.len(), "{encoding}: {source:?}");
    let end = range.end.min(decoded.bytes.len());
    if range.start < end {
        let first = decoded.source_of(range.start..range.start + 1);
        let last = decoded.source_of(end - 1..end);
        assert_eq!(source, first.start..last.end, "{encoding}: where {range:?} comes from");
        if decoded.is_verbatim(range.start..end) {
            let there = &text[source];
            assert_eq!(there, &decoded.bytes[range.start..end], "{encoding}: {range:?} verbatim");
        }
    } else {
        assert!(source.is_empty(), "{encoding}: an empty range comes from {source:?}");
    }
}

fn says_hex(text: &[u8], index: usize, decoded: &Decoded) -> bool {
    let digits = std::str::from_utf8(&text[decoded.source_of(index..index + 1)]).unwrap_or("");
    digits.len() == 2 && u8::from_str_radix(digits, 16) == Ok(decoded.bytes[index])
}

/// A byte has bits of two digits, the first and the last of the place it comes from.
fn says_base64(text: &[u8], index: usize, decoded: &Decoded) -> bool {
    let source = decoded.source_of(index..index + 1);
    let value = |digit: u8| match digit {
        b'A'..=b'Z' => Some(u16::from(digit - b'A')),
        b'a'..=b'z' => Some(u16::from(digit - b'a') + 26),
        b'0'..=b'9' => Some(u16::from(digit - b'0') + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    };
    let (Some(first), Some(last)) = (value(text[source.start]), value(text[source.end - 1])) else {
        return false;
    };
    // Of the twelve bits, those that follow what the bytes before have taken: none, two or four of the first six.
    let byte = (first << 6 | last) >> (4 - 2 * (index % 3));
    byte as u8 == decoded.bytes[index]
}

fn says_url(text: &[u8], index: usize, decoded: &Decoded) -> bool {
    let byte = decoded.bytes[index];
    match &text[decoded.source_of(index..index + 1)] {
        [verbatim] => *verbatim == byte,
        [b'%', digits @ ..] => {
            let digits = std::str::from_utf8(digits).unwrap_or("");
            digits.len() == 2 && u8::from_str_radix(digits, 16) == Ok(byte)
        }
        _ => false,
    }
}

/// Of escapes, those are read here that stand for one ASCII character by its number.
fn says_json(text: &[u8], index: usize, decoded: &Decoded) -> bool {
    let byte = decoded.bytes[index];
    let source = &text[decoded.source_of(index..index + 1)];
    match source {
        [verbatim] => *verbatim == byte,
        [b'\\', b'u', b'0', b'0', digits @ ..] | [b'\\', b'x', digits @ ..]
            if digits.len() == 2 =>
        {
            let digits = std::str::from_utf8(digits).unwrap_or("");
            match u8::from_str_radix(digits, 16) {
                Ok(number) if number < 0x80 => number == byte,
                // A character of two bytes, or a byte.
                Ok(_) => byte >= 0x80,
                Err(_) => false,
            }
        }
        [b'\\', ..] => source.len() <= 12,
        _ => false,
    }
}

fn check_utf16(text: &[u8], decoded: &mut Decoded) {
    let guess = utf16_guess(text);
    for encoding in [Encoding::Utf16Le, Encoding::Utf16Be] {
        utf16(text, encoding, decoded);
        assert_eq!(decoded.bytes.len(), text.len() / 2, "{encoding}: a byte for each unit");
        for (index, (unit, &byte)) in text.chunks_exact(2).zip(&decoded.bytes).enumerate() {
            let (low, high) =
                if encoding == Encoding::Utf16Le { (unit[0], unit[1]) } else { (unit[1], unit[0]) };
            let expected = if high == 0 && low < 0x80 { low } else { 0xFF };
            assert_eq!(byte, expected, "{encoding}: unit {index}");
        }
        check_range(encoding, text, decoded, 0..decoded.bytes.len());
    }
    assert!(
        matches!(guess, None | Some(Encoding::Utf16Le | Encoding::Utf16Be)),
        "{guess:?} is no UTF-16"
    );
}
