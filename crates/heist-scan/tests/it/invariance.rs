//! The findings do not depend on the chunk size, the range size and the number of workers: they are
//! those of the whole object at once.

use crate::support::{Expected, Keys, Log, at_once, scan_objects, scan_trees};
use heist_scan::{Finding, ReaderSource, Scan};
use proptest::prelude::*;
use std::path::Path;

/// Generates texts from pieces that form keys, and pieces that break them.
fn text() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => prop::sample::select(vec![
            "KEY", "=KEY", "12345", "7", "00000000000000000000", "BEGIN", "END", "\n", "\n\n", "\r\n", " ", "\t",
            "heist:allow", "gitleaks:allow", "pragma: allowlist secret", "é", "\u{202e}", "x",
        ])
        .prop_map(|piece| piece.as_bytes().to_vec()),
        1 => prop::collection::vec(1_u8..=255, 0..300),
        1 => (1_usize..2000).prop_map(|count| vec![b'.'; count]),
    ];
    prop::collection::vec(piece, 0..120).prop_map(|pieces| pieces.concat())
}

fn findings_of(log: &Log, path: &Path) -> Vec<Finding> {
    log.findings.lock().unwrap().get(path).cloned().unwrap_or_default()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn findings_are_those_of_the_whole_object_at_once(
        text in text(),
        chunk_size in prop_oneof![1_usize..100, 100_usize..9000, Just(1 << 20)],
        range_size in prop_oneof![200_u64..4000, Just(u64::MAX)],
        workers in 1_usize..4,
    ) {
        let tree = tempfile::tempdir().unwrap();
        let path = tree.path().join("object");
        std::fs::write(&path, &text).unwrap();
        let expected = at_once(Path::new("object"), &text);

        let whole =
            Scan::new(Keys).threads(Some(1)).binary(true).chunk_size(1 << 20).range_size(u64::MAX);
        let (report, reference) = scan_trees(whole.clone(), &[tree.path()]);
        prop_assert!(report.is_complete());
        let reference = findings_of(&reference, &path);
        prop_assert_eq!(reference.iter().map(Expected::of).collect::<Vec<_>>(), expected);

        let cut = whole.threads(Some(workers)).chunk_size(chunk_size).range_size(range_size);
        let (report, log) = scan_trees(cut.clone(), &[tree.path()]);
        prop_assert_eq!(report.bytes, text.len() as u64);
        // Everything is equal, including lines, excerpts and what is allowed.
        prop_assert_eq!(findings_of(&log, &path), reference.clone());

        let source = ReaderSource::new(&path, std::io::Cursor::new(text.clone()));
        let (_, log) = scan_objects(cut, source);
        prop_assert_eq!(findings_of(&log, &path), reference);
    }

    #[test]
    fn no_excerpt_shows_a_secret(text in text()) {
        let tree = tempfile::tempdir().unwrap();
        std::fs::write(tree.path().join("object"), &text).unwrap();
        let (_, log) = scan_trees(Scan::new(Keys).binary(true).chunk_size(300), &[tree.path()]);
        for finding in log.findings.lock().unwrap().values().flatten() {
            let secret = String::from_utf8_lossy(finding.secret.reveal()).into_owned();
            // A shorter secret may occur in the excerpt by chance.
            if secret.len() >= 8 {
                prop_assert!(!finding.excerpt.contains(&secret), "{}", finding.excerpt);
            }
            let is_unprintable = finding.excerpt.contains(['\n', '\t', '\u{1b}', '\u{202e}']);
            prop_assert!(!is_unprintable);
            prop_assert!(finding.excerpt.len() <= 3 * 160 + 20, "it is cut");
        }
    }
}
