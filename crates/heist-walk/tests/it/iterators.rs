//! Walks as iterators: they return the same entries as other walkers, in the promised order, for
//! trees of unusual shapes.

use heist_walk::{FileKind, Filter, Symlinks, Walk, WalkEntry, WalkError};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use walkdir::WalkDir;

const THREADS: [usize; 3] = [1, 2, 8];

/// Makes a directory for many files, in memory if possible, because making them takes longer than
/// the tests.
fn roomy() -> tempfile::TempDir {
    let in_memory = tempfile::tempdir_in("/dev/shm");
    in_memory.or_else(|_| tempfile::tempdir()).expect("a directory")
}

/// What is compared of an entry: its path byte by byte, its depth, and whether it is a directory.
type Seen = (PathBuf, usize, bool);

fn seen(entry: &WalkEntry) -> Seen {
    (entry.path(), entry.depth(), entry.kind().is_dir())
}

fn entries(walk: Walk) -> Vec<Seen> {
    walk.entries().expect("a walk").map(|entry| seen(&entry.expect("no error"))).collect()
}

fn sorted(walk: Walk) -> Vec<Seen> {
    walk.sorted().expect("a walk").map(|entry| seen(&entry.expect("no error"))).collect()
}

fn by_walkdir(root: &Path) -> Vec<Seen> {
    let all = WalkDir::new(root).sort_by(|one, other| {
        one.file_name().as_encoded_bytes().cmp(other.file_name().as_encoded_bytes())
    });
    all.into_iter()
        .map(|entry| entry.expect("no error"))
        .map(|entry| (entry.path().to_path_buf(), entry.depth(), entry.file_type().is_dir()))
        .collect()
}

/// Sorts slowly and obviously: name by name, with a directory before its contents.
fn sort_slowly(mut all: Vec<Seen>) -> Vec<Seen> {
    fn names(path: &Path) -> Vec<Vec<u8>> {
        path.iter().map(|name| name.as_encoded_bytes().to_vec()).collect()
    }
    all.sort_by_cached_key(|entry| names(&entry.0));
    all
}

/// Compares both iterators, with several numbers of threads, with a serial walker and a slow sort.
fn check(root: &Path) {
    let expected = by_walkdir(root);
    for threads in THREADS {
        let found = entries(Walk::new(root).threads(Some(threads)));
        let mut before = BTreeSet::new();
        for (path, depth, _) in &found {
            let parent = path.parent().unwrap_or(Path::new(""));
            assert!(*depth == 0 || before.contains(parent), "{} came first", path.display());
            assert!(before.insert(path.as_path()), "{} came twice", path.display());
        }
        assert_eq!(sort_slowly(found), expected, "{threads} threads");
        assert_eq!(sorted(Walk::new(root).threads(Some(threads))), expected, "{threads} threads");
    }
}

#[derive(Clone, Debug)]
enum Node {
    File,
    Directory(Vec<(String, Node)>),
}

fn node() -> impl Strategy<Value = Node> {
    Just(Node::File).prop_recursive(5, 80, 8, |inner| {
        // Names that are prefixes of each other, and that contain characters before and after the
        // slash in the byte order.
        prop::collection::vec(("[a!é.-]{1,3}", inner), 0..8).prop_map(Node::Directory)
    })
}

