//! Tests of the decoders: round trips, position maps, windows, and arbitrary bytes.

use super::*;
use crate::encoding::Encoding;
use ::base64::Engine as _;
use ::base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE};
use proptest::prelude::*;
use std::ops::Range;

const TEXT: &str = "user: somebody\npassword: correct horse battery staple\nhost: db.internal\n";

/// Decodes a window of a text.
type Decode = fn(&[u8], Range<usize>, &mut Decoded) -> bool;

/// Decodes a window of a text in a phase.
type DecodePhase = fn(&[u8], Range<usize>, usize, &mut Decoded) -> bool;

const URL: Decode = |text, window, into| {
    escaped(EscapeKind::Url, text, window, into);
    true
};
const JSON: Decode = |text, window, into| {
    escaped(EscapeKind::Json, text, window, into);
    true
};
const BASE64: Decode = |text, window, into| base64(text, window, 0, into);
const HEX: Decode = |text, window, into| hex(text, window, 0, into);

fn decoded(decode: Decode, text: &[u8], from: usize) -> Option<Decoded> {
    let mut decoded = Decoded::new();
    decode(text, from..text.len(), &mut decoded).then_some(decoded)
}

fn to_hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn base64_is_decoded_in_every_variant() {
    for encoded in [STANDARD.encode(TEXT), STANDARD_NO_PAD.encode(TEXT), URL_SAFE.encode(TEXT)] {
        let text = format!("data: {encoded}\"");
        let found = decoded(BASE64, text.as_bytes(), 6).expect("it is text");
        assert_eq!(found.bytes, TEXT.as_bytes());
        assert_eq!(found.source_of(0..3), 6..10);
        assert_eq!(found.source_of(1..2), 7..9);
    }
}

#[test]
fn base64_is_decoded_in_every_phase() {
    let encoded = STANDARD.encode(TEXT);
    for before in 0..BASE64_PHASES {
        let text = format!("{}{encoded}", "/".repeat(before));
        let mut found = Decoded::new();
        assert!(base64(text.as_bytes(), 0..text.len(), before, &mut found));
        assert_eq!(found.bytes, TEXT.as_bytes());
        assert_eq!(found.source_of(0..3), before..before + 4);
        assert_eq!(found.first_from(before + 4), 3);
        assert_eq!(found.first_beyond(before + 4), 3);
        assert!(may_be_base64(text.trim_end_matches('=').as_bytes()));
    }
}

#[test]
fn base64_is_decoded_across_wrapped_lines() {
    let encoded = STANDARD.encode(TEXT.repeat(4));
    for (width, line_break) in
        [(60, "\n"), (64, "\r\n"), (76, "\n    "), (61, "\n\t"), (75, "\r\n ")]
    {
        let lines: Vec<&str> = encoded
            .as_bytes()
            .chunks(width)
            .map(|line| std::str::from_utf8(line).expect("digits"))
            .collect();
        let text = lines.join(line_break);
        let bytes = text.as_bytes();
        let found = decoded(BASE64, bytes, 0).expect("it is text");
        assert_eq!(found.bytes, TEXT.repeat(4).as_bytes(), "{width}");
        // The byte whose digits surround the first line break.
        let (first, after) = (width * 3 / 4, width + line_break.len());
        let source = found.source_of(first - 1..first + 2);
        assert!(source.start < width && source.end > after, "{width}: {source:?}");
        let end = text.trim_end_matches('=').len();
        for at in [0, 1, after, after + 7, end - 1] {
            assert_eq!(base64_begin(bytes, at, 0), 0, "{width}: from {at}");
            assert_eq!(base64_end(bytes, at, bytes.len()), end, "{width}: from {at}");
            assert_eq!(begins_base64(bytes, at), at == 0, "{width}: {at}");
        }
        assert!(base64_begin(bytes, after + 7, after + 2) <= after + 2);
    }
    // A shorter line is the last one.
    let short = format!("{}\n{}", &encoded[..56], &encoded[56..]);
    assert_eq!(decoded(BASE64, short.as_bytes(), 0).expect("text").bytes.len(), 42);
    assert_eq!(base64_end(short.as_bytes(), 0, short.len()), 56);
    assert!(begins_base64(short.as_bytes(), 57));
}

