//! Scans of trees with all kinds of entries: every object has its outcome, and nothing is lost.

use crate::support::{Keys, Log, scan_objects, scan_trees, scan_walk};
use heist::CancelToken;
use heist_scan::{
    Chunk, Confidence, Detector, Encoding, FileSource, Finding, Incomplete, Match, NullDetector,
    Overlap, ReaderSource, RuleIndex, RuleInfo, Scan, Stopped,
};
use heist_walk::{Filter, Walk};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Instant;

fn keys() -> Scan<Keys> {
    Scan::new(Keys).threads(Some(3))
}

fn outcome(log: &Log, path: &Path) -> String {
    log.outcomes.lock().unwrap().get(path).cloned().unwrap_or_else(|| "none".into())
}

#[test]
fn every_object_has_its_outcome() {
    let tree = tempfile::tempdir().unwrap();
    let at = |name: &str| tree.path().join(name);
    fs::create_dir(at("sub")).unwrap();
    fs::write(at("sub/text"), "a KEY123456789 here").unwrap();
    fs::write(at("empty"), "").unwrap();
    fs::write(at("binary"), b"KEY123\0").unwrap();
    fs::write(at("large"), vec![b'x'; 100_001]).unwrap();
    fs::write(at("x.unwanted"), "KEY1").unwrap();
    fs::write(at("cert.p12"), b"\0\0").unwrap();
    let wide: Vec<u8> = "KEY123\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    fs::write(at("wide"), &wide).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink("sub/text", at("link")).unwrap();
    let (report, log) = scan_trees(keys().max_file_size(Some(100_000)), &[tree.path()]);
    assert!(report.is_complete(), "{:?}", report.incomplete);
    assert_eq!((report.findings, report.directories), (2, 2));
    for (name, expected) in [
        ("sub/text", "Scanned"),
        ("empty", "Scanned"),
        ("binary", "Binary"),
        ("large", "TooLarge"),
        ("x.unwanted", "Excluded"),
        ("cert.p12", "Binary"),
        ("wide", "Scanned"),
    ] {
        assert_eq!(outcome(&log, &at(name)), expected, "{name}");
    }
    #[cfg(unix)]
    assert_eq!(
        (outcome(&log, &at("link")).as_str(), report.outcomes.symlinks),
        ("Special(Symlink)", 1)
    );
    let findings = log.findings.lock().unwrap();
    let finding = &findings[&at("sub/text")][0];
    assert_eq!((finding.line, finding.column, finding.end_column), (1, 6, 15));
    // The secret of a weaker rule is masked as well: all of `KEY123456789`.
    assert_eq!(finding.excerpt, "a 12****** here");
    assert_eq!(finding.excerpt_revealed.reveal(), b"a KEY123456789 here");
    assert_eq!(&*findings[&at("cert.p12")][0].rule, "path");

    let (report, _) = scan_trees(keys().binary(true), &[tree.path()]);
    assert_eq!((report.outcomes.binary, report.findings), (0, 3));
}

/// Returns the line, the excerpt and whether it is allowed for each finding in a text, scanned in
/// small chunks.
fn shown(text: &str) -> Vec<(u64, String, bool)> {
    let tree = tempfile::tempdir().unwrap();
    fs::write(tree.path().join("file"), text).unwrap();
    let (_, log) = scan_trees(keys().chunk_size(50).range_size(10_000), &[tree.path()]);
    let findings = log.findings.lock().unwrap();
    let shown = |finding: &Finding| (finding.line, finding.excerpt.clone(), finding.allowed);
    findings.values().flatten().map(shown).collect()
}

#[test]
fn a_comment_in_the_line_allows_a_secret() {
    for comment in ["heist:allow", "gitleaks:allow", "pragma: allowlist secret"] {
        let text = format!("x\na KEY12345678 # {comment}\nb KEY12345678\n// {comment}\n");
        let allowed: Vec<bool> = shown(&text).into_iter().map(|(_, _, allowed)| allowed).collect();
        assert_eq!(allowed, [true, false], "{comment}");
    }
    let far = |bytes| format!("{}KEY12345678{} heist:allow", "-".repeat(20_000), "-".repeat(bytes));
    assert!(shown(&far(500))[0].2);
    assert!(!shown(&far(501))[0].2);
}

