//! No finding depends on absolute offsets: an object that begins with a few more bytes has the same
//! findings, a few bytes further on. Long encoded text and rules without a literal are what could
//! depend on them.

use crate::support::Log;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use heist::rng::XorShift64;
use heist_scan::rules::RuleSet;
use heist_scan::{DetectorOptions, Encoding, ReaderSource, Scan, SecretDetector};
use std::ops::Range;
use std::sync::Arc;

/// By how much texts are moved: by few bytes, and around the sizes of blocks and chunks.
const SHIFTS: [usize; 10] = [1, 2, 3, 5, 50, 511, 2048, 4095, 4097, 8191];

/// Far more than is seen of any text around a position.
const FILLING: usize = 80_000;

const RULES: &str = r#"
[[rules]]
id = "tokx"
regex = '\btokx_[0-9a-z]{24}\b'

[[rules]]
id = "near"
regex = '[0-9]{2,9}[m-q]{2,70}'
keywords = ["quux"]

[[rules]]
id = "everywhere"
regex = '[A-F]{2,5}[0-9]{3,40}'

[[rules]]
id = "tiles"
regex = '[u-z]{20}'

[[rules]]
id = "letters"
regex = '\babcabc[a-z]{18}\b'
"#;

/// What is found: the rule, where, and how it was encoded.
type Found = (String, Range<u64>, Encoding);

fn detector() -> Arc<SecretDetector> {
    let mut rules = RuleSet::builtin();
    rules.rules.extend(RuleSet::parse(RULES, "users.toml").unwrap().rules.rules);
    Arc::new(SecretDetector::new(rules, DetectorOptions::default()))
}

fn found(detector: &Arc<SecretDetector>, bytes: Vec<u8>, chunk_size: usize) -> Vec<Found> {
    let source = ReaderSource::new("object", std::io::Cursor::new(bytes));
    let log = Arc::new(Log::default());
    let scan = Scan::new(Arc::clone(detector)).threads(Some(1)).chunk_size(chunk_size);
    scan.source(source).run(Arc::clone(&log)).unwrap();
    let findings = log.findings.lock().unwrap();
    let found = findings.values().flatten();
    found.map(|one| (one.rule.to_string(), one.offset.clone(), one.encoding)).collect()
}

fn prose(rng: &mut XorShift64, len: usize) -> Vec<u8> {
    let words = ["every", "word", "of", "it", "is", "plain", "and", "some", "are", "longer\n"];
    let mut text = Vec::new();
    while text.len() < len {
        text.extend(words[rng.below_usize(words.len())].bytes());
        text.push(b' ');
    }
    text.truncate(len);
    text
}

fn token(rng: &mut XorShift64) -> String {
    let random = (0..24).map(|_| char::from(b"23456789bcdfghjkmnpqrtvwxz"[rng.below_usize(26)]));
    format!("tokx_{}", random.collect::<String>())
}

/// Text with tokens in it, each after up to `apart` bytes of prose.
fn text_with_tokens(rng: &mut XorShift64, tokens: usize, apart: usize) -> Vec<u8> {
    let mut text = Vec::new();
    for _ in 0..tokens {
        let len = rng.below_usize(apart) + 1;
        text.extend(prose(rng, len));
        text.extend(format!(" {} ", token(rng)).bytes());
    }
    text
}

fn random_bytes(rng: &mut XorShift64, len: usize) -> Vec<u8> {
    (0..len).map(|_| rng.next_u32() as u8).collect()
}

fn hex(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().flat_map(|byte| format!("{byte:02x}").into_bytes()).collect()
}

fn wrapped(digits: &str, width: usize) -> Vec<u8> {
    digits.as_bytes().chunks(width).flat_map(|line| [line, b"\n"].concat()).collect()
}