#[test]
fn stretches_without_text_are_rejected() {
    for text in [
        "AkIAIOSFODNN7ABCDEFGHIJKLMN0123",
        "some/path/to/a/long/file/name/in/a/tree",
        "shortBase64",
    ] {
        assert!(!may_be_base64(text.as_bytes()), "{text}");
        assert!(decoded(BASE64, text.as_bytes(), 0).is_none(), "{text}");
    }
    for text in ["9f86d081884c7d659a2feaa0c55ad015", "6865697374"] {
        assert!(decoded(HEX, text.as_bytes(), 0).is_none(), "{text}");
    }
}

#[test]
fn hexadecimal_stretches_are_found_wherever_they_begin() {
    let digits = "0123456789abcdefABCDEF9876543210";
    for before in 0..100 {
        let text = format!("{} {digits}g{}", "xa".repeat(before), &digits[1..]);
        let text = text.as_bytes();
        let begin = 2 * before + 1;
        let stretch = hex_stretch(text, 0..text.len(), 0..text.len());
        assert_eq!(stretch, Some(begin..begin + 32), "{before}");
        assert_eq!(
            hex_stretch(text, 0..text.len(), begin + 32..text.len()),
            None,
            "{before}: too short"
        );
        let cut_off = begin + 1..text.len();
        assert_eq!(hex_stretch(text, cut_off.clone(), cut_off), None, "{before}: cut off");
        assert!(begins_hex(text, begin) && !begins_hex(text, begin + 1));
    }
}

#[test]
fn json_escapes() {
    let text = br#"{"a": "x\u0041\n\/\"\\\x42\ud83d\ude00\ud83d\u{e9}\q"}"#;
    let at = text.iter().position(|&byte| byte == b'\\').expect("an escape");
    let found = decoded(JSON, text, 0).expect("an escape");
    assert_eq!(found.bytes, "{\"a\": \"xA\n/\"\\B\u{1f600}?\u{e9}\\q\"}".as_bytes());
    assert_eq!(found.source_of(8..9), at..at + 6);
    assert!(found.is_verbatim(0..8) && !found.is_verbatim(7..9));
    // The second of two backslashes does not begin an escape.
    assert!(EscapeKind::Json.is_at(br"\\n", 0) && !EscapeKind::Json.is_at(br"\\n", 1));
    assert!(!EscapeKind::Json.is_at(b"plain", 0));
}

