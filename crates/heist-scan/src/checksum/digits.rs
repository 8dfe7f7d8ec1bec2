//! Fixed-width numbers, most significant digit first, and base 32.
//!
//! Invariant: encoded numbers have exactly the requested width. Not guaranteed: that the number
//! fits. The callers encode 32-bit numbers into widths that hold 32 bits.

/// Digits, upper-case letters, lower-case letters: the order that GitHub and npm use.
pub(super) const BASE62: &[u8; 62] =
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Digits, then lower-case letters.
pub(super) const BASE36: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";

/// The upper-case alphabet of RFC 4648.
pub(super) const BASE32_UPPER: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// The alphabet of RFC 4648 in lower case.
pub(super) const BASE32_LOWER: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// Encodes `number` in the base of `alphabet`, padded with its zero digit to `WIDTH`.
pub(super) fn fixed_width<const WIDTH: usize>(mut number: u64, alphabet: &[u8]) -> [u8; WIDTH] {
    let base = alphabet.len() as u64;
    let mut digits = [alphabet[0]; WIDTH];
    for digit in digits.iter_mut().rev() {
        *digit = alphabet[usize::try_from(number % base).unwrap_or(0)];
        number /= base;
    }
    digits
}

/// Decodes a number. Returns `None` if a digit is not in `alphabet` or the number does not fit into
/// 64 bits.
pub(super) fn number(digits: &[u8], alphabet: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0_u64, |number, digit| {
        let value = alphabet.iter().position(|known| known == digit)?;
        number.checked_mul(alphabet.len() as u64)?.checked_add(value as u64)
    })
}

/// Decodes base 32. Ignores leftover bits at the end, like the vendors' decoders for tokens of a
/// fixed length. Returns `None` if a digit is not in `alphabet`.
pub(super) fn base32_decode(text: &[u8], alphabet: &[u8; 32]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() * 5 / 8);
    let mut bits = 0_u32;
    let mut held = 0;
    for digit in text {
        let value = alphabet.iter().position(|known| known == digit)?;
        bits = (bits << 5) | u32::try_from(value).ok()?;
        held += 5;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held).to_le_bytes()[0]);
            bits &= (1 << held) - 1;
        }
    }
    Some(bytes)
}

/// Encodes `bytes` in base 32 without padding.
pub(super) fn base32_encode(bytes: &[u8], alphabet: &[u8; 32]) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes.len().div_ceil(5) * 8);
    let mut bits = 0_u32;
    let mut held = 0;
    for byte in bytes {
        bits = (bits << 8) | u32::from(*byte);
        held += 8;
        while held >= 5 {
            held -= 5;
            text.push(alphabet[(bits >> held) as usize & 31]);
            bits &= (1 << held) - 1;
        }
    }
    if held > 0 {
        text.push(alphabet[(bits << (5 - held)) as usize & 31]);
    }
    text
}