/// Finds the same in `text`, however far from the object's beginning and in whatever chunks, and
/// gives back how many findings of `rule` there are.
fn check(what: &str, text: &[u8], rule: &str, encoding: Encoding) -> usize {
    let detector = detector();
    let mut rng = XorShift64::new(99);
    let filling = prose(&mut rng, FILLING);
    let object = [&filling, &b"\n\n"[..], text, b"\n\n", &filling].concat();
    let expected = found(&detector, object.clone(), 1 << 20);
    for (number, shift) in SHIFTS.into_iter().enumerate() {
        let moved = [&prose(&mut rng, shift), &object[..]].concat();
        let chunk_size = [1 << 20, 30_011, 4_096, 256 << 10][number % 4];
        let by = shift as u64;
        let there: Vec<Found> = found(&detector, moved, chunk_size)
            .into_iter()
            .map(|(rule, at, encoding)| (rule, at.start - by..at.end - by, encoding))
            .collect();
        assert_eq!(there, expected, "{what}, moved by {shift}, in chunks of {chunk_size}");
    }
    expected.iter().filter(|one| one.0 == rule && one.2 == encoding).count()
}

#[test]
fn long_base64_on_one_line() {
    let mut rng = XorShift64::new(1);
    let text = text_with_tokens(&mut rng, 60, 1500);
    for before in ["data=", "data=a", "data=ab", "path/to/", "data=+"] {
        let encoded = format!("{before}{}", BASE64_STANDARD.encode(&text));
        assert_eq!(check(before, encoded.as_bytes(), "tokx", Encoding::Base64), 60, "{before}");
    }
}

#[test]
fn wrapped_base64() {
    let mut rng = XorShift64::new(2);
    let text = text_with_tokens(&mut rng, 40, 1500);
    for width in [60, 64, 76, 75] {
        let encoded = wrapped(&BASE64_STANDARD.encode(&text), width);
        assert_eq!(check("wrapped", &encoded, "tokx", Encoding::Base64), 40, "{width}");
    }
}

/// Text between bytes that are none, in one stretch of digits.
#[test]
fn islands_of_text_in_digits() {
    let mut rng = XorShift64::new(3);
    let mut bytes = Vec::new();
    for _ in 0..40 {
        let len = rng.below_usize(3000);
        bytes.extend(random_bytes(&mut rng, len));
        bytes.extend(format!(" {} ", token(&mut rng)).bytes());
    }
    let base64 = BASE64_STANDARD.encode(&bytes);
    assert_eq!(check("base64", base64.as_bytes(), "tokx", Encoding::Base64), 40);
    assert_eq!(check("wrapped", &wrapped(&base64, 76), "tokx", Encoding::Base64), 40);
    assert_eq!(check("hex", &hex(&bytes), "tokx", Encoding::Hex), 40);
    let after_a_digit = [b"f".to_vec(), hex(&bytes)].concat();
    assert_eq!(check("hex", &after_a_digit, "tokx", Encoding::Hex), 40);
}

#[test]
fn long_lines_with_escapes() {
    let mut rng = XorShift64::new(4);
    let text = String::from_utf8(text_with_tokens(&mut rng, 50, 1200)).unwrap();
    let text = text.replace('\n', " ");
    let json = text.replace("tokx_", "tokx\\u005f").replace("and", "\\u0061nd");
    assert_eq!(check("json", json.as_bytes(), "tokx", Encoding::JsonEscaped), 50);
    let rare = text.replace("tokx_", "tokx\\u005f");
    assert_eq!(check("rare", rare.as_bytes(), "tokx", Encoding::JsonEscaped), 50);
    let url = text.replace("tokx_", "tokx%5f").replace(' ', "%20");
    assert_eq!(check("url", url.as_bytes(), "tokx", Encoding::UrlEscaped), 50);
    let all: String = text.bytes().map(|byte| format!("\\u{byte:04x}")).collect();
    assert_eq!(check("all", all.as_bytes(), "tokx", Encoding::JsonEscaped), 50);
}

