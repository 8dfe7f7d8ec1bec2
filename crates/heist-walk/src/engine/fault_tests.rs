//! Makes every system call of a walk fail, one after the other. Each time the walk ends, reports
//! what it could not visit, and visits the rest.

use crate::sys::fault::{Call, FaultPlan};
use crate::{Enter, Entry, Filter, Flow, Symlinks, Visitor, Walk, WalkError, WalkReport};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Records what it sees.
#[derive(Debug, Default)]
struct Log {
    visited: Vec<PathBuf>,
    entered: Vec<PathBuf>,
    left: Vec<PathBuf>,
    errors: Vec<WalkError>,
}

impl Visitor for Log {
    type Dir = PathBuf;
    type Task = Infallible;

    fn enter_dir(&mut self, dir: &Entry<'_>, _parent: Option<&PathBuf>) -> Enter<PathBuf> {
        self.visited.push(dir.path());
        self.entered.push(dir.path());
        Enter::Into(dir.path())
    }

    fn file(&mut self, file: &Entry<'_>, parent: Option<&PathBuf>) -> Flow {
        assert_eq!(parent.map(PathBuf::as_path), file.path().parent());
        self.visited.push(file.path());
        Flow::Continue
    }

    fn leave_dir(&mut self, dir: PathBuf, parent: Option<&PathBuf>) {
        assert_eq!(parent.is_some(), dir.file_name().is_some_and(|name| name != "root"));
        self.left.push(dir);
    }

    fn error(&mut self, error: WalkError, _parent: Option<&PathBuf>) -> Flow {
        self.errors.push(error);
        Flow::Continue
    }
}

/// Makes a small tree that exercises every call: nested directories, links, a directory of several
/// blocks, and more directories than one task takes.
fn make_tree(root: &Path) {
    std::fs::create_dir_all(root.join("a/b/c/d")).unwrap();
    std::fs::write(root.join("a/b/c/d/deep"), "1").unwrap();
    std::fs::write(root.join("a/.ignore"), "ignored\n").unwrap();
    std::fs::write(root.join("a/kept"), "12").unwrap();
    std::os::unix::fs::symlink("b", root.join("a/link")).unwrap();
    for number in 0..40 {
        std::fs::create_dir_all(root.join(format!("many/{number}"))).unwrap();
        std::fs::write(root.join(format!("many/{number}/file")), "123").unwrap();
    }
    std::fs::create_dir(root.join("large")).unwrap();
    // Two blocks of 64 KiB, at 80 bytes per entry.
    for number in 0..1_100 {
        let name = format!("{number:0>60}");
        std::fs::write(root.join("large").join(name), "").unwrap();
    }
}

/// Returns what all visitors recorded together, and the report.
fn walk(root: &Path, threads: usize, plan: Option<Arc<FaultPlan>>) -> (Log, WalkReport<()>) {
    FaultPlan::install(plan);
    let walk = Walk::new(root)
        .threads(Some(threads))
        .metadata(true)
        .symlinks(Symlinks::Roots)
        .filter(Filter::new().skip_hidden(true));
    let report = walk.run(|_thread| Log::default()).unwrap();
    FaultPlan::install(None);
    let mut all = Log::default();
    for log in report.visitors {
        all.visited.extend(log.visited);
        all.entered.extend(log.entered);
        all.left.extend(log.left);
        all.errors.extend(log.errors);
    }
    all.entered.sort();
    all.left.sort();
    let WalkReport { totals, stopped, threads, metrics, .. } = report;
    (all, WalkReport { visitors: Vec::new(), totals, stopped, threads, metrics })
}

/// Checks that nothing is missing without an error, nothing is visited twice, and every directory
/// is left.
#[track_caller]
fn check_no_silent_gap(full: &BTreeSet<PathBuf>, log: &Log, what: &str) {
    let visited: BTreeSet<PathBuf> = log.visited.iter().cloned().collect();
    assert_eq!(visited.len(), log.visited.len(), "{what}: something was visited twice");
    assert_eq!(log.entered, log.left, "{what}: every entered directory is left once");
    for missing in full.difference(&visited) {
        let explained = log.errors.iter().any(|error| missing.starts_with(&error.path));
        assert!(explained, "{what}: {} is missing without an error", missing.display());
    }
    assert!(visited.is_subset(full), "{what}: visited something that does not exist");
}

