//! `SecretDetector::find` returns the findings of a scan of a file with the same bytes.

use heist::rng::XorShift64;
use heist_scan::rules::{RuleSet, sample};
use heist_scan::{DetectorOptions, Finding, Scan, SecretDetector};
use heist_walk::Walk;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// Returns the findings of a scan of a file with these bytes, under the path that `find` uses.
fn scanned(detector: &Arc<SecretDetector>, bytes: &[u8]) -> Vec<Finding> {
    let tree = tempfile::tempdir().unwrap();
    std::fs::write(tree.path().join("file"), bytes).unwrap();
    let findings = Arc::new(Mutex::new(Vec::new()));
    let scan = Scan::new(Arc::clone(detector)).threads(Some(2)).binary(true).range_size(300_000);
    scan.walk(Walk::new(tree.path())).run(Arc::clone(&findings)).unwrap();
    let mut findings = std::mem::take(&mut *findings.lock().unwrap());
    for finding in &mut findings {
        finding.path = Path::new("").into();
    }
    findings
}

/// Returns a text with a secret of each built-in rule, repeated to at least `len` bytes.
fn text_with_secrets(len: usize) -> String {
    let mut rng = XorShift64::new(7);
    let mut text = String::new();
    while text.len() < len {
        for rule in RuleSet::builtin().rules {
            if let Some(secret) = sample(&rule, &mut rng) {
                text.push_str(&format!("let value = \"{secret}\"; // für {}\r\n", rule.id));
                text.push_str(&"nothing to see in this line\n".repeat(3));
            }
        }
    }
    text
}

#[test]
fn find_returns_the_findings_of_a_scan_of_a_file() {
    let detector = SecretDetector::new(RuleSet::builtin(), DetectorOptions::default());
    let detector = Arc::new(detector);
    // One chunk, and several.
    for len in [1, 700_000] {
        let text = text_with_secrets(len);
        let expected = scanned(&detector, text.as_bytes());
        assert!(expected.len() > 50, "{} findings", expected.len());
        assert_eq!(detector.find(text.as_bytes()), expected);
        let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        let expected = scanned(&detector, &wide);
        assert!(expected.len() > 50, "{} findings", expected.len());
        assert_eq!(detector.find(&wide), expected);
    }
}

#[test]
fn find_searches_binary_data() {
    let detector = SecretDetector::new(RuleSet::builtin(), DetectorOptions::default());
    let detector = Arc::new(detector);
    let mut bytes = b"\x7fELF\0\0\0\x01".to_vec();
    bytes.extend_from_slice(text_with_secrets(1).as_bytes());
    let expected = scanned(&detector, &bytes);
    assert!(expected.len() > 50, "{} findings", expected.len());
    assert_eq!(detector.find(&bytes), expected);
}
