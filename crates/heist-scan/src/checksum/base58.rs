//! Base58Check as Bitcoin uses it: base 58 of a version, a payload, and the first four bytes of a double SHA-256.
//!
//! Two kinds of secrets are known: extended private keys (BIP 32; 78 bytes) and single keys in wallet import format
//! (33 bytes, or 34 if the public key is compressed).

use super::sha256::sha256;

/// The 58 digits: no zero, no upper-case O and I, no lower-case l.
const ALPHABET: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
/// Longer text is no key; and decoding takes time that grows with the square of the length.
const DIGITS_MAX: usize = 120;
/// The version bytes of extended private keys: xprv, yprv, zprv, and tprv of the test network.
const EXTENDED: [[u8; 4]; 4] = [
    [0x04, 0x88, 0xad, 0xe4],
    [0x04, 0x9d, 0x78, 0x78],
    [0x04, 0xb2, 0x43, 0x0c],
    [0x04, 0x35, 0x83, 0x94],
];
/// Bytes of an extended key before the checksum.
const EXTENDED_BYTES: usize = 78;
/// Where its private key begins, after a zero byte.
const EXTENDED_KEY_PAD: usize = 45;
/// The version byte of a single key on the main network.
const SINGLE: u8 = 0x80;

/// Whether the bytes before the checksum are a private key.
fn is_key(payload: &[u8]) -> bool {
    match payload.len() {
        EXTENDED_BYTES => {
            EXTENDED.iter().any(|version| payload.starts_with(version))
                && payload[EXTENDED_KEY_PAD] == 0
        }
        33 => payload[0] == SINGLE,
        34 => payload[0] == SINGLE && payload[33] == 1,
        _ => false,
    }
}

pub(super) fn holds(secret: &[u8]) -> bool {
    decode(secret).is_some_and(|bytes| {
        bytes
            .split_last_chunk::<4>()
            .is_some_and(|(payload, checksum)| is_key(payload) && checksum_of(payload) == *checksum)
    })
}

pub(super) fn complete(secret: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = decode(secret)?;
    let payload = bytes.len().checked_sub(4)?;
    bytes.truncate(payload);
    // Random digits say little about the fixed bytes; these are put right with the rest.
    match payload {
        EXTENDED_BYTES => bytes[EXTENDED_KEY_PAD] = 0,
        34 => bytes[33] = 1,
        _ => {}
    }
    let checksum = checksum_of(&bytes);
    bytes.extend(checksum);
    let right = encode(&bytes);
    (holds(&right) && right.len() == secret.len()).then_some(right)
}

fn checksum_of(payload: &[u8]) -> [u8; 4] {
    let [a, b, c, d, ..] = sha256(&sha256(payload));
    [a, b, c, d]
}

fn decode(text: &[u8]) -> Option<Vec<u8>> {
    if text.len() > DIGITS_MAX {
        return None;
    }
    // Lowest byte first while it grows.
    let mut bytes: Vec<u8> = Vec::with_capacity(text.len());
    for digit in text {
        let mut carry = u32::try_from(ALPHABET.iter().position(|known| known == digit)?).ok()?;
        for byte in &mut bytes {
            carry += u32::from(*byte) * 58;
            *byte = carry.to_le_bytes()[0];
            carry >>= 8;
        }
        if carry > 0 {
            bytes.push(carry.to_le_bytes()[0]);
        }
    }
    let zeros = text.iter().take_while(|digit| **digit == ALPHABET[0]).count();
    bytes.resize(bytes.len() + zeros, 0);
    bytes.reverse();
    Some(bytes)
}

fn encode(bytes: &[u8]) -> Vec<u8> {
    let mut digits: Vec<u8> = Vec::with_capacity(bytes.len() * 138 / 100 + 1);
    for byte in bytes {
        let mut carry = u32::from(*byte);
        for digit in &mut digits {
            carry += u32::from(*digit) << 8;
            *digit = (carry % 58).to_le_bytes()[0];
            carry /= 58;
        }
        while carry > 0 {
            digits.push((carry % 58).to_le_bytes()[0]);
            carry /= 58;
        }
    }
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    digits.resize(digits.len() + zeros, 0);
    digits.iter().rev().map(|digit| ALPHABET[usize::from(*digit)]).collect()
}
