//! Tests of the decoders: round trips, maps, reach, cuts, and arbitrary bytes.

use super::*;
use crate::encoding::Encoding;
use ::base64::Engine as _;
use ::base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE};
use proptest::prelude::*;

const TEXT: &str = "user: somebody\npassword: correct horse battery staple\nhost: db.internal\n";

type DecodeAt = fn(&[u8], usize, &mut Decoded) -> bool;

const ALL: [DecodeAt; 4] = [base64_at, hex_at, url_escaped_at, json_escaped_at];

fn decoded(decode: DecodeAt, text: &[u8], at: usize) -> Option<Decoded> {
    let mut decoded = Decoded::new();
    decode(text, at, &mut decoded).then_some(decoded)
}

fn to_hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn base64_in_every_dress() {
    for encoded in [STANDARD.encode(TEXT), STANDARD_NO_PAD.encode(TEXT), URL_SAFE.encode(TEXT)] {
        let text = format!("data: {encoded}\"");
        let found = decoded(base64_at, text.as_bytes(), 6).expect("it is text");
        assert_eq!(found.bytes, TEXT.as_bytes());
        assert_eq!(found.source_of(0..3), 6..10);
        assert_eq!(found.source_of(1..2), 7..9);
    }
}

#[test]
fn base64_on_wrapped_lines() {
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
        let found = decoded(base64_at, text.as_bytes(), 0).expect("it is text");
        assert_eq!(found.bytes, TEXT.repeat(4).as_bytes(), "{width}");
        // The byte whose digits are around the first line break.
        let (first, after) = (width * 3 / 4, width + line_break.len());
        let source = found.source_of(first - 1..first + 2);
        assert!(source.start < width && source.end > after, "{width}: {source:?}");
        assert!(!base64_starts(text.as_bytes(), after, 0), "{width}: a following line");
        assert!(base64_starts(text.as_bytes(), 0, 0));
        assert!(
            base64_starts(text.as_bytes(), after, (DECODE_STRIDE - width - 1) as u64),
            "a cell begins"
        );
    }
    // Shorter lines are the last ones.
    let short = format!("{}\n{}", &encoded[..56], &encoded[56..]);
    assert_eq!(decoded(base64_at, short.as_bytes(), 0).expect("text").bytes.len(), 42);
}

#[test]
fn runs_that_are_no_text_are_given_up() {
    for text in [
        "AkIAIOSFODNN7ABCDEFGHIJKLMN0123",
        "some/path/to/a/long/file/name/in/a/tree",
        "shortBase64",
    ] {
        assert!(decoded(base64_at, text.as_bytes(), 0).is_none(), "{text}");
    }
    for text in ["9f86d081884c7d659a2feaa0c55ad015", "6865697374"] {
        assert!(decoded(hex_at, text.as_bytes(), 0).is_none(), "{text}");
    }
    // Text up to where it is none any more.
    let mut bytes = TEXT.repeat(2).into_bytes();
    bytes.extend((0..200_u8).map(|at| at.wrapping_mul(91) | 0x80));
    let found =
        decoded(base64_at, STANDARD.encode(&bytes).as_bytes(), 0).expect("it begins with text");
    assert!(found.bytes.len() >= 96 && found.bytes.len() <= 192, "{}", found.bytes.len());
    assert_eq!(found.bytes[..96], bytes[..96]);
}

#[test]
fn escapes_of_json() {
    let text = br#"{"a": "x\u0041\n\/\"\\\x42\ud83d\ude00\ud83d\u{e9}\q"}"#;
    let at = text.iter().position(|&byte| byte == b'\\').expect("an escape");
    let found = decoded(json_escaped_at, text, at).expect("an escape");
    assert_eq!(found.bytes, "{\"a\": \"xA\n/\"\\B\u{1f600}?\u{e9}\\q\"}".as_bytes());
    assert_eq!(found.source_of(8..9), at..at + 6);
    assert!(found.is_verbatim(0..8) && !found.is_verbatim(7..9));
    // The second of two backslashes begins nothing.
    assert!(decoded(json_escaped_at, br"\\n", 1).is_none());
    assert!(decoded(json_escaped_at, b"plain", 0).is_none());
}

#[test]
fn a_decode_begins_once_in_each_stretch_and_cell() {
    let text = b"a%40b%2F c%3A";
    let starts = |offset| -> Vec<usize> {
        (0..text.len()).filter(|&at| escape_starts(EscapeKind::Url, text, at, offset)).collect()
    };
    assert_eq!(starts(0), [1, 10]);
    assert_eq!(starts(DECODE_STRIDE as u64 - 3), [1, 5, 10]);
    let found = decoded(url_escaped_at, text, 1).expect("an escape");
    assert_eq!(found.bytes, b"a@b/");
}