fn make(path: &Path, node: &Node) {
    let Node::Directory(contents) = node else { return fs::write(path, "").expect("a file") };
    fs::create_dir(path).expect("a directory");
    for (name, node) in contents {
        let path = path.join(name);
        if !matches!(name.as_str(), "." | "..") && !path.exists() {
            make(&path, node);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 60, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn iterators_match_walkdir_on_any_tree(tree in node()) {
        let within = tempfile::tempdir().expect("a directory");
        let root = within.path().join("root");
        make(&root, &tree);
        check(&root);
    }
}

/// Several blocks of entries, and more directories than fit into one task.
#[test]
fn iterators_match_walkdir_on_a_wide_tree() {
    let root = roomy();
    for directory in 0..70 {
        let path = root.path().join(format!("d{}", directory * 7919 % 100));
        fs::create_dir_all(path.join("inner/most")).expect("directories");
        for file in 0..40 {
            fs::write(path.join(format!("f{}", file * 31 % 53)), "").expect("a file");
            fs::write(path.join(format!("inner/f{}", file * 31 % 53)), "").expect("a file");
        }
    }
    for file in 0..3_000 {
        fs::write(root.path().join(format!("{file}.dat")), "").expect("a file");
    }
    check(root.path());
}

#[test]
fn both_iterators_agree_on_100_000_files() {
    const FILES: usize = 100_000;
    let root = roomy();
    for file in 0..FILES {
        fs::File::create(root.path().join(format!("{file:x}"))).expect("a file");
    }
    let walk = || Walk::new(root.path()).threads(Some(4));
    let found = entries(walk());
    assert_eq!(found.len(), 1 + FILES);
    let in_order = sorted(walk());
    assert!(in_order.is_sorted_by(|one, other| one.0.as_os_str() < other.0.as_os_str()));
    assert_eq!(sort_slowly(found), in_order);
}

/// A chain with paths that are too long for the system, and with something left in each directory
/// on the way back up.
#[cfg(all(target_os = "linux", not(heist_portable)))]
#[test]
fn a_chain_deeper_than_paths_can_be_is_walked_in_order() {
    use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};
    const DEPTH: usize = 3_000;
    let root = roomy();
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut dir = openat(CWD, root.path(), flags, Mode::empty()).expect("the root");
    for _ in 0..DEPTH {
        let create = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC;
        drop(openat(&dir, "z", create, Mode::RWXU).expect("a file"));
        mkdirat(&dir, "d", Mode::RWXU).expect("a directory");
        dir = openat(&dir, "d", flags, Mode::empty()).expect("a directory");
    }
    for threads in THREADS {
        let walk = || Walk::new(root.path()).threads(Some(threads));
        assert_eq!(entries(walk()).len(), 1 + 2 * DEPTH);
        let found = sorted(walk());
        assert_eq!(found.len(), 1 + 2 * DEPTH);
        let mut path = root.path().to_path_buf();
        for (depth, entry) in found.iter().take(1 + DEPTH).enumerate() {
            assert_eq!((&entry.0, entry.1), (&path, depth));
            path.push("d");
        }
        path.pop();
        for entry in &found[1 + DEPTH..] {
            path.set_file_name("z");
            assert_eq!(entry.0, path);
            path.pop();
        }
        // Going down without coming back up works as well.
        assert_eq!(walk().sorted().expect("a walk").take(2_000).count(), 2_000);
    }
}

fn text(item: Result<WalkEntry, WalkError>) -> String {
    match item {
        Ok(entry) => format!("{} {}", entry.root(), entry.path().display()),
        Err(error) => error.to_string(),
    }
}

/// Errors have a fixed position for any number of threads, and roots come in the order given.
#[cfg(unix)]
#[test]
fn errors_and_roots_have_a_fixed_order() {
    use std::os::unix::fs::symlink;
    let root = tempfile::tempdir().expect("a directory");
    for name in ["one/a", "one/z", "two/b"] {
        fs::create_dir_all(root.path().join(name)).expect("directories");
    }
    symlink("nowhere", root.path().join("one/dangling")).expect("a link");
    symlink("..", root.path().join("one/a/up")).expect("a link");
    fs::write(root.path().join("two/.ignore"), "{open").expect("a rule file");
    fs::write(root.path().join(".ignore"), "{open").expect("a rule file");
    let path = |name: &str| root.path().join(name);
    let roots = [path("two"), path("missing"), path("one"), path("two/.ignore")];
    let walk = |threads| {
        let filter = Filter::new().ignore_files(true);
        Walk::over(&roots).symlinks(Symlinks::Always).filter(filter).threads(Some(threads))
    };
    let expected = [
        format!("0 {}", path("two").display()),
        format!("cannot use ignore rules of '{}': line 1", path(".ignore").display()),
        format!("cannot use ignore rules of '{}': line 1", path("two/.ignore").display()),
        format!("0 {}", path("two/.ignore").display()),
        format!("0 {}", path("two/b").display()),
        format!("cannot access '{}'", path("missing").display()),
        format!("2 {}", path("one").display()),
        format!("2 {}", path("one/a").display()),
        format!("cannot follow symbolic link '{}'", path("one/a/up").display()),
        format!("cannot follow symbolic link '{}'", path("one/dangling").display()),
        format!("2 {}", path("one/z").display()),
        format!("3 {}", path("two/.ignore").display()),
    ];
    for threads in THREADS {
        let found: Vec<String> = walk(threads).sorted().expect("a walk").map(text).collect();
        assert_eq!(found.len(), expected.len(), "{found:#?}");
        for (found, expected) in found.iter().zip(&expected) {
            assert!(found.starts_with(expected), "{found} is not {expected}");
        }
        let mut unsorted: Vec<String> =
            walk(threads).entries().expect("a walk").map(text).collect();
        unsorted.sort();
        let mut found = found;
        found.sort();
        assert_eq!(unsorted, found);
    }
}

#[test]
fn entries_report_their_names_kinds_depths_and_metadata() {
    let root = tempfile::tempdir().expect("a directory");
    fs::create_dir(root.path().join("d")).expect("a directory");
    fs::write(root.path().join("d/f"), "four").expect("a file");
    let walk = || Walk::new(root.path()).metadata(true).threads(Some(2));
    let both: [Vec<WalkEntry>; 2] = [
        walk().entries().expect("a walk").map(Result::unwrap).collect(),
        walk().sorted().expect("a walk").map(Result::unwrap).collect(),
    ];
    for all in both {
        let [top, directory, file] = &all[..] else { panic!("{all:?}") };
        assert_eq!((top.name(), top.parent()), (root.path().as_os_str(), None));
        assert_eq!((directory.name(), directory.parent()), (OsStr::new("d"), Some(root.path())));
        assert_eq!((file.kind(), file.depth(), file.root()), (FileKind::File, 2, 0));
        assert_eq!(file.metadata().map(|metadata| metadata.len), Some(4));
        let mut path = PathBuf::from("something else");
        file.path_into(&mut path);
        assert_eq!((&path, file.path()), (&root.path().join("d/f"), path.clone()));
    }
    assert_eq!(walk().entries().expect("a walk").min_depth(2).count(), 1);
    assert_eq!(walk().sorted().expect("a walk").min_depth(1).count(), 2);
    assert!(walk().threads(Some(0)).entries().is_err());
    assert!(walk().threads(Some(0)).sorted().is_err());
    let none: [PathBuf; 0] = [];
    assert_eq!(Walk::over(none.clone()).entries().expect("a walk").count(), 0);
    assert_eq!(Walk::over(none).sorted().expect("a walk").count(), 0);
}

#[test]
fn a_slow_caller_slows_the_walk_down() {
    const FILES: u64 = 40_000;
    let root = roomy();
    for file in 0..FILES {
        let path = root.path().join(format!("{}", file / 2_000));
        if file % 2_000 == 0 {
            fs::create_dir(&path).expect("a directory");
        }
        fs::File::create(path.join(format!("{file}"))).expect("a file");
    }
    let walk = Walk::new(root.path()).threads(Some(2));
    let progress = walk.progress();
    let mut entries = walk.entries().expect("a walk");
    assert!(entries.next().is_some());
    // Wait until the walk makes no more progress.
    let begun = Instant::now();
    let mut before = u64::MAX;
    while before != progress.totals().entries() && begun.elapsed() < Duration::from_secs(20) {
        before = progress.totals().entries();
        std::thread::sleep(Duration::from_millis(100));
    }
    // 64 batches in the channel, and one with each worker and with the caller.
    assert!(before > 5_000 && before <= (64 + 3) * 256, "{before} entries were visited");
    let files = entries.filter(|entry| entry.as_ref().is_ok_and(|entry| entry.kind().is_file()));
    assert_eq!(files.count() as u64, FILES);
}