#[test]
fn utf16_inside_of_something_else() {
    let mut rng = XorShift64::new(5);
    let mut bytes = Vec::new();
    for part in 0..12 {
        let len = rng.below_usize(3000) | 1;
        bytes.extend(random_bytes(&mut rng, len));
        let text = String::from_utf8(text_with_tokens(&mut rng, 3, 400)).unwrap();
        let text = format!("{} {text}", "a text begins here; ".repeat(8));
        let to_bytes = if part % 2 == 0 { u16::to_le_bytes } else { u16::to_be_bytes };
        bytes.extend(text.encode_utf16().flat_map(to_bytes));
    }
    assert!(check("utf-16", &bytes, "tokx", Encoding::Utf16Le) > 20);
}

#[test]
fn rules_without_a_literal() {
    let mut rng = XorShift64::new(6);
    for width in [1, 12, 100, 5_000, 100_000] {
        let mut text = Vec::new();
        while text.len() < 60_000 {
            let line = rng.below_usize(width) + 1;
            text.extend((0..line).map(|_| b"ABCDEF0123456789mnopq "[rng.below_usize(22)]));
            text.extend(if rng.below_usize(20) == 0 { &b" quux\n"[..] } else { b"\n" });
        }
        let everywhere = check("everywhere", &text, "everywhere", Encoding::Plain);
        assert!(width < 12 || everywhere > 20, "{width}: {everywhere}");
        check("near", &text, "near", Encoding::Plain);
        let base64 = BASE64_STANDARD.encode(&text);
        let decoded =
            check("everywhere, base64", base64.as_bytes(), "everywhere", Encoding::Base64);
        assert!(decoded * 10 >= everywhere * 9, "{width}: {decoded} decoded, {everywhere} plain");
    }
}

/// A long word is covered with matches, one after the other. Where the first one begins says where
/// all of them do.
#[test]
fn matches_that_cover_a_text() {
    let mut rng = XorShift64::new(7);
    let word: Vec<u8> = (0..50_000).map(|_| b"uvwxyz"[rng.below_usize(6)]).collect();
    let tiles = check("plain", &word, "tiles", Encoding::Plain);
    assert!(tiles > 2_400, "{tiles}");
    let base64 = BASE64_STANDARD.encode(&word);
    // Two that follow each other may share a digit; then the longer one counts.
    let tiles = check("base64", base64.as_bytes(), "tiles", Encoding::Base64);
    assert!(tiles > 900, "{tiles}");
}

/// Base64 in which no run of letters and digits begins: it is looked at from its 2,049th digit on,
/// wherever a chunk begins.
#[test]
fn long_base64_without_a_run() {
    let mut rng = XorShift64::new(11);
    for before in [2_100, 2_500, 3_900, 20_000] {
        // Three letters that make four letters.
        let mut secret = b"abcabc".to_vec();
        while secret.len() < 24 {
            let letters: Vec<u8> =
                (0..3).map(|_| b"bcdfghjkmnpqrtvwxz"[rng.below_usize(18)]).collect();
            if BASE64_STANDARD.encode(&letters).bytes().all(|digit| digit.is_ascii_alphabetic()) {
                secret.extend(letters);
            }
        }
        let text = [&b"ab?".repeat(before / 4)[..], b"ab ", &secret, b" ab"].concat();
        let encoded = format!("data={}", BASE64_STANDARD.encode(text));
        assert!(!encoded.bytes().any(|digit| digit.is_ascii_digit()), "{encoded}");
        assert_eq!(check("no run", encoded.as_bytes(), "letters", Encoding::Base64), 1, "{before}");
    }
}