#[test]
fn long_text_is_decoded_in_overlapping_pieces() {
    let plain: String = (0..6_000).map(|line| format!("entry {line:05} of a list\n")).collect();
    let json: String = plain.replace('\n', "\\u000a");
    let url: String = plain.replace('\n', "%0A").replace(' ', "%20");
    type Starts = fn(&[u8], usize) -> bool;
    let cases: [(String, DecodeAt, Starts); 4] = [
        (STANDARD.encode(&plain), base64_at, |text, at| base64_starts(text, at, 0)),
        (to_hex(&plain), hex_at, |text, at| hex_starts(text, at, 0)),
        (json, json_escaped_at, |text, at| escape_starts(EscapeKind::Json, text, at, 0)),
        (url, url_escaped_at, |text, at| escape_starts(EscapeKind::Url, text, at, 0)),
    ];
    for (text, decode, starts) in cases {
        let text = text.as_bytes();
        let mut seen = vec![false; 6_000];
        let mut found = Decoded::new();
        let mut decoded_bytes = 0;
        for at in (0..text.len()).filter(|&at| starts(text, at)) {
            assert!(decode(text, at, &mut found), "it is text from {at} on");
            decoded_bytes += found.bytes.len();
            for line in found.bytes.split(|&byte| byte == b'\n') {
                let number = line.strip_prefix(b"entry").and_then(|rest| rest.get(1..6));
                if let Some(number) = number
                    .and_then(|number| std::str::from_utf8(number).ok()?.parse::<usize>().ok())
                {
                    seen[number] = true;
                }
            }
        }
        assert!(seen.iter().all(|&seen| seen), "every line is in some piece");
        assert!(decoded_bytes < 3 * plain.len(), "{decoded_bytes} bytes of {}", plain.len());
    }
}

#[test]
fn utf16_is_decoded_unit_by_unit() {
    let mut decoded = Decoded::new();
    utf16(b"a\0\x3d\xd8b\0c", Encoding::Utf16Le, &mut decoded);
    assert_eq!(decoded.bytes, b"a\xFFb");
    assert_eq!(decoded.source_of(2..3), 4..6);
    assert_eq!(decoded.source_of(1..99), 2..6);
    assert_eq!(decoded.source_of(1..1), 2..2);
    utf16(b"abc", Encoding::Plain, &mut decoded);
    assert_eq!(decoded.bytes, b"");
}

#[test]
fn utf16_is_guessed() {
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

/// Text as people write it, with some that is not ASCII.
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
    fn base64_gives_back_what_was_encoded(text in text(), before in "[ \"=:]{1,9}", url in any::<bool>()) {
        let engine = if url { URL_SAFE } else { STANDARD };
        let source = format!("{before}{}", engine.encode(&text));
        let found = decoded(base64_at, source.as_bytes(), before.len()).expect("it is text");
        prop_assert_eq!(&found.bytes, text.as_bytes());
        for group in 0..text.len() / 3 {
            let range = 3 * group..3 * group + 3;
            check_source(&found, range, |part| engine.decode(part).expect("a group"), source.as_bytes());
        }
    }

    #[test]
    fn hex_gives_back_what_was_encoded(
        text in text(), before in "[ x:]{1,9}", from in 0..20_usize, len in 1..20_usize,
    ) {
        let source = format!("{before}{}", to_hex(&text));
        let found = decoded(hex_at, source.as_bytes(), before.len()).expect("it is text");
        prop_assert_eq!(&found.bytes, text.as_bytes());
        prop_assert_eq!(found.source_of(from..from + len), before.len() + 2 * from..before.len() + 2 * (from + len));
    }

    #[test]
    fn escapes_give_back_what_was_escaped(
        text in "[a-z0-9\"/é€😀]{1,60}", before in "[a-z ]{0,20}", every in 1..5_usize, url in any::<bool>(),
    ) {
        let mut source = String::from(if url { before.trim() } else { before.as_str() }).replace(' ', "-");
        let plain = format!("{source}{text}");
        let at = source.len();
        let mut ends = vec![(at, at)];
        for (number, character) in text.chars().enumerate() {
            let must = !character.is_ascii() || character == '"';
            if number % every == 0 || must {
                let mut units = [0; 2];
                if url {
                    let mut bytes = [0; 4];
                    character.encode_utf8(&mut bytes).bytes().for_each(|byte| source += &format!("%{byte:02X}"));
                } else {
                    character.encode_utf16(&mut units).iter().for_each(|unit| source += &format!("\\u{unit:04x}"));
                }
            } else {
                source.push(character);
            }
            ends.push((ends[ends.len() - 1].0 + character.len_utf8(), source.len()));
        }
        let decode = if url { url_escaped_at } else { json_escaped_at };
        let found = decoded(decode, source.as_bytes(), at).expect("an escape");
        prop_assert_eq!(&found.bytes, plain.as_bytes());
        for from in 0..ends.len() {
            for to in from + 1..ends.len() {
                prop_assert_eq!(found.source_of(ends[from].0..ends[to].0), ends[from].1..ends[to].1);
            }
        }
    }

    #[test]
    fn utf16_does_not_depend_on_even_cuts(
        bytes in proptest::collection::vec(any::<u8>(), 0..200), cut in 0..100_usize, low_first in any::<bool>(),
    ) {
        let encoding = if low_first { Encoding::Utf16Le } else { Encoding::Utf16Be };
        let cut = (2 * cut).min(bytes.len() / 2 * 2);
        let of = |part: &[u8]| {
            let mut decoded = Decoded::new();
            utf16(part, encoding, &mut decoded);
            decoded.bytes
        };
        prop_assert_eq!(of(&bytes), [of(&bytes[..cut]), of(&bytes[cut..])].concat());
    }
}

