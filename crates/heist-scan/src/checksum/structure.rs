//! Secrets that have a structure instead of a checksum, which is parsed completely: PyPI's
//! macaroons, Sentry's JSON, Discord's numeric ids.
//!
//! `complete` cannot correct such a secret in place. It writes a new payload and takes the random
//! parts of it from the characters of its input.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// The prefix of PyPI's tokens, in front of the macaroon.
const PYPI: &[u8] = b"pypi-";
/// The locations in PyPI's macaroons: the package index and its test instance.
const PYPI_LOCATIONS: [&[u8]; 2] = [b"pypi.org", b"test.pypi.org"];

/// The field types of a macaroon in the second binary format. A zero byte ends a section.
const END: u8 = 0;
const LOCATION: u8 = 1;
const IDENTIFIER: u8 = 2;
const VERIFICATION: u8 = 4;
const SIGNATURE: u8 = 6;
/// The first byte of this format.
const MACAROON_VERSION: u8 = 2;
/// The length of a signature, which is an HMAC-SHA-256.
const SIGNATURE_BYTES: usize = 32;

/// Removes a field of type `expected` from the front of `bytes`. Leaves `bytes` unchanged if the
/// next field has another type.
fn field<'a>(bytes: &mut &'a [u8], expected: u8) -> Option<&'a [u8]> {
    let (kind, rest) = bytes.split_first()?;
    let mut rest = (*kind == expected).then_some(rest)?;
    // The length is encoded with seven bits per byte. Three bytes of it exceed the length of any
    // token.
    let mut length = 0;
    for place in 0..3 {
        let (byte, after) = rest.split_first()?;
        rest = after;
        length |= usize::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            let (content, after) = rest.split_at_checked(length)?;
            *bytes = after;
            return Some(content);
        }
    }
    None
}

/// Removes the zero byte that ends a section.
fn end(bytes: &mut &[u8]) -> Option<()> {
    *bytes = bytes.strip_prefix(&[END])?;
    Some(())
}

/// Parses a macaroon. Returns `None` unless it is valid up to the last byte.
fn macaroon(bytes: &[u8]) -> Option<()> {
    let mut rest = bytes.strip_prefix(&[MACAROON_VERSION])?;
    let location = field(&mut rest, LOCATION)?;
    if !PYPI_LOCATIONS.contains(&location) {
        return None;
    }
    field(&mut rest, IDENTIFIER)?;
    end(&mut rest)?;
    // The caveats, up to an empty section.
    while end(&mut rest).is_none() {
        let _location = field(&mut rest, LOCATION);
        field(&mut rest, IDENTIFIER)?;
        let _verification = field(&mut rest, VERIFICATION);
        end(&mut rest)?;
    }
    let signature = field(&mut rest, SIGNATURE)?;
    (signature.len() == SIGNATURE_BYTES && rest.is_empty()).then_some(())
}

pub(super) fn pypi_holds(secret: &[u8]) -> bool {
    secret
        .strip_prefix(PYPI)
        .and_then(|text| URL_SAFE_NO_PAD.decode(text).ok())
        .is_some_and(|bytes| macaroon(&bytes).is_some())
}