/// Wherever a window begins, the text after it is decoded in the same way.
#[test]
fn windows_may_begin_inside_an_escape() {
    for (decode, text) in [
        (JSON, br#"a\u0041\\\\n\\\nb\ud83d\ude00c\x41d\u{1f600}e"#.as_slice()),
        (URL, b"a%41%%42%2%25%41b"),
    ] {
        let whole = decoded(decode, text, 0).expect("escapes").bytes;
        for from in 0..text.len() {
            let part = decoded(decode, text, from).expect("escapes").bytes;
            assert!(whole.ends_with(&part), "from {from}: {:?}", String::from_utf8_lossy(&part));
        }
    }
}

#[test]
fn escaped_stretches_end_at_breaks() {
    let text = b"first line\nsecond%20line 'quoted'";
    let (json, url) = (EscapeKind::Json, EscapeKind::Url);
    assert_eq!((json.begin(text, 17, 0), json.end(text, 17, text.len())), (11, text.len()));
    assert_eq!((url.begin(text, 17, 0), url.end(text, 17, text.len())), (11, 24));
    assert_eq!((json.begin(text, 17, 14), json.end(text, 17, 20)), (14, 20));
    assert!(json.begins(text, 0) && json.begins(text, 11) && !json.begins(text, 24));
    assert!(url.begins(text, 25) && !url.begins(text, 14));
}

#[test]
fn utf16_is_decoded_unit_by_unit() {
    let mut decoded = Decoded::new();
    utf16(b"a\0\x3d\xd8b\0c", 0..7, Encoding::Utf16Le, &mut decoded);
    assert_eq!(decoded.bytes, b"a\xFFb");
    assert_eq!(decoded.source_of(2..3), 4..6);
    assert_eq!(decoded.source_of(1..99), 2..6);
    assert_eq!(decoded.source_of(1..1), 2..2);
    utf16(b"abc", 0..3, Encoding::Plain, &mut decoded);
    assert_eq!(decoded.bytes, b"");
}

#[test]
fn utf16_is_found_inside_other_data() {
    for units in [UTF16_SPAN_MIN - 1, UTF16_SPAN_MIN, 300] {
        for before in [0, 1, 2, 255, 256, 257, 700] {
            let mut bytes = vec![0xAB; before];
            bytes.extend("xy".repeat(200)[..units].encode_utf16().flat_map(u16::to_le_bytes));
            let end = bytes.len();
            bytes.extend([0xAB; 300]);
            bytes.extend([0; 300]);
            let expected = (units >= UTF16_SPAN_MIN).then_some(before..end);
            let all = 0..bytes.len();
            assert_eq!(utf16_span(&bytes, all.clone(), 0), expected, "{units} after {before}");
            assert_eq!(utf16_span(&bytes, all, end), None, "{units} after {before}");
        }
    }
}

#[test]
fn utf16_is_guessed_from_the_first_bytes() {
    let low_first: Vec<u8> = TEXT.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let high_first: Vec<u8> = TEXT.encode_utf16().flat_map(u16::to_be_bytes).collect();
    assert_eq!(utf16_guess(&low_first), Some(Encoding::Utf16Le));
    assert_eq!(utf16_guess(&high_first), Some(Encoding::Utf16Be));
    assert_eq!(utf16_guess(b"\xFF\xFEa\0"), Some(Encoding::Utf16Le));
    assert_eq!(utf16_guess(b"\xFE\xFF\0a"), Some(Encoding::Utf16Be));
    for bytes in [
        TEXT.as_bytes(),
        b"",
        b"a\0",
        &[0; 64],
        b"\xFF\xFE\0\0a\0\0\0",
        b"\x7fELF\x02\x01\x01\0\0\0\0\0",
    ] {
        assert_eq!(utf16_guess(bytes), None, "{bytes:?}");
    }
}

/// Generates ordinary text, partly outside of ASCII.
fn text() -> impl Strategy<Value = String> {
    proptest::string::string_regex("[a-zA-Z0-9 :=\"_.\n-]{40,300}(\u{e4}|\u{20ac}|[a-z]){0,3}")
        .expect("a regex")
}

fn check_source(
    found: &Decoded,
    range: std::ops::Range<usize>,
    redecode: impl Fn(&[u8]) -> Vec<u8>,
    source: &[u8],
) {
    let part = found.source_of(range.clone());
    assert_eq!(
        redecode(&source[part.clone()]),
        found.bytes[range.clone()],
        "{range:?} from {part:?}"
    );
}

proptest! {
    #[test]
    fn base64_round_trips(text in text(), before in "[ \"=:]{1,9}", url in any::<bool>()) {
        let engine = if url { URL_SAFE } else { STANDARD };
        let source = format!("{before}{}", engine.encode(&text));
        let found = decoded(BASE64, source.as_bytes(), before.len()).expect("it is text");
        prop_assert_eq!(&found.bytes, text.as_bytes());
        for group in 0..text.len() / 3 {
            let range = 3 * group..3 * group + 3;
            let decode = |part: &[u8]| engine.decode(part).expect("a group");
            check_source(&found, range, decode, source.as_bytes());
        }
    }

    #[test]
    fn hex_round_trips(
        text in text(), before in "[ x:]{1,9}", from in 0..20_usize, len in 1..20_usize,
    ) {
        let source = format!("{before}{}", to_hex(&text));
        let found = decoded(HEX, source.as_bytes(), before.len()).expect("it is text");
        prop_assert_eq!(&found.bytes, text.as_bytes());
        let digits = before.len() + 2 * from..before.len() + 2 * (from + len);
        prop_assert_eq!(found.source_of(from..from + len), digits);
    }

    #[test]
    fn escapes_round_trip(
        text in "[a-z0-9\"/é€😀]{1,60}",
        before in "[a-z ]{0,20}",
        every in 1..5_usize,
        url in any::<bool>(),
    ) {
        let mut source = if url { before.trim() } else { before.as_str() }.replace(' ', "-");
        let plain = format!("{source}{text}");
        let mut ends = vec![(source.len(), source.len())];
        for (number, character) in text.chars().enumerate() {
            let must = !character.is_ascii() || character == '"';
            if number % every == 0 || must {
                let mut units = [0; 2];
                if url {
                    let mut bytes = [0; 4];
                    for byte in character.encode_utf8(&mut bytes).bytes() {
                        source += &format!("%{byte:02X}");
                    }
                } else {
                    for unit in character.encode_utf16(&mut units) {
                        source += &format!("\\u{unit:04x}");
                    }
                }
            } else {
                source.push(character);
            }
            ends.push((ends[ends.len() - 1].0 + character.len_utf8(), source.len()));
        }
        let decode = if url { URL } else { JSON };
        let found = decoded(decode, source.as_bytes(), 0).expect("an escape");
        prop_assert_eq!(&found.bytes, plain.as_bytes());
        for from in 0..ends.len() {
            for to in from + 1..ends.len() {
                let escapes = ends[from].1..ends[to].1;
                prop_assert_eq!(found.source_of(ends[from].0..ends[to].0), escapes);
            }
        }
    }

    #[test]
    fn utf16_can_be_cut_at_even_positions(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        cut in 0..100_usize,
        low_first in any::<bool>(),
    ) {
        let encoding = if low_first { Encoding::Utf16Le } else { Encoding::Utf16Be };
        let cut = (2 * cut).min(bytes.len() / 2 * 2);
        let of = |part: &[u8]| {
            let mut decoded = Decoded::new();
            utf16(part, 0..part.len(), encoding, &mut decoded);
            decoded.bytes
        };
        prop_assert_eq!(of(&bytes), [of(&bytes[..cut]), of(&bytes[cut..])].concat());
    }
}

proptest! {
    // Each case tries every position, so a few cases are enough.
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The input is full of what the decoders look for, so that they get beyond their first checks.
    #[test]
    fn decoders_do_not_panic_and_maps_stay_in_bounds(
        text in "([ -~]|[A-Za-z0-9+/]{20,70}\r?\n?|(\\\\[nu\\\\x]|%)?[0-9a-f]{1,4}|dGhl|7468|\\\\){0,60}",
        raw in proptest::collection::vec(any::<u8>(), 0..80),
        cut in 0..40_usize,
    ) {
        let decoders: [Decode; 6] = [
            BASE64,
            |text, window, into| base64(text, window, 3, into),
            HEX,
            |text, window, into| hex(text, window, 1, into),
            URL,
            JSON,
        ];
        let mut found = Decoded::new();
        for text in [text.as_bytes(), &raw] {
            let end = text.len().saturating_sub(cut);
            for from in 0..=end {
                let window = from..end;
                for decode in decoders {
                    if decode(text, window.clone(), &mut found) {
                        let len = found.bytes.len();
                        let all = found.source_of(0..len);
                        prop_assert!(
                            all.start >= from && all.end <= end, "{:?} of {:?}", all, window
                        );
                        for at in 0..len.min(40) {
                            let one = found.source_of(at..at + 1);
                            prop_assert!(one.start < one.end);
                            prop_assert!(one.start >= all.start && one.end <= all.end);
                            prop_assert!(found.first_from(one.start) <= at);
                            prop_assert!(found.first_beyond(one.start) <= at);
                        }
                        prop_assert!(found.source_of(len + 1..len + 9).is_empty());
                    }
                }
                prop_assert!(base64_begin(text, from, from / 2) <= from);
                prop_assert!(base64_end(text, from, end) >= from);
                let _ = hex_stretch(text, from / 2..end, from..end);
                let _ = utf16_span(text, from / 2..end, from);
                let _ = (begins_base64(text, from), begins_hex(text, from));
            }
        }
    }

    /// A window decodes to the same bytes as a larger one, wherever both decode something.
    #[test]
    fn the_start_of_a_window_does_not_matter(
        seed in any::<u64>(), width in 60..80_usize, from in 0..3_000_usize,
    ) {
        let mut rng = heist::rng::XorShift64::new(seed);
        let mut letter = || char::from(b"the quick fox\n"[rng.below_usize(14)]);
        let plain: String = (0..6_000).map(|_| letter()).collect();
        let digits = STANDARD.encode(&plain).into_bytes();
        let wrapped: Vec<u8> =
            digits.chunks(width).flat_map(|line| [line, b"\n"].concat()).collect();
        let hex_digits = to_hex(&plain).into_bytes();
        let in_line = from - usize::from(wrapped[from] == b'\n');
        let cases: [(&[u8], usize, usize, DecodePhase); 2] =
            [(&wrapped, in_line, BASE64_PHASES, base64), (&hex_digits, from, HEX_PHASES, hex)];
        for (text, from, phases, decode) in cases {
            let mut whole = Decoded::new();
            prop_assert!(decode(text, 0..text.len(), 0, &mut whole));
            let is_same = |phase: &usize| {
                let mut part = Decoded::new();
                let is_text = decode(text, from..text.len(), *phase, &mut part);
                is_text && whole.bytes.ends_with(&part.bytes) && part.bytes.len() > 2_000
            };
            prop_assert_eq!((0..phases).filter(is_same).count(), 1, "one phase is the right one");
        }
    }
}
