//! Tests of the checksums: published examples, round trips, and that every character counts.
//!
//! Secrets are assembled from parts so that no scanner reports this file.

use super::{Checksum, marvin};
use heist::rng::XorShift64;

/// A part of a secret's form: literal text, or random characters of an alphabet.
enum Part {
    Fixed(&'static str),
    Random(&'static [u8], usize),
}
use Part::{Fixed, Random};

const ALPHANUMERIC: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const BASE64: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const HEXADECIMAL: &[u8] = b"0123456789abcdef";
const BASE32: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const BASE32_LOWER: &[u8] = b"abcdefghijklmnopqrstuvwxyz234567";
const BECH32: &[u8] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";
const BECH32_UPPER: &[u8] = b"QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L";
const BASE58: &[u8] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/// Returns every form that rules use, with its checksum.
fn forms() -> Vec<(Checksum, Vec<Part>)> {
    vec![
        (Checksum::GithubCrc32, vec![Fixed("ghp_"), Random(ALPHANUMERIC, 36)]),
        (Checksum::GithubCrc32, vec![Fixed("ghs_"), Random(ALPHANUMERIC, 36)]),
        (Checksum::NpmCrc32, vec![Fixed("npm_"), Random(ALPHANUMERIC, 36)]),
        (
            Checksum::GitlabCrc32,
            vec![Fixed("glpat-"), Random(URL_SAFE, 37), Fixed(".01."), Random(BASE32_LOWER, 9)],
        ),
        (
            Checksum::GitlabCrc32,
            vec![Fixed("glrt-t1_"), Random(URL_SAFE, 27), Fixed("."), Random(BASE32_LOWER, 9)],
        ),
        (
            Checksum::GrafanaCrc32,
            vec![Fixed("glsa_"), Random(ALPHANUMERIC, 32), Fixed("_"), Random(HEXADECIMAL, 8)],
        ),
        (Checksum::ConfluentCrc32, vec![Fixed("cflt"), Random(BASE64, 60)]),
        (Checksum::AzureDevopsCrc32, vec![Random(BASE32_LOWER, 52)]),
        (
            Checksum::AzureMarvin32,
            vec![Random(BASE64, 76), Fixed("+ASt"), Random(BASE64, 6), Fixed("==")],
        ),
        (
            Checksum::AzureMarvin32,
            vec![Random(BASE64, 33), Fixed("+AEh"), Random(BASE64, 6), Fixed("=")],
        ),
        (
            Checksum::AzureMarvin32,
            vec![Random(URL_SAFE, 44), Fixed("AzFu"), Random(URL_SAFE, 6), Fixed("==")],
        ),
        (
            Checksum::AzureMarvin32,
            vec![Random(ALPHANUMERIC, 42), Fixed("AzSe"), Random(ALPHANUMERIC, 6)],
        ),
        (Checksum::AgeBech32, vec![Fixed("AGE-SECRET-KEY-1"), Random(BECH32_UPPER, 58)]),
        (Checksum::NostrBech32, vec![Fixed("nsec1"), Random(BECH32, 58)]),
        (Checksum::StellarCrc16, vec![Fixed("SB"), Random(BASE32, 54)]),
        (Checksum::BitcoinBase58, vec![Fixed("xprv9"), Random(BASE58, 106)]),
        (Checksum::BitcoinBase58, vec![Fixed("5J"), Random(BASE58, 49)]),
        (Checksum::BitcoinBase58, vec![Fixed("L1"), Random(BASE58, 50)]),
        (Checksum::PypiMacaroon, vec![Fixed("pypi-AgEIcHlwaS5vcmc"), Random(URL_SAFE, 90)]),
        (Checksum::PypiMacaroon, vec![Fixed("pypi-AgENdGVzdC5weXBpLm9yZw"), Random(URL_SAFE, 90)]),
        (
            Checksum::SentryPayload,
            vec![Fixed("sntrys_eyJpYXQiO"), Random(BASE64, 60), Fixed("_"), Random(BASE64, 43)],
        ),
        (
            Checksum::DiscordSnowflake,
            vec![
                Fixed("MT"),
                Random(URL_SAFE, 24),
                Fixed("."),
                Random(URL_SAFE, 6),
                Fixed("."),
                Random(URL_SAFE, 38),
            ],
        ),
    ]
}

fn random_text(parts: &[Part], rng: &mut XorShift64) -> Vec<u8> {
    let mut text = Vec::new();
    for part in parts {
        match part {
            Fixed(fixed) => text.extend_from_slice(fixed.as_bytes()),
            Random(alphabet, count) => {
                text.extend((0..*count).map(|_| alphabet[rng.below_usize(alphabet.len())]));
            }
        }
    }
    text
}

fn shown(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

#[test]
fn names_are_read_back() {
    for checksum in Checksum::ALL {
        assert_eq!(checksum.as_str().parse(), Ok(checksum));
    }
    let error = "crc7".parse::<Checksum>().expect_err("there is none of that name");
    assert!(error.to_string().contains("github-crc32"), "{error}");
}

#[test]
fn every_scheme_has_a_form_in_these_tests() {
    for checksum in Checksum::ALL {
        assert!(forms().iter().any(|(of, _)| *of == checksum), "{checksum}");
    }
}

#[test]
fn completed_secrets_hold_and_random_ones_do_not() {
    let mut rng = XorShift64::new(7);
    for (checksum, parts) in forms() {
        let mut completed = 0;
        for _ in 0..200 {
            let random = random_text(&parts, &mut rng);
            // Discord's id and Sentry's JSON are parsed, and random text never has their structure.
            assert!(!checksum.holds(&random), "{checksum}: {}", shown(&random));
            if let Some(right) = checksum.complete(&random) {
                completed += 1;
                assert!(checksum.holds(&right), "{checksum}: {}", shown(&right));
                assert_eq!(
                    checksum.complete(&right).map(|again| checksum.holds(&again)),
                    Some(true)
                );
            }
        }
        // Not all texts of base 58 digits decode to the right number of bytes.
        let least = if checksum == Checksum::BitcoinBase58 { 20 } else { 200 };
        assert!(completed >= least, "{checksum}: {completed} of 200");
    }
}

#[test]
fn changing_any_character_breaks_a_checksum() {
    let parsed_only = [Checksum::PypiMacaroon, Checksum::SentryPayload, Checksum::DiscordSnowflake];
    let mut rng = XorShift64::new(11);
    for (checksum, parts) in forms() {
        if parsed_only.contains(&checksum) {
            continue;
        }
        let right = (0..200)
            .find_map(|_| checksum.complete(&random_text(&parts, &mut rng)))
            .expect("one of many can be completed");
        // The vendor ignores four bits of the last character as well.
        let read = right.len() - usize::from(checksum == Checksum::AzureDevopsCrc32);
        for place in 0..read {
            for other in [b'a', b'Q', b'7', b'!'] {
                let mut wrong = right.clone();
                wrong[place] = other;
                assert!(
                    wrong == right || !checksum.holds(&wrong),
                    "{checksum}: {place} of {}",
                    shown(&right)
                );
            }
        }
        assert!(!checksum.holds(&right[1..]), "{checksum}: without its first character");
        assert!(!checksum.holds(&right[..right.len() - 3]), "{checksum}: cut off");
    }
}

#[test]
fn a_broken_structure_does_not_hold() {
    let mut rng = XorShift64::new(13);
    for (checksum, parts) in forms() {
        let Some(right) = (0..200).find_map(|_| checksum.complete(&random_text(&parts, &mut rng)))
        else {
            panic!("{checksum}: nothing to break");
        };
        for cut in 0..right.len() / 2 {
            assert!(!checksum.holds(&right[..cut]), "{checksum}: the first {cut}");
            assert!(checksum.complete(&right[..cut]).is_none_or(|other| checksum.holds(&other)));
        }
        for place in 0..right.len() {
            let mut wrong = right.clone();
            wrong[place] = 0xff;
            assert!(!checksum.holds(&wrong), "{checksum}: {place}");
        }
    }
}

#[test]
fn arbitrary_bytes_do_not_panic() {
    let mut rng = XorShift64::new(17);
    let starts: [&[u8]; 9] = [
        b"",
        b"ghp_",
        b"npm_",
        b"glsa_",
        b"cflt",
        b"pypi-",
        b"sntrys_",
        b"nsec1",
        b"AGE-SECRET-KEY-1",
    ];
    for checksum in Checksum::ALL {
        for start in starts {
            for length in 0..130 {
                let mut bytes = start.to_vec();
                bytes.extend((0..length).map(|_| rng.below(256).to_le_bytes()[0]));
                assert!(!checksum.holds(&bytes), "{checksum}: random bytes");
                let _whatever = checksum.complete(&bytes);
                let dots = vec![b"._=-"[length % 4]; length];
                assert!(!checksum.holds(&dots), "{checksum}: {}", shown(&dots));
                let _whatever = checksum.complete(&dots);
            }
        }
    }
}

/// Tokens that were published as examples: expired ones, vendors' examples, and test vectors of
/// standards.
#[test]
fn published_examples_hold() {
    let examples = [
        // Personal tokens that were created and expired for an analysis of the format, and another
        // scanner's test data.
        (Checksum::GithubCrc32, ["ghp_", "zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ", "0mLq17"].concat()),
        (Checksum::GithubCrc32, ["ghp_", "M7H4jxUDDWHP4kZ6A4dxlQYsQIWJuq", "11T4V4"].concat()),
        // The example in Confluent's documentation of the format.
        (
            Checksum::ConfluentCrc32,
            ["cflt", "T8d8RzkNseTMEDKcjNM1BZTFPHqRn/dQm9q7w6SjzZ12wZfwjaJdip", "HZtDjw"].concat(),
        ),
        // GitHub's test data for Azure DevOps tokens.
        (
            Checksum::AzureDevopsCrc32,
            ["cfdgksmyyogbj6b6k7tvu6wfgo", "tk453xxadybrrs22g6qekcaw3y"].concat(),
        ),
        (
            Checksum::AzureDevopsCrc32,
            ["67csyuknm2k4azb2q3ktjb7dwn", "afo2xj5bwpv7vt7ei2l5a7wwfb"].concat(),
        ),
        // NIP-19.
        (
            Checksum::NostrBech32,
            ["nsec1", "vl029mgpspedva04g90vltkh6fvh240zqtv9k0t9af8935ke9laqsnlfe5"].concat(),
        ),
        // SEP-23.
        (
            Checksum::StellarCrc16,
            ["SBU2RRGLXH3E5CQHTD3ODLDF", "2BWDCYUSSBLLZ5GNW7JXHDIYKXZWHOKR"].concat(),
        ),
        // The first test vector of BIP 32, chain m.
        (
            Checksum::BitcoinBase58,
            [
                "xprv9s21ZrQH143K3QTDL4LXw2F7HEK3wJUD2nW2nRk4stbPy6cq3jPPqjiCh",
                "kVvvNKmPGJxWUtg6LnF5kejMRNNU3TGtRBeJgk33yuGBxrMPHi",
            ]
            .concat(),
        ),
        // The example in the description of the wallet import format.
        (
            Checksum::BitcoinBase58,
            ["5HueCGU8rMjxEXxiPuD5BDku4MkFq", "eZyd4dZ1jvhTVqvbTLvyTJ"].concat(),
        ),
    ];
    for (checksum, example) in examples {
        assert!(checksum.holds(example.as_bytes()), "{checksum}: {example}");
    }
}

#[test]
fn marvin_gives_the_published_values() {
    let seed = 0x004f_b61a_001b_dbcc;
    for (data, expected) in [
        (&b""[..], 0x30ed_35c1_00cd_3c7d),
        (&b"\xaf"[..], 0x48e7_3fc7_7d75_ddc1),
        (&b"\xe7\x0f"[..], 0xb5f6_e1fc_485d_bff8),
    ] {
        assert_eq!(marvin::marvin(data, seed), expected, "{data:x?}");
    }
}
