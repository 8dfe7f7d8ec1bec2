//! Generated keys in every format and notation, and texts that only resemble them.

use super::super::ParserKind;
use super::super::der::tests as made;
use super::super::testing::{check_bounds, found_by, random_bytes};
use super::*;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;

/// Returns a block in lines of 64 characters, with `before` and `after` around each line.
fn pem(label: &str, bytes: &[u8], before: &str, after: &str) -> String {
    let base64 = STANDARD.encode(bytes);
    let mut lines = vec![format!("-----BEGIN {label}-----")];
    lines
        .extend(base64.as_bytes().chunks(64).map(|line| String::from_utf8(line.to_vec()).unwrap()));
    lines.push(format!("-----END {label}-----"));
    lines.join(&format!("{after}{before}"))
}

#[track_caller]
fn check(text: &str, expected: Option<(Confidence, &str)>) {
    let found = found_by(ParserKind::PrivateKey, text.as_bytes());
    let shown = found.first().map(super::super::Hit::assessment);
    assert_eq!(shown, expected, "{text}");
}

const RSA: Option<(Confidence, &str)> =
    Some((Confidence::Certain, "parsed: RSA 1024 bits, not encrypted"));

#[test]
fn keys_however_they_are_written() {
    let key = made::rsa(1024);
    for (before, after) in [
        ("", "\n"),
        ("", "\r\n"),
        ("    ", "\n"),
        ("", "\\n"),
        ("", "\\\\n"),
        ("  \"", "\\n\" +\n"),
        ("  \"", "\\n\"\n"),
        ("  '", "',\n"),
        ("// ", "\n"),
        ("# ", "\n"),
        ("", " "),
        ("", ""),
    ] {
        check(&pem("RSA PRIVATE KEY", &key, before, after), RSA);
    }
    let text = pem("RSA PRIVATE KEY", &key, "", "\n");
    let found = found_by(ParserKind::PrivateKey, format!("key: {text}\n").as_bytes());
    assert_eq!(found[0].secret, 5..5 + text.len());
}

#[test]
fn keys_of_every_kind() {
    let rsa = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
    check(&pem("PRIVATE KEY", &made::pkcs8_of(&rsa, &made::rsa(1024)), "", "\n"), RSA);
    let ed25519 = made::pkcs8_of(&[0x2b, 0x65, 0x70], &made::element(4, &random_bytes(32)));
    check(
        &pem("PRIVATE KEY", &ed25519, "", "\n"),
        Some((Confidence::Certain, "parsed: Ed25519, not encrypted")),
    );
    let encrypted = pem("ENCRYPTED PRIVATE KEY", &made::encrypted(), "", "\n");
    check(&encrypted, Some((Confidence::Medium, "parsed: PKCS#8, encrypted")));
    let openssh = pem("OPENSSH PRIVATE KEY", &made::openssh(b"none"), "", "\n");
    check(&openssh, Some((Confidence::Certain, "parsed: Ed25519, not encrypted")));
    let openssh = pem("OPENSSH PRIVATE KEY", &made::openssh(b"aes256-ctr"), "", "\n");
    check(&openssh, Some((Confidence::Medium, "parsed: Ed25519, encrypted")));
    let headers =
        "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\n";
    let legacy = pem("RSA PRIVATE KEY", &random_bytes(600), "", "\n")
        .replace("-----BEGIN RSA PRIVATE KEY-----\n", headers);
    check(&legacy, Some((Confidence::Medium, "an encrypted private key")));
}

#[test]
fn openpgp() {
    // Version 4, RSA, two numbers of 1024 and 17 bits, not encrypted.
    let mut packet = vec![0x95, 0x02, 0x00, 4, 1, 2, 3, 4, 1, 0x04, 0x00];
    packet.extend(random_bytes(128));
    packet.extend([0, 17, 1, 0, 1, 0]);
    packet.extend(random_bytes(300));
    let sum = STANDARD.encode(&der::crc24(&packet).to_be_bytes()[1..]);
    let label = "PGP PRIVATE KEY BLOCK";
    let block = |sum: &str| {
        pem(label, &packet, "", "\n")
            .replace(
                &format!("-----BEGIN {label}-----"),
                &format!("-----BEGIN {label}-----\nVersion: X v1\n"),
            )
            .replace(&format!("-----END {label}-----"), &format!("={sum}\n-----END {label}-----"))
    };
    check(&block(&sum), RSA);
    let broken = (Confidence::Low, "a private key's heading, but what follows is broken");
    check(&block("AAAA"), Some(broken));
}