fn check_every_use(call: Call, error: Errno, times: u64, errors_at_least: usize) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("root");
    make_tree(&root);
    let (log, _) = walk(&root, 1, None);
    assert!(log.errors.is_empty(), "{:?}", log.errors);
    let full: BTreeSet<PathBuf> = log.visited.into_iter().collect();
    let count = FaultPlan::new(call, u64::MAX, 0, error);
    walk(&root, 1, Some(Arc::clone(&count)));
    let uses = count.uses();
    assert!(uses > 3, "{call:?} is used only {uses} times");
    // If the call is used often, a sample of the uses is enough.
    let step = usize::try_from(uses / 60 + 1).unwrap();
    for threads in [1, 4] {
        for from in (1..=uses).step_by(step) {
            let what = format!("{call:?} fails at use {from} of {uses}, {threads} threads");
            let plan = FaultPlan::new(call, from, times, error);
            let (log, report) = walk(&root, threads, Some(plan));
            check_no_silent_gap(&full, &log, &what);
            assert!(log.errors.len() >= errors_at_least, "{what}: {:?}", log.errors);
            assert_eq!(log.errors.len() as u64, report.totals.errors, "{what}");
            for reported in &log.errors {
                assert_eq!(reported.source.raw_os_error(), Some(error.raw_os_error()), "{what}");
                let below = reported.path.strip_prefix(&root).unwrap();
                assert_eq!(reported.depth, below.components().count(), "{what}: {reported}");
            }
        }
    }
}

#[test]
fn every_failed_open_is_reported() {
    check_every_use(Call::Open, Errno::ACCESS, 1, 1);
    check_every_use(Call::Open, Errno::IO, 1, 1);
}

#[test]
fn every_failed_listing_is_reported() {
    check_every_use(Call::List, Errno::IO, 1, 1);
}

#[test]
fn every_failed_metadata_call_is_reported() {
    check_every_use(Call::Stat, Errno::NOENT, 1, 1);
}

#[test]
fn lasting_failures_are_reported() {
    check_every_use(Call::Open, Errno::ACCESS, u64::MAX, 1);
    check_every_use(Call::List, Errno::IO, u64::MAX, 1);
    check_every_use(Call::Stat, Errno::STALE, u64::MAX, 1);
}

#[test]
fn interruptions_and_short_shortages_are_not_reported() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("root");
    make_tree(&root);
    let (undisturbed, _) = walk(&root, 1, None);
    let full: BTreeSet<PathBuf> = undisturbed.visited.into_iter().collect();
    let faults = [
        (Call::Open, Errno::INTR),
        (Call::List, Errno::INTR),
        (Call::Stat, Errno::INTR),
        (Call::Open, Errno::MFILE),
        (Call::Open, Errno::NFILE),
    ];
    for (call, error) in faults {
        for from in 1..20 {
            let (log, _) = walk(&root, 2, Some(FaultPlan::new(call, from, 3, error)));
            let what = format!("{call:?} {error:?} at {from}");
            check_no_silent_gap(&full, &log, &what);
            assert!(log.errors.is_empty(), "{what}: {:?}", log.errors);
        }
    }
}

#[test]
fn a_lasting_shortage_is_an_error_for_each_directory_and_does_not_hang() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("root");
    std::fs::create_dir_all(root.join("a/b")).unwrap();
    std::fs::create_dir_all(root.join("c")).unwrap();
    let (log, _) = walk(&root, 2, Some(FaultPlan::new(Call::Open, 2, u64::MAX, Errno::MFILE)));
    assert_eq!(log.errors.len(), 2, "{:?}", log.errors);
    assert_eq!(log.entered.len(), 3);
}

/// With a single worker, the directory that was refused a descriptor comes second.
#[test]
fn a_refused_directory_is_put_off_until_other_work_is_done() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("root");
    for name in ["a", "b"] {
        std::fs::create_dir_all(root.join(name)).unwrap();
        std::fs::write(root.join(name).join("file"), "").unwrap();
    }
    let order = |plan| {
        let (log, _) = walk(&root, 1, plan);
        assert!(log.errors.is_empty(), "{:?}", log.errors);
        let directories = log.visited.into_iter().filter(|path| path.is_dir() && *path != root);
        directories.collect::<Vec<_>>()
    };
    let mut expected = order(None);
    assert_eq!(expected.len(), 2);
    expected.reverse();
    for error in [Errno::MFILE, Errno::NFILE] {
        // The first use opens the root.
        assert_eq!(order(Some(FaultPlan::new(Call::Open, 2, 1, error))), expected);
    }
}

/// All directories wait at the same time, not one after the other.
#[test]
fn a_lasting_shortage_takes_no_longer_with_many_directories() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("root");
    for number in 0..200 {
        std::fs::create_dir_all(root.join(number.to_string())).unwrap();
    }
    let started = std::time::Instant::now();
    let (log, _) = walk(&root, 1, Some(FaultPlan::new(Call::Open, 2, u64::MAX, Errno::MFILE)));
    assert_eq!((log.errors.len(), log.entered.len()), (200, 201));
    let took = started.elapsed();
    assert!(took < std::time::Duration::from_secs(10), "{took:?}: 200 ms would be enough");
}

