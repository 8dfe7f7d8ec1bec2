//! Stellar's secret seeds (SEP-23): a version byte, a 32-byte key, and a CRC-16 (XModem) of both,
//! low byte first, all in base 32.

use super::digits::{BASE32_UPPER, base32_decode, base32_encode};

/// 35 bytes are exactly 56 base 32 digits.
const DIGITS: usize = 56;
/// The version byte of secret seeds, which makes the text begin with `S`.
const VERSION: u8 = 18 << 3;

pub(super) fn holds(secret: &[u8]) -> bool {
    complete(secret).is_some_and(|right| right == secret)
}

pub(super) fn complete(secret: &[u8]) -> Option<Vec<u8>> {
    let bytes = base32_decode((secret.len() == DIGITS).then_some(secret)?, BASE32_UPPER)?;
    let (payload, _) = bytes.split_last_chunk::<2>()?;
    if payload.first() != Some(&VERSION) {
        return None;
    }
    let mut bytes = payload.to_vec();
    bytes.extend(crc16_xmodem(payload).to_le_bytes());
    Some(base32_encode(&bytes, BASE32_UPPER))
}

/// CRC-16/XModem: polynomial 0x1021, initial value zero, highest bit first.
fn crc16_xmodem(data: &[u8]) -> u16 {
    data.iter().fold(0, |crc, byte| {
        (0..8).fold(crc ^ (u16::from(*byte) << 8), |crc, _| {
            if crc & 0x8000 == 0 { crc << 1 } else { (crc << 1) ^ 0x1021 }
        })
    })
}
