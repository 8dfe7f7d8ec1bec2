//! Recognises private keys by their bytes: DER (PKCS#1, PKCS#8, SEC 1, DSA), OpenSSH's own format,
//! and OpenPGP packets.
//!
//! The parsers read just enough to be sure that the bytes are a key: lengths that fit, versions,
//! algorithms. They do not check whether the numbers form a valid key.

/// A recognised key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    /// The algorithm, or the format if it hides the algorithm.
    pub(super) algorithm: &'static str,
    /// The size in bits of the modulus or curve, if it is known.
    pub(super) bits: Option<usize>,
    pub(super) encrypted: bool,
}

const INTEGER: u8 = 0x02;
const OCTETS: u8 = 0x04;
const OBJECT: u8 = 0x06;
const SEQUENCE: u8 = 0x30;

/// Algorithms by their encoded object identifiers.
const ALGORITHMS: [(&[u8], &str); 9] = [
    (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01], "RSA"),
    (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0a], "RSA"),
    (&[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01], "EC"),
    (&[0x2a, 0x86, 0x48, 0xce, 0x38, 0x04, 0x01], "DSA"),
    (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x03, 0x01], "Diffie-Hellman"),
    (&[0x2b, 0x65, 0x6e], "X25519"),
    (&[0x2b, 0x65, 0x6f], "X448"),
    (&[0x2b, 0x65, 0x70], "Ed25519"),
    (&[0x2b, 0x65, 0x71], "Ed448"),
];

/// Reads tags, lengths and contents.
#[derive(Clone, Copy, Debug)]
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// Returns the next element, if it has this tag.
    fn element(&mut self, tag: u8) -> Option<&'a [u8]> {
        let (&found, rest) = self.0.split_first()?;
        let (&first, mut rest) = rest.split_first()?;
        let length = match first {
            0..=0x7f => usize::from(first),
            0x81..=0x83 => {
                let (digits, after) = rest.split_at_checked(usize::from(first & 0x7f))?;
                rest = after;
                digits.iter().fold(0, |length, &digit| length << 8 | usize::from(digit))
            }
            _ => return None,
        };
        let (content, rest) = rest.split_at_checked(length)?;
        (found == tag).then(|| {
            self.0 = rest;
            content
        })
    }

    /// Reads the next element, an integer, and returns its size in bits.
    fn bits(&mut self) -> Option<usize> {
        let number = self.element(INTEGER)?;
        let leading = number.iter().take_while(|&&byte| byte == 0).count();
        let first = number.get(leading)?;
        Some((number.len() - leading) * 8 - first.leading_zeros() as usize)
    }
}

/// Parses a private key in DER. The key must take up all of the bytes.
pub(super) fn parse(bytes: &[u8]) -> Option<Key> {
    let mut outer = Reader(bytes);
    let mut inner = Reader(outer.element(SEQUENCE)?);
    if !outer.0.is_empty() {
        return None;
    }
    if inner.0.first() == Some(&SEQUENCE) {
        return encrypted_pkcs8(inner);
    }
    let version = inner.element(INTEGER)?;
    match (version, inner.0.first()?) {
        ([0 | 1], &SEQUENCE) => pkcs8(inner),
        ([1], &OCTETS) => elliptic(inner),
        ([0 | 1], &INTEGER) => numbers(inner),
        _ => None,
    }
}

/// Parses `{ { algorithm, parameters }, key }` after the version.
fn pkcs8(mut reader: Reader<'_>) -> Option<Key> {
    let mut identifier = Reader(reader.element(SEQUENCE)?);
    let object = identifier.element(OBJECT)?;
    let key = reader.element(OCTETS)?;
    let algorithm = ALGORITHMS.iter().find(|(known, _)| *known == object).map(|(_, name)| *name);
    let bits = match algorithm {
        Some("RSA") => Some(parse(key)?.bits?),
        Some("EC") => curve_bits(identifier),
        _ => None,
    };
    // The key must not be empty.
    (key.len() >= 16).then_some(Key {
        algorithm: algorithm.unwrap_or("another algorithm"),
        bits,
        encrypted: false,
    })
}

/// Parses `{ { scheme, parameters }, text }`.
fn encrypted_pkcs8(mut reader: Reader<'_>) -> Option<Key> {
    let mut identifier = Reader(reader.element(SEQUENCE)?);
    let scheme = identifier.element(OBJECT)?;
    let text = reader.element(OCTETS)?;
    // Password-based encryption, PKCS#5 and PKCS#12.
    let known: [&[u8]; 2] = [
        &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x05],
        &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x0c],
    ];
    let is_known = known.iter().any(|known| scheme.starts_with(known));
    (is_known && reader.0.is_empty() && text.len() >= 16).then_some(Key {
        algorithm: "PKCS#8",
        bits: None,
        encrypted: true,
    })
}