/// Opens every file that it finds.
#[derive(Debug, Default)]
struct Opener {
    opened: Vec<PathBuf>,
    failed: Vec<PathBuf>,
}

impl Visitor for Opener {
    type Dir = PathBuf;
    type Task = Infallible;

    fn enter_dir(&mut self, dir: &Entry<'_>, _parent: Option<&PathBuf>) -> Enter<PathBuf> {
        Enter::Into(dir.path())
    }

    fn file(&mut self, _file: &Entry<'_>, _parent: Option<&PathBuf>) -> Flow {
        Flow::Later
    }

    fn files(&mut self, files: &mut crate::FileBatch<'_, PathBuf>) {
        while let Some(file) = files.next() {
            let mut path = PathBuf::new();
            file.path_into(&mut path);
            match file.open() {
                Ok(Some(_file)) => self.opened.push(path),
                Ok(None) => files.share_rest(),
                Err(_) => self.failed.push(path),
            }
        }
    }

    fn leave_dir(&mut self, dir: PathBuf, _parent: Option<&PathBuf>) {
        let has_come = |file: &PathBuf| self.opened.contains(file) || self.failed.contains(file);
        let all_files = std::fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path());
        assert!(
            all_files.filter(|path| path.is_file()).all(|file| has_come(&file)),
            "left too early"
        );
    }

    fn error(&mut self, error: WalkError, _parent: Option<&PathBuf>) -> Flow {
        panic!("{error}");
    }
}

fn open_files(root: &Path, plan: Option<Arc<FaultPlan>>) -> Opener {
    FaultPlan::install(plan);
    let report = Walk::new(root).threads(Some(1)).run(|_thread| Opener::default()).unwrap();
    FaultPlan::install(None);
    let [opener] = <[Opener; 1]>::try_from(report.visitors).expect("one thread has one visitor");
    opener
}

#[test]
fn a_refused_file_and_the_files_after_it_come_again_after_other_work() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("root");
    for directory in ["a", "b"] {
        std::fs::create_dir_all(root.join(directory)).unwrap();
        // A full batch and the rest.
        for number in 0..40 {
            std::fs::write(root.join(directory).join(number.to_string()), "").unwrap();
        }
    }
    let mut full = open_files(&root, None).opened;
    let parent = |path: Option<&PathBuf>| path.unwrap().parent().unwrap().to_path_buf();
    let (first, last) = (parent(full.first()), parent(full.last()));
    assert_ne!(first, last);
    full.sort();
    assert_eq!(full.len(), 80);
    for (from, times) in [(1, 1), (3, 1), (3, 7), (33, 1), (40, 2), (41, 1), (80, 3)] {
        let plan = FaultPlan::new(Call::OpenFile, from, times, Errno::MFILE);
        let mut opener = open_files(&root, Some(Arc::clone(&plan)));
        assert_eq!(plan.uses(), 80 + times, "from {from}: each refusal costs one more call");
        opener.opened.sort();
        assert_eq!((&opener.opened, &opener.failed), (&full, &Vec::new()), "from {from}");
    }
    // The files of the first directory wait until those of the second are opened.
    let opened = open_files(&root, Some(FaultPlan::new(Call::OpenFile, 1, 1, Errno::MFILE))).opened;
    assert_eq!(parent(opened.last()), first);
    let lasting =
        open_files(&root, Some(FaultPlan::new(Call::OpenFile, 1, u64::MAX, Errno::MFILE)));
    assert_eq!((lasting.opened.len(), lasting.failed.len()), (0, 80));
    let file = open_files(&full[0], Some(FaultPlan::new(Call::OpenFile, 1, 3, Errno::NFILE)));
    assert_eq!(file.opened, full[..1], "a root that is a file");
}

#[test]
fn a_sorted_walk_survives_a_short_shortage() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("root");
    make_tree(&root);
    let paths = |plan| {
        FaultPlan::install(plan);
        let entries = Walk::new(&root).threads(Some(1)).sorted().unwrap();
        let paths: Vec<PathBuf> =
            entries.map(|entry| entry.unwrap().path().to_path_buf()).collect();
        FaultPlan::install(None);
        paths
    };
    let undisturbed = paths(None);
    for from in 1..10 {
        assert_eq!(paths(Some(FaultPlan::new(Call::Open, from, 3, Errno::MFILE))), undisturbed);
    }
}
