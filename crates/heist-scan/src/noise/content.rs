//! What a secret's bytes turn out to be: encoded text, an image, a public key, a hash.

use super::NoiseContext;
use super::composition::{Alphabet, Composition, contains_any};

/// How files and keys of known kinds begin in Base64.
const MAGIC: [(&str, &str); 16] = [
    ("iVBORw0KGgo", "an image in Base64"),
    ("/9j/4AAQ", "an image in Base64"),
    ("R0lGODlh", "an image in Base64"),
    ("R0lGODdh", "an image in Base64"),
    ("UklGR", "an image in Base64"),
    ("AAABAAEA", "an image in Base64"),
    ("d09GRg", "a font in Base64"),
    ("d09GMg", "a font in Base64"),
    ("AAEAAAA", "a font in Base64"),
    ("T1RUTw", "a font in Base64"),
    ("AGFzbQ", "a program in Base64"),
    ("JVBERi0", "a document in Base64"),
    ("H4sIAAAA", "compressed data in Base64"),
    ("UEsDBBQ", "compressed data in Base64"),
    ("AAAAB3NzaC1", "a public key"),
    ("AAAAC3NzaC1", "a public key"),
];

/// Returns which of the known kinds it is.
pub(super) fn known_content(text: &[u8]) -> Option<&'static str> {
    let (_, reason) = MAGIC.iter().find(|(prefix, _)| text.starts_with(prefix.as_bytes()))?;
    Some(reason)
}

/// Returns `true` if DER is public by its key or line. Its own form does not tell, because private
/// keys look the same.
pub(super) fn is_public_der(text: &[u8], context: &NoiseContext<'_>) -> bool {
    (text.starts_with(b"MII")
        || text.starts_with(b"MIG")
        || text.starts_with(b"MFkw")
        || text.starts_with(b"MCow"))
        && (contains_any(context.key, &["public", "cert", "chain", "x509", "pubkey"])
            || contains_any(context.line, &["public key", "certificate"]))
}

/// Words that say: this is computed from content.
const HASH_NAMES: [&str; 17] = [
    "sha1",
    "sha2",
    "sha5",
    "sha3",
    "md5",
    "hash",
    "checksum",
    "digest",
    "integrity",
    "commit",
    "revision",
    "etag",
    "fingerprint",
    "thumbprint",
    "crc",
    "signature",
    "sha-",
];

/// Returns `true` if a text of this length may be a hash, in hexadecimal digits or Base64.
fn has_length_of_hash(text: &[u8], shape: &Composition) -> bool {
    match shape.alphabet {
        Alphabet::Hex | Alphabet::Decimal => matches!(text.len(), 32 | 40 | 56 | 64 | 96 | 128),
        Alphabet::Base62 | Alphabet::Base64 => {
            matches!(text.len(), 24 | 27 | 28 | 43 | 44 | 64 | 86 | 88)
        }
        _ => false,
    }
}

/// What says that a secret is a hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SaidBy {
    Key,
    Line,
}

/// Whether it may be a hash, and its key or line says so.
pub(super) fn hash_by_name(
    text: &[u8],
    shape: &Composition,
    context: &NoiseContext<'_>,
) -> Option<SaidBy> {
    if !has_length_of_hash(text, shape) {
        return None;
    }
    let says_so = |name: &[u8]| {
        contains_any(name, &HASH_NAMES)
            || name.eq_ignore_ascii_case(b"sha")
            || name.eq_ignore_ascii_case(b"rev")
    };
    if says_so(context.key) {
        Some(SaidBy::Key)
    } else if shape.alphabet == Alphabet::Hex && line_names_a_hash(text, context.line) {
        Some(SaidBy::Line)
    } else {
        None
    }
}

/// Looks for a hash's name in the line before the secret. A name inside the secret does not count.
fn line_names_a_hash(text: &[u8], line: &[u8]) -> bool {
    let is_here = |at: &usize| line[*at..].starts_with(text);
    let at = memchr::memchr_iter(text[0], line).find(is_here);
    let before = &line[..at.unwrap_or(line.len())];
    // What is further away names something else.
    let near = &before[before.len().saturating_sub(64)..];
    contains_any(near, &HASH_NAMES)
}

/// As much of a secret is decoded.
const DECODED_MAX: usize = 96;

/// Returns `true` for Base64 of printable text. The decoders look at that text; its encoded form is
/// not a secret.
pub(super) fn is_base64_of_text(text: &[u8], shape: &Composition) -> bool {
    // Hexadecimal digits and letters of one case could also be Base64, but do not decode to
    // printable text.
    if !matches!(shape.alphabet, Alphabet::Base62 | Alphabet::Base64) || text.len() < 16 {
        return false;
    }
    let mut bits = 0_u32;
    let mut pending = 0;
    let mut decoded = 0;
    for &byte in text.iter().take(DECODED_MAX) {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => break,
        };
        bits = bits << 6 | u32::from(value);
        pending += 6;
        if pending >= 8 {
            pending -= 8;
            let decoded_byte = (bits >> pending) as u8;
            if !matches!(decoded_byte, b' '..=b'~' | b'\n' | b'\r' | b'\t') {
                return false;
            }
            decoded += 1;
        }
    }
    decoded >= 12
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said_by(text: &str, key: &str, line: &str) -> Option<SaidBy> {
        let context = NoiseContext { key: key.as_bytes(), line: line.as_bytes() };
        hash_by_name(text.as_bytes(), &Composition::of(text.as_bytes()), &context)
    }

    #[test]
    fn hashes_are_known_by_length_and_name() {
        let digest = "9f86d081884c7d659a2feaa0c55ad015";
        assert_eq!(said_by(digest, "file_md5", ""), Some(SaidBy::Key));
        assert_eq!(said_by(digest, "rev", ""), Some(SaidBy::Key));
        assert_eq!(said_by(digest, "x", &format!("checksum: {digest}")), Some(SaidBy::Line));
        assert_eq!(said_by(digest, "token", &format!("token: {digest} # md5")), None);
        assert_eq!(said_by(&digest[1..], "file_md5", ""), None);
    }

    #[test]
    fn encoded_text_is_not_a_token() {
        let is_text =
            |text: &str| is_base64_of_text(text.as_bytes(), &Composition::of(text.as_bytes()));
        assert!(is_text("dGhpcyBpcyBvbmx5IHRleHQ="));
        assert!(!is_text("Vq3rT8xLm2Zp6KwYh4Bn"));
        assert_eq!(known_content(b"iVBORw0KGgoAAAANSUhEUg"), Some("an image in Base64"));
    }
}
