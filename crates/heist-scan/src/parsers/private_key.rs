//! Private keys: PEM blocks with any kind of line ends, PuTTY files, and .NET's `<RSAKeyValue>`.
//!
//! The parser decodes and parses the content of a block. A complete key that is not encrypted is
//! certain. An encrypted key is real, but worth less to an attacker. A broken key gets low
//! confidence. A heading alone, as in every program that reads keys, is not a finding. Public keys
//! and certificates have other headings and are never found.
//!
//! The secret is the whole block, 16 KiB at most.

use super::der::{self, Key};
use super::pem::{self, Body};
use super::{Form, Hit, Reach, Trigger, Window};
use crate::confidence::Confidence;
use crate::noise::NoiseCheck;
use base64::Engine as _;
use memchr::memmem;
use std::borrow::Cow;
use std::ops::Range;

pub(super) const TRIGGERS: &[Trigger] = &[
    Trigger::Literal("-----BEGIN "),
    Trigger::Literal("PuTTY-User-Key-File-"),
    Trigger::Literal("<RSAKeyValue>"),
];

/// The length of the longest block. A key of 16,384 bits fits.
pub(super) const REACH: Reach = Reach { before: 0, after: 16 * 1024 };

/// Shorter bodies are not keys: the smallest key has 32 bytes and a frame.
const BODY_LENGTH_MIN: usize = 56;

type Judged = (Range<usize>, Confidence, Cow<'static, str>);

pub(super) fn examine(window: &Window<'_>, hits: &mut Vec<Hit>) {
    let rest = &window.text[window.at..];
    let judged = match rest[0] {
        b'-' => block(rest),
        b'P' => putty(rest),
        b'<' => xml(rest),
        _ => None,
    };
    let Some((range, confidence, reason)) = judged else { return };
    let whole = window.at + range.start..window.at + range.end;
    hits.push(Hit {
        whole: whole.clone(),
        secret: whole,
        key: 0..0,
        form: Form::Secret(confidence, reason),
        noise: NoiseCheck::Skip,
    });
}

fn described(key: &Key) -> String {
    let state = if key.encrypted { "encrypted" } else { "not encrypted" };
    match key.bits {
        Some(bits) => format!("parsed: {} {bits} bits, {state}", key.algorithm),
        None => format!("parsed: {}, {state}", key.algorithm),
    }
}

/// Assesses a block with `-----BEGIN` and `-----END`.
fn block(rest: &[u8]) -> Option<Judged> {
    let label = pem::label(rest)?;
    if !pem::is_private(label) {
        return None;
    }
    let begin = pem::BEGIN.len() + label.len() + pem::DASHES.len();
    let (body_end, end) = pem::end(rest, begin, label);
    let body = Body::read(&rest[begin..body_end]);
    if body.base64.len() < BODY_LENGTH_MIN {
        return None;
    }
    let Some(end) = end else {
        let end = begin + body.end;
        let is_key = body.end >= BODY_LENGTH_MIN;
        return is_key
            .then(|| (0..end, Confidence::Low, "a private key without an end line".into()));
    };
    if body.is_encrypted && body.is_block() {
        return Some((0..end, Confidence::Medium, "an encrypted private key".into()));
    }
    let key = body.decoded().and_then(|bytes| match label {
        pem::OPENPGP => body.checksum_holds(&bytes).then(|| der::parse_openpgp(&bytes))?,
        b"OPENSSH PRIVATE KEY" => der::parse_openssh(&bytes),
        _ => der::parse(&bytes),
    });
    match key {
        Some(key) => {
            let confidence = if key.encrypted { Confidence::Medium } else { Confidence::Certain };
            Some((0..end, confidence, described(&key).into()))
        }
        // The text of a program between two headings is not a key.
        None if !body.is_block() => None,
        None => {
            let reason = "a private key's heading, but what follows is broken";
            Some((0..end, Confidence::Low, reason.into()))
        }
    }
}

/// Returns the rest of the line that begins with a name.
fn field<'a>(text: &'a [u8], name: &[u8]) -> Option<(&'a [u8], usize)> {
    let begin = memmem::find(text, name)? + name.len();
    let length = memchr::memchr(b'\n', &text[begin..]).unwrap_or(text.len() - begin);
    Some((text[begin..begin + length].trim_ascii(), begin + length))
}

/// Assesses a PuTTY file: header lines, which also give the number of base64 lines that follow.
fn putty(rest: &[u8]) -> Option<Judged> {
    let heading = rest.strip_prefix(b"PuTTY-User-Key-File-")?;
    if !matches!(heading.first()?, b'1'..=b'3') || heading.get(1) != Some(&b':') {
        return None;
    }
    // Check the second line early, so that a file of nothing but headings is not searched to its
    // end at each of them.
    let (cipher, _) = field(&rest[..rest.len().min(256)], b"\nEncryption: ")?;
    let (lines, body_begin) = field(rest, b"\nPrivate-Lines: ")?;
    let lines: usize = std::str::from_utf8(lines).ok()?.parse().ok()?;
    let (check, end) = field(rest, b"\nPrivate-MAC: ")?;
    let body_end = memmem::find(rest, b"\nPrivate-MAC: ")?;
    let body = rest.get(body_begin..body_end)?;
    let found_lines =
        body.split(|&byte| byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).count();
    let whole =
        found_lines == lines && check.len() >= 40 && check.iter().all(u8::is_ascii_hexdigit);
    let decodes = Body::read(body).decoded().is_some_and(|bytes| bytes.len() >= 32);
    let range = 0..end;
    Some(if !whole || !decodes {
        (range, Confidence::Low, "PuTTY's heading, but what follows is broken".into())
    } else if cipher == b"none" {
        (range, Confidence::Certain, "parsed: PuTTY, not encrypted".into())
    } else {
        (range, Confidence::Medium, "parsed: PuTTY, encrypted".into())
    })
}

/// Assesses .NET's XML element, which is a private key if it contains `<D>`.
fn xml(rest: &[u8]) -> Option<Judged> {
    const CLOSE: &[u8] = b"</RSAKeyValue>";
    if !rest.starts_with(b"<RSAKeyValue>") {
        return None;
    }
    let end = memmem::find(rest, CLOSE)? + CLOSE.len();
    let decoded = |open: &[u8], close: &[u8]| {
        let begin = memmem::find(&rest[..end], open)? + open.len();
        let length = memmem::find(&rest[begin..end], close)?;
        let text = rest[begin..begin + length].trim_ascii();
        base64::engine::general_purpose::STANDARD.decode(text).ok()
    };
    memmem::find(&rest[..end], b"<D>")?;
    let (modulus, exponent) = (decoded(b"<Modulus>", b"</Modulus>"), decoded(b"<D>", b"</D>"));
    Some(match (modulus, exponent) {
        (Some(modulus), Some(exponent)) if modulus.len() >= 32 && exponent.len() >= 32 => {
            let key = Key { algorithm: "RSA", bits: Some(modulus.len() * 8), encrypted: false };
            (0..end, Confidence::Certain, described(&key).into())
        }
        _ => (0..end, Confidence::Low, "an RSA key, but what is in it is broken".into()),
    })
}

#[cfg(test)]
mod tests;
