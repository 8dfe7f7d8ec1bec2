//! Encoded secrets are found wherever they are in an object, and wherever the object is cut.

use crate::support::Log;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use heist_scan::rules::RuleSet;
use heist_scan::{
    Confidence, DetectorOptions, Encoding, Finding, ReaderSource, Scan, SecretDetector,
};
use heist_walk::Walk;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Creates a detector of the built-in rules and a rule for made-up tokens.
fn detector() -> Arc<SecretDetector> {
    let mut rules = RuleSet::builtin();
    let text = "[[rules]]\nid = \"tokx\"\nregex = '\\btokx_[0-9a-z]{24}\\b'\n";
    rules.rules.extend(RuleSet::parse(text, "users.toml").unwrap().rules.rules);
    Arc::new(SecretDetector::new(rules, DetectorOptions::default()))
}

fn token() -> String {
    format!("tokx_{}", "7h2kq9v4x1m8c3z6b5n0w2pd")
}

fn utf16(text: &str, to_bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    text.encode_utf16().flat_map(to_bytes).collect()
}

/// Returns the findings of these rules in an object, which must be the same for all chunk sizes,
/// range sizes, files and streams.
fn found(detector: &Arc<SecretDetector>, rules: &[&str], bytes: &[u8]) -> Vec<Finding> {
    let tree = tempfile::tempdir().unwrap();
    let path = tree.path().join("object");
    std::fs::write(&path, bytes).unwrap();
    let of = |log: &Log| -> Vec<Finding> {
        let findings = log.findings.lock().unwrap();
        let wanted = |finding: &&Finding| rules.contains(&&*finding.rule);
        findings.values().flatten().filter(wanted).cloned().collect()
    };
    let whole =
        Scan::new(Arc::clone(detector)).threads(Some(1)).chunk_size(1 << 20).range_size(u64::MAX);
    let scans = [
        whole.clone(),
        whole.clone().chunk_size(3001),
        whole.clone().chunk_size(1000).range_size(4001).threads(Some(3)),
        whole.chunk_size(64 << 10).range_size(12_000).threads(Some(2)),
    ];
    let mut expected = None;
    for scan in scans {
        let (files, streams) = (Arc::new(Log::default()), Arc::new(Log::default()));
        scan.clone().walk(Walk::new(tree.path())).run(Arc::clone(&files)).unwrap();
        let source = ReaderSource::new(&path, std::io::Cursor::new(bytes.to_vec()));
        scan.clone().source(source).run(Arc::clone(&streams)).unwrap();
        let expected = expected.get_or_insert_with(|| of(&files));
        assert_eq!(&of(&files), expected, "{scan:?}");
        assert_eq!(&of(&streams), expected, "{scan:?}");
    }
    expected.unwrap()
}

fn tokens(bytes: &[u8]) -> Vec<(u64, Encoding)> {
    let found = found(&detector(), &["tokx"], bytes);
    found.iter().map(|finding| (finding.offset.start, finding.encoding)).collect()
}

/// One character has its zero byte where most other characters have their letter.
#[test]
fn utf16_without_a_byte_order_mark_may_contain_any_character() {
    let text = format!("{}\u{3000}and a {}\n", "one line of text\n".repeat(20), token());
    let at = text.chars().position(|one| one == '\u{3000}').unwrap() as u64 + 7;
    assert_eq!(tokens(&utf16(&text, u16::to_le_bytes)), [(2 * at, Encoding::Utf16Le)]);
    assert_eq!(tokens(&utf16(&text, u16::to_be_bytes)), [(2 * at, Encoding::Utf16Be)]);
}

/// Only the mark reveals the encoding, because most characters are not ASCII.
#[test]
fn a_byte_order_mark_holds_for_the_whole_object() {
    let words = "всё что угодно ".repeat(400);
    let text = format!("\u{feff}{words}\nключ {}\n{words}\n{words} {}", token(), token());
    let at = |token: &str| 2 * text[..text.find(token).unwrap()].chars().count() as u64;
    let last = 2 * (text.chars().count() - token().len()) as u64;
    for (to_bytes, encoding) in [
        (u16::to_le_bytes as fn(u16) -> [u8; 2], Encoding::Utf16Le),
        (u16::to_be_bytes, Encoding::Utf16Be),
    ] {
        let expected = [(at(&token()), encoding), (last, encoding)];
        assert!(expected[0].0 > 12_000);
        assert_eq!(tokens(&utf16(&text, to_bytes)), expected);
    }
}

