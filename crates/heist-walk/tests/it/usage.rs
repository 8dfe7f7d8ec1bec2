//! How much disk space trees take: what counts once, what counts each time, and that the result is
//! the same for any number of threads.
#![cfg(target_os = "linux")]

use heist::CancelToken;
use heist_walk::usage::{
    Detail, ExtensionUsage, NodeId, Size, Usage, UsageOptions, UsageTree, measure,
};
use heist_walk::{FileKind, Filter, Symlinks, Walk};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A tree to measure.
struct TestTree(tempfile::TempDir);

impl TestTree {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn dir(&self, path: &str) -> &Self {
        fs::create_dir_all(self.at(path)).unwrap();
        self
    }

    /// Makes a file and the directories above it.
    fn file(&self, path: &str, len: usize) -> &Self {
        fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        fs::write(self.at(path), vec![b'x'; len]).unwrap();
        self
    }

    fn hard_link(&self, from: &str, to: &str) -> &Self {
        fs::create_dir_all(self.at(to).parent().unwrap()).unwrap();
        fs::hard_link(self.at(from), self.at(to)).unwrap();
        self
    }

    fn walk(&self, roots: &[&str]) -> Walk {
        Walk::over(roots.iter().map(|root| self.at(root)))
    }

    /// Returns what an entry takes by itself.
    fn own(&self, path: &str) -> Size {
        let metadata = self.at(path).symlink_metadata().unwrap();
        Size::new(metadata.len(), 512 * metadata.blocks(), 1)
    }

    fn sum(&self, paths: &[&str]) -> Option<Size> {
        Some(paths.iter().map(|path| self.own(path)).sum())
    }
}

/// Everything that a measurement returns, in a form that can be compared.
#[derive(Debug, PartialEq, Eq)]
struct UsageSummary {
    roots: Vec<(PathBuf, Option<Size>)>,
    nodes: Vec<Node>,
    extensions: Vec<ExtensionUsage>,
    errors: u64,
}

#[derive(Debug, PartialEq, Eq)]
struct Node {
    path: PathBuf,
    name: OsString,
    kind: FileKind,
    size: Size,
    own_size: Size,
    identity: (u64, u64, u32),
    marks: (bool, bool),
}

fn below(tree: &UsageTree, node: NodeId, nodes: &mut Vec<Node>) {
    let mut pending = vec![node];
    while let Some(node) = pending.pop() {
        nodes.push(Node {
            path: tree.path(node),
            name: tree.name(node).to_owned(),
            kind: tree.kind(node),
            size: tree.size(node),
            own_size: tree.own_size(node),
            identity: (tree.device(node), tree.inode(node), tree.links(node)),
            marks: (tree.has_errors(node), tree.is_counted(node)),
        });
        assert!(tree.children(node).all(|child| tree.parent(child) == Some(node)));
        pending.extend(tree.children(node).rev());
    }
}

fn summary(usage: &Usage) -> UsageSummary {
    let mut nodes = Vec::new();
    if let Some(tree) = &usage.tree {
        assert!(tree.roots().all(|root| tree.parent(root).is_none()));
        assert!(tree.roots().eq(usage.roots.iter().filter_map(|root| root.node)));
        tree.roots().for_each(|root| below(tree, root, &mut nodes));
        assert_eq!(tree.len(), nodes.len());
        assert_eq!(tree.is_empty(), nodes.is_empty());
        for root in &usage.roots {
            assert_eq!(root.node.map(|node| tree.size(node)), root.size);
        }
    }
    UsageSummary {
        roots: usage.roots.iter().map(|root| (root.path.clone(), root.size)).collect(),
        nodes,
        extensions: usage.extensions.clone(),
        errors: usage.errors,
    }
}

