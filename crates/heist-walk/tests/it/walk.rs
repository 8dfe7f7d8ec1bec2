//! What a walk visits: trees of all shapes, links, limits and errors.

use crate::support::{Log, check, make};
use heist_walk::{FileKind, Flow, Operation, Symlinks, Walk};
use std::convert::Infallible;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tempfile::tempdir;

#[test]
fn every_entry_is_seen_once_for_any_number_of_threads() {
    let dir = tempdir().unwrap();
    let root = dir.path();
    make(root, &["a/b/c/file", "a/b/other", "a/empty/", "x", ".hidden/y"]);
    let expected =
        [".hidden", ".hidden/y", "a", "a/b", "a/b/c", "a/b/c/file", "a/b/other", "a/empty", "x"];
    for threads in [1, 2, 8] {
        let record = check(Walk::new(root).threads(Some(threads)).metadata(true));
        assert_eq!(record.below(root), expected);
        assert!(record.errors.is_empty());
        let file = &record.seen[&root.join("a/b/c/file")];
        assert_eq!((file.kind, file.depth, file.len), (FileKind::File, 4, Some(10)));
        assert_eq!(record.seen[root].depth, 0);
    }
    // Without metadata only the metadata is missing.
    let names = check(Walk::new(root));
    assert_eq!(names.below(root), expected);
    assert!(names.seen.values().all(|seen| seen.len.is_none()));
}

#[test]
fn names_are_bytes() {
    let dir = tempdir().unwrap();
    let names: Vec<Vec<u8>> =
        vec![b"new\nline".to_vec(), b"\xff\xfe".to_vec(), vec![b'n'; 255], b" ".to_vec()];
    for name in &names {
        let path = dir.path().join(std::ffi::OsString::from_vec(name.clone()));
        std::fs::create_dir(&path).unwrap();
        std::fs::write(path.join("\u{1b}[31m"), "").unwrap();
    }
    let record = check(Walk::new(dir.path()).metadata(true));
    assert_eq!(record.seen.len(), 1 + 2 * names.len());
    for name in names {
        let path = dir.path().join(std::ffi::OsString::from_vec(name)).join("\u{1b}[31m");
        assert!(record.seen.contains_key(&path));
    }
}

#[test]
fn roots_may_be_files_or_missing_and_are_numbered() {
    let dir = tempdir().unwrap();
    make(dir.path(), &["file", "tree/inside"]);
    let roots = ["file", "missing", "tree"].map(|name| dir.path().join(name));
    let record = check(Walk::over(&roots));
    assert_eq!(record.seen[&roots[0]].root, 0);
    assert_eq!(record.seen[&roots[2].join("inside")].root, 2);
    assert_eq!(record.errors.len(), 1);
    let error = &record.errors[0];
    assert_eq!((&error.path, error.depth), (&roots[1], 0));
    assert_eq!(error.operation, Operation::ReadMetadata);
    assert!(error.to_string().contains("missing': No such file"), "{error}");
}

#[test]
fn max_depth_limits_the_depth() {
    let dir = tempdir().unwrap();
    make(dir.path(), &["a/b/c/d"]);
    for (max_depth, expected) in [
        (0, vec![]),
        (1, vec!["a"]),
        (2, vec!["a", "a/b"]),
        (9, vec!["a", "a/b", "a/b/c", "a/b/c/d"]),
    ] {
        let record = check(Walk::new(dir.path()).max_depth(Some(max_depth)).metadata(true));
        assert_eq!(record.below(dir.path()), expected, "{max_depth}");
        assert!(record.errors.is_empty());
    }
}

/// A chain much deeper than a path can be long. It is made, walked and removed relative to
/// descriptors.
#[cfg(all(target_os = "linux", not(heist_portable)))]
#[test]
fn the_depth_of_a_walk_is_unlimited() {
    use rustix::fs::{AtFlags, Mode, OFlags, mkdirat, openat, unlinkat};
    const DEPTH: usize = 2_500;
    const NAME: &str = "deep";
    let dir = tempdir().unwrap();
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    let open = |dir: &rustix::fd::OwnedFd| openat(dir, NAME, flags, Mode::empty()).unwrap();
    let root = openat(rustix::fs::CWD, dir.path(), flags, Mode::empty()).unwrap();
    let mut at = openat(&root, ".", flags, Mode::empty()).unwrap();
    for _ in 0..DEPTH {
        mkdirat(&at, NAME, Mode::RWXU).unwrap();
        mkdirat(&at, "beside", Mode::RWXU).unwrap();
        at = open(&at);
    }
    for (threads, descriptors) in [(1, None), (4, None), (2, Some(8))] {
        let walk = Walk::new(dir.path()).threads(Some(threads)).max_descriptors(descriptors);
        let report = walk.metadata(true).run(|_thread| DepthProbe::default()).unwrap();
        assert_eq!((report.totals.errors, report.totals.directories), (0, 1 + 2 * DEPTH as u64));
        assert_eq!(report.visitors.iter().map(|visitor| visitor.depth).max(), Some(DEPTH));
        assert_eq!(
            report.visitors.iter().map(|visitor| visitor.left).sum::<usize>(),
            1 + 2 * DEPTH
        );
    }
    // Removed from the bottom up, because the temporary directory would use paths to remove it.
    let above = |dir: &rustix::fd::OwnedFd| openat(dir, "..", flags, Mode::empty()).unwrap();
    for _ in 0..DEPTH {
        at = above(&at);
        for name in [NAME, "beside"] {
            unlinkat(&at, name, AtFlags::REMOVEDIR).unwrap();
        }
    }
}

