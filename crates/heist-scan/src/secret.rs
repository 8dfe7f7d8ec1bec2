//! [`Secret`]: bytes that are not to be shown, and [`Fingerprint`], by which they are known instead.

use crate::parsers::canonical_key;
use std::fmt;

/// A secret. Whoever prints it, by `Display` or `Debug`, prints a mask.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Secret(Box<[u8]>);

impl Secret {
    /// Of these bytes.
    #[must_use]
    pub fn new(bytes: impl Into<Box<[u8]>>) -> Self {
        Self(bytes.into())
    }

    /// The bytes themselves.
    #[must_use]
    pub fn reveal(&self) -> &[u8] {
        &self.0
    }

    /// What may be shown of it: enough to recognise one's own, and never more than a quarter.
    #[must_use]
    pub fn masked(&self) -> String {
        mask(&self.0)
    }

    /// By what it is known: the same for the same bytes, wherever they are found, and on every machine.
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

/// Up to four characters at the beginning (a vendor's prefix, mostly) and up to two at the end, a quarter of the whole
/// at most; what is not printable ASCII counts as a dot.
#[must_use]
pub fn mask(bytes: &[u8]) -> String {
    let shown = bytes.len() / 4;
    let ahead = shown.min(4);
    let behind = (shown - ahead).min(2);
    let shown = |byte: &u8| if byte.is_ascii_graphic() { char::from(*byte) } else { '.' };
    let mut masked = String::with_capacity(ahead + 6 + behind);
    masked.extend(bytes[..ahead].iter().map(shown));
    // Always six: the length is nobody's business either.
    masked.push_str("******");
    masked.extend(bytes[bytes.len() - behind..].iter().map(shown));
    masked
}

/// Known to everybody: a fingerprint in a report tells two secrets apart, but does not hide one that can be guessed.
const PUBLIC_KEY: [u8; 32] = *b"heist: fingerprints of findings.";

/// 128 bits of a keyed BLAKE3 hash of a secret, written as 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint([u8; 16]);

impl Fingerprint {
    /// Under a key of the caller's, without which nobody can try guesses. A private key in PEM is known by what it
    /// encodes, however its lines are broken.
    #[must_use]
    pub fn keyed(key: &[u8; 32], secret: &[u8]) -> Self {
        let canonical =
            if secret.starts_with(b"-----BEGIN") { canonical_key(secret) } else { None };
        let hash = blake3::keyed_hash(key, canonical.as_deref().unwrap_or(secret));
        let mut first = [0; 16];
        first.copy_from_slice(&hash.as_bytes()[..16]);
        Self(first)
    }

    /// The bits.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Reads what `Display` writes.
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
        // At once: a scan may print millions of them.
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
    fn a_mask_shows_a_quarter_at_most_and_never_the_length() {
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
    fn a_key_is_known_however_its_lines_are_broken() {
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
    fn a_fingerprint_reads_what_it_writes() {
        let fingerprint = Secret::new(*b"x").fingerprint();
        assert_eq!(Fingerprint::parse(&fingerprint.to_string()), Some(fingerprint));
        assert_eq!(Fingerprint::parse("0123"), None);
        assert_ne!(fingerprint, Fingerprint::keyed(&[7; 32], b"x"));
    }
}