/// Measures in every detail and with several numbers of threads. All results must agree on the
/// roots, and those of the same detail on everything. Returns the most detailed result and its
/// tree.
#[track_caller]
fn check(walk: impl Fn() -> Walk, options: UsageOptions) -> (UsageSummary, UsageTree) {
    let mut last = None;
    for detail in [Detail::Total, Detail::Directories, Detail::Files] {
        let mut first = None;
        for threads in [1, 2, 8] {
            let walk = walk().threads(Some(threads));
            let usage = measure(walk, &options.detail(detail), |_| {}).unwrap();
            assert!(!usage.stopped);
            assert_eq!(usage.threads, threads);
            assert_eq!(usage.tree.is_some(), detail != Detail::Total);
            let now = summary(&usage);
            assert_eq!(
                first.get_or_insert_with(|| summary(&usage)),
                &now,
                "{detail:?}, {threads} threads"
            );
            last = Some((now, usage));
        }
        let (now, _) = last.as_ref().unwrap();
        let roots: Vec<_> = now.roots.iter().map(|(_, size)| *size).collect();
        let plain = measure(walk(), &options.detail(Detail::Total), |_| {}).unwrap();
        assert!(plain.roots.iter().map(|root| root.size).eq(roots), "{detail:?}");
        assert_eq!(plain.extensions, now.extensions, "{detail:?}");
    }
    let (summary, usage) = last.unwrap();
    (summary, usage.tree.unwrap())
}

fn sizes(summary: &UsageSummary) -> Vec<Option<Size>> {
    summary.roots.iter().map(|(_, size)| *size).collect()
}

fn node_at(tree: &UsageTree, path: &Path) -> Option<NodeId> {
    let mut pending: Vec<_> = tree.roots().collect();
    while let Some(node) = pending.pop() {
        if tree.path(node) == path {
            return Some(node);
        }
        pending.extend(tree.children(node));
    }
    None
}

#[test]
fn directories_and_files_add_up() {
    let files = TestTree::new();
    files.file("r/a", 10_000).file("r/d/e/b", 1).file("r/d/c.txt", 5_000).dir("r/empty");
    symlink("nowhere", files.at("r/link")).unwrap();
    let all = ["r", "r/a", "r/d", "r/d/e", "r/d/e/b", "r/d/c.txt", "r/empty", "r/link"];
    let (summary, tree) = check(|| files.walk(&["r"]), UsageOptions::new());
    assert_eq!(sizes(&summary), [files.sum(&all)]);
    let paths: Vec<_> = summary.nodes.iter().map(|node| node.path.clone()).collect();
    let mut expected: Vec<_> = all.iter().map(|path| files.at(path)).collect();
    expected.sort();
    assert_eq!(paths, expected);
    let of = |path: &str| tree.size(node_at(&tree, &files.at(path)).unwrap());
    assert_eq!(Some(of("r/d")), files.sum(&["r/d", "r/d/e", "r/d/e/b", "r/d/c.txt"]));
    assert_eq!(of("r/link"), files.own("r/link"));
    let link = node_at(&tree, &files.at("r/link")).unwrap();
    assert_eq!(tree.kind(link), FileKind::Symlink);
    let metadata = fs::metadata(files.at("r/a")).unwrap();
    let a = node_at(&tree, &files.at("r/a")).unwrap();
    assert_eq!((tree.device(a), tree.inode(a)), (metadata.dev(), metadata.ino()));
    assert_eq!(tree.links(a), 1);
}

#[test]
fn holes_have_a_length_and_take_no_disk_space() {
    let files = TestTree::new();
    files.dir("r");
    fs::File::create(files.at("r/sparse")).unwrap().set_len(1 << 40).unwrap();
    let (summary, _) = check(|| files.walk(&["r"]), UsageOptions::new());
    let size = sizes(&summary)[0].unwrap();
    assert!(size.len > 1 << 40 && size.allocated < 1 << 20, "{size:?}");
}