#[test]
fn few_descriptors_are_enough_for_any_tree() {
    let dir = tempdir().unwrap();
    // A comb: each level has pending names, so the walk would like to keep all levels open.
    let mut path = PathBuf::new();
    for level in 0..60 {
        for number in 0..40 {
            std::fs::create_dir_all(dir.path().join(&path).join(format!("tooth{number}"))).unwrap();
        }
        path.push(format!("level{level}"));
    }
    let plenty = check(Walk::new(dir.path()).threads(Some(2)));
    for descriptors in [0, 3, 6, 10] {
        let walk = Walk::new(dir.path()).threads(Some(2)).max_descriptors(Some(descriptors));
        let few = check(walk);
        assert!(few.errors.is_empty(), "{:?}", few.errors.first());
        assert_eq!(few.seen, plenty.seen, "{descriptors} descriptors");
    }
}

#[test]
fn links_are_followed_as_configured() {
    let dir = tempdir().unwrap();
    let root = dir.path();
    make(root, &["real/inside", "tree/file"]);
    let link = |to: &str, name: &str| std::os::unix::fs::symlink(to, root.join(name)).unwrap();
    link("../real", "tree/link");
    link("nowhere", "tree/broken");
    link("tree", "entrance");
    let walk = |symlinks| check(Walk::new(root.join("entrance")).symlinks(symlinks).metadata(true));

    let never = walk(Symlinks::Never);
    assert_eq!(never.seen.len(), 1);
    assert_eq!(never.seen[&root.join("entrance")].kind, FileKind::Symlink);

    let roots = walk(Symlinks::Roots);
    assert_eq!(roots.below(&root.join("entrance")), ["broken", "file", "link"]);
    assert_eq!(roots.seen[&root.join("entrance/link")].kind, FileKind::Symlink);

    let always = walk(Symlinks::Always);
    assert_eq!(always.below(&root.join("entrance")), ["file", "link", "link/inside"]);
    assert_eq!(always.seen[&root.join("entrance/link")].kind, FileKind::Directory);
    assert_eq!(always.errors.len(), 1, "the broken link: {:?}", always.errors);
    assert_eq!(always.errors[0].operation, Operation::FollowLink);
}

#[test]
fn a_link_that_leads_back_is_an_error() {
    let dir = tempdir().unwrap();
    make(dir.path(), &["a/b/file"]);
    std::os::unix::fs::symlink("../..", dir.path().join("a/b/up")).unwrap();
    std::os::unix::fs::symlink(".", dir.path().join("a/self")).unwrap();
    let record = check(Walk::new(dir.path()).symlinks(Symlinks::Always));
    assert_eq!(record.below(dir.path()), ["a", "a/b", "a/b/file"]);
    assert_eq!(record.errors.len(), 2);
    assert!(record.errors[0].to_string().contains("leads back"), "{}", record.errors[0]);
}

/// Blocks after most of the files that a single worker would visit, until another worker has
/// visited a file.
struct WaitsForOthers {
    files: usize,
    most: usize,
    visiting: Arc<AtomicUsize>,
}

impl heist_walk::Visitor for WaitsForOthers {
    type Dir = ();
    type Task = Infallible;
    fn enter_dir(&mut self, _: &heist_walk::Entry<'_>, _: Option<&()>) -> heist_walk::Enter<()> {
        heist_walk::Enter::Into(())
    }
    fn file(&mut self, _: &heist_walk::Entry<'_>, _: Option<&()>) -> Flow {
        self.files += 1;
        if self.files == 1 {
            self.visiting.fetch_add(1, Ordering::Relaxed);
        }
        let deadline = Instant::now() + Duration::from_secs(20);
        while self.files == self.most && self.visiting.load(Ordering::Relaxed) < 2 {
            assert!(Instant::now() < deadline, "one worker visits the whole directory");
            std::thread::yield_now();
        }
        Flow::Continue
    }
    fn error(&mut self, error: heist_walk::WalkError, _: Option<&()>) -> Flow {
        panic!("{error}");
    }
}

