//! Microsoft's identifiable keys: base 64 text that ends with a signature of four characters and a
//! checksum of six, which is Marvin32 over all bytes except the last four.
//!
//! Each kind of key has its own seeds of eight readable characters. The signature determines which
//! seeds to try.
//!
//! Not supported: the keys of Azure Cache for Redis, in which characters are replaced after the
//! checksum is computed.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// The kinds of keys by signature, with their seeds.
const KINDS: &[(&[u8; 4], &[&[u8; 8]])] = &[
    (b"+ASt", &[b"Default0"]),
    (b"+ASb", MESSAGING),
    (b"+AEh", MESSAGING),
    (b"+ARm", MESSAGING),
    (b"+ABa", &[b"AbAcct00"]),
    (b"AzFu", &[b"Master00", b"System00", b"Functi00"]),
    (
        b"ACDb",
        &[
            b"MastRW00",
            b"MastRO00",
            b"SysAll00",
            b"Resour00",
            b"SystRO00",
            b"SystRW00",
            b"Encryp00",
        ],
    ),
    (b"AzSe", &[b"Query000", b"PAdmin00"]),
    (b"+AMC", &[b"Classic0"]),
    (b"+ACR", &[b"ACRDflt0"]),
    (b"AIoT", &[b"IoTHub00", b"DpsKey00", b"Device00"]),
    (b"APIM", &[b"Tenant00", b"IoTHub00", b"Gatewy00", b"GitKey00"]),
];

/// The seeds that Service Bus, Event Hubs and Relay share.
const MESSAGING: &[&[u8; 8]] = &[b"Send0000", b"Listen00", b"Manage00", b"System00", b"Unknown0"];

/// The length of the checksum in bytes.
const CHECKSUM_BYTES: usize = 4;
/// The length of the checksum in characters.
const CHECKSUM_DIGITS: usize = 6;
/// The length of the shortest key.
const KEY_BYTES_MIN: usize = 24;

/// Strict: leftover bits must be zero, so that every character counts.
const STRICT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
/// Lenient: for sample texts, whose last character is corrected later.
const LENIENT: GeneralPurposeConfig = STRICT.with_decode_allow_trailing_bits(true);

/// Returns the alphabet of the key. Keys that appear in URLs use the URL-safe one.
fn alphabet_of(secret: &[u8]) -> alphabet::Alphabet {
    let of_urls = secret.iter().any(|byte| matches!(byte, b'-' | b'_'));
    if of_urls { alphabet::URL_SAFE } else { alphabet::STANDARD }
}

/// Returns the key without its padding, and the seeds of its kind.
fn kind(secret: &[u8]) -> Option<(&[u8], &'static [&'static [u8; 8]])> {
    let end = secret.iter().rposition(|byte| *byte != b'=')? + 1;
    let text = &secret[..end];
    let signature = text.len().checked_sub(CHECKSUM_DIGITS + 4)?;
    let signature = &text[signature..signature + 4];
    let (_, seeds) = KINDS.iter().find(|(known, _)| known.as_slice() == signature)?;
    Some((text, seeds))
}

pub(super) fn holds(secret: &[u8]) -> bool {
    let Some((_, seeds)) = kind(secret) else { return false };
    let Ok(bytes) = GeneralPurpose::new(&alphabet_of(secret), STRICT).decode(secret) else {
        return false;
    };
    let Some((body, checksum)) = bytes.split_last_chunk::<CHECKSUM_BYTES>() else { return false };
    bytes.len() >= KEY_BYTES_MIN
        && seeds.iter().any(|seed| marvin32(body, u64::from_be_bytes(**seed)) == *checksum)
}

pub(super) fn complete(secret: &[u8]) -> Option<Vec<u8>> {
    let (text, seeds) = kind(secret)?;
    let engine = GeneralPurpose::new(&alphabet_of(secret), LENIENT);
    // Some kinds consist of letters and digits only, so this tries different first characters until
    // the checksum does as well.
    let plain = |text: &[u8]| text.iter().all(u8::is_ascii_alphanumeric);
    let body_is_plain = plain(&text[..text.len() - CHECKSUM_DIGITS]);
    let mut text = text.to_vec();
    for first in std::iter::once(text[0]).chain(b'A'..=b'Z') {
        text[0] = first;
        let mut bytes = engine.decode(&text).ok()?;
        let (body, checksum) = bytes.split_last_chunk_mut::<CHECKSUM_BYTES>()?;
        *checksum = marvin32(body, u64::from_be_bytes(*seeds[0]));
        let mut right = engine.encode(&bytes).into_bytes();
        if !body_is_plain || plain(&right[text.len() - CHECKSUM_DIGITS..text.len()]) {
            right.truncate(secret.len());
            return holds(&right).then_some(right);
        }
    }
    None
}

/// Computes Marvin32: the two halves of the state combined, low byte first.
fn marvin32(data: &[u8], seed: u64) -> [u8; 4] {
    let state = marvin(data, seed);
    let folded = (state >> 32) ^ (state & u64::from(u32::MAX));
    let [low @ .., _, _, _, _] = folded.to_le_bytes();
    low
}

/// Computes the full Marvin state after `data`.
pub(super) fn marvin(data: &[u8], seed: u64) -> u64 {
    let [low @ .., a, b, c, d] = seed.to_le_bytes();
    let mut halves = (u32::from_le_bytes(low), u32::from_le_bytes([a, b, c, d]));
    let (words, rest) = data.as_chunks::<4>();
    for word in words {
        mix(&mut halves, u32::from_le_bytes(*word));
    }
    // The rest is padded with 0x80 and zeros, followed by one more round.
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    last[rest.len()] = 0x80;
    mix(&mut halves, u32::from_le_bytes(last));
    mix(&mut halves, 0);
    (u64::from(halves.1) << 32) | u64::from(halves.0)
}

fn mix((low, high): &mut (u32, u32), word: u32) {
    *low = low.wrapping_add(word);
    *high ^= *low;
    *low = low.rotate_left(20).wrapping_add(*high);
    *high = high.rotate_left(9) ^ *low;
    *low = low.rotate_left(27).wrapping_add(*high);
    *high = high.rotate_left(19);
}