#[test]
fn an_excerpt_masks_every_secret_even_if_only_a_part_of_it_is_shown() {
    let line = format!("KEY11111111 and{} KEY22222222 and KEY33333333", " so".repeat(21));
    let excerpts: Vec<String> = shown(&line).into_iter().map(|(_, excerpt, _)| excerpt).collect();
    let words = " so".repeat(21);
    assert_eq!(excerpts[0], format!("11****** and{words} ****** "));
    assert_eq!(excerpts[1], format!("****** and{words} 22****** and ******"));
    // The excerpt of a secret with several lines is its first line.
    let block = format!("first\nhere: BEGIN{}\nEND of it\n", "0123456789".repeat(3));
    assert_eq!(shown(&block), [(2, "here: BEGI******ND".to_string(), false)]);
}

#[test]
fn roots_may_be_files_and_missing_roots_are_reported() {
    let tree = tempfile::tempdir().unwrap();
    let file = tree.path().join("file");
    fs::write(&file, "KEY1").unwrap();
    let missing = tree.path().join("missing");
    let (report, log) = scan_trees(keys(), &[&file, &missing]);
    assert_eq!((report.findings, report.incomplete_count), (1, 1));
    assert!(matches!(report.incomplete[0], (ref path, Incomplete::Walk(_)) if *path == missing));
    assert_eq!(log.findings.lock().unwrap().keys().next().unwrap(), &file);
}

#[test]
fn a_root_that_is_named_twice_is_scanned_once() {
    let tree = tempfile::tempdir().unwrap();
    fs::create_dir(tree.path().join("sub")).unwrap();
    fs::write(tree.path().join("sub/file"), "KEY1").unwrap();
    let again = tree.path().join("sub/..");
    let (report, log) = scan_trees(keys(), &[tree.path(), tree.path(), &again, &again.join("sub")]);
    assert_eq!((report.findings, report.outcomes.scanned, report.directories), (1, 1, 2));
    // A root that lies inside another one is found by its own name.
    assert!(log.findings.lock().unwrap().contains_key(&again.join("sub/file")));
}

