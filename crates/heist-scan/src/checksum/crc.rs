//! Schemes that end in a CRC-32 (the variant of zlib and Ethernet), as their vendors published
//! them.
//!
//! Invariant: checksums are compared as text, so that every character counts.

use super::digits::{BASE32_LOWER, BASE36, BASE62};
use super::digits::{base32_decode, base32_encode, fixed_width, number};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

/// The width of the checksum: six base 62 digits hold 32 bits. GitHub and npm pad with zeros.
const BASE62_DIGITS: usize = 6;

/// The prefixes of the GitHub tokens with this checksum.
pub(super) const GITHUB: &[&[u8]] = &[b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_"];
/// The prefix of npm's tokens.
pub(super) const NPM: &[&[u8]] = &[b"npm_"];

pub(super) fn base62_holds(secret: &[u8], prefixes: &[&[u8]]) -> bool {
    base62_complete(secret, prefixes).is_some_and(|right| right == secret)
}

pub(super) fn base62_complete(secret: &[u8], prefixes: &[&[u8]]) -> Option<Vec<u8>> {
    let begin = secret.len().checked_sub(BASE62_DIGITS)?;
    let body = prefixes.iter().find_map(|prefix| secret[..begin].strip_prefix(*prefix))?;
    let checksum: [u8; BASE62_DIGITS] = fixed_width(crc32fast::hash(body).into(), BASE62);
    (!body.is_empty()).then(|| with_end(secret, begin, &checksum))
}

/// The width of the checksum: seven base 36 digits hold 32 bits.
const GITLAB_CRC_DIGITS: usize = 7;
/// The width of the payload's length, in base 36 digits.
const GITLAB_LENGTH_DIGITS: usize = 2;
/// The length of the smallest payload: 16 random bytes, the shortest routing information (`o:1`)
/// and its length are 20 bytes, which take 27 base 64 digits.
const GITLAB_PAYLOAD_MIN: u64 = 27;

/// Returns the text before the last dot of a routable token, without the version (`.01`) that newer
/// tokens have there.
fn gitlab_front(secret: &[u8]) -> Option<&[u8]> {
    let dot = secret.len().checked_sub(1 + GITLAB_LENGTH_DIGITS + GITLAB_CRC_DIGITS)?;
    let front = (secret[dot] == b'.').then_some(&secret[..dot])?;
    match front.len().checked_sub(3) {
        Some(version) if front[version] == b'.' => Some(&front[..version]),
        _ => Some(front),
    }
}

pub(super) fn gitlab_holds(secret: &[u8]) -> bool {
    let Some(front) = gitlab_front(secret) else { return false };
    let crc = secret.len() - GITLAB_CRC_DIGITS;
    let length = number(&secret[crc - GITLAB_LENGTH_DIGITS..crc], BASE36);
    let expected: [u8; GITLAB_CRC_DIGITS] =
        fixed_width(crc32fast::hash(&secret[..crc]).into(), BASE36);
    // The payload must be shorter than the front, because a prefix, which each instance may choose,
    // comes before it.
    length.is_some_and(|length| length >= GITLAB_PAYLOAD_MIN && length < front.len() as u64)
        && secret[crc..] == expected
}

pub(super) fn gitlab_complete(secret: &[u8]) -> Option<Vec<u8>> {
    let front = gitlab_front(secret)?;
    let mut prefix = front.iter().position(|byte| *byte == b'-')? + 1;
    // Runners' tokens contain the kind of runner: `t1_`, `t2_` or `t3_`.
    if let Some([b't', b'1'..=b'3', b'_']) = front.get(prefix..prefix + 3) {
        prefix += 3;
    }
    let length = (front.len() - prefix) as u64;
    let crc = secret.len() - GITLAB_CRC_DIGITS;
    let mut right = secret.to_vec();
    let length: [u8; GITLAB_LENGTH_DIGITS] = fixed_width(length, BASE36);
    right[crc - GITLAB_LENGTH_DIGITS..crc].copy_from_slice(&length);
    let checksum: [u8; GITLAB_CRC_DIGITS] =
        fixed_width(crc32fast::hash(&right[..crc]).into(), BASE36);
    right[crc..].copy_from_slice(&checksum);
    gitlab_holds(&right).then_some(right)
}

/// The width of the checksum: eight hexadecimal digits.
const GRAFANA_DIGITS: usize = 8;

pub(super) fn grafana_holds(secret: &[u8]) -> bool {
    grafana_complete(secret).is_some_and(|right| right == secret)
}

pub(super) fn grafana_complete(secret: &[u8]) -> Option<Vec<u8>> {
    let begin = secret.len().checked_sub(GRAFANA_DIGITS)?;
    let key = secret[..begin].strip_suffix(b"_")?;
    if !key.starts_with(b"gl") {
        return None;
    }
    // The checksum is written with its low byte first, so its bytes are swapped before printing.
    let checksum: [u8; GRAFANA_DIGITS] =
        fixed_width(crc32fast::hash(key).swap_bytes().into(), &BASE36[..16]);
    Some(with_end(secret, begin, &checksum))
}

/// The width of the checksum: four bytes are six base 64 digits.
const CONFLUENT_DIGITS: usize = 6;

pub(super) fn confluent_holds(secret: &[u8]) -> bool {
    confluent_complete(secret).is_some_and(|right| right == secret)
}

pub(super) fn confluent_complete(secret: &[u8]) -> Option<Vec<u8>> {
    let begin = secret.len().checked_sub(CONFLUENT_DIGITS)?;
    let body = secret[..begin].strip_prefix(b"cflt")?;
    let checksum = STANDARD_NO_PAD.encode(crc32fast::hash(body).to_le_bytes());
    Some(with_end(secret, begin, checksum.as_bytes()))
}

/// The value that the CRC-32 of a user's Azure DevOps token is XORed with.
const AZURE_DEVOPS_USER: u32 = 0xE0B9_692D;
/// The value for the tokens of applications.
const AZURE_DEVOPS_APPLICATION: u32 = 0x1019_F92E;
/// The length of such a token. Its characters hold 32 bytes and four unused bits.
const AZURE_DEVOPS_LENGTH: usize = 52;
/// The positions of the checksum's bytes among the 32, highest byte first.
const AZURE_DEVOPS_PLACES: [usize; 4] = [2, 7, 8, 22];

fn azure_devops_parts(secret: &[u8]) -> Option<(Vec<u8>, u32)> {
    let right_length = secret.len() == AZURE_DEVOPS_LENGTH;
    let bytes = base32_decode(right_length.then_some(secret)?, BASE32_LOWER)?;
    let covered: Vec<u8> = (0..bytes.len())
        .filter(|place| !AZURE_DEVOPS_PLACES.contains(place))
        .map(|place| bytes[place])
        .collect();
    let crc = crc32fast::hash(&covered);
    Some((bytes, crc))
}

pub(super) fn azure_devops_holds(secret: &[u8]) -> bool {
    azure_devops_parts(secret).is_some_and(|(bytes, crc)| {
        let said = u32::from_be_bytes(AZURE_DEVOPS_PLACES.map(|place| bytes[place]));
        said == crc ^ AZURE_DEVOPS_USER || said == crc ^ AZURE_DEVOPS_APPLICATION
    })
}

pub(super) fn azure_devops_complete(secret: &[u8]) -> Option<Vec<u8>> {
    let (mut bytes, crc) = azure_devops_parts(secret)?;
    let checksum = (crc ^ AZURE_DEVOPS_USER).to_be_bytes();
    for (place, byte) in AZURE_DEVOPS_PLACES.into_iter().zip(checksum) {
        bytes[place] = byte;
    }
    Some(base32_encode(&bytes, BASE32_LOWER))
}

/// Returns `secret` with everything from `begin` on replaced by `end`.
fn with_end(secret: &[u8], begin: usize, end: &[u8]) -> Vec<u8> {
    let mut right = secret[..begin].to_vec();
    right.extend_from_slice(end);
    right
}