#[test]
fn a_file_with_several_names_counts_under_the_first_one() {
    let files = TestTree::new();
    // A serial walk visits the contents of `b`, then `b.x`, then `c`.
    files
        .file("r/c", 9_000)
        .hard_link("r/c", "r/b/z")
        .hard_link("r/c", "r/b.x")
        .hard_link("r/c", "r/d/a");
    files.file("r/b.y", 100).hard_link("r/b.y", "r/b/y");
    let (summary, tree) = check(|| files.walk(&["r"]), UsageOptions::new().by_extension(true));
    assert_eq!(sizes(&summary), [files.sum(&["r", "r/b", "r/b/y", "r/b/z", "r/d"])]);
    let counted: Vec<_> = ["r/b/z", "r/b.x", "r/c", "r/d/a", "r/b/y", "r/b.y"]
        .map(|path| node_at(&tree, &files.at(path)).unwrap())
        .iter()
        .map(|&node| (tree.is_counted(node), tree.size(node).inodes, tree.own_size(node).inodes))
        .collect();
    let (yes, no) = ((true, 1, 1), (false, 0, 1));
    assert_eq!(counted, [yes, no, no, no, yes, no]);
    assert_eq!(
        summary.extensions,
        [ExtensionUsage::new(OsString::new(), files.sum(&["r/b/y", "r/b/z"]).unwrap(), 2)]
    );

    let each = UsageOptions::new().count_links(true).by_extension(true);
    let (summary, _) = check(|| files.walk(&["r"]), each);
    let all = ["r", "r/b", "r/d", "r/b/z", "r/b.x", "r/c", "r/d/a", "r/b/y", "r/b.y"];
    assert_eq!(sizes(&summary), [files.sum(&all)]);
    let extensions: Vec<_> =
        summary.extensions.iter().map(|one| (one.extension.to_str().unwrap(), one.files)).collect();
    assert_eq!(extensions, [("", 4), ("x", 1), ("y", 1)]);
}

#[test]
fn a_file_with_names_below_several_roots_counts_for_the_first_root() {
    let files = TestTree::new();
    files.file("a/one", 5_000).hard_link("a/one", "b/one").hard_link("a/one", "c");
    let options = UsageOptions::new();
    let (summary, _) = check(|| files.walk(&["b", "a", "c"]), options);
    assert_eq!(sizes(&summary), [files.sum(&["b", "b/one"]), files.sum(&["a"]), None]);
    let (summary, _) = check(|| files.walk(&["c", "a", "b"]), options);
    assert_eq!(sizes(&summary), [files.sum(&["c"]), files.sum(&["a"]), files.sum(&["b"])]);
    let (summary, _) = check(|| files.walk(&["c", "a", "b"]), options.count_links(true));
    assert_eq!(
        sizes(&summary),
        [files.sum(&["c"]), files.sum(&["a", "a/one"]), files.sum(&["b", "b/one"])]
    );
}

#[test]
fn a_directory_below_several_roots_counts_for_the_first_root() {
    let files = TestTree::new();
    files.file("a/b/c/f", 5_000).file("a/b/g", 100).file("a/x", 1).file("z", 7);
    let all = ["a", "a/b", "a/b/c", "a/b/c/f", "a/b/g", "a/x"];
    let b = ["a/b", "a/b/c", "a/b/c/f", "a/b/g"];
    let c = ["a/b/c", "a/b/c/f"];
    for (roots, expected) in [
        (&["a", "a/b"] as &[&str], vec![files.sum(&all), None]),
        (&["a/b", "a"], vec![files.sum(&b), files.sum(&["a", "a/x"])]),
        (&["a", "a"], vec![files.sum(&all), None]),
        (&["a", "z", "a/b/c", "a/b"], vec![files.sum(&all), files.sum(&["z"]), None, None]),
        (
            &["a/b/c", "a", "a/b"],
            vec![files.sum(&c), files.sum(&["a", "a/b", "a/b/g", "a/x"]), None],
        ),
        (
            &["a/b/c", "a/b", "a"],
            vec![files.sum(&c), files.sum(&["a/b", "a/b/g"]), files.sum(&["a", "a/x"])],
        ),
        (&["a", "a/x", "a/b/g"], vec![files.sum(&all), None, None]),
        (
            &["a/x", "a/b/g", "a"],
            vec![
                files.sum(&["a/x"]),
                files.sum(&["a/b/g"]),
                files.sum(&["a", "a/b", "a/b/c", "a/b/c/f"]),
            ],
        ),
        (&["z", "z"], vec![files.sum(&["z"]), None]),
    ] {
        let (summary, tree) = check(|| files.walk(roots), UsageOptions::new().by_extension(true));
        assert_eq!(sizes(&summary), expected, "{roots:?}");
        let total: Size = expected.iter().flatten().copied().sum();
        assert_eq!(summary.nodes.iter().filter(|node| node.marks.1).count() as u64, total.inodes);
        assert!(tree.roots().len() <= roots.len());
    }
    let (summary, tree) = check(|| files.walk(&["a", "a/b"]), UsageOptions::new());
    let moved = node_at(&tree, &files.at("a/b")).unwrap();
    assert_eq!((tree.name(moved), tree.len()), (OsStr::new("b"), all.len()));
    assert!(summary.nodes.iter().all(|node| node.path.starts_with(files.at("a"))));
    let (summary, _) =
        check(|| files.walk(&["a", "a/b", "a"]), UsageOptions::new().count_links(true));
    assert_eq!(sizes(&summary), [files.sum(&all), files.sum(&b), files.sum(&all)]);
}