/// Returns a DER integer of `bits` bits.
fn number(bits: usize) -> Vec<u8> {
    let mut bytes = vec![0];
    bytes.extend((0..bits / 8).map(|at| (at * 151 + 129) as u8));
    element(2, &bytes)
}

fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let [.., high, low] = (content.len() as u32).to_be_bytes();
    [&[tag, 0x82, high, low], content].concat()
}

/// Returns a private key in PEM whose numbers have the right sizes but are not a usable key.
fn rsa(bits: usize) -> String {
    let mut numbers = vec![2, 1, 0];
    numbers.extend(number(bits));
    numbers.extend([2, 3, 1, 0, 1]);
    numbers.extend(number(bits));
    for _ in 0..5 {
        numbers.extend(number(bits / 2));
    }
    let digits = BASE64_STANDARD.encode(element(0x30, &numbers));
    let lines: Vec<&str> =
        digits.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
    let heading = "RSA PRIVATE KEY-----";
    format!("-----BEGIN {heading}\n{}\n-----END {heading}\n", lines.join("\n"))
}

#[test]
fn a_long_key_in_utf16_is_parsed_to_its_end() {
    let detector = detector();
    let key = rsa(8192);
    for before in [0, 3000, 4000, 4090, 9000] {
        let text = format!("\u{feff}{}\n{key}", "x ".repeat(before / 2));
        let found = found(&detector, &["private-key"], &utf16(&text, u16::to_le_bytes));
        let described: Vec<_> =
            found.iter().map(|found| (found.confidence, &*found.reason)).collect();
        let expected = (Confidence::Certain, "parsed: RSA 8192 bits, not encrypted");
        assert_eq!(described, [expected], "after {before} characters");
    }
}

/// The first digits contain many slashes: `YWI/YWI/`.
#[test]
fn base64_is_decoded_from_its_beginning() {
    let decoded = |text: &str| -> Vec<u64> {
        let found = tokens(text.as_bytes());
        found.iter().inspect(|found| assert_eq!(found.1, Encoding::Base64)).map(|at| at.0).collect()
    };
    for count in [2, 9, 11, 40, 200] {
        let digits = BASE64_STANDARD.encode(format!("{} {}", "ab?".repeat(count), token()));
        assert_eq!(decoded(&format!("data: {digits}\n")).len(), 1, "{count}");
        let lines: Vec<&str> =
            digits.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
        assert_eq!(decoded(&format!("data:\n  {}\n", lines.join("\n  "))).len(), 1, "{count}");
    }
    // The text begins before a cell of the object's grid that begins in a line break.
    for shift in 0..8 {
        let text = format!("{} {}", "ab?".repeat(47), token());
        let digits = BASE64_STANDARD.encode(text);
        let (first, rest) = digits.split_at(64);
        let text = format!("{}{first}\r\n    {rest}\n", " ".repeat(8192 - 66 - shift));
        assert_eq!(decoded(&text).len(), 1, "{shift}");
    }
}

#[test]
fn hexadecimal_digits_after_a_separator_are_decoded() {
    let digits: String = token().bytes().map(|byte| format!("{byte:02x}")).collect();
    for before in ["", "a/", "some-longer-name-of-many-words_and-signs/in/a/path/"] {
        let found = tokens(format!("see {before}{digits}\n").as_bytes());
        assert_eq!(found, [(4 + before.len() as u64, Encoding::Hex)], "{before}");
    }
}

#[test]
fn long_lines_of_base64_do_not_take_quadratic_time() {
    let detector = detector();
    // No long run of digits, one in each group, and one whose beginning is searched again and
    // again.
    for group in ["YWI/", "YWI1YWI1YWI1/", "aaaaaaaaaaa1_"] {
        let text = group.repeat((1 << 20) / group.len());
        let begin = Instant::now();
        let source = ReaderSource::new("line", std::io::Cursor::new(text.into_bytes()));
        let scan = Scan::new(Arc::clone(&detector)).threads(Some(1)).source(source);
        scan.run(Log::default()).unwrap();
        assert!(begin.elapsed() < Duration::from_secs(10), "{group}: {:?}", begin.elapsed());
    }
}
