//! Recognises the content of a value: encoded text, an image, a public key, a hash.

use super::NoiseContext;
use super::composition::{Alphabet, Composition, contains_any};

/// The first characters of known kinds of files and keys in Base64.
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

/// Returns the known kind of content, if the text begins like one.
pub(super) fn known_content(text: &[u8]) -> Option<&'static str> {
    let (_, reason) = MAGIC.iter().find(|(prefix, _)| text.starts_with(prefix.as_bytes()))?;
    Some(reason)
}

/// Returns `true` if the key or line suggests that DER is public. The bytes alone cannot decide
/// that, because private keys begin in the same way.
pub(super) fn is_public_der(text: &[u8], context: &NoiseContext<'_>) -> bool {
    (text.starts_with(b"MII")
        || text.starts_with(b"MIG")
        || text.starts_with(b"MFkw")
        || text.starts_with(b"MCow"))
        && (contains_any(context.key, &["public", "cert", "chain", "x509", "pubkey"])
            || contains_any(context.line, &["public key", "certificate"]))
}

/// Words for values that are computed from content.
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

/// Returns `true` if the text has the length of a hash in hexadecimal digits or Base64.
fn has_length_of_hash(text: &[u8], shape: &Composition) -> bool {
    match shape.alphabet {
        Alphabet::Hex | Alphabet::Decimal => matches!(text.len(), 32 | 40 | 56 | 64 | 96 | 128),
        Alphabet::Base62 | Alphabet::Base64 => {
            matches!(text.len(), 24 | 27 | 28 | 43 | 44 | 64 | 86 | 88)
        }
        _ => false,
    }
}

/// Where a hash is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HashNamedBy {
    Key,
    Line,
}

/// Returns where the context names a hash, if the text has the length of one.
pub(super) fn hash_by_name(
    text: &[u8],
    shape: &Composition,
    context: &NoiseContext<'_>,
) -> Option<HashNamedBy> {
    if !has_length_of_hash(text, shape) {
        return None;
    }
    let says_so = |name: &[u8]| {
        contains_any(name, &HASH_NAMES)
            || name.eq_ignore_ascii_case(b"sha")
            || name.eq_ignore_ascii_case(b"rev")
    };
    if says_so(context.key) {
        Some(HashNamedBy::Key)
    } else if shape.alphabet == Alphabet::Hex && line_names_a_hash(text, context.line) {
        Some(HashNamedBy::Line)
    } else {
        None
    }
}

/// Returns `true` if the line names a hash before the secret. A name inside the secret does not
/// count.
fn line_names_a_hash(text: &[u8], line: &[u8]) -> bool {
    let is_here = |at: &usize| line[*at..].starts_with(text);
    let at = memchr::memchr_iter(text[0], line).find(is_here);
    let before = &line[..at.unwrap_or(line.len())];
    // Words further away name something else.
    let near = &before[before.len().saturating_sub(64)..];
    contains_any(near, &HASH_NAMES)
}

/// How many bytes of a secret are decoded.
const DECODED_MAX: usize = 96;

/// Returns `true` for Base64 of printable text. The decoders scan that text; its encoded form is
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

    fn hash_named_by(text: &str, key: &str, line: &str) -> Option<HashNamedBy> {
        let context = NoiseContext { key: key.as_bytes(), line: line.as_bytes() };
        hash_by_name(text.as_bytes(), &Composition::of(text.as_bytes()), &context)
    }

    #[test]
    fn hashes_are_recognised_by_length_and_name() {
        let digest = "9f86d081884c7d659a2feaa0c55ad015";
        assert_eq!(hash_named_by(digest, "file_md5", ""), Some(HashNamedBy::Key));
        assert_eq!(hash_named_by(digest, "rev", ""), Some(HashNamedBy::Key));
        assert_eq!(
            hash_named_by(digest, "x", &format!("checksum: {digest}")),
            Some(HashNamedBy::Line)
        );
        assert_eq!(hash_named_by(digest, "token", &format!("token: {digest} # md5")), None);
        assert_eq!(hash_named_by(&digest[1..], "file_md5", ""), None);
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