#[test]
fn a_root_inside_another_root_is_scanned_once_and_despite_the_filter() {
    let tree = tempfile::tempdir().unwrap();
    let at = |path: &str| tree.path().join(path);
    fs::create_dir_all(at("a/.hidden")).unwrap();
    fs::write(at("a/.hidden/file"), "KEY1").unwrap();
    fs::write(at("a/file"), "KEY2").unwrap();
    let roots: &[&[&str]] = &[
        &["a", "a/.hidden", "a/file"],
        &["a/file", "a/./.hidden/", "a"],
        &["a", "a/.hidden/file"],
    ];
    for roots in roots {
        let roots: Vec<PathBuf> = roots.iter().map(|root| at(root)).collect();
        let roots: Vec<&Path> = roots.iter().map(PathBuf::as_path).collect();
        for skip_hidden in [false, true] {
            let filter = Filter::new().skip_hidden(skip_hidden);
            let (report, _) = scan_walk(keys(), Walk::over(&roots).filter(filter));
            let found = (report.findings, report.outcomes.scanned);
            assert_eq!(found, (2, 2), "{roots:?}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn pipes_and_sockets_are_never_opened() {
    let tree = tempfile::tempdir().unwrap();
    let pipe = tree.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let socket = tree.path().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    fs::write(tree.path().join("file"), "KEY1").unwrap();
    for symlinks in [heist_walk::Symlinks::Never, heist_walk::Symlinks::Always] {
        let (report, log) = scan_walk(keys(), Walk::new(tree.path()).symlinks(symlinks));
        assert_eq!((report.outcomes.special, report.outcomes.scanned), (2, 1));
        assert_eq!(outcome(&log, &pipe), "Special(Fifo)");
    }
    // Neither as a root nor as an object of a source.
    let (report, _) = scan_trees(keys(), &[&pipe]);
    assert_eq!(report.outcomes.special, 1);
    let (report, _) = scan_objects(keys(), FileSource::new([&pipe, &socket]));
    assert_eq!(report.outcomes.special, 2);
}

#[cfg(unix)]
#[test]
fn objects_that_cannot_be_opened_are_reported() {
    let tree = tempfile::tempdir().unwrap();
    let circle = tree.path().join("circle");
    std::os::unix::fs::symlink("circle", &circle).unwrap();
    let gone = tree.path().join("gone");
    let (report, _) = scan_objects(keys(), FileSource::new([&circle, &gone]));
    assert_eq!((report.outcomes.unreadable, report.outcomes.vanished), (1, 1));
    assert!(
        matches!(&report.incomplete[..], [(path, Incomplete::Unreadable(_))] if *path == circle)
    );
}

#[test]
fn a_panic_ends_its_object_and_nothing_else() {
    let tree = tempfile::tempdir().unwrap();
    for number in 0..40 {
        let text = if number % 10 == 0 { "PANIC! KEY1" } else { "KEY123" };
        fs::write(tree.path().join(format!("{number}")), text).unwrap();
    }
    let mut large = b"KEY5 ".repeat(2000);
    large.extend_from_slice(b"PANIC!");
    fs::write(tree.path().join("large"), large).unwrap();
    let (report, log) = scan_trees(keys().chunk_size(100).range_size(1000), &[tree.path()]);
    assert_eq!((report.outcomes.panicked, report.outcomes.scanned), (5, 36));
    assert_eq!(report.incomplete_count, 5);
    assert_eq!(outcome(&log, &tree.path().join("large")), "Panicked(\"asked to\")");
}

#[test]
fn an_object_with_too_many_findings_is_cut_at_the_same_place() {
    let tree = tempfile::tempdir().unwrap();
    let path = tree.path().join("many");
    fs::write(&path, "KEY123 ".repeat(5000)).unwrap();
    for (chunk_size, range_size) in [(1 << 20, u64::MAX), (1000, u64::MAX), (1000, 3000)] {
        let scan = keys().max_findings_per_object(Some(1234));
        let (report, log) =
            scan_trees(scan.chunk_size(chunk_size).range_size(range_size), &[tree.path()]);
        assert_eq!((report.findings, report.outcomes.findings_cut), (1234, 1));
        assert_eq!((report.findings_left_out, report.bytes), (5000 - 1234, 5000 * 7));
        let (_, why) = &report.incomplete[0];
        assert_eq!(why.to_string(), "has too many findings; 3766 of them were left out");
        let last = log.findings.lock().unwrap()[&path].last().unwrap().offset.start;
        assert_eq!(last, 1233 * 7 + 3);
    }
}

#[test]
fn each_kind_of_finding_has_its_own_limit() {
    let tree = tempfile::tempdir().unwrap();
    let allowed = "KEY123 heist:allow\n".repeat(300);
    let medium = "123=KEY\n".repeat(300);
    fs::write(tree.path().join("many"), allowed + &medium + "KEY456\nBEGIN END\n").unwrap();
    for range_size in [u64::MAX, 1000] {
        let scan = keys().max_findings_per_object(Some(100)).chunk_size(500);
        let (report, log) = scan_trees(scan.range_size(range_size), &[tree.path()]);
        assert_eq!((report.findings, report.findings_left_out), (202, 400));
        let findings = log.findings.lock().unwrap();
        let last: Vec<&str> =
            findings.values().flatten().skip(200).map(|finding| &*finding.rule).collect();
        assert_eq!(last, ["digits", "block"]);
    }
}

/// Findings and bytes of ranges after the panic do not count, even if a worker scanned them first.
#[test]
fn the_counts_of_a_file_that_is_given_up_do_not_depend_on_the_workers() {
    let tree = tempfile::tempdir().unwrap();
    let text = "KEY123 ".repeat(3000) + "PANIC!" + &"KEY456 ".repeat(3000);
    fs::write(tree.path().join("file"), text).unwrap();
    let counted = |workers| {
        let scan = keys().threads(Some(workers)).chunk_size(100).range_size(2000);
        let (report, log) = scan_trees(scan, &[tree.path()]);
        assert_eq!(report.outcomes.panicked, 1);
        let findings = log.findings.lock().unwrap().values().next().unwrap().clone();
        (report.bytes, report.findings, findings)
    };
    let alone = counted(1);
    assert!(
        (20_000..=21_000).contains(&alone.0),
        "everything before the panic, except at most a chunk: {}",
        alone.0
    );
    for _ in 0..5 {
        assert_eq!(counted(4), alone);
    }
}

/// Finds every `@` of little-endian UTF-16.
struct WideSigns;

impl Detector for WideSigns {
    type Scratch = ();

    fn scratch(&self) {}

    fn required_overlap(&self) -> Overlap {
        Overlap::new(0, 2)
    }

    fn scan(&self, chunk: &Chunk<'_>, _scratch: &mut (), matches: &mut Vec<Match>) {
        for at in chunk.owned.clone().filter(|&at| chunk.bytes[at..].starts_with(b"@\0")) {
            let secret = chunk.offset + at as u64..chunk.offset + at as u64 + 2;
            let found = Match::new(RuleIndex(0), secret, Confidence::High);
            matches.push(found.decoded(*b"@", Encoding::Utf16Le).reason("it is"));
        }
    }

    fn rule(&self, rule: RuleIndex) -> RuleInfo<'_> {
        Keys.rule(rule)
    }
}

#[test]
fn newlines_of_utf_16_are_whole_units() {
    let tree = tempfile::tempdir().unwrap();
    let text =
        "\u{feff}first\n".to_string() + &"\u{10a}\u{a00}\u{a0a} here: @ \u{10a}\n".repeat(500);
    let bytes: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    fs::write(tree.path().join("wide"), bytes).unwrap();
    for (chunk_size, range_size) in [(1 << 20, u64::MAX), (101, u64::MAX), (101, 1001)] {
        let log = Arc::new(Log::default());
        let scan = Scan::new(WideSigns).threads(Some(3)).chunk_size(chunk_size);
        let scan = scan.range_size(range_size).walk(Walk::new(tree.path()));
        scan.run(Arc::clone(&log)).unwrap();
        let findings = log.findings.lock().unwrap();
        let places: Vec<_> =
            findings.values().flatten().map(|one| (one.line, one.column, one.end_column)).collect();
        let expected: Vec<_> = (2..502).map(|line| (line, 21, 23)).collect();
        assert_eq!(places, expected);
    }
}

/// Returns a text in small pieces, and then an error.
struct Broken {
    text: Vec<u8>,
    given: usize,
}

impl std::io::Read for Broken {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let rest = &self.text[self.given..];
        if rest.is_empty() {
            return Err(std::io::Error::other("a bad sector"));
        }
        let count = rest.len().min(into.len()).min(700);
        into[..count].copy_from_slice(&rest[..count]);
        self.given += count;
        Ok(count)
    }
}

#[test]
fn bytes_read_before_an_error_are_scanned() {
    for size in [0, 20, 5000, 30_000] {
        for chunk_size in [100, 4096, 1 << 20] {
            let mut text = vec![b'.'; size];
            text.extend_from_slice(b" KEY123456789");
            let expected = text.len() as u64;
            let source = ReaderSource::new("stream", Broken { text, given: 0 });
            let (report, log) = scan_objects(keys().chunk_size(chunk_size), source);
            assert_eq!(report.findings, 1, "{size} bytes in chunks of {chunk_size}");
            assert_eq!(report.bytes, expected);
            assert!(!report.is_complete());
            let outcome = outcome(&log, Path::new("stream"));
            assert!(outcome.starts_with("Unreadable") && outcome.contains("bad sector"));
        }
    }
    // A stream without a single byte.
    let source = ReaderSource::new("stream", Broken { text: Vec::new(), given: 0 });
    let (_, log) = scan_objects(keys(), source);
    assert!(outcome(&log, Path::new("stream")).starts_with("Unreadable"));
}

/// The system returns such files one page at a time, and reports that they are empty.
#[cfg(target_os = "linux")]
#[test]
fn files_that_arrive_in_small_pieces_are_read_to_their_end() {
    // Those of these files that exist do not change while the system runs, and some are long.
    let paths = ["/proc/kallsyms", "/proc/cpuinfo", "/proc/filesystems", "/proc/self/auxv"];
    for path in paths.map(Path::new) {
        let Ok(expected) = fs::read(path) else { continue };
        for chunk_size in [1000, 256 << 10] {
            let scan = keys().binary(true).chunk_size(chunk_size);
            let (report, _) = scan_trees(scan, &[path]);
            assert!(report.is_complete());
            let bytes = report.bytes.abs_diff(expected.len() as u64);
            // The clock rate of a processor may gain a digit.
            assert!(bytes < 100, "{}: {} of {}", path.display(), report.bytes, expected.len());
        }
    }
}

/// Finds nothing, and calls a function for each chunk: to change files while they are scanned.
struct Meddler<F>(F);

impl<F: Fn(u64) + Send + Sync + 'static> Detector for Meddler<F> {
    type Scratch = ();

    fn scratch(&self) {}

    fn finds_builtin(&self) -> bool {
        true
    }

    fn required_overlap(&self) -> Overlap {
        Overlap::default()
    }

    fn scan(&self, chunk: &Chunk<'_>, _scratch: &mut (), _matches: &mut Vec<Match>) {
        (self.0)(chunk.offset);
    }

    fn rule(&self, rule: RuleIndex) -> RuleInfo<'_> {
        Keys.rule(rule)
    }
}

