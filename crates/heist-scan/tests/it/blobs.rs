//! An object that is scanned before its path is known has the findings and the outcome of a file
//! with the same contents, under each of its paths.

use crate::support::{Keys, Log, deltas};
use heist::{CancelToken, MetricsSnapshot};
use heist_scan::rules::RuleSet;
use heist_scan::{
    BlobScanner, Copied, Detector, DetectorOptions, Finding, Memory, NullDetector, ReaderSource,
    Scan, SecretDetector, Version,
};
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::sync::Arc;

type Reported = (Vec<Finding>, Option<String>);

fn take(log: &Log, path: &str) -> Reported {
    let findings = log.findings.lock().unwrap().remove(Path::new(path)).unwrap_or_default();
    (findings, log.outcomes.lock().unwrap().remove(Path::new(path)))
}

/// Returns what a scan of a stream with this path reports.
fn from_stream<D: Detector>(scan: &Scan<Arc<D>>, bytes: &[u8], path: &str) -> Reported {
    let log = Arc::new(Log::default());
    let source = ReaderSource::new(PathBuf::from(path), Cursor::new(bytes.to_vec()));
    scan.clone().threads(Some(1)).source(source).run(Arc::clone(&log)).unwrap();
    take(&log, path)
}

const PATHS: [&str; 4] = ["src/settings.py", "tests/it/data.json", "keys/server.p12", "id_rsa"];

/// Compares each object under each path, scanned as a version of the one before it.
fn check<D: Detector>(scan: &Scan<Arc<D>>, objects: &[(Vec<u8>, Vec<Copied>)]) -> usize {
    let log = Arc::new(Log::default());
    let blobs = scan.clone().blobs(Arc::clone(&log), &CancelToken::new());
    let mut scanner = blobs.scanner();
    let (mut memory, mut found, mut reports) = (Memory::default(), 0, 0);
    for (bytes, copies) in objects {
        let blob = scanner.scan(Version::new(bytes).based_on(&memory, copies));
        for path in PATHS {
            let expected = from_stream(scan, bytes, path);
            scanner.report(&blob, path.as_ref(), path.as_ref());
            let reported = take(&log, path);
            assert_eq!(reported, expected, "{path}");
            found += reported.0.len();
            reports += 1;
        }
        memory = blob.memory;
    }
    drop(scanner);
    let report = blobs.finish(1, MetricsSnapshot::default());
    assert_eq!((report.objects(), report.findings), (reports, found as u64));
    found
}

fn secrets() -> Scan<Arc<SecretDetector>> {
    let detector = SecretDetector::new(RuleSet::builtin(), DetectorOptions::default());
    Scan::new(Arc::new(detector))
}

fn text() -> Vec<u8> {
    let line = "first = 1\r\n\tpassword = \"7tRmq!x2Lw9z\" # and more\n\n"; // heist:allow
    let allowed = "api_token = \"kD8sl2Qp9ZxV4mNt7RwY\" # heist:allow\n"; // heist:allow
    let url = "https://user:hV7tRm2Lw9z@db.example.org/name\n"; // heist:allow
    format!("{line}{}{allowed}{}{url}", "some text\n".repeat(300), "\n".repeat(90)).into_bytes()
}

#[test]
fn versions_have_the_findings_of_files() {
    let mut objects = vec![(text(), Vec::new())];
    for seed in 0..30 {
        let (version, copies) = deltas::version(&objects[seed as usize].0, &text(), seed);
        let copies = copies.into_iter().map(|(from, to, len)| Copied {
            from: from as u64,
            to: to as u64,
            len: len as u64,
        });
        let copies = copies.collect();
        objects.push((version, copies));
    }
    assert!(check(&secrets(), &objects) > 200);
    assert!(check(&secrets().max_findings_per_object(Some(1)), &objects) > 100);
}

#[test]
fn objects_are_skipped_like_files() {
    let wide: Vec<u8> =
        String::from_utf8(text()).unwrap().encode_utf16().flat_map(u16::to_le_bytes).collect();
    let binary = [&[0, 1, 2, 3].repeat(3000)[..], &text()].concat();
    let alone = |bytes: Vec<u8>| [(bytes, Vec::new())];
    assert!(check(&secrets(), &alone(wide)) > 0);
    for scan in [secrets(), secrets().binary(true)] {
        check(&scan, &alone(binary.clone()));
        check(&scan, &alone(Vec::new()));
    }
    let outcome = |scan: Scan<Arc<SecretDetector>>, bytes: &[u8]| {
        let blobs = scan.blobs(Log::default(), &CancelToken::new());
        let mut scanner: BlobScanner<_> = blobs.scanner();
        format!("{:?}", scanner.scan(Version::new(bytes)).outcome())
    };
    assert_eq!(outcome(secrets(), &binary), "Binary");
    assert_eq!(outcome(secrets().max_file_size(Some(9)), &text()), "TooLarge");
    assert_eq!(outcome(secrets().max_file_size(Some(1 << 20)), &text()), "Scanned");
}

#[test]
fn any_detector_scans_blobs() {
    let scan = Scan::new(Arc::new(Keys));
    let text = b"KEY123 and\n 77=KEY5 BEGIN x\nEND KEY9".repeat(40);
    assert!(check(&scan, &[(text.clone(), Vec::new()), (text, Vec::new())]) > 100);
    assert_eq!(check(&Scan::new(Arc::new(NullDetector)), &[(b"text".to_vec(), Vec::new())]), 0);
}

#[test]
fn a_panic_ends_one_object() {
    let log = Arc::new(Log::default());
    let blobs = Scan::new(Keys).blobs(Arc::clone(&log), &CancelToken::new());
    let mut scanner = blobs.scanner();
    let panicked = scanner.scan(Version::new(b"KEY1 PANIC! KEY2"));
    let whole = scanner.scan(Version::new(b"KEY1 KEY2"));
    assert!(panicked.memory.is_empty() && panicked.is_worth_reporting());
    scanner.report(&panicked, "a".as_ref(), "a".as_ref());
    scanner.report(&whole, "b".as_ref(), "b".as_ref());
    drop(scanner);
    assert_eq!(take(&log, "a"), (vec![], Some("Panicked(\"asked to\")".to_owned())));
    assert_eq!(take(&log, "b").0.len(), 2);
    let report = blobs.finish(1, MetricsSnapshot::default());
    assert_eq!((report.incomplete_count, report.objects()), (1, 2));
}

#[test]
fn a_stopped_scan_ends_its_objects() {
    let cancel = CancelToken::new();
    let blobs = secrets().blobs(Log::default(), &cancel);
    let mut scanner = blobs.scanner();
    assert!(!blobs.is_stopped());
    cancel.cancel();
    assert!(blobs.is_stopped());
    let blob = scanner.scan(Version::new(&text()));
    assert_eq!(format!("{:?}", blob.outcome()), "Interrupted");
    assert!(blob.memory.is_empty());
    let late = secrets().deadline(Some(std::time::Instant::now()));
    let blobs = late.blobs(Log::default(), &CancelToken::new());
    let blob = blobs.scanner().scan(Version::new(&text()));
    assert_eq!(format!("{:?}", blob.outcome()), "Interrupted");
}