#[test]
fn a_root_that_an_earlier_root_filters_out_counts_for_itself() {
    let files = TestTree::new();
    files.file("a/.hidden/f", 10).file("a/g", 10);
    let filter = Filter::new().skip_hidden(true);
    let walk = || files.walk(&["a", "a/.hidden"]).filter(filter.clone());
    let (summary, _) = check(walk, UsageOptions::new());
    assert_eq!(
        sizes(&summary),
        [files.sum(&["a", "a/g"]), files.sum(&["a/.hidden", "a/.hidden/f"])]
    );
}

#[test]
fn with_followed_links_everything_counts_once() {
    let files = TestTree::new();
    files.file("r/z/f", 5_000).file("r/z/deep/g", 10).file("out/h", 300).dir("r/m");
    symlink("../z", files.at("r/m/again")).unwrap();
    symlink("z/f", files.at("r/f")).unwrap();
    symlink("../out", files.at("r/out")).unwrap();
    symlink("../../r/m", files.at("r/z/loop")).unwrap();
    let walk = || files.walk(&["r"]).symlinks(Symlinks::Always);
    let mut first = None;
    for threads in [1, 2, 8, 2, 8] {
        let usage = measure(
            walk().threads(Some(threads)),
            &UsageOptions::new().detail(Detail::Files),
            |error| panic!("{error}"),
        );
        let summary = summary(&usage.unwrap());
        assert_eq!(summary.errors, 0, "a link that leads back is not an error");
        assert!(summary.nodes.iter().all(|node| !node.marks.0));
        assert_eq!(first.get_or_insert_with(|| sizes_by_path(&summary)), &sizes_by_path(&summary));
        let all = ["r", "r/m", "r/z", "r/z/deep", "r/z/deep/g", "r/z/f", "out", "out/h"];
        assert_eq!(sizes(&summary), [files.sum(&all)]);
    }
    let total = measure(walk(), &UsageOptions::new(), |error| panic!("{error}")).unwrap();
    assert_eq!((total.errors, total.totals.errors), (0, 0));
    let all = ["r", "r/m", "r/z", "r/z/deep", "r/z/deep/g", "r/z/f", "out", "out/h"];
    assert_eq!(total.roots[0].size, files.sum(&all));
    let two = files.walk(&["r/z/deep", "out", "r"]).symlinks(Symlinks::Always);
    let two = measure(two, &UsageOptions::new(), |_| {}).unwrap();
    let by_root: Vec<_> = two.roots.iter().map(|root| root.size).collect();
    assert_eq!(
        by_root,
        [
            files.sum(&["r/z/deep", "r/z/deep/g"]),
            files.sum(&["out", "out/h"]),
            files.sum(&["r", "r/m", "r/z", "r/z/f"])
        ]
    );
}

