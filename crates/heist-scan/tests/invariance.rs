//! Findings are the same for every chunk size, range size and number of workers: those of the whole object at once.

mod support;

use heist_scan::{Finding, ReaderSource, ScanConfig, ScanProgress, Sink, scan_local_with_progress};
use proptest::prelude::*;
use std::path::Path;
use std::sync::Arc;
use support::{Expected, Keys, Log, at_once, check_report, scan};

/// Pieces of text that make keys, and break them.
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

        let whole = ScanConfig::new().workers(Some(1)).binary(true).chunk_size(1 << 20).range_size(u64::MAX);
        let (report, reference) = scan(&[tree.path()], &whole);
        prop_assert!(report.is_complete());
        let reference = findings_of(&reference, &path);
        prop_assert_eq!(reference.iter().map(Expected::of).collect::<Vec<_>>(), expected);

        let config = whole.clone().workers(Some(workers)).chunk_size(chunk_size).range_size(range_size);
        let (report, log) = scan(&[tree.path()], &config);
        prop_assert_eq!(report.bytes, text.len() as u64);
        // Everything, also lines, excerpts and what is allowed.
        prop_assert_eq!(findings_of(&log, &path), reference.clone());

        let (log, progress) = (Arc::new(Log::default()), ScanProgress::new());
        let source = ReaderSource::new(&path, std::io::Cursor::new(text.clone()));
        let sink = Arc::clone(&log) as Arc<dyn Sink>;
        let report = scan_local_with_progress(Arc::new(Keys), source, sink, &config, &progress).unwrap();
        check_report(&report, &log, &progress);
        prop_assert_eq!(findings_of(&log, &path), reference);
    }

    #[test]
    fn no_excerpt_shows_a_secret(text in text()) {
        let tree = tempfile::tempdir().unwrap();
        std::fs::write(tree.path().join("object"), &text).unwrap();
        let (_, log) = scan(&[tree.path()], &ScanConfig::new().binary(true).chunk_size(300));
        for finding in log.findings.lock().unwrap().values().flatten() {
            let secret = String::from_utf8_lossy(finding.secret.reveal()).into_owned();
            // What is shorter is shown in no part, but may stand there by chance.
            if secret.len() >= 8 {
                prop_assert!(!finding.excerpt.contains(&secret), "{}", finding.excerpt);
            }
            let is_unprintable = finding.excerpt.contains(['\n', '\t', '\u{1b}', '\u{202e}']);
            prop_assert!(!is_unprintable);
            prop_assert!(finding.excerpt.len() <= 3 * 160 + 20, "it is cut");
        }
    }
}
