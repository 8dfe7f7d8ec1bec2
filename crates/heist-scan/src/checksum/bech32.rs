//! Bech32 (BIP 173) for two kinds of 32-byte secret keys.
//!
//! Invariant: the checksum of text in mixed case never holds, because the standard forbids mixed
//! case.

/// The 32 digits by value.
const ALPHABET: &[u8; 32] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";
/// The number of checksum digits.
const CHECKSUM_DIGITS: usize = 6;
/// The number of data digits: 52 digits of five bits hold 32 bytes.
const DATA_DIGITS: usize = 52;

/// A kind of key: its human-readable prefix in lower case, and whether the key is written in upper
/// case.
#[derive(Clone, Copy)]
pub(super) struct Bech32Key {
    readable: &'static [u8],
    upper_case: bool,
}

/// age's keys: `AGE-SECRET-KEY-1...`
pub(super) const AGE: Bech32Key = Bech32Key { readable: b"age-secret-key-", upper_case: true };
/// Nostr's keys (NIP-19): `nsec1...`
pub(super) const NOSTR: Bech32Key = Bech32Key { readable: b"nsec", upper_case: false };

pub(super) fn holds(secret: &[u8], kind: Bech32Key) -> bool {
    complete(secret, kind).is_some_and(|right| right == secret)
}

pub(super) fn complete(secret: &[u8], kind: Bech32Key) -> Option<Vec<u8>> {
    let lower = secret.to_ascii_lowercase();
    let digits = lower.strip_prefix(kind.readable)?.strip_prefix(b"1")?;
    if digits.len() != DATA_DIGITS + CHECKSUM_DIGITS {
        return None;
    }
    let mut values = Vec::with_capacity(DATA_DIGITS);
    for digit in &digits[..DATA_DIGITS] {
        let value = ALPHABET.iter().position(|known| known == digit)?;
        values.push(u32::try_from(value).ok()?);
    }
    // 52 digits hold four bits more than 32 bytes. Encoders set these bits to zero.
    *values.last_mut()? &= 0b10000;
    let checksum = checksum(kind.readable, &values);
    let mut right = lower[..lower.len() - digits.len()].to_vec();
    right.extend(values.into_iter().chain(checksum).map(|value| ALPHABET[value as usize]));
    if kind.upper_case {
        right.make_ascii_uppercase();
    }
    Some(right)
}

/// Computes the six digits that turn the whole text into a valid code word.
fn checksum(readable: &[u8], values: &[u32]) -> [u32; CHECKSUM_DIGITS] {
    let high = readable.iter().map(|byte| u32::from(byte >> 5));
    let low = readable.iter().map(|byte| u32::from(byte & 31));
    let zeros = std::iter::repeat_n(0, CHECKSUM_DIGITS);
    let all = high.chain([0]).chain(low).chain(values.iter().copied()).chain(zeros);
    let remainder = all.fold(1, step) ^ 1;
    std::array::from_fn(|place| (remainder >> (5 * (CHECKSUM_DIGITS - 1 - place))) & 31)
}

/// Feeds one digit into the checksum: a step of the division by the generator polynomial over the
/// field of 32 elements.
fn step(state: u32, value: u32) -> u32 {
    const GENERATOR: [u32; 5] = [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3];
    let top = state >> 25;
    let shifted = ((state & 0x01ff_ffff) << 5) ^ value;
    (0..5)
        .filter(|bit| top >> bit & 1 == 1)
        .fold(shifted, |state, bit: usize| state ^ GENERATOR[bit])
}
