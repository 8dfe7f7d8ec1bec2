//! Generates random secrets for the detectors that are written in Rust.

use super::super::model::ParserKind;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use heist::rng::XorShift64;

const LETTERS_AND_DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// Punctuation that has no special meaning in quotes, in YAML or in a connection string, and does
/// not look like a masked value either.
const MARKS: &[u8] = b"#!";

/// Punctuation that needs no escaping in a URL.
const MARKS_OF_URLS: &[u8] = b"!-_";

/// Generates a secret of the given kind.
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

/// Generates a text of letters in both cases, digits and `marks`, with at least one of each. Marks
/// are never adjacent, and the first and last characters are letters.
fn mixed(length: usize, marks: &[u8], rng: &mut XorShift64) -> String {
    loop {
        let text: String = (0..length)
            .map(|_| {
                // About every sixth character is a mark.
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
    // The high byte, because the low bits of this generator are weaker.
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

/// The DER prefix of an Ed25519 key: version 0, the algorithm (1.3.101.112), and an octet string
/// inside an octet string. Any 32 bytes that follow are a valid key.
const ED25519_BEGINNING: [u8; 16] = [
    0x30, 0x2E, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
];

/// The DER prefix of a P-256 key: version 1 and an octet string of 32 bytes.
const P256_BEGINNING: [u8; 7] = [0x30, 0x31, 0x02, 0x01, 0x01, 0x04, 0x20];

/// The DER suffix of a P-256 key: the curve (1.2.840.10045.3.1.7). Almost any 32 bytes between
/// prefix and suffix are a valid key.
const P256_END: [u8; 12] = [0xA0, 0x0A, 0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07];

/// Generates a valid private key in PEM format.
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
