//! Private keys with the structure of real ones; the numbers in them are random and do not belong
//! together.

use super::super::alphabet::{base64, bytes};
use super::{Form, SecretKind, Token};
use crate::walk::trees::random::Random;

pub(super) const KINDS: &[SecretKind] = &[
    SecretKind::made("private-key-rsa", "private key", Form::Block, |random| {
        let der = rsa(random);
        Token::whole(pem("RSA PRIVATE KEY", &der, 64))
    }),
    SecretKind::made("private-key-pkcs8", "private key", Form::Block, |random| {
        let der = pkcs8(random);
        Token::whole(pem("PRIVATE KEY", &der, 64))
    }),
    SecretKind::made("private-key-ec", "signing key", Form::Block, |random| {
        let der = elliptic(random);
        Token::whole(pem("EC PRIVATE KEY", &der, 64))
    }),
    SecretKind::made("private-key-openssh", "deploy key", Form::Block, |random| {
        let content = openssh(random);
        Token::whole(pem("OPENSSH PRIVATE KEY", &content, 70))
    }),
];

const INTEGER: u8 = 2;
const BITS: u8 = 3;
const OCTETS: u8 = 4;
const SEQUENCE: u8 = 0x30;

/// The algorithm rsaEncryption, with null parameters.
const RSA: [u8; 13] = [6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 1, 5, 0];
/// The curve prime256v1.
const CURVE: [u8; 10] = [6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7];

/// Encodes as PEM. The BEGIN and END lines are assembled here, so that no file of this repository
/// looks like a key.
pub(crate) fn pem(label: &str, content: &[u8], width: usize) -> String {
    let encoded = base64(content);
    let mut lines = vec![format!("-----{} {label}-----", "BEGIN")];
    let mut rest = encoded.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at(rest.len().min(width));
        lines.push(line.to_owned());
        rest = after;
    }
    lines.push(format!("-----{} {label}-----", "END"));
    lines.join("\n")
}

/// Encodes a DER value, preceded by its length.
fn der(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![tag];
    match content.len() {
        length @ 0..128 => out.push(length as u8),
        length @ 128..256 => out.extend_from_slice(&[0x81, length as u8]),
        length => out.extend_from_slice(&[0x82, (length >> 8) as u8, length as u8]),
    }
    out.extend_from_slice(content);
    out
}

/// Returns a random positive odd integer of `length` bytes.
fn number(random: &mut Random, length: usize) -> Vec<u8> {
    let mut content = bytes(random, length);
    content[0] |= 0x80;
    content[length - 1] |= 1;
    content.insert(0, 0);
    der(INTEGER, &content)
}

/// Makes an RSA key in PKCS #1 format, 2,048 bits.
fn rsa(random: &mut Random) -> Vec<u8> {
    let mut fields = der(INTEGER, &[0]);
    fields.extend(number(random, 256));
    fields.extend(der(INTEGER, &[1, 0, 1]));
    for length in [256, 128, 128, 128, 128, 128] {
        fields.extend(number(random, length));
    }
    der(SEQUENCE, &fields)
}

fn pkcs8(random: &mut Random) -> Vec<u8> {
    let mut fields = der(INTEGER, &[0]);
    fields.extend(der(SEQUENCE, &RSA));
    fields.extend(der(OCTETS, &rsa(random)));
    der(SEQUENCE, &fields)
}

/// Makes a key on the curve P-256, in SEC 1 format.
fn elliptic(random: &mut Random) -> Vec<u8> {
    let mut fields = der(INTEGER, &[1]);
    fields.extend(der(OCTETS, &bytes(random, 32)));
    fields.extend(der(0xa0, &CURVE));
    let mut point = vec![0, 4];
    point.extend(bytes(random, 64));
    fields.extend(der(0xa1, &der(BITS, &point)));
    der(SEQUENCE, &fields)
}

/// Makes an Ed25519 key without a passphrase.
fn openssh(random: &mut Random) -> Vec<u8> {
    let field = |content: &[u8]| {
        let mut field = (content.len() as u32).to_be_bytes().to_vec();
        field.extend_from_slice(content);
        field
    };
    let public = bytes(random, 32);
    let public_blob = [field(b"ssh-ed25519"), field(&public)].concat();
    let check = bytes(random, 4);
    let pair = [bytes(random, 32), public].concat();
    let mut private =
        [check.clone(), check, public_blob.clone(), field(&pair), field(b"deploy@corp")].concat();
    for padding in 1_u8.. {
        if private.len().is_multiple_of(8) {
            break;
        }
        private.push(padding);
    }
    let mut content = b"openssh-key-v1\0".to_vec();
    for text in [&b"none"[..], b"none", b""] {
        content.extend(field(text));
    }
    content.extend(1_u32.to_be_bytes());
    content.extend(field(&public_blob));
    content.extend(field(&private));
    content
}

/// Makes a public RSA key in PKCS #1 format.
pub(crate) fn public_rsa(random: &mut Random) -> String {
    let mut fields = number(random, 256);
    fields.extend(der(INTEGER, &[1, 0, 1]));
    pem("RSA PUBLIC KEY", &der(SEQUENCE, &fields), 64)
}

/// Makes something with the outline of a certificate.
pub(crate) fn certificate(random: &mut Random) -> String {
    let mut fields = number(random, 16);
    fields.extend(der(SEQUENCE, &RSA));
    fields.extend(der(BITS, &bytes(random, 600)));
    pem("CERTIFICATE", &der(SEQUENCE, &fields), 64)
}

/// Makes something with the outline of a PKCS #8 key that is encrypted with a passphrase.
pub(crate) fn encrypted(random: &mut Random) -> String {
    let fields = [der(SEQUENCE, &RSA), der(OCTETS, &bytes(random, 1_232))].concat();
    pem("ENCRYPTED PRIVATE KEY", &der(SEQUENCE, &fields), 64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_encoded_as_der_requires() {
        assert_eq!(der(OCTETS, &[7; 3]), [4, 3, 7, 7, 7]);
        assert_eq!(der(OCTETS, &[7; 200])[..3], [4, 0x81, 200]);
        assert_eq!(der(OCTETS, &[7; 300])[..4], [4, 0x82, 1, 44]);
    }

    #[test]
    fn keys_are_as_long_as_real_ones() {
        let mut random = Random::new(1);
        // 2,048 bits are about 1,190 bytes.
        assert!((1_180..1_200).contains(&rsa(&mut random).len()));
        assert_eq!(elliptic(&mut random).len(), 121);
        let key = pem("KEY", &rsa(&mut random), 64);
        assert!(key.lines().all(|line| line.len() <= 64));
    }
}