fn meddle(
    meddle: impl Fn(&Path) + Send + Sync + 'static,
    range_size: u64,
) -> heist_scan::ScanReport {
    let tree = tempfile::tempdir().unwrap();
    let path = tree.path().join("file");
    fs::write(&path, vec![b'x'; 400_000]).unwrap();
    let detector = Meddler(move |offset| {
        if offset == 0 {
            meddle(&path);
        }
    });
    let scan = Scan::new(detector).threads(Some(1)).chunk_size(10_000).range_size(range_size);
    scan.walk(Walk::new(tree.path())).run(Mutex::new(Vec::new())).unwrap()
}

#[test]
fn a_file_that_changes_during_the_scan_is_reported() {
    let truncate =
        |path: &Path| fs::File::options().write(true).open(path).unwrap().set_len(200_000).unwrap();
    let grow = |path: &Path| {
        fs::File::options().append(true).open(path).unwrap().write_all(b"more").unwrap();
    };
    for range_size in [u64::MAX, 30_000] {
        let report = meddle(truncate, range_size);
        assert_eq!(
            (report.outcomes.shrunk, report.bytes, report.incomplete_count),
            (1, 200_000, 1)
        );
        let report = meddle(grow, range_size);
        assert_eq!((report.outcomes.grown, report.bytes, report.incomplete_count), (1, 400_000, 1));
        // An open file can be read after it was deleted.
        let report = meddle(|path: &Path| fs::remove_file(path).unwrap(), range_size);
        assert_eq!(
            (report.outcomes.scanned, report.bytes, report.incomplete_count),
            (1, 400_000, 0)
        );
    }
}