#[test]
fn putty_and_xml() {
    let base64 = STANDARD.encode(random_bytes(96));
    let putty = |cipher: &str, lines: usize| {
        format!(
            "PuTTY-User-Key-File-2: ssh-rsa\nEncryption: {cipher}\nComment: x\nPublic-Lines: 1\nAAAA\n\
             Private-Lines: {lines}\n{}\n{}\nPrivate-MAC: {}\n",
            &base64[..64],
            &base64[64..],
            "0a".repeat(20),
        )
    };
    check(&putty("none", 2), Some((Confidence::Certain, "parsed: PuTTY, not encrypted")));
    check(&putty("aes256-cbc", 2), Some((Confidence::Medium, "parsed: PuTTY, encrypted")));
    check(
        &putty("none", 3),
        Some((Confidence::Low, "PuTTY's heading, but what follows is broken")),
    );
    let number = STANDARD.encode(random_bytes(128));
    check(&format!("<RSAKeyValue><Modulus>{number}</Modulus><D>{number}</D></RSAKeyValue>"), RSA);
    check(&format!("<RSAKeyValue><Modulus>{number}</Modulus></RSAKeyValue>"), None);
}

#[test]
fn texts_that_are_not_private_keys() {
    let bytes = random_bytes(300);
    let prose = "some words of prose ".repeat(40);
    let program = "let parsed = text(x); ".repeat(40);
    for text in [
        pem("PUBLIC KEY", &bytes, "", "\n"),
        pem("CERTIFICATE", &bytes, "", "\n"),
        pem("RSA PUBLIC KEY", &bytes, "", "\n"),
        "-----BEGIN RSA PRIVATE KEY-----".to_owned(),
        "begins(\"-----BEGIN PRIVATE KEY-----\") && ends(\"-----END PRIVATE KEY-----\")".to_owned(),
        "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----".to_owned(),
        "PuTTY-User-Key-File-2: ssh-rsa".to_owned(),
        format!("the heading -----BEGIN RSA PRIVATE KEY----- and then {prose}"),
        format!("-----BEGIN EC PRIVATE KEY-----\" {program} \"-----END EC PRIVATE KEY-----"),
    ] {
        check(&text, None);
    }
    let broken = pem("RSA PRIVATE KEY", &bytes, "", "\n");
    check(&broken, Some((Confidence::Low, "a private key's heading, but what follows is broken")));
    let cut = format!(
        "{}\n\nand then there is more text, with words that are not part of it",
        &broken[..200]
    );
    check(&cut, Some((Confidence::Low, "a private key without an end line")));
    assert_eq!(found_by(ParserKind::PrivateKey, cut.as_bytes())[0].secret, 0..200);
}

proptest! {
    #[test]
    fn any_bytes(text in prop::collection::vec(any::<u8>(), 0..200)) {
        check_bounds(ParserKind::PrivateKey, &text);
    }

    #[test]
    fn any_block(
        body in "[A-Za-z0-9+/=\\\\\n\"-]{0,120}", at in 0_usize..400, byte in any::<u8>(),
    ) {
        let framed = format!("-----BEGIN EC PRIVATE KEY-----{body}-----END EC PRIVATE KEY-----");
        found_by(ParserKind::PrivateKey, framed.as_bytes());
        let mut key = pem("RSA PRIVATE KEY", &made::rsa(512), "", "\n").into_bytes();
        let at = at % key.len();
        key[at] = byte;
        found_by(ParserKind::PrivateKey, &key);
        let head = format!("PuTTY-User-Key-File-2: {body}\nEncryption: {body}\nPrivate-Lines: 1\n");
        let text = format!("{head}{body}\nPrivate-MAC: {body}");
        found_by(ParserKind::PrivateKey, text.as_bytes());
        found_by(ParserKind::PrivateKey, format!("<RSAKeyValue><Modulus>{body}<D>{body}</D></RSAKeyValue>").as_bytes());
    }
}

#[test]
fn a_key_is_the_same_however_it_is_written() {
    for (label, bytes) in [
        ("RSA PRIVATE KEY", made::rsa(1024)),
        ("PRIVATE KEY", random_bytes(121)),
        ("OPENSSH PRIVATE KEY", random_bytes(300)),
    ] {
        for (before, after) in [
            ("", "\n"),
            ("", "\r\n"),
            ("    ", "\n"),
            ("\t", "\r\n"),
            ("", "\\n"),
            ("", "\\r\\n"),
            ("", "\\\\n"),
            ("  \"", "\\n\" +\n"),
            ("# ", "\n"),
            ("", " "),
        ] {
            let block = pem(label, &bytes, before, after);
            let found = pem::canonical_key(block.as_bytes());
            assert_eq!(found.as_deref(), Some(&bytes[..]), "{block}");
        }
    }
    let [one, other] = [random_bytes(64), random_bytes(64)]
        .map(|bytes| pem::canonical_key(pem("PRIVATE KEY", &bytes, "", "\n").as_bytes()));
    assert_ne!(one, other);
}

#[test]
fn texts_without_a_canonical_form() {
    let bytes = random_bytes(64);
    let block = pem("PRIVATE KEY", &bytes, "", "\n");
    for text in [
        "",
        "-----BEGIN ",
        &block[1..],
        &block[..block.len() - 1],
        &pem("PUBLIC KEY", &bytes, "", "\n"),
        &pem("PRIVATE KEY", b"", "", "\n"),
    ] {
        assert_eq!(pem::canonical_key(text.as_bytes()), None, "{text}");
    }
}
