//! What findings show does not depend on how an object is cut, also where a scan searches with the
//! built-in rules for what its own rules do not look for.

use heist_scan::rules::{Pattern, Rule, RuleSet};
use heist_scan::{DetectorOptions, Finding, ReaderSource, Scan, SecretDetector};
use proptest::prelude::*;
use std::sync::{Arc, Mutex};

/// Generates texts of secrets, names that tell of secrets, and ordinary words.
fn text() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        6 => prop::sample::select(vec![
            "needle", " ", "\n", "password=", "\"token\": \"", "\"", "seven hills",
            "k3Qz9fVq3rT8xLm2Zp6K", "ghp_", "https://u:p4ss@host/",
            "-----BEGIN PRIVATE KEY-----\n", "-----END PRIVATE KEY-----", ", ", "\0",
            "key: |\n  ", "!x#9$y", "cGFzc3dvcmQ9aHVudGVyMg==",
            concat!("AKIA", "Q7XWZ2MNB4RTK6JD"), "&auth=", "=====",
        ])
        .prop_map(|piece| piece.as_bytes().to_vec()),
        1 => prop::collection::vec(b'!'..=b'~', 0..200),
        1 => (1_usize..1500).prop_map(|count| b"words and ".repeat(count / 10 + 1)),
    ];
    let text = prop::collection::vec(piece, 0..80).prop_map(|pieces| pieces.concat());
    (text, any::<bool>()).prop_map(|(text, is_wide)| match is_wide {
        false => text,
        true => {
            let text = format!("\u{feff}{}", String::from_utf8_lossy(&text));
            text.encode_utf16().flat_map(u16::to_le_bytes).collect()
        }
    })
}

fn findings(scan: &Scan<Arc<SecretDetector>>, text: &[u8]) -> Vec<Finding> {
    let found = Arc::new(Mutex::new(Vec::new()));
    let source = ReaderSource::new("object", std::io::Cursor::new(text.to_vec()));
    scan.clone().source(source).run(Arc::clone(&found)).unwrap();
    std::mem::take(&mut *found.lock().unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn what_a_finding_shows_does_not_depend_on_cuts(
        text in text(),
        chunk_size in prop_oneof![1_usize..100, 100_usize..9000],
        range_size in prop_oneof![200_u64..4000, Just(u64::MAX)],
        workers in 1_usize..4,
    ) {
        let needle = Rule::new("needle", Pattern::Regex("needle".to_owned()));
        let detector = SecretDetector::new(RuleSet::new([needle]), DetectorOptions::default());
        let whole = Scan::new(Arc::new(detector))
            .threads(Some(1))
            .binary(true)
            .chunk_size(1 << 20)
            .range_size(u64::MAX);
        let reference = findings(&whole, &text);
        let cut = whole.threads(Some(workers)).chunk_size(chunk_size).range_size(range_size);
        prop_assert_eq!(findings(&cut, &text), reference.clone());

        // The same in a file, which is read in ranges.
        let tree = tempfile::tempdir().unwrap();
        std::fs::write(tree.path().join("object"), &text).unwrap();
        let found = Arc::new(Mutex::new(Vec::new()));
        cut.walk(heist_walk::Walk::new(tree.path())).run(Arc::clone(&found)).unwrap();
        let excerpts = |findings: &[Finding]| -> Vec<String> {
            findings.iter().map(|finding| finding.excerpt.clone()).collect()
        };
        prop_assert_eq!(excerpts(&found.lock().unwrap()), excerpts(&reference));
    }
}
