//! Random text over given alphabets, and the encodings and checksums that tokens use.
//!
//! A template is a text in which `{w36}` stands for 36 characters of the alphabet `w`; see
//! [`fill`]. The result depends only on the given random sequence. None of this is fit for real
//! secrets.

use crate::walk::trees::random::Random;

const DIGITS: &str = "0123456789";
const HEX: &str = "0123456789abcdef";
const HEX_UPPER: &str = "0123456789ABCDEF";
const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const LOWER_DIGITS: &str = "abcdefghijklmnopqrstuvwxyz0123456789";
const UPPER_DIGITS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
const BASE32: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const BASE32_LOWER: &str = "abcdefghijklmnopqrstuvwxyz234567";
const BASE62: &str = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const BASE64_URL: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
/// The characters of bech32, in the order of their values.
const BECH32: &str = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";

/// Returns the alphabet that a letter in a template stands for.
fn alphabet(name: char) -> &'static str {
    match name {
        'd' => DIGITS,
        'h' => HEX,
        'H' => HEX_UPPER,
        'l' => LOWER,
        'c' => LETTERS,
        'a' => LOWER_DIGITS,
        'A' => UPPER_DIGITS,
        't' => BASE32,
        'T' => BASE32_LOWER,
        'w' => BASE62,
        'B' => BASE64,
        'b' => BASE64_URL,
        other => panic!("there is no alphabet `{other}`"),
    }
}

/// Draws `count` characters independently.
pub(crate) fn draw(random: &mut Random, name: char, count: usize) -> String {
    let alphabet = alphabet(name).as_bytes();
    (0..count).map(|_| char::from(alphabet[random.below(alphabet.len())])).collect()
}

/// Fills a template: random characters for each `{w36}`, a UUID for each `{uuid}`.
pub(crate) fn fill(random: &mut Random, template: &str) -> String {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        text += before;
        let (placeholder, after) = after.split_once('}').expect("every placeholder is closed");
        text += &if placeholder == "uuid" {
            uuid(random)
        } else {
            draw_placeholder(random, placeholder)
        };
        rest = after;
    }
    text + rest
}

fn draw_placeholder(random: &mut Random, placeholder: &str) -> String {
    let name = placeholder.chars().next().expect("a placeholder names its alphabet");
    draw(random, name, placeholder[1..].parse().expect("a placeholder has a count"))
}

/// Returns a random UUID, version 4.
pub(crate) fn uuid(random: &mut Random) -> String {
    let digits = draw(random, 'h', 30);
    let variant = ['8', '9', 'a', 'b'][random.below(4)];
    format!(
        "{}-{}-4{}-{variant}{}-{}",
        &digits[..8],
        &digits[8..12],
        &digits[12..15],
        &digits[15..18],
        &digits[18..]
    )
}

/// Returns `count` random bytes.
pub(crate) fn bytes(random: &mut Random, count: usize) -> Vec<u8> {
    (0..count).map(|_| random.next() as u8).collect()
}

/// Returns a random element.
pub(crate) fn pick<'a, T: ?Sized>(random: &mut Random, from: &[&'a T]) -> &'a T {
    from[random.below(from.len())]
}

/// Encodes as base64 with padding.
pub(crate) fn base64(bytes: &[u8]) -> String {
    let mut text = encode(bytes, BASE64);
    while !text.len().is_multiple_of(4) {
        text.push('=');
    }
    text
}

/// Encodes as URL-safe base64 without padding.
pub(crate) fn base64_url(bytes: &[u8]) -> String {
    encode(bytes, BASE64_URL)
}

fn encode(bytes: &[u8], alphabet: &str) -> String {
    let alphabet = alphabet.as_bytes();
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let bits = group.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
        let bits = bits << (8 * (3 - group.len()));
        for position in 0..=group.len() {
            text.push(char::from(alphabet[(bits >> (18 - 6 * position) & 63) as usize]));
        }
    }
    text
}

/// Computes the CRC-32 of Ethernet and zip files, bit by bit.
pub(crate) fn crc32(bytes: &[u8]) -> u32 {
    let mut sum = !0_u32;
    for byte in bytes {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = sum >> 1 ^ (0xedb8_8320 & (sum & 1).wrapping_neg());
        }
    }
    !sum
}

/// Returns the number in base 62, with six digits.
pub(crate) fn base62_of(mut number: u32) -> String {
    let mut digits = [b'0'; 6];
    for digit in digits.iter_mut().rev() {
        *digit = BASE62.as_bytes()[(number % 62) as usize];
        number /= 62;
    }
    digits.iter().copied().map(char::from).collect()
}

/// Encodes as lower-case bech32 with its checksum, as specified in BIP 173.
pub(crate) fn bech32(prefix: &str, bytes: &[u8]) -> String {
    let mut values = Vec::new();
    let (mut bits, mut held) = (0_u32, 0);
    for byte in bytes {
        bits = bits << 8 | u32::from(*byte);
        held += 8;
        while held >= 5 {
            held -= 5;
            values.push((bits >> held & 31) as u8);
        }
    }
    if held > 0 {
        values.push((bits << (5 - held) & 31) as u8);
    }
    let prefix_values =
        prefix.bytes().map(|byte| byte >> 5).chain([0]).chain(prefix.bytes().map(|byte| byte & 31));
    let all: Vec<u8> = prefix_values.chain(values.iter().copied()).chain([0; 6]).collect();
    let sum = bech32_sum(&all) ^ 1;
    let check = (0..6).map(|position| (sum >> (5 * (5 - position)) & 31) as u8);
    let data: String = values
        .iter()
        .copied()
        .chain(check)
        .map(|value| char::from(BECH32.as_bytes()[usize::from(value)]))
        .collect();
    format!("{prefix}1{data}")
}

fn bech32_sum(values: &[u8]) -> u32 {
    const GENERATORS: [u32; 5] = [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3];
    values.iter().fold(1, |sum: u32, value| {
        let top = sum >> 25;
        let shifted = (sum & 0x1ff_ffff) << 5 ^ u32::from(*value);
        GENERATORS
            .iter()
            .enumerate()
            .filter(|(bit, _)| top >> bit & 1 == 1)
            .fold(shifted, |sum, (_, generator)| sum ^ generator)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_filled_and_other_text_is_kept() {
        let mut random = Random::new(1);
        let text = fill(&mut random, "key-{h32}.{d3}!");
        assert_eq!(text.len(), "key-".len() + 32 + 1 + 3 + 1);
        assert!(text.starts_with("key-") && text.ends_with('!'));
        let id = fill(&mut random, "{uuid}");
        assert_eq!((id.len(), id.as_bytes()[14]), (36, b'4'));
        assert_eq!(fill(&mut Random::new(5), "{b40}"), fill(&mut Random::new(5), "{b40}"));
    }

    #[test]
    fn base64_follows_the_standard() {
        for (plain, encoded) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foobar", "Zm9vYmFy")] {
            assert_eq!(base64(plain.as_bytes()), encoded);
        }
        assert_eq!(base64_url(&[0xfb, 0xff]), "-_8");
    }

    #[test]
    fn checksums_follow_their_standards() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(base62_of(0), "000000");
        assert_eq!(base62_of(62), "000010");
        // The valid string with the shortest data in BIP 173.
        assert_eq!(bech32("a", &[]), "a12uel5l");
    }
}
