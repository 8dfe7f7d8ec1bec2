//! The decoders, on a window of a text and on all of it.
//!
//! Checks that they do not panic; that every decoded byte comes from a place inside the window, and
//! later bytes from later places; that a slow, obvious decoder reads the same byte at that place;
//! and that escapes are decoded in a window as in the whole text, except near the ends of the
//! window.

use crate::input::Input;
use heist_scan::Encoding;
use heist_scan::decode::{
    BASE64_PHASES, DECODE_MARGIN, Decoded, EscapeKind, HEX_PHASES, base64, escaped, hex, utf16,
    utf16_guess,
};
use std::ops::Range;

/// Decodes a window of a text in a phase.
type Decode = fn(&[u8], Range<usize>, usize, &mut Decoded) -> bool;

/// Returns `true` if a slow, obvious decoder reads the same byte.
type ByteCheck = fn(&[u8], usize, &Decoded) -> bool;

struct Decoder {
    encoding: Encoding,
    phases: usize,
    decode: Decode,
    is_right: ByteCheck,
}

const DECODERS: [Decoder; 4] = [
    Decoder {
        encoding: Encoding::Base64,
        phases: BASE64_PHASES,
        decode: base64,
        is_right: is_base64_byte,
    },
    Decoder { encoding: Encoding::Hex, phases: HEX_PHASES, decode: hex, is_right: is_hex_byte },
    Decoder {
        encoding: Encoding::UrlEscaped,
        phases: 1,
        decode: |text, window, _, into| {
            escaped(EscapeKind::Url, text, window, into);
            !into.bytes.is_empty()
        },
        is_right: is_url_byte,
    },
    Decoder {
        encoding: Encoding::JsonEscaped,
        phases: 1,
        decode: |text, window, _, into| {
            escaped(EscapeKind::Json, text, window, into);
            !into.bytes.is_empty()
        },
        is_right: is_json_byte,
    },
];

/// Fuzzes the decoders.
pub fn target(data: &[u8]) {
    let Some(input) = Input::new(data) else { return };
    let (text, begin) = input.padded();
    let start = (begin + usize::from(input.choice(4))).min(text.len());
    let length = usize::from(u16::from_le_bytes([input.choice(5), input.choice(6)]));
    let window = start..(start + length).min(text.len());
    let (mut part, mut whole) = (Decoded::new(), Decoded::new());
    for Decoder { encoding, phases, decode, is_right } in DECODERS {
        for phase in 0..phases {
            if decode(&text, window.clone(), phase, &mut part) {
                check_map(encoding, &text, window.clone(), &part, is_right);
            }
        }
        if phases == 1 {
            decode(&text, 0..text.len(), 0, &mut whole);
            check_window(encoding, &window, &part, &whole);
        }
    }
    check_utf16(&text, &mut part);
}

/// Checks that escapes are decoded in a window as in the whole text, except near its ends.
fn check_window(encoding: Encoding, window: &Range<usize>, part: &Decoded, whole: &Decoded) {
    let inner = window.start + DECODE_MARGIN..window.end.saturating_sub(DECODE_MARGIN);
    let shown = |decoded: &Decoded| -> Vec<(Range<usize>, u8)> {
        let places = (0..decoded.bytes.len()).map(|at| decoded.source_of(at..at + 1));
        let shown = places.zip(decoded.bytes.iter().copied());
        shown.filter(|(from, _)| inner.start <= from.start && from.end <= inner.end).collect()
    };
    assert_eq!(shown(part), shown(whole), "{encoding}: {window:?} and the whole text");
}

fn check_map(
    encoding: Encoding,
    text: &[u8],
    window: Range<usize>,
    decoded: &Decoded,
    is_right: ByteCheck,
) {
    let length = decoded.bytes.len();
    assert!(length > 0, "{encoding}: reports text in {window:?} but decoded nothing");
    let mut before = window.start..window.start;
    for index in 0..length {
        let source = decoded.source_of(index..index + 1);
        assert!(
            source.start < source.end && window.start <= source.start && source.end <= window.end,
            "{encoding}: byte {index} comes from {source:?}, which is not in {window:?}"
        );
        assert!(
            before.start <= source.start && before.end <= source.end,
            "{encoding}: byte {index} comes from {source:?}, the one before from {before:?}"
        );
        assert!(is_right(text, index, decoded), "{encoding}: {source:?} is not byte {index}");
        before = source;
    }
    for range in [0..length, length / 3..length - length / 3, length / 2..length / 2, 0..length + 9]
    {
        check_range(encoding, text, decoded, range);
    }
}

/// Checks that a range comes from where its first byte begins to where its last byte ends.
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

fn is_hex_byte(text: &[u8], index: usize, decoded: &Decoded) -> bool {
    let digits = std::str::from_utf8(&text[decoded.source_of(index..index + 1)]).unwrap_or("");
    digits.len() == 2 && u8::from_str_radix(digits, 16) == Ok(decoded.bytes[index])
}

/// A byte takes its bits from two digits, the first and the last of its place in the encoded text.
fn is_base64_byte(text: &[u8], index: usize, decoded: &Decoded) -> bool {
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
    // The two digits hold twelve bits. The byte begins after the bits that the byte before it took
    // from the first digit: none, two or four.
    let byte = (first << 6 | last) >> (4 - 2 * (index % 3));
    byte as u8 == decoded.bytes[index]
}

fn is_url_byte(text: &[u8], index: usize, decoded: &Decoded) -> bool {
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

/// Only reads escapes of a single ASCII character by its number, and accepts all others.
fn is_json_byte(text: &[u8], index: usize, decoded: &Decoded) -> bool {
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
                // Either a character of two bytes, or a single byte.
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
        utf16(text, 0..text.len(), encoding, decoded);
        assert_eq!(decoded.bytes.len(), text.len() / 2, "{encoding}: one byte for each unit");
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
        "{guess:?} is not UTF-16"
    );
}