/// A search without a literal begins in random bytes, and finds text after them.
#[test]
fn rules_without_a_literal_after_random_bytes() {
    let mut rng = XorShift64::new(12);
    let mut bytes = Vec::new();
    for _ in 0..60 {
        let len = 1_800 + rng.below_usize(400);
        bytes.extend(random_bytes(&mut rng, len));
        let number = rng.below_usize(1 << 30);
        bytes.extend(format!(" ABCDE{number:012} some more text, ").bytes());
    }
    let base64 = BASE64_STANDARD.encode(&bytes);
    let found = check("base64", base64.as_bytes(), "everywhere", Encoding::Base64);
    assert!(found >= 60, "{found}");
    let found = check("hex", &hex(&bytes), "everywhere", Encoding::Hex);
    assert!(found >= 60, "{found}");
}

/// Each character takes six or ten bytes of the source.
#[test]
fn rules_without_a_literal_in_escapes() {
    let mut rng = XorShift64::new(13);
    let word: Vec<u8> = (0..6_000).map(|_| b"uvwxyz"[rng.below_usize(6)]).collect();
    let json: String = word.iter().map(|byte| format!("\\u{byte:04x}")).collect();
    assert!(check("json", json.as_bytes(), "tiles", Encoding::JsonEscaped) > 250);
    let long: String = word.iter().map(|byte| format!("\\u{{{byte:06x}}}")).collect();
    let long = format!("\\u0041{long}").replace("\\u{00007a}", "\\u007a");
    assert!(check("long", long.as_bytes(), "tiles", Encoding::JsonEscaped) > 250);
}

/// More than are counted: which of them escapes which is not known.
#[test]
fn backslashes_in_a_row() {
    let mut rng = XorShift64::new(15);
    for count in [3, 63, 64, 65, 129, 300, 5_001, 40_000] {
        let text = format!("x{}u0074{} and", "\\".repeat(count), &token(&mut rng)[1..]);
        let expected = usize::from(count == 3 || count == 63);
        let found = check("backslashes", text.as_bytes(), "tokx", Encoding::JsonEscaped);
        assert_eq!(found, expected, "{count}");
    }
}

/// A span of UTF-16 begins and ends anywhere: what is in it from its first character on is found,
/// and looking for the next span comes to an end.
#[test]
fn spans_of_utf16_between_zeros() {
    let words = format!("ABCDE123456789 {}", "more words follow it here ".repeat(10));
    let span: Vec<u8> = words.bytes().flat_map(|byte| [byte, 0]).collect();
    let zeros = [0; 5_001];
    for between in [&b"\x01\0"[..], b"\x01", b"\0", b"\0\0\0"] {
        let bytes = [&zeros, &span[..], between, &span, between, &span, &zeros].concat();
        let found = check("zeros", &bytes, "everywhere", Encoding::Utf16Le);
        assert_eq!(found, 3, "{between:?}");
    }
}

/// Everything mixed, and cut anywhere.
#[test]
fn random_mixtures() {
    for seed in 0..12 {
        let mut rng = XorShift64::new(1000 + seed);
        let mut object = Vec::new();
        for _ in 0..25 {
            let (tokens, apart) = (rng.below_usize(4) + 1, [40, 600, 9000][rng.below_usize(3)]);
            let text = text_with_tokens(&mut rng, tokens, apart);
            let part = match rng.below_usize(8) {
                0 => BASE64_STANDARD.encode(&text).into_bytes(),
                1 => wrapped(&BASE64_STANDARD.encode(&text), 76),
                2 => hex(&text),
                3 => String::from_utf8(text).unwrap().replace('_', "%5F").into_bytes(),
                4 => String::from_utf8(text).unwrap().replace('_', "\\u005F").into_bytes(),
                5 => text.iter().flat_map(|&byte| [byte, 0]).collect(),
                6 => random_bytes(&mut rng, 3000),
                _ => text,
            };
            object.extend(part);
            object.extend(&b"\n= \"\\%+/quux\0"[rng.below_usize(12)..]);
        }
        check(&format!("mixture {seed}"), &object, "tokx", Encoding::Plain);
    }
}