/// The first directory by name contains the other one, even if a worker reached the other one first
/// and for it the link in there led back.
#[test]
fn of_two_directories_that_link_to_each_other_the_first_contains_the_other() {
    const PAIRS: usize = 32;
    let files = TestTree::new();
    for pair in 0..PAIRS {
        let (one, other) = (format!("r/a{pair:02}"), format!("r/b{pair:02}"));
        files.file(&format!("{one}/f"), 10).file(&format!("{other}/g"), 10);
        symlink(format!("../../{other}"), files.at(&format!("{one}/to"))).unwrap();
        symlink(format!("../../{one}"), files.at(&format!("{other}/to"))).unwrap();
    }
    for threads in [1, 2, 8] {
        let walk = files.walk(&["r"]).symlinks(Symlinks::Always).threads(Some(threads));
        let options = UsageOptions::new().detail(Detail::Files);
        let usage = measure(walk, &options, |error| panic!("{error}")).unwrap();
        let paths: Vec<_> = summary(&usage).nodes.into_iter().map(|node| node.path).collect();
        let expected = (0..PAIRS).flat_map(|pair| {
            ["", "/f", "/to", "/to/g"].map(|below| files.at(&format!("r/a{pair:02}{below}")))
        });
        assert_eq!(paths[1..], expected.collect::<Vec<_>>(), "{threads} threads");
    }
}

/// Returns the path and size of each node in order, and whether it counts.
fn sizes_by_path(summary: &UsageSummary) -> Vec<(PathBuf, Size, bool)> {
    summary.nodes.iter().map(|node| (node.path.clone(), node.size, node.marks.1)).collect()
}

#[test]
fn names_are_bytes() {
    let files = TestTree::new();
    files.dir("r");
    let names: [&[u8]; 6] =
        [b"\xff\xfe.TxT", b"new\nline", b"-rf", b" ", "\u{e4}\u{1f980}".as_bytes(), &[b'n'; 255]];
    for name in names {
        fs::write(files.at("r").join(OsStr::from_bytes(name)), "x").unwrap();
    }
    let (summary, tree) = check(|| files.walk(&["r"]), UsageOptions::new().by_extension(true));
    let root = tree.roots().next().unwrap();
    let mut sorted = names;
    sorted.sort_unstable();
    assert!(tree.children(root).map(|child| tree.name(child).as_bytes()).eq(sorted));
    assert_eq!(summary.extensions.len(), 2);
    assert!(summary.extensions.iter().any(|one| one.extension == "txt" && one.files == 1));
}

#[test]
fn roots_may_be_empty_directories_files_links_or_missing() {
    let files = TestTree::new();
    files.dir("empty").file("file.RS", 12).file("d/f", 1);
    symlink("d", files.at("to-d")).unwrap();
    let options = UsageOptions::new().by_extension(true);
    let (summary, tree) = check(|| files.walk(&["missing", "empty", "file.RS", "to-d"]), options);
    let expected = [None, files.sum(&["empty"]), files.sum(&["file.RS"]), files.sum(&["d", "d/f"])];
    assert_eq!(sizes(&summary), expected);
    assert_eq!(summary.errors, 1);
    let names: Vec<_> = tree.roots().map(|root| tree.name(root).to_owned()).collect();
    assert_eq!(names, ["empty", "file.RS", "to-d"].map(|root| files.at(root).into_os_string()));
    assert!(summary.extensions.iter().any(|one| one.extension == "rs"));
    let (summary, _) = check(|| files.walk(&["to-d"]).symlinks(Symlinks::Never), options);
    assert_eq!(sizes(&summary), [files.sum(&["to-d"])]);
    let (summary, tree) = check(|| Walk::over(Vec::<PathBuf>::new()), options);
    assert!(summary.roots.is_empty() && tree.is_empty());
}

#[test]
fn large_directories_are_complete_with_any_number_of_threads() {
    let files = TestTree::new();
    files.dir("r/sub");
    for number in 0..6_000 {
        fs::write(files.at(&format!("r/{number}")), "").unwrap();
        if number % 10 == 0 {
            fs::hard_link(files.at(&format!("r/{number}")), files.at(&format!("r/sub/{number}")))
                .unwrap();
        }
    }
    let (summary, tree) = check(|| files.walk(&["r"]), UsageOptions::new());
    assert_eq!(sizes(&summary)[0].unwrap().inodes, 6_002);
    assert_eq!(tree.len(), 6_602);
}

