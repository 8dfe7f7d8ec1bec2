//! [`Secret`]: bytes that print as a mask, and [`Fingerprint`]: the hash that identifies them.
//!
//! Not guaranteed: a `Secret` does not wipe its memory when it is dropped.

use crate::parsers::{canonical_key, pem_label};
use std::fmt;

/// The bytes of a secret. `Display` and `Debug` print a mask instead of them.
///
/// # Examples
/// ```
/// use heist_scan::Secret;
///
/// let secret = Secret::new(*b"correct horse battery staple");
/// assert_eq!(secret.to_string(), "corr******le");
/// assert_eq!(secret.reveal(), b"correct horse battery staple");
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Secret(Box<[u8]>);

impl Secret {
    /// Creates a secret from its bytes.
    #[must_use]
    pub fn new(bytes: impl Into<Box<[u8]>>) -> Self {
        Self(bytes.into())
    }

    /// Returns the bytes themselves.
    #[must_use]
    pub fn reveal(&self) -> &[u8] {
        &self.0
    }

    /// Returns what may be shown of the secret: the kind and the fingerprint of a private key, and
    /// of every other secret its [mask](mask), which is enough to recognise a secret you know, and
    /// at most a quarter of it.
    #[must_use]
    pub fn masked(&self) -> String {
        match private_key_kind(&self.0) {
            Some(kind) => format!("{kind}private key, fingerprint {}", self.fingerprint()),
            None => mask(&self.0),
        }
    }

    /// Returns the fingerprint of the secret under a key that everyone knows. Equal secrets have
    /// equal fingerprints, wherever they are found and on every machine.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::keyed(&PUBLIC_KEY, &self.0)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.masked())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({})", self.masked())
    }
}

/// Returns what may be shown of a secret: up to four characters from its beginning (often a
/// vendor's prefix) and up to two from its end, together at most a quarter of it. A byte that is
/// not printable ASCII shows as a dot.
#[must_use]
pub fn mask(bytes: &[u8]) -> String {
    let shown = bytes.len() / 4;
    let ahead = shown.min(4);
    let behind = (shown - ahead).min(2);
    let shown = |byte: &u8| if byte.is_ascii_graphic() { char::from(*byte) } else { '.' };
    let mut masked = String::with_capacity(ahead + 6 + behind);
    masked.extend(bytes[..ahead].iter().map(shown));
    // Always six: a mask must not reveal the length either.
    masked.push_str("******");
    masked.extend(bytes[bytes.len() - behind..].iter().map(shown));
    masked
}

/// Returns the kind of a private key, to be followed by `private key`; or `None` if the secret is
/// not the text of a private key.
fn private_key_kind(secret: &[u8]) -> Option<&'static str> {
    if let Some(label) = pem_label(secret) {
        return match label {
            b"RSA PRIVATE KEY" => Some("RSA "),
            b"EC PRIVATE KEY" => Some("EC "),
            b"DSA PRIVATE KEY" => Some("DSA "),
            b"OPENSSH PRIVATE KEY" => Some("OpenSSH "),
            b"ENCRYPTED PRIVATE KEY" => Some("encrypted "),
            b"PGP PRIVATE KEY BLOCK" => Some("OpenPGP "),
            label if label.ends_with(b"PRIVATE KEY") => Some(""),
            _ => None,
        };
    }
    let begins = |text: &str| secret.starts_with(text.as_bytes());
    (begins("PuTTY-User-Key-File-").then_some("PuTTY "))
        .or(begins("<RSAKeyValue>").then_some("RSA "))
}

/// A public key: the fingerprints in a report distinguish secrets, but do not protect a secret that
/// can be guessed.
const PUBLIC_KEY: [u8; 32] = *b"heist: fingerprints of findings.";

/// The first 128 bits of a keyed BLAKE3 hash of a secret. Prints as 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint([u8; 16]);

impl Fingerprint {
    /// Computes the fingerprint of `secret` under `key`. Without the key, guesses cannot be checked
    /// against it. For a private key in PEM, only the encoded key counts and not its line breaks.
    #[must_use]
    pub fn keyed(key: &[u8; 32], secret: &[u8]) -> Self {
        let canonical =
            if secret.starts_with(b"-----BEGIN") { canonical_key(secret) } else { None };
        let hash = blake3::keyed_hash(key, canonical.as_deref().unwrap_or(secret));
        let mut first = [0; 16];
        first.copy_from_slice(&hash.as_bytes()[..16]);
        Self(first)
    }

    /// Returns the bits of the fingerprint.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Parses what `Display` writes. Returns `None` for any other text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        if digits.len() != 32 || !digits.iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
        let mut bits = [0; 16];
        for (bits, pair) in bits.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            *bits = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
        }
        Some(Self(bits))
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Written in one call, because a scan may print millions of them.
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = [0; 32];
        for (pair, byte) in text.chunks_exact_mut(2).zip(self.0) {
            pair[0] = DIGITS[usize::from(byte >> 4)];
            pair[1] = DIGITS[usize::from(byte & 15)];
        }
        f.write_str(std::str::from_utf8(&text).unwrap_or_default())
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_shows_at_most_a_quarter_and_never_the_length() {
        for len in 0..200 {
            let secret: Vec<u8> = (0..len).map(|at| b'a' + (at % 26)).collect();
            let masked = mask(&secret);
            let shown = masked.len() - 6;
            assert!(shown * 4 <= secret.len() && shown <= 6, "{masked} of {len}");
        }
    }

    #[test]
    fn a_secret_is_never_printed() {
        let secret = Secret::new(*b"correct horse battery staple");
        for text in [format!("{secret}"), format!("{secret:?}")] {
            assert!(!text.contains("horse") && !text.contains("battery"), "{text}");
        }
    }

    #[test]
    fn line_breaks_do_not_change_the_fingerprint_of_a_key() {
        let block = |line_end: &str| {
            let (begin, end) = ("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----");
            let fingerprint = |text: String| Secret::new(text.into_bytes()).fingerprint();
            fingerprint([begin, "aGVpc3QgaGVpc3QgaGVpc3Q=", end].join(line_end))
        };
        assert_eq!(block("\n"), block("\r\n"));
        assert_eq!(block("\n"), block("\\n"));
        assert_ne!(block("\n"), Secret::new(*b"-----BEGIN PRIVATE KEY-----").fingerprint());
    }

    #[test]
    fn a_fingerprint_parses_what_it_prints() {
        let fingerprint = Secret::new(*b"x").fingerprint();
        assert_eq!(Fingerprint::parse(&fingerprint.to_string()), Some(fingerprint));
        assert_eq!(Fingerprint::parse("0123"), None);
        assert_ne!(fingerprint, Fingerprint::keyed(&[7; 32], b"x"));
    }
}
