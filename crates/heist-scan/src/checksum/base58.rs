//! Base58Check as Bitcoin uses it: a version, a payload, and the first four bytes of a double
//! SHA-256, all in base 58.
//!
//! Supports two kinds of secrets: extended private keys (BIP 32; 78 bytes) and single keys in
//! wallet import format (33 bytes, or 34 if the public key is compressed).

use super::sha256::sha256;

/// The 58 digits: letters and digits without `0`, `O`, `I` and `l`.
const ALPHABET: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
/// The longest text that is decoded. Keys are shorter, and decoding takes quadratic time.
const DIGITS_MAX: usize = 120;
/// The version bytes of extended private keys: xprv, yprv, zprv, and tprv of the test network.
const EXTENDED: [[u8; 4]; 4] = [
    [0x04, 0x88, 0xad, 0xe4],
    [0x04, 0x9d, 0x78, 0x78],
    [0x04, 0xb2, 0x43, 0x0c],
    [0x04, 0x35, 0x83, 0x94],
];
/// The length of an extended key without its checksum.
const EXTENDED_BYTES: usize = 78;
/// The position of the zero byte before the private key in an extended key.
const EXTENDED_KEY_PAD: usize = 45;
/// The version byte of a single key on the main network.
const SINGLE: u8 = 0x80;

/// Returns `true` if the bytes before the checksum are a private key.
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
    // Random digits rarely yield the right fixed bytes, so these are corrected as well.
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
    // The number is built with its lowest byte first.
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