#[test]
fn files_that_vanish_between_listing_and_opening_are_counted() {
    let tree = tempfile::tempdir().unwrap();
    for number in 0..20 {
        fs::write(tree.path().join(format!("{number}")), "x").unwrap();
    }
    let path = tree.path().to_path_buf();
    let detector = Meddler(move |_| {
        for entry in fs::read_dir(&path).unwrap() {
            let _ = fs::remove_file(entry.unwrap().path());
        }
    });
    let scan = Scan::new(detector).threads(Some(1)).walk(Walk::new(tree.path()));
    let report = scan.run(Mutex::new(Vec::new())).unwrap();
    assert_eq!((report.outcomes.scanned, report.outcomes.vanished), (1, 19));
    assert!(report.is_complete());
}

#[test]
fn a_scan_can_be_cancelled_and_has_a_deadline() {
    let tree = tempfile::tempdir().unwrap();
    fs::write(tree.path().join("file"), vec![b'x'; 1 << 20]).unwrap();
    let walk = Walk::new(tree.path());
    for range_size in [u64::MAX, 100_000] {
        let cancel = CancelToken::new();
        let token = cancel.clone();
        let scan = Scan::new(Meddler(move |_| cancel.cancel()))
            .threads(Some(1))
            .chunk_size(1000)
            .range_size(range_size)
            .cancel(token);
        let report = scan.walk(walk.clone()).run(Mutex::new(Vec::new())).unwrap();
        assert_eq!((report.stopped, report.outcomes.interrupted), (Some(Stopped::Cancelled), 1));
        assert!(report.bytes < 20_000 && !report.is_complete());
    }

    // The token of the walk stops the scan as well.
    let cancel = CancelToken::new();
    cancel.cancel();
    let scan = Scan::new(NullDetector).walk(walk.clone().cancel(cancel));
    let report = scan.run(Mutex::new(Vec::new())).unwrap();
    assert_eq!((report.stopped, report.bytes), (Some(Stopped::Cancelled), 0));

    let scan = Scan::new(NullDetector).deadline(Some(Instant::now())).walk(walk);
    let report = scan.run(Mutex::new(Vec::new())).unwrap();
    assert_eq!((report.stopped, report.bytes), (Some(Stopped::Deadline), 0));
}

#[test]
fn a_hundred_thousand_files_are_all_scanned() {
    let tree = tempfile::tempdir().unwrap();
    for directory in 0..100 {
        let directory = tree.path().join(format!("{directory}"));
        fs::create_dir(&directory).unwrap();
        for number in 0..1000 {
            let text = if number == 500 { "KEY123" } else { "nothing" };
            fs::write(directory.join(format!("{number}")), text).unwrap();
        }
    }
    // Few files may wait, so that most are scanned where they are found.
    let (report, log) = scan_walk(keys(), Walk::new(tree.path()).max_waiting_files(40));
    assert!(report.is_complete());
    assert_eq!((report.outcomes.scanned, report.findings), (100_000, 100));
    assert_eq!(report.bytes, 100 * (999 * 7 + 6));
    // Each file has its name, and each key is where it was written.
    let (outcomes, findings) = (log.outcomes.lock().unwrap(), log.findings.lock().unwrap());
    for directory in (0..100).map(|directory| tree.path().join(format!("{directory}"))) {
        for file in (0..1000).map(|number| directory.join(format!("{number}"))) {
            assert_eq!(outcomes.get(&file).map(String::as_str), Some("Scanned"), "{file:?}");
        }
        let found = &findings[&directory.join("500")];
        assert_eq!((found.len(), found[0].secret.reveal()), (1, &b"123"[..]));
    }
}
