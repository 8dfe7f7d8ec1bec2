//! [`Composition`]: counts the classes of characters in a secret and finds its alphabet, in one
//! pass over its bytes.

/// How many bytes of a secret the filter reads. Longer noise is recognisable by then.
pub(super) const SECRET_BYTES_READ: usize = 192;

/// Lower case letters.
const LOWER: u8 = 1;
/// Upper case letters.
const UPPER: u8 = 2;
/// Decimal digits.
const DIGIT: u8 = 4;
/// The signs of Base64's alphabets: `+/-_=`.
const BASE64_SIGN: u8 = 8;
/// Other printable characters.
const OTHER_SIGN: u8 = 16;
/// Bytes that are not printable ASCII.
const FOREIGN: u8 = 32;
/// Hexadecimal digits.
const HEX: u8 = 64;

const CLASSES: [u8; 256] = {
    let mut classes = [FOREIGN; 256];
    let mut byte = 0x20;
    while byte < 0x7F {
        classes[byte] = match byte as u8 {
            b'a'..=b'f' => LOWER | HEX,
            b'g'..=b'z' => LOWER,
            b'A'..=b'F' => UPPER | HEX,
            b'G'..=b'Z' => UPPER,
            b'0'..=b'9' => DIGIT | HEX,
            b'+' | b'/' | b'-' | b'_' | b'=' => BASE64_SIGN,
            _ => OTHER_SIGN,
        };
        byte += 1;
    }
    classes
};

/// The smallest alphabet that contains all characters of a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Alphabet {
    Decimal,
    Hex,
    /// Letters of one case and digits: Base32, Base36.
    OneCase,
    /// Letters of both cases and digits: Base62, Base58.
    Base62,
    /// Letters of both cases, digits, and the signs of Base64.
    Base64,
    /// Anything else.
    Other,
}

/// The results of one pass over a secret.
#[derive(Clone, Copy, Debug)]
pub(super) struct Composition {
    pub(super) len: usize,
    pub(super) lower: usize,
    pub(super) upper: usize,
    pub(super) digits: usize,
    pub(super) signs: usize,
    pub(super) foreign: usize,
    pub(super) alphabet: Alphabet,
    /// The alphabet of the letters and digits alone: for a UUID, without its dashes.
    pub(super) inner_alphabet: Alphabet,
}

impl Composition {
    pub(super) fn of(secret: &[u8]) -> Self {
        let (mut lower, mut upper, mut digits, mut signs, mut foreign) = (0, 0, 0, 0, 0);
        let (mut seen, mut is_hex) = (0, true);
        for &byte in secret {
            let class = CLASSES[usize::from(byte)];
            seen |= class;
            is_hex &= class & (HEX | BASE64_SIGN | OTHER_SIGN | FOREIGN) != 0;
            lower += usize::from(class & LOWER != 0);
            upper += usize::from(class & UPPER != 0);
            digits += usize::from(class & DIGIT != 0);
            signs += usize::from(class & (BASE64_SIGN | OTHER_SIGN) != 0);
            foreign += usize::from(class & FOREIGN != 0);
        }
        let both_cases = lower > 0 && upper > 0;
        let inner_alphabet = if lower + upper == 0 {
            Alphabet::Decimal
        } else if both_cases {
            Alphabet::Base62
        } else if is_hex {
            Alphabet::Hex
        } else {
            Alphabet::OneCase
        };
        let alphabet = if seen & (OTHER_SIGN | FOREIGN) != 0 {
            Alphabet::Other
        } else if seen & BASE64_SIGN != 0 {
            Alphabet::Base64
        } else {
            inner_alphabet
        };
        Self { len: secret.len(), lower, upper, digits, signs, foreign, alphabet, inner_alphabet }
    }

    pub(super) fn letters(&self) -> usize {
        self.lower + self.upper
    }
}

/// Returns `true` if `text` contains any of `parts`, ignoring case. The parts must be in lower case
/// and have at least two bytes.
pub(super) fn contains_any(text: &[u8], parts: &[&str]) -> bool {
    // The lowest five bits identify a letter regardless of its case. Few pairs of bytes begin one
    // of the parts.
    let mut beginnings = [0_u32; 32];
    for part in parts {
        let part = part.as_bytes();
        beginnings[usize::from(part[0] & 31)] |= 1 << (part[1] & 31);
    }
    text.windows(2).enumerate().any(|(at, two)| {
        beginnings[usize::from(two[0] & 31)] >> (two[1] & 31) & 1 == 1
            && parts.iter().any(|part| begins_no_case(&text[at..], part))
    })
}

/// Returns `true` if `text` begins with `prefix`, ignoring case.
pub(super) fn begins_no_case(text: &[u8], prefix: &str) -> bool {
    let prefix = prefix.as_bytes();
    match (text.first(), prefix.first()) {
        (Some(byte), Some(first)) if byte.eq_ignore_ascii_case(first) => {
            text.get(..prefix.len()).is_some_and(|head| head.eq_ignore_ascii_case(prefix))
        }
        (_, first) => first.is_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_matching_alphabet_is_chosen() {
        for (text, alphabet) in [
            ("0129", Alphabet::Decimal),
            ("01af", Alphabet::Hex),
            ("01AF", Alphabet::Hex),
            ("01aF", Alphabet::Base62),
            ("01ag", Alphabet::OneCase),
            ("AZ27", Alphabet::OneCase),
            ("aZ27", Alphabet::Base62),
            ("aZ27+/=", Alphabet::Base64),
            ("aZ-_", Alphabet::Base64),
            ("a b", Alphabet::Other),
            ("\u{e4}", Alphabet::Other),
        ] {
            assert_eq!(Composition::of(text.as_bytes()).alphabet, alphabet, "{text}");
        }
    }

    #[test]
    fn parts_are_found_ignoring_case() {
        assert!(contains_any(b"a SHA256 b", &["md5", "sha256"]));
        assert!(contains_any(b"sha", &["sha"]));
        assert!(!contains_any(b"sh", &["sha"]));
        assert!(!contains_any(b"", &["sha"]));
        assert!(begins_no_case(b"SHA1-x", "sha1-") && !begins_no_case(b"xSHA1-", "sha1-"));
    }
}
