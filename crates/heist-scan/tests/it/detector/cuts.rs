//! Objects to cut: secrets of all rules in examples of all kinds, encoded or not, between text that
//! is none.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use heist::rng::XorShift64;
use heist_scan::SecretDetector;
use heist_scan::rules::{Rule, Sampler};
use proptest::prelude::*;

/// How an example is written into an object.
#[derive(Clone, Copy, Debug)]
enum Written {
    AsItIs,
    Base64,
    Hex,
    UrlEscaped,
    JsonEscaped,
}

/// Objects with up to `pieces` pieces.
pub(crate) fn objects(
    detector: &'static SecretDetector,
    pieces: usize,
) -> impl Strategy<Value = Vec<u8>> {
    let rules: Vec<&'static Rule> = detector.rules().collect();
    // The last three are users' rules, of kinds that no other is of.
    let count = rules.len();
    let rule = prop_oneof![8 => 0..count, 1 => count - 3..count];
    let example = (rule, any::<prop::sample::Index>(), any::<u64>()).prop_map(
        move |(rule, example, seed)| {
            let rule = rules[rule];
            let mut rng = XorShift64::new(seed);
            let text = match rule.id.as_str() {
                "everywhere" => format!("x 4839-{:05}-927461 y", seed % 100_000),
                "near-a-keyword" => {
                    format!("keyword: see {:024X}", u128::from(seed) * 3_141_592_653)
                }
                "far-in" => format!("my.zorbtech_key = {seed:020}"),
                _ if rule.examples.is_empty() => String::new(),
                _ => {
                    let example = example.get(&rule.examples);
                    Sampler::new(rule)
                        .and_then(|sampler| sampler.expand(example, &mut rng))
                        .map_or_else(|| example.clone(), |expanded| expanded.text)
                }
            };
            text.into_bytes()
        },
    );
    let written = prop_oneof![
        6 => Just(Written::AsItIs),
        1 => Just(Written::Base64),
        1 => Just(Written::Hex),
        1 => Just(Written::UrlEscaped),
        1 => Just(Written::JsonEscaped),
    ];
    let secret = (example, written).prop_map(|(text, written)| write(&text, written));
    let filler = prop_oneof![
        4 => "[a-z ]{0,40}\n",
        2 => "[A-Za-z0-9+/]{10,200}",
        1 => "[ -~]{0,80}",
        1 => "\\\\u00[0-9a-f]{2}|%2[0-9A-F]|://|eyJ|passw|-----BEGIN ",
    ]
    .prop_map(String::into_bytes);
    let long = (any::<u8>(), 0_usize..20_000).prop_map(|(byte, len)| vec![byte; len]);
    let piece = prop_oneof![20 => secret, 20 => filler, 1 => long];
    let text = proptest::collection::vec(piece, 0..pieces).prop_map(|pieces| pieces.concat());
    let marked = (text.clone(), 0_usize..20_000, text.clone())
        .prop_map(|(text, letters, more)| in_marked_utf16(&text, letters, &more));
    prop_oneof![8 => text.clone(), 1 => text.prop_map(|text| in_utf16(&text)), 1 => marked]
}

fn write(text: &[u8], written: Written) -> Vec<u8> {
    let each =
        |write: &dyn Fn(u8) -> String| text.iter().map(|&byte| write(byte)).collect::<String>();
    let escape_some = |byte: u8, escaped: String| {
        if byte.is_ascii_alphanumeric() && !byte.is_multiple_of(5) {
            char::from(byte).to_string()
        } else {
            escaped
        }
    };
    let written = match written {
        Written::AsItIs => return text.to_vec(),
        Written::Base64 => BASE64_STANDARD.encode(text),
        Written::Hex => each(&|byte| format!("{byte:02x}")),
        Written::UrlEscaped => each(&|byte| escape_some(byte, format!("%{byte:02X}"))),
        Written::JsonEscaped => each(&|byte| escape_some(byte, format!("\\u{byte:04x}"))),
    };
    format!(" \"{written}\"\n").into_bytes()
}

fn in_utf16(text: &[u8]) -> Vec<u8> {
    text.iter().flat_map(|&byte| [byte, 0]).collect()
}

/// With a byte order mark, which alone tells: between two texts there are letters outside of ASCII.
fn in_marked_utf16(text: &[u8], letters: usize, more: &[u8]) -> Vec<u8> {
    let letters = [0x36, 0x04].repeat(letters);
    [&[0xFF, 0xFE], &*in_utf16(text), &*letters, &*in_utf16(more)].concat()
}
