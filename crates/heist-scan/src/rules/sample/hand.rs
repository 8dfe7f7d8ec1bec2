//! Random secrets of the kinds that are looked for by hand-written detectors.

use super::super::model::ParserKind;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use heist::XorShift64;

const LETTERS_AND_DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// Marks that mean nothing special in quotes, in YAML or in a connection string, and are no mask either.
const MARKS: &[u8] = b"#!";

/// Marks that need no escaping in a URL.
const MARKS_OF_URLS: &[u8] = b"!-_";

/// A secret of this kind.
pub(super) fn generate(kind: ParserKind, rng: &mut XorShift64) -> String {
    match kind {
        ParserKind::GenericSecret => mixed(32, b"", rng),
        ParserKind::Password | ParserKind::ConnectionString => {
            let length = 12 + rng.below_usize(5);
            mixed(length, MARKS, rng)
        }
        ParserKind::UrlCredentials => {
            let length = 12 + rng.below_usize(5);
            mixed(length, MARKS_OF_URLS, rng)
        }
        ParserKind::Jwt => json_web_token(rng),
        ParserKind::PrivateKey => private_key(rng),
    }
}

/// Letters of both cases, digits and some of the marks, at least one of each kind, no two marks side by side, and a
/// letter at both ends.
fn mixed(length: usize, marks: &[u8], rng: &mut XorShift64) -> String {
    loop {
        let text: String = (0..length)
            .map(|_| {
                // About every sixth is a mark.
                let alphabet =
                    if !marks.is_empty() && rng.below(6) == 0 { marks } else { LETTERS_AND_DIGITS };
                char::from(alphabet[rng.below_usize(alphabet.len())])
            })
            .collect();
        let has = |kind: fn(&u8) -> bool| text.bytes().any(|byte| kind(&byte));
        let every_kind = has(u8::is_ascii_uppercase)
            && has(u8::is_ascii_lowercase)
            && has(u8::is_ascii_digit)
            && (marks.is_empty() || has(u8::is_ascii_punctuation));
        let letter = |character: char| character.is_ascii_alphabetic();
        let mark = |byte: &u8| byte.is_ascii_punctuation();
        let apart = !text.as_bytes().windows(2).any(|pair| pair.iter().all(mark));
        if every_kind && apart && text.starts_with(letter) && text.ends_with(letter) {
            return text;
        }
    }
}

fn random_bytes<const LENGTH: usize>(rng: &mut XorShift64) -> [u8; LENGTH] {
    // The upper byte: the lower ones are weaker.
    std::array::from_fn(|_| (rng.next_u64() >> 56) as u8)
}

fn json_web_token(rng: &mut XorShift64) -> String {
    let algorithms = ["HS256", "RS256", "ES256"];
    let header =
        format!(r#"{{"alg":"{}","typ":"JWT"}}"#, algorithms[rng.below_usize(algorithms.len())]);
    let issued = 1_600_000_000 + rng.below(200_000_000);
    let payload =
        format!(r#"{{"sub":"{:016x}","iat":{issued},"exp":{}}}"#, rng.next_u64(), issued + 3600,);
    let signature: [u8; 32] = random_bytes(rng);
    let encode = |part: &[u8]| URL_SAFE_NO_PAD.encode(part);
    format!("{}.{}.{}", encode(header.as_bytes()), encode(payload.as_bytes()), encode(&signature))
}

/// Up to its length byte: version 0, Ed25519 (1.3.101.112), and an octet string in an octet string. Any 32 bytes are a
/// key.
const ED25519_BEGINNING: [u8; 16] = [
    0x30, 0x2E, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
];

/// Version 1 and an octet string ...
const P256_BEGINNING: [u8; 7] = [0x30, 0x31, 0x02, 0x01, 0x01, 0x04, 0x20];

/// ... then the curve P-256 (1.2.840.10045.3.1.7). Nearly any 32 bytes are a key.
const P256_END: [u8; 12] = [0xA0, 0x0A, 0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07];

/// A key in PEM that any program reads.
fn private_key(rng: &mut XorShift64) -> String {
    let (label, der) = if rng.below(2) == 0 {
        ("PRIVATE KEY", [&ED25519_BEGINNING[..], &random_bytes::<32>(rng)].concat())
    } else {
        ("EC PRIVATE KEY", [&P256_BEGINNING[..], &random_bytes::<32>(rng), &P256_END].concat())
    };
    let body = STANDARD.encode(der);
    let mut lines = body.as_str();
    let mut pem = format!("-----BEGIN {label}-----\n");
    while !lines.is_empty() {
        let (line, rest) = lines.split_at(lines.len().min(64));
        pem.push_str(line);
        pem.push('\n');
        lines = rest;
    }
    pem.push_str(&format!("-----END {label}-----"));
    pem
}