/// Parses `{ key, [0] curve, [1] public key }` after the version.
fn elliptic(mut reader: Reader<'_>) -> Option<Key> {
    let key = reader.element(OCTETS)?;
    let bits = reader.element(0xa0).and_then(|curve| curve_bits(Reader(curve)));
    (key.len() >= 16).then_some(Key { algorithm: "EC", bits, encrypted: false })
}

/// Returns the size of a named curve.
fn curve_bits(mut reader: Reader<'_>) -> Option<usize> {
    match reader.element(OBJECT)? {
        [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07] | [0x2b, 0x81, 0x04, 0x00, 0x0a] => {
            Some(256)
        }
        [0x2b, 0x81, 0x04, 0x00, 0x22] => Some(384),
        [0x2b, 0x81, 0x04, 0x00, 0x23] => Some(521),
        _ => None,
    }
}

/// Parses the numbers after the version: RSA has eight, DSA five.
fn numbers(mut reader: Reader<'_>) -> Option<Key> {
    let bits = reader.bits()?;
    let mut count = 1;
    while !reader.0.is_empty() && count < 8 {
        if reader.0[0] != INTEGER {
            break;
        }
        reader.element(INTEGER)?;
        count += 1;
    }
    let algorithm = match count {
        5 => "DSA",
        8 => "RSA",
        _ => return None,
    };
    (bits >= 256).then_some(Key { algorithm, bits: Some(bits), encrypted: false })
}

/// Parses a key in OpenSSH's format.
pub(super) fn parse_openssh(bytes: &[u8]) -> Option<Key> {
    let mut rest = bytes.strip_prefix(b"openssh-key-v1\0")?;
    let cipher = string(&mut rest)?;
    let _derivation = string(&mut rest)?;
    let _options = string(&mut rest)?;
    let (count, after) = rest.split_first_chunk::<4>()?;
    rest = after;
    let mut public = string(&mut rest)?;
    let private = string(&mut rest)?;
    let algorithm = match string(&mut public)? {
        b"ssh-rsa" => "RSA",
        b"ssh-dss" => "DSA",
        b"ssh-ed25519" => "Ed25519",
        kind if kind.starts_with(b"ecdsa-") => "EC",
        _ => "another algorithm",
    };
    let bits = if algorithm == "RSA" {
        string(&mut public)?;
        string(&mut public).map(|modulus| modulus.iter().skip_while(|byte| **byte == 0).count() * 8)
    } else {
        None
    };
    let encrypted = cipher != b"none";
    // Two equal check numbers show that the key was decrypted correctly, or never encrypted.
    let opens = encrypted || private.len() > 8 && private[..4] == private[4..8];
    (u32::from_be_bytes(*count) == 1 && opens).then_some(Key { algorithm, bits, encrypted })
}

/// Reads a length and that many bytes.
fn string<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, after) = rest.split_first_chunk::<4>()?;
    let (content, after) = after.split_at_checked(u32::from_be_bytes(*length) as usize)?;
    *rest = after;
    Some(content)
}

/// Parses the first packet of an OpenPGP key, if it is a secret key.
pub(super) fn parse_openpgp(bytes: &[u8]) -> Option<Key> {
    let (&tag, rest) = bytes.split_first()?;
    let body = match tag {
        // The old format: two bits give the size of the length field.
        0x94 => rest.get(1..)?,
        0x95 => rest.get(2..)?,
        0x96 => rest.get(4..)?,
        0xc5 => match rest.first()? {
            0..192 => rest.get(1..)?,
            192..224 => rest.get(2..)?,
            255 => rest.get(5..)?,
            _ => return None,
        },
        _ => return None,
    };
    let (&[version, _, _, _, _, algorithm], mut rest) = body.split_first_chunk::<6>()?;
    if version != 4 && version != 6 {
        return None;
    }
    if version == 6 {
        rest = rest.get(4..)?;
    }
    let (name, curve, numbers) = match algorithm {
        1..=3 => ("RSA", false, 2),
        16 => ("Elgamal", false, 3),
        17 => ("DSA", false, 4),
        19 => ("EC", true, 1),
        22 => ("Ed25519", true, 1),
        25..=28 => {
            return Some(Key { algorithm: "OpenPGP", bits: None, encrypted: *rest.get(32)? != 0 });
        }
        _ => return None,
    };
    if curve {
        let length = usize::from(*rest.first()?);
        rest = rest.get(1 + length..)?;
    }
    let mut bits = None;
    for _ in 0..numbers {
        let (size, after) = rest.split_first_chunk::<2>()?;
        let size = usize::from(u16::from_be_bytes(*size));
        bits.get_or_insert(size);
        rest = after.get(size.div_ceil(8)..)?;
    }
    let bits = bits.filter(|_| !curve);
    Some(Key { algorithm: name, bits, encrypted: *rest.first()? != 0 })
}