#[test]
fn errors_are_reported_and_marked() {
    let files = TestTree::new();
    files.file("r/good/f", 1).dir("r/bad");
    symlink("nowhere", files.at("r/bad/link")).unwrap();
    let seen = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&seen);
    let walk = files.walk(&["r"]).symlinks(Symlinks::Always);
    let options = UsageOptions::new().detail(Detail::Directories);
    let usage = measure(walk, &options, move |error| {
        assert!(error.path.ends_with("r/bad/link"));
        counter.fetch_add(1, Ordering::Relaxed);
    })
    .unwrap();
    assert_eq!((usage.errors, seen.load(Ordering::Relaxed)), (1, 1));
    let tree = usage.tree.unwrap();
    let marked = |path: &str| tree.has_errors(node_at(&tree, &files.at(path)).unwrap());
    assert!(marked("r/bad"));
    assert!(!marked("r/good") && !marked("r"));
}

#[test]
fn a_cancelled_measurement_is_marked_as_stopped() {
    let files = TestTree::new();
    files.dir("r");
    for number in 0..200 {
        files.file(&format!("r/{number}/f"), 1);
        symlink("nowhere", files.at(&format!("r/{number}/link"))).unwrap();
    }
    for detail in [Detail::Total, Detail::Directories, Detail::Files] {
        let options = UsageOptions::new().detail(detail);
        let cancelled = CancelToken::new();
        cancelled.cancel();
        let usage = measure(files.walk(&["r"]).cancel(cancelled), &options, |_| {}).unwrap();
        assert!(usage.stopped);
        assert_eq!(usage.roots[0].size, None);

        let cancel = CancelToken::new();
        // Each worker stops at the first link at the latest.
        let walk = files.walk(&["r"]).symlinks(Symlinks::Always).threads(Some(4));
        let walk = walk.cancel(cancel.clone());
        let usage = measure(walk, &options, move |_| cancel.cancel()).unwrap();
        assert!(usage.stopped);
        let size = usage.roots[0].size.unwrap();
        assert!(size.inodes > 1 && size.inodes < 401, "{size:?}");
        if let Some(tree) = &usage.tree {
            assert_eq!(tree.size(tree.roots().next().unwrap()), size);
        }
    }
}

/// Only on Linux, because the portable layer joins paths and is subject to the system's limit.
#[cfg(not(heist_portable))]
#[test]
fn the_depth_of_a_measurement_is_unlimited() {
    const DEPTH: usize = 3_000;
    let files = TestTree::new();
    files.dir("r");
    // The whole path is longer than the system accepts.
    let mut dir = fs::File::open(files.at("r")).unwrap();
    for _ in 0..DEPTH {
        rustix::fs::mkdirat(&dir, "down", rustix::fs::Mode::RWXU).unwrap();
        let flags = rustix::fs::OFlags::DIRECTORY | rustix::fs::OFlags::CLOEXEC;
        let below = rustix::fs::openat(&dir, "down", flags, rustix::fs::Mode::empty()).unwrap();
        dir = fs::File::from(below);
    }
    drop(dir);
    let measured: Vec<_> = [1, 8]
        .map(|threads| {
            let walk = files.walk(&["r"]).threads(Some(threads));
            let tree =
                measure(walk, &UsageOptions::new().detail(Detail::Files), |_| {}).unwrap().tree;
            let tree = tree.unwrap();
            let root = tree.roots().next().unwrap();
            let down = std::iter::successors(Some(root), |&node| tree.children(node).next());
            (tree.size(root), tree.path(down.last().unwrap()).as_os_str().len())
        })
        .into();
    // The standard library would need a descriptor for each level to remove it.
    let removed = std::process::Command::new("rm").arg("-rf").arg(files.at("r")).status();
    assert!(removed.unwrap().success());
    let (size, path_len) = measured[0];
    assert_eq!(size.inodes, DEPTH as u64 + 1);
    assert_eq!(path_len, files.at("r").as_os_str().len() + "/down".len() * DEPTH);
    assert_eq!(measured[0], measured[1]);
}