pub(super) fn pypi_complete(secret: &[u8]) -> Option<Vec<u8>> {
    let text = secret.strip_prefix(PYPI).filter(|text| !text.is_empty())?;
    // Takes the last characters first, because a rule's text may begin with fixed ones.
    let mut random = text.iter().rev().copied().cycle();
    let test = URL_SAFE_NO_PAD.encode(b"\x02\x01\x0dtest.pypi.or");
    let location = PYPI_LOCATIONS[usize::from(text.starts_with(test.as_bytes()))];
    let mut bytes = vec![MACAROON_VERSION];
    // The identifier is a UUID as text; the caveat is a JSON text that allows everything.
    let mut identifier: Vec<u8> =
        random.by_ref().take(36).map(|byte| b"0123456789abcdef"[usize::from(byte & 15)]).collect();
    for hyphen in [8, 13, 18, 23] {
        identifier[hyphen] = b'-';
    }
    push_field(&mut bytes, LOCATION, location);
    push_field(&mut bytes, IDENTIFIER, &identifier);
    bytes.push(END);
    push_field(&mut bytes, IDENTIFIER, br#"[3,"00000000-0000-0000-0000-000000000000"]"#);
    bytes.extend([END, END]);
    // A character has few random bits, so each byte of the signature mixes two of them.
    let signature: Vec<u8> = (0..SIGNATURE_BYTES)
        .filter_map(|_| Some(random.next()?.wrapping_mul(167) ^ random.next()?.rotate_left(3)))
        .collect();
    push_field(&mut bytes, SIGNATURE, &signature);
    let mut right = PYPI.to_vec();
    right.extend(URL_SAFE_NO_PAD.encode(bytes).into_bytes());
    pypi_holds(&right).then_some(right)
}

/// Appends a field with less than 128 bytes of content.
fn push_field(bytes: &mut Vec<u8>, kind: u8, content: &[u8]) {
    debug_assert!(content.len() < 128, "the length takes one byte");
    bytes.extend([kind, content.len().to_le_bytes()[0]]);
    bytes.extend_from_slice(content);
}

/// The prefix of Sentry's organization tokens. It is followed by a JSON object in base 64, `_`, and
/// 32 random bytes in base 64.
const SENTRY: &[u8] = b"sntrys_";
/// The number of characters in the random part, without padding.
const SENTRY_RANDOM: usize = 43;

pub(super) fn sentry_holds(secret: &[u8]) -> bool {
    let Some(text) = secret.strip_prefix(SENTRY) else { return false };
    let Some(split) = text.iter().rposition(|byte| *byte == b'_') else { return false };
    let (payload, random) = (&text[..split], &text[split + 1..]);
    let Ok(json) = STANDARD.decode(payload) else { return false };
    let has = |name: &[u8]| memchr::memmem::find(&json, name).is_some();
    json.starts_with(b"{\"iat\":")
        && json.ends_with(b"}")
        && has(b"\"url\":")
        && has(b"\"org\":")
        && random.len() == SENTRY_RANDOM
        && STANDARD_NO_PAD.decode(random).is_ok()
}

pub(super) fn sentry_complete(secret: &[u8]) -> Option<Vec<u8>> {
    let text = secret.strip_prefix(SENTRY)?;
    let mut random: Vec<u8> = text.iter().rev().copied().take(SENTRY_RANDOM).collect();
    random.reverse();
    // 43 characters hold 258 bits, two more than 32 bytes, so the last character must leave two
    // bits zero.
    *random.last_mut()? = b'A';
    let json = r#"{"iat":1700000000.5,"url":"https://sentry.io","region_url":"https://us.sentry.io","org":"acme"}"#;
    let mut right = SENTRY.to_vec();
    right.extend(STANDARD.encode(json).into_bytes());
    right.push(b'_');
    right.extend(random);
    sentry_holds(&right).then_some(right)
}

/// The number of digits of a Discord id, which counts milliseconds since 2015 in its upper bits.
const SNOWFLAKE_DIGITS: std::ops::RangeInclusive<usize> = 17..=20;
/// The length of the second part of a bot token: the time of its creation.
const DISCORD_TIME: usize = 6;
/// The minimum length of the third part, an HMAC: 27 characters with the original SHA-1, more in
/// newer tokens.
const DISCORD_SIGNATURE_MIN: usize = 27;

pub(super) fn discord_holds(secret: &[u8]) -> bool {
    let parts: Vec<&[u8]> = secret.split(|byte| *byte == b'.').collect();
    let [number, time, signature] = parts[..] else { return false };
    let is_base64 = |part: &[u8], least: usize| {
        let digit = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        part.len() >= least && part.iter().all(digit)
    };
    is_base64(time, DISCORD_TIME)
        && is_base64(signature, DISCORD_SIGNATURE_MIN)
        && URL_SAFE_NO_PAD.decode(number).is_ok_and(|number| {
            SNOWFLAKE_DIGITS.contains(&number.len())
                && number.iter().all(u8::is_ascii_digit)
                && number[0] != b'0'
        })
}

pub(super) fn discord_complete(secret: &[u8]) -> Option<Vec<u8>> {
    let dot = secret.iter().position(|byte| *byte == b'.')?;
    // Uses as many digits as fit into the first part, derived from its characters.
    let digits = (dot * 3 / 4).clamp(*SNOWFLAKE_DIGITS.start(), *SNOWFLAKE_DIGITS.end());
    let mut number = vec![b'1'];
    let random = secret[..dot].iter().cycle().skip(1).take(digits - 1);
    number.extend(random.map(|byte| b'0' + byte % 10));
    let mut right = URL_SAFE_NO_PAD.encode(number).into_bytes();
    right.extend_from_slice(&secret[dot..]);
    discord_holds(&right).then_some(right)
}