/// Returns the checksum of OpenPGP's ASCII armour.
pub(super) fn crc24(bytes: &[u8]) -> u32 {
    let mut crc = 0x00b7_04ce_u32;
    for &byte in bytes {
        crc ^= u32::from(byte) << 16;
        for _ in 0..8 {
            crc <<= 1;
            if crc & 0x0100_0000 != 0 {
                crc ^= 0x0186_4cfb;
            }
        }
    }
    crc & 0x00ff_ffff
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::testing::random_bytes;
    use super::*;
    use proptest::prelude::*;

    /// Encodes one element.
    pub(in super::super) fn element(tag: u8, content: &[u8]) -> Vec<u8> {
        let length = content.len();
        let mut bytes = vec![tag];
        match length {
            0..0x80 => bytes.push(length as u8),
            0x80..0x100 => bytes.extend([0x81, length as u8]),
            _ => bytes.extend([0x82, (length >> 8) as u8, length as u8]),
        }
        bytes.extend_from_slice(content);
        bytes
    }

    fn number(bytes: usize) -> Vec<u8> {
        let mut number = random_bytes(bytes);
        number[0] |= 0x80;
        number.insert(0, 0);
        element(INTEGER, &number)
    }

    /// Encodes random numbers in place of a key's.
    pub(in super::super) fn rsa(bits: usize) -> Vec<u8> {
        let bytes = bits / 8;
        let mut content = element(INTEGER, &[0]);
        for length in [bytes, 3, bytes, bytes / 2, bytes / 2, bytes / 2, bytes / 2, bytes / 2] {
            content.extend(number(length));
        }
        element(SEQUENCE, &content)
    }

    pub(in super::super) fn pkcs8_of(object: &[u8], key: &[u8]) -> Vec<u8> {
        let content = [
            element(INTEGER, &[0]),
            element(SEQUENCE, &element(OBJECT, object)),
            element(OCTETS, key),
        ]
        .concat();
        element(SEQUENCE, &content)
    }

    pub(in super::super) fn encrypted() -> Vec<u8> {
        let scheme = element(OBJECT, &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x05, 0x0d]);
        element(
            SEQUENCE,
            &[element(SEQUENCE, &scheme), element(OCTETS, &random_bytes(128))].concat(),
        )
    }

    pub(in super::super) fn openssh(cipher: &[u8]) -> Vec<u8> {
        let string = |content: &[u8]| [&(content.len() as u32).to_be_bytes()[..], content].concat();
        let public = [string(b"ssh-ed25519"), string(&random_bytes(32))].concat();
        let private = [&[7; 8][..], &random_bytes(120)].concat();
        [
            b"openssh-key-v1\0".to_vec(),
            string(cipher),
            string(b"none"),
            string(b""),
            vec![0, 0, 0, 1],
            string(&public),
            string(&private),
        ]
        .concat()
    }

    #[test]
    fn keys() {
        let plain = |algorithm, bits| Some(Key { algorithm, bits, encrypted: false });
        assert_eq!(parse(&rsa(2048)), plain("RSA", Some(2048)));
        assert_eq!(parse(&pkcs8_of(ALGORITHMS[0].0, &rsa(1024))), plain("RSA", Some(1024)));
        assert_eq!(
            parse(&pkcs8_of(ALGORITHMS[7].0, &element(OCTETS, &random_bytes(32)))),
            plain("Ed25519", None)
        );
        let curve = element(0xa0, &element(OBJECT, &[0x2b, 0x81, 0x04, 0x00, 0x22]));
        let content = [element(INTEGER, &[1]), element(OCTETS, &random_bytes(48)), curve].concat();
        assert_eq!(parse(&element(SEQUENCE, &content)), plain("EC", Some(384)));
        assert_eq!(
            parse(&encrypted()),
            Some(Key { algorithm: "PKCS#8", bits: None, encrypted: true })
        );
        assert_eq!(parse_openssh(&openssh(b"none")), plain("Ed25519", None));
        assert!(parse_openssh(&openssh(b"aes256-ctr")).is_some_and(|key| key.encrypted));
    }

    #[test]
    fn texts_that_are_not_private_keys() {
        // A public key: an identifier and a string of bits.
        let public = [
            element(SEQUENCE, &element(OBJECT, ALGORITHMS[0].0)),
            element(0x03, &random_bytes(200)),
        ]
        .concat();
        assert_eq!(parse(&element(SEQUENCE, &public)), None);
        let key = rsa(1024);
        assert_eq!(parse(&key[..key.len() - 1]), None);
        assert_eq!(parse(&[key.clone(), vec![0]].concat()), None);
        assert_eq!(parse(b""), None);
    }

    #[test]
    fn crc24_returns_the_standards_check_value() {
        // The check value of CRC-24/OPENPGP.
        assert_eq!(crc24(b"123456789"), 0x0021_cf02);
    }

    proptest! {
        #[test]
        fn any_bytes(
            bytes in prop::collection::vec(any::<u8>(), 0..100),
            at in 0_usize..400,
            byte in any::<u8>(),
        ) {
            let mut key = rsa(512);
            let at = at % key.len();
            key[at] = byte;
            for bytes in [&bytes, &key, &openssh(&bytes)] {
                let _ = (parse(bytes), parse_openssh(bytes), parse_openpgp(bytes));
            }
        }
    }
}
