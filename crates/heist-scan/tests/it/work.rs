//! An object that takes too much work for its size is cut: at the same place for every chunk size,
//! range size and number of workers, and with an outcome that says so.

use crate::support::{Log, scan_objects, scan_trees};
use heist_scan::rules::RuleSet;
use heist_scan::{
    DetectorOptions, Finding, Incomplete, ReaderSource, Scan, ScanReport, SecretDetector, WorkLimit,
};
use proptest::prelude::*;
use std::path::Path;
use std::sync::{Arc, LazyLock};

/// An object can be cut at multiples of this offset.
const BLOCK: usize = 256 << 10;

static DETECTOR: LazyLock<Arc<SecretDetector>> =
    LazyLock::new(|| Arc::new(SecretDetector::new(RuleSet::builtin(), DetectorOptions::default())));

/// Text of some kinds, each of which takes work of another kind.
fn text(kind: usize, length: usize) -> Vec<u8> {
    let line = |number: usize| match kind {
        0 => "Nothing here takes any work, except to read it line by line.\n".to_owned(),
        1 => format!("db_password = \"q9!{number}vT#x\"\n"), // heist:allow
        2 => format!("a{number}=%3D{number}pwd=\\u003d://a:b{number}@c,"),
        _ => format!("{number:064x}aGVpc3Q+aGVpc3Q/{number:08}\n"),
    };
    let mut text = Vec::with_capacity(length + 100);
    for number in (1_000_000..).step_by(7919) {
        if text.len() >= length {
            break;
        }
        text.extend(line(number).into_bytes());
    }
    text.truncate(length);
    text
}

fn result_of(report: &ScanReport, log: &Log, path: &Path) -> (String, u64, u64, Vec<Finding>) {
    let outcome = log.outcomes.lock().unwrap().get(path).cloned().unwrap_or_default();
    let findings = log.findings.lock().unwrap().get(path).cloned().unwrap_or_default();
    (outcome, report.bytes, report.incomplete_count, findings)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn the_cut_depends_on_the_object_alone(
        parts in prop::collection::vec((0_usize..4, 1..2 * BLOCK), 1..6),
        free in prop_oneof![Just(0_u64), 0_u64..60_000_000],
        per_byte in 0_u64..60,
        chunk_size in prop_oneof![20_000_usize..300_000, Just(1 << 20), Just(256 << 10)],
        range_size in prop_oneof![60_000_u64..700_000, Just(512 << 10), Just(u64::MAX)],
        workers in 1_usize..4,
    ) {
        let text: Vec<u8> =
            parts.into_iter().flat_map(|(kind, length)| text(kind, length)).collect();
        let tree = tempfile::tempdir().unwrap();
        let path = tree.path().join("object.env");
        std::fs::write(&path, &text).unwrap();
        let limit = WorkLimit::new(free, per_byte);
        let limited = Scan::new(Arc::clone(&DETECTOR)).work_limit(Some(limit));
        let whole = limited.clone().threads(Some(1)).range_size(u64::MAX);
        let (report, log) = scan_trees(whole, &[tree.path()]);
        let expected = result_of(&report, &log, &path);

        let cut = limited.threads(Some(workers)).chunk_size(chunk_size).range_size(range_size);
        let (report, log) = scan_trees(cut.clone(), &[tree.path()]);
        prop_assert_eq!(&result_of(&report, &log, &path), &expected);
        let source = ReaderSource::new(&path, std::io::Cursor::new(text));
        let (report, log) = scan_objects(cut, source);
        prop_assert_eq!(&result_of(&report, &log, &path), &expected);
    }
}

#[test]
fn an_object_with_too_much_work_is_incomplete_and_says_where_it_was_cut() {
    let tree = tempfile::tempdir().unwrap();
    let path = tree.path().join("many.env");
    std::fs::write(&path, [text(1, 3 * BLOCK), text(0, BLOCK)].concat()).unwrap();
    let scan = Scan::new(Arc::clone(&DETECTOR)).threads(Some(2)).range_size(BLOCK as u64);
    let limited = scan.clone().work_limit(Some(WorkLimit::new(0, 20)));
    let (report, log) = scan_trees(limited, &[tree.path()]);
    assert_eq!((report.outcomes.work_cut, report.outcomes.scanned), (1, 0));
    assert_eq!((report.bytes, report.incomplete_count), (BLOCK as u64, 1));
    assert!(!report.is_complete());
    let (_, why) = &report.incomplete[0];
    assert!(matches!(why, Incomplete::WorkCut { scanned_to } if *scanned_to == BLOCK as u64));
    assert_eq!(
        why.to_string(),
        "has so many places that could be secrets that only its first 262144 bytes were scanned"
    );
    // What was found before the cut is reported.
    let found = log.findings.lock().unwrap()[&path].len() as u64;
    assert!(found > 5000 && found == report.findings, "{found}");

    // Without a limit, with a larger one, or if the object ends there, nothing is cut.
    let (report, _) = scan_trees(scan.clone().work_limit(None), &[tree.path()]);
    assert!(report.is_complete() && report.findings > 2 * found);
    let (report, _) = scan_trees(scan.clone(), &[tree.path()]);
    assert!(report.is_complete() && report.findings > 2 * found);
    std::fs::write(&path, text(1, BLOCK)).unwrap();
    let (report, _) = scan_trees(scan.work_limit(Some(WorkLimit::new(0, 20))), &[tree.path()]);
    // The last line is cut off here, and was not before.
    assert!(report.is_complete() && report.findings.abs_diff(found) <= 1, "{report:?}");
}

/// The allowance is far more than a report can list.
#[test]
fn a_file_of_secrets_and_nothing_else_may_have_hundreds_of_thousands() {
    use heist_scan::Detector as _;
    let text = text(1, BLOCK);
    let mut scratch = DETECTOR.scratch();
    let mut matches = Vec::new();
    DETECTOR.scan(&heist_scan::Chunk::whole(&text, "a.env".as_ref()), &mut scratch, &mut matches);
    let work = DETECTOR.take_work(&mut scratch);
    let of_each = work / matches.len() as u64;
    let limit = WorkLimit::default();
    let bytes_of_each = (text.len() / matches.len()) as u64;
    let allowed = limit.free / (of_each - limit.per_byte * bytes_of_each);
    assert!(allowed > 250_000, "{allowed} secrets, each with work {of_each}");
}