proptest! {
    // Every position is tried in every case, so a few cases go far.
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Dense with what the decoders look for, so that they get far.
    #[test]
    fn nothing_panics_and_maps_stay_inside(
        text in "([ -~]|[A-Za-z0-9+/]{20,70}\r?\n?|(\\\\[nu\\\\x]|%)?[0-9a-f]{1,4}|dGhl|7468|\\\\){0,60}",
        raw in proptest::collection::vec(any::<u8>(), 0..80),
        offset in 0..20_000_u64,
    ) {
        let mut found = Decoded::new();
        for text in [text.as_bytes(), &raw] {
            for at in 0..text.len() + 2 {
                for decode in ALL {
                    if decode(text, at, &mut found) {
                        let len = found.bytes.len();
                        let all = found.source_of(0..len);
                        prop_assert!(all.end <= text.len() && all.start <= at + 4, "{:?} of {}", all, text.len());
                        for from in 0..len.min(40) {
                            let one = found.source_of(from..from + 1);
                            prop_assert!(one.start < one.end && one.start >= all.start && one.end <= all.end);
                        }
                        prop_assert!(found.source_of(len + 1..len + 9).is_empty());
                    }
                }
                let _ = base64_starts(text, at, offset);
                let _ = hex_starts(text, at, offset);
                let _ = escape_starts(EscapeKind::Json, text, at, offset);
                let _ = escape_starts(EscapeKind::Url, text, at, offset);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// The same bytes within reach give the same, whatever is beyond.
    #[test]
    fn nothing_beyond_the_reach_matters(seed in any::<u64>(), more in "[A-Za-z0-9%\\\\]{1,40}", width in 60..80_usize) {
        let mut rng = heist::XorShift64::new(seed);
        let plain: String = (0..24_000).map(|_| char::from(b"the quick fox\n"[rng.below_usize(14)])).collect();
        let encoded = STANDARD.encode(&plain).into_bytes();
        let wrapped: Vec<u8> = encoded.chunks(width).flat_map(|line| [line, b"\n"].concat()).collect();
        let json = plain.replace('\n', "\\n").into_bytes();
        let url = plain.replace(['\n', ' '], "%20").into_bytes();
        for (text, decode, is_run) in [
            (wrapped, base64_at as DecodeAt, true),
            (to_hex(&plain).into_bytes(), hex_at, true),
            (url, url_escaped_at, false),
            (json, json_escaped_at, false),
        ] {
            let at = if is_run {
                0
            } else {
                2_000 + text[2_000..].iter().position(|byte| matches!(byte, b'%' | b'\\')).expect("an escape")
            };
            let from = at.saturating_sub(DECODE_BEFORE);
            let cut = &text[from..at + DECODE_REACH];
            let longer = [cut, more.as_bytes()].concat();
            let (whole, cut, longer) =
                (decoded(decode, &text, at), decoded(decode, cut, at - from), decoded(decode, &longer, at - from));
            let bytes = |found: &Option<Decoded>| found.as_ref().map(|found| found.bytes.clone());
            prop_assert!(bytes(&whole).is_some_and(|bytes| bytes.len() > 4_000));
            prop_assert_eq!(bytes(&whole), bytes(&cut));
            prop_assert_eq!(bytes(&whole), bytes(&longer));
        }
    }
}

/// Whatever was asked before, and from within a cut.
#[test]
fn where_base64_begins_is_the_same_however_it_is_asked() {
    let line = "YWI/".repeat(16);
    let text = format!(
        "{line}\n  {line}\r\n{line}\nshort/line\nabc {} {line}{line}\n{line}x",
        "a1/".repeat(500)
    );
    let text = text.as_bytes();
    let digits: Vec<usize> = (0..text.len()).filter(|&at| VALID.contains(&text[at])).collect();
    let alone: Vec<Option<usize>> =
        digits.iter().map(|&at| Base64Begins::default().of(text, at)).collect();
    assert_eq!(alone[digits.iter().position(|&at| at == 67).unwrap()], Some(0), "a line before");
    assert!(alone.contains(&None), "some begin too far back");
    for step in [1, 7, 100, 400] {
        let mut begins = Base64Begins::default();
        for (&at, &expected) in digits.iter().zip(&alone).step_by(step) {
            assert_eq!(begins.of(text, at), expected, "{at}");
            assert!(expected.is_none_or(|begin| base64_starts(text, begin, 1)), "{at}");
            let from = at.saturating_sub(DECODE_BEFORE);
            let cut = Base64Begins::default().of(&text[from..], at - from);
            assert_eq!(cut.map(|begin| begin + from), expected, "{at}, cut");
        }
    }
}

const VALID: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_";