#[test]
fn several_workers_visit_a_large_directory() {
    const FILES: usize = 5_000;
    let dir = tempdir().unwrap();
    for number in 0..FILES {
        std::fs::write(dir.path().join(format!("file-{number}")), "").unwrap();
    }
    let visiting = Arc::new(AtomicUsize::new(0));
    let sharing = Arc::clone(&visiting);
    // The first worker visits up to two blocks of 64 KiB alone, which are some 4,000 entries.
    let visitor = move |_thread| WaitsForOthers {
        files: 0,
        most: FILES - FILES / 4,
        visiting: Arc::clone(&sharing),
    };
    let report = Walk::new(dir.path()).threads(Some(4)).run(visitor).unwrap();
    assert_eq!(report.totals.files, FILES as u64);
    assert!(visiting.load(Ordering::Relaxed) >= 2);
}

#[test]
fn a_large_directory_is_visited_completely_with_any_number_of_descriptors() {
    let dir = tempdir().unwrap();
    for number in 0..5_000 {
        std::fs::write(dir.path().join(format!("file-{number}")), "").unwrap();
    }
    for number in 0..500 {
        std::fs::create_dir(dir.path().join(format!("dir-{number}"))).unwrap();
    }
    for (threads, descriptors) in [(1, None), (4, None), (4, Some(12)), (1, Some(0))] {
        let walk = Walk::new(dir.path()).threads(Some(threads)).max_descriptors(descriptors);
        assert_eq!(check(walk).seen.len(), 5_501, "{threads} {descriptors:?}");
    }
}

/// Does not build paths, because they would be very long.
#[cfg(all(target_os = "linux", not(heist_portable)))]
#[derive(Default)]
struct DepthProbe {
    depth: usize,
    left: usize,
}

#[cfg(all(target_os = "linux", not(heist_portable)))]
impl heist_walk::Visitor for DepthProbe {
    type Dir = ();
    type Task = Infallible;
    fn enter_dir(&mut self, dir: &heist_walk::Entry<'_>, _: Option<&()>) -> heist_walk::Enter<()> {
        self.depth = self.depth.max(dir.depth());
        heist_walk::Enter::Into(())
    }
    fn file(&mut self, _: &heist_walk::Entry<'_>, _: Option<&()>) -> Flow {
        Flow::Continue
    }
    fn leave_dir(&mut self, (): (), _: Option<&()>) {
        self.left += 1;
    }
    fn error(&mut self, error: heist_walk::WalkError, _: Option<&()>) -> Flow {
        panic!("{}", error.source);
    }
}

/// Quits after a few files.
struct QuitsEarly(usize);

impl heist_walk::Visitor for QuitsEarly {
    type Dir = ();
    type Task = Infallible;
    fn enter_dir(&mut self, _: &heist_walk::Entry<'_>, _: Option<&()>) -> heist_walk::Enter<()> {
        heist_walk::Enter::Into(())
    }
    fn file(&mut self, _: &heist_walk::Entry<'_>, _: Option<&()>) -> Flow {
        self.0 += 1;
        if self.0 == 10 { Flow::Quit } else { Flow::Continue }
    }
    fn error(&mut self, _: heist_walk::WalkError, _: Option<&()>) -> Flow {
        Flow::Continue
    }
}

#[test]
fn a_visitor_that_quits_stops_the_walk_and_does_not_cancel_the_token() {
    let dir = tempdir().unwrap();
    for number in 0..3_000 {
        std::fs::write(dir.path().join(number.to_string()), "").unwrap();
    }
    let token = heist::CancelToken::new();
    let walk = Walk::new(dir.path()).threads(Some(2)).cancel(token.clone());
    let report = walk.run(|_thread| QuitsEarly(0)).unwrap();
    assert!(report.stopped && !token.is_cancelled());
    assert_eq!(report.visitors.len(), 2);
    assert!(report.totals.files < 3_000);
}

#[test]
fn a_walk_cancelled_before_it_starts_visits_nothing() {
    let dir = tempdir().unwrap();
    make(dir.path(), &["a/b"]);
    let token = heist::CancelToken::new();
    token.cancel();
    let report = Walk::new(dir.path()).cancel(token).run(|_thread| Log::default()).unwrap();
    assert!(report.stopped);
    assert_eq!(report.totals.entries(), 0);
}

#[test]
fn zero_threads_and_too_many_threads_are_errors() {
    for threads in [0, 4_097, 1 << 20, usize::MAX] {
        let refused = Walk::new(".").threads(Some(threads)).run(|_thread| Log::default());
        let error = refused.unwrap_err().to_string();
        assert!(error.contains("thread"), "{error}");
        assert!(threads == 0 || error.contains(&threads.to_string()), "{error}");
    }
}
