//! How much room trees take: what is counted, once or each time, and that no number of workers changes it.
#![cfg(target_os = "linux")]

use heist::CancelToken;
use heist_walk::usage::{Detail, NodeId, Size, Usage, UsageOptions, UsageTree, measure};
use heist_walk::{FileKind, Filter, Symlinks, Walk};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A tree to measure.
struct Scratch(tempfile::TempDir);

impl Scratch {
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

    /// A file, and the directories above.
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

    /// What an entry takes by itself.
    fn own(&self, path: &str) -> Size {
        let metadata = self.at(path).symlink_metadata().unwrap();
        Size { len: metadata.len(), allocated: 512 * metadata.blocks(), inodes: 1 }
    }

    fn sum(&self, paths: &[&str]) -> Option<Size> {
        Some(paths.iter().map(|path| self.own(path)).sum())
    }
}

/// Everything that a measurement says, in a form that can be compared.
#[derive(Debug, PartialEq, Eq)]
struct Said {
    roots: Vec<(PathBuf, Option<Size>)>,
    nodes: Vec<Node>,
    extensions: Vec<(OsString, Size, u64)>,
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

fn said(usage: &Usage) -> Said {
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
    Said {
        roots: usage.roots.iter().map(|root| (root.path.clone(), root.size)).collect(),
        nodes,
        extensions: usage.extensions.clone(),
        errors: usage.errors,
    }
}

/// Measures in every detail and with several numbers of workers, by a walk of its own each time. All agree about the
/// roots, and those of the same detail about everything. What the most detailed one says, with its tree.
#[track_caller]
fn check(walk: impl Fn() -> Walk, options: UsageOptions) -> (Said, UsageTree) {
    let mut last = None;
    for detail in [Detail::Total, Detail::Directories, Detail::Files] {
        let mut first = None;
        for threads in [1, 2, 8] {
            let walk = walk().threads(Some(threads));
            let usage = measure(walk, &options.detail(detail), |_| {}).unwrap();
            assert!(!usage.stopped);
            assert_eq!(usage.threads, threads);
            assert_eq!(usage.tree.is_some(), detail != Detail::Total);
            let now = said(&usage);
            assert_eq!(
                first.get_or_insert_with(|| said(&usage)),
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
    let (said, usage) = last.unwrap();
    (said, usage.tree.unwrap())
}

fn sizes(said: &Said) -> Vec<Option<Size>> {
    said.roots.iter().map(|(_, size)| *size).collect()
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
    let scratch = Scratch::new();
    scratch.file("r/a", 10_000).file("r/d/e/b", 1).file("r/d/c.txt", 5_000).dir("r/empty");
    symlink("nowhere", scratch.at("r/link")).unwrap();
    let all = ["r", "r/a", "r/d", "r/d/e", "r/d/e/b", "r/d/c.txt", "r/empty", "r/link"];
    let (said, tree) = check(|| scratch.walk(&["r"]), UsageOptions::new());
    assert_eq!(sizes(&said), [scratch.sum(&all)]);
    let paths: Vec<_> = said.nodes.iter().map(|node| node.path.clone()).collect();
    let mut expected: Vec<_> = all.iter().map(|path| scratch.at(path)).collect();
    expected.sort();
    assert_eq!(paths, expected);
    let of = |path: &str| tree.size(node_at(&tree, &scratch.at(path)).unwrap());
    assert_eq!(Some(of("r/d")), scratch.sum(&["r/d", "r/d/e", "r/d/e/b", "r/d/c.txt"]));
    assert_eq!(of("r/link"), scratch.own("r/link"));
    let link = node_at(&tree, &scratch.at("r/link")).unwrap();
    assert_eq!(tree.kind(link), FileKind::Symlink);
    let metadata = fs::metadata(scratch.at("r/a")).unwrap();
    let a = node_at(&tree, &scratch.at("r/a")).unwrap();
    assert_eq!((tree.device(a), tree.inode(a)), (metadata.dev(), metadata.ino()));
    assert_eq!(tree.links(a), 1);
}

#[test]
fn holes_have_a_length_and_take_no_room() {
    let scratch = Scratch::new();
    scratch.dir("r");
    fs::File::create(scratch.at("r/sparse")).unwrap().set_len(1 << 40).unwrap();
    let (said, _) = check(|| scratch.walk(&["r"]), UsageOptions::new());
    let size = sizes(&said)[0].unwrap();
    assert!(size.len > 1 << 40 && size.allocated < 1 << 20, "{size:?}");
}

#[test]
fn a_file_with_several_names_counts_for_the_first_one() {
    let scratch = Scratch::new();
    // A serial walk goes into `b` before it comes to `c`, and to `b.x` between them.
    scratch
        .file("r/c", 9_000)
        .hard_link("r/c", "r/b/z")
        .hard_link("r/c", "r/b.x")
        .hard_link("r/c", "r/d/a");
    scratch.file("r/b.y", 100).hard_link("r/b.y", "r/b/y");
    let (said, tree) = check(|| scratch.walk(&["r"]), UsageOptions::new().by_extension(true));
    assert_eq!(sizes(&said), [scratch.sum(&["r", "r/b", "r/b/y", "r/b/z", "r/d"])]);
    let counted: Vec<_> = ["r/b/z", "r/b.x", "r/c", "r/d/a", "r/b/y", "r/b.y"]
        .map(|path| node_at(&tree, &scratch.at(path)).unwrap())
        .iter()
        .map(|&node| (tree.is_counted(node), tree.size(node).inodes, tree.own_size(node).inodes))
        .collect();
    let (yes, no) = ((true, 1, 1), (false, 0, 1));
    assert_eq!(counted, [yes, no, no, no, yes, no]);
    assert_eq!(said.extensions, [(OsString::new(), scratch.sum(&["r/b/y", "r/b/z"]).unwrap(), 2)]);

    let each = UsageOptions::new().count_links(true).by_extension(true);
    let (said, _) = check(|| scratch.walk(&["r"]), each);
    let all = ["r", "r/b", "r/d", "r/b/z", "r/b.x", "r/c", "r/d/a", "r/b/y", "r/b.y"];
    assert_eq!(sizes(&said), [scratch.sum(&all)]);
    let extensions: Vec<_> =
        said.extensions.iter().map(|(name, _, files)| (name.to_str().unwrap(), *files)).collect();
    assert_eq!(extensions, [("", 4), ("x", 1), ("y", 1)]);
}

#[test]
fn a_file_with_names_below_several_roots_counts_for_the_first_one() {
    let scratch = Scratch::new();
    scratch.file("a/one", 5_000).hard_link("a/one", "b/one").hard_link("a/one", "c");
    let options = UsageOptions::new();
    let (said, _) = check(|| scratch.walk(&["b", "a", "c"]), options);
    assert_eq!(sizes(&said), [scratch.sum(&["b", "b/one"]), scratch.sum(&["a"]), None]);
    let (said, _) = check(|| scratch.walk(&["c", "a", "b"]), options);
    assert_eq!(sizes(&said), [scratch.sum(&["c"]), scratch.sum(&["a"]), scratch.sum(&["b"])]);
    let (said, _) = check(|| scratch.walk(&["c", "a", "b"]), options.count_links(true));
    assert_eq!(
        sizes(&said),
        [scratch.sum(&["c"]), scratch.sum(&["a", "a/one"]), scratch.sum(&["b", "b/one"])]
    );
}

#[test]
fn what_is_below_several_roots_counts_for_the_first_one() {
    let scratch = Scratch::new();
    scratch.file("a/b/c/f", 5_000).file("a/b/g", 100).file("a/x", 1).file("z", 7);
    let all = ["a", "a/b", "a/b/c", "a/b/c/f", "a/b/g", "a/x"];
    let b = ["a/b", "a/b/c", "a/b/c/f", "a/b/g"];
    let c = ["a/b/c", "a/b/c/f"];
    for (roots, expected) in [
        (&["a", "a/b"] as &[&str], vec![scratch.sum(&all), None]),
        (&["a/b", "a"], vec![scratch.sum(&b), scratch.sum(&["a", "a/x"])]),
        (&["a", "a"], vec![scratch.sum(&all), None]),
        (&["a", "z", "a/b/c", "a/b"], vec![scratch.sum(&all), scratch.sum(&["z"]), None, None]),
        (
            &["a/b/c", "a", "a/b"],
            vec![scratch.sum(&c), scratch.sum(&["a", "a/b", "a/b/g", "a/x"]), None],
        ),
        (
            &["a/b/c", "a/b", "a"],
            vec![scratch.sum(&c), scratch.sum(&["a/b", "a/b/g"]), scratch.sum(&["a", "a/x"])],
        ),
        (&["a", "a/x", "a/b/g"], vec![scratch.sum(&all), None, None]),
        (
            &["a/x", "a/b/g", "a"],
            vec![
                scratch.sum(&["a/x"]),
                scratch.sum(&["a/b/g"]),
                scratch.sum(&["a", "a/b", "a/b/c", "a/b/c/f"]),
            ],
        ),
        (&["z", "z"], vec![scratch.sum(&["z"]), None]),
    ] {
        let (said, tree) = check(|| scratch.walk(roots), UsageOptions::new().by_extension(true));
        assert_eq!(sizes(&said), expected, "{roots:?}");
        let total: Size = expected.iter().flatten().copied().sum();
        assert_eq!(said.nodes.iter().filter(|node| node.marks.1).count() as u64, total.inodes);
        assert!(tree.roots().len() <= roots.len());
    }
    let (said, tree) = check(|| scratch.walk(&["a", "a/b"]), UsageOptions::new());
    let moved = node_at(&tree, &scratch.at("a/b")).unwrap();
    assert_eq!((tree.name(moved), tree.len()), (OsStr::new("b"), all.len()));
    assert!(said.nodes.iter().all(|node| node.path.starts_with(scratch.at("a"))));
    let (said, _) =
        check(|| scratch.walk(&["a", "a/b", "a"]), UsageOptions::new().count_links(true));
    assert_eq!(sizes(&said), [scratch.sum(&all), scratch.sum(&b), scratch.sum(&all)]);
}

#[test]
fn a_root_that_an_earlier_one_does_not_reach_is_its_own() {
    let scratch = Scratch::new();
    scratch.file("a/.hidden/f", 10).file("a/g", 10);
    let filter = Filter::new().skip_hidden(true);
    let walk = || scratch.walk(&["a", "a/.hidden"]).filter(filter.clone());
    let (said, _) = check(walk, UsageOptions::new());
    assert_eq!(
        sizes(&said),
        [scratch.sum(&["a", "a/g"]), scratch.sum(&["a/.hidden", "a/.hidden/f"])]
    );
}

#[test]
fn over_links_everything_counts_once() {
    let scratch = Scratch::new();
    scratch.file("r/z/f", 5_000).file("r/z/deep/g", 10).file("out/h", 300).dir("r/m");
    symlink("../z", scratch.at("r/m/again")).unwrap();
    symlink("z/f", scratch.at("r/f")).unwrap();
    symlink("../out", scratch.at("r/out")).unwrap();
    symlink("../../r/m", scratch.at("r/z/loop")).unwrap();
    let walk = || scratch.walk(&["r"]).symlinks(Symlinks::Always);
    let mut first = None;
    for threads in [1, 2, 8, 2, 8] {
        let usage = measure(
            walk().threads(Some(threads)),
            &UsageOptions::new().detail(Detail::Files),
            |error| panic!("{error}"),
        );
        let said = said(&usage.unwrap());
        assert_eq!(said.errors, 0, "what a loop leads to is counted");
        assert!(said.nodes.iter().all(|node| !node.marks.0));
        assert_eq!(first.get_or_insert_with(|| said_again(&said)), &said_again(&said));
        let all = ["r", "r/m", "r/z", "r/z/deep", "r/z/deep/g", "r/z/f", "out", "out/h"];
        assert_eq!(sizes(&said), [scratch.sum(&all)]);
    }
    let total = measure(walk(), &UsageOptions::new(), |error| panic!("{error}")).unwrap();
    assert_eq!((total.errors, total.totals.errors), (0, 0));
    let all = ["r", "r/m", "r/z", "r/z/deep", "r/z/deep/g", "r/z/f", "out", "out/h"];
    assert_eq!(total.roots[0].size, scratch.sum(&all));
    let two = scratch.walk(&["r/z/deep", "out", "r"]).symlinks(Symlinks::Always);
    let two = measure(two, &UsageOptions::new(), |_| {}).unwrap();
    let by_root: Vec<_> = two.roots.iter().map(|root| root.size).collect();
    assert_eq!(
        by_root,
        [
            scratch.sum(&["r/z/deep", "r/z/deep/g"]),
            scratch.sum(&["out", "out/h"]),
            scratch.sum(&["r", "r/m", "r/z", "r/z/f"])
        ]
    );
}

/// Of two directories that link to each other the first by name has the other one in it, also for a worker that came
/// from the other one, for whom the link leads back.
#[test]
fn a_link_that_leads_back_from_elsewhere_has_its_place() {
    const PAIRS: usize = 32;
    let scratch = Scratch::new();
    for pair in 0..PAIRS {
        let (one, other) = (format!("r/a{pair:02}"), format!("r/b{pair:02}"));
        scratch.file(&format!("{one}/f"), 10).file(&format!("{other}/g"), 10);
        symlink(format!("../../{other}"), scratch.at(&format!("{one}/to"))).unwrap();
        symlink(format!("../../{one}"), scratch.at(&format!("{other}/to"))).unwrap();
    }
    for threads in [1, 2, 8] {
        let walk = scratch.walk(&["r"]).symlinks(Symlinks::Always).threads(Some(threads));
        let options = UsageOptions::new().detail(Detail::Files);
        let usage = measure(walk, &options, |error| panic!("{error}")).unwrap();
        let paths: Vec<_> = said(&usage).nodes.into_iter().map(|node| node.path).collect();
        let expected = (0..PAIRS).flat_map(|pair| {
            ["", "/f", "/to", "/to/g"].map(|below| scratch.at(&format!("r/a{pair:02}{below}")))
        });
        assert_eq!(paths[1..], expected.collect::<Vec<_>>(), "{threads} threads");
    }
}

/// The order, the places and the sizes.
fn said_again(said: &Said) -> Vec<(PathBuf, Size, bool)> {
    said.nodes.iter().map(|node| (node.path.clone(), node.size, node.marks.1)).collect()
}

#[test]
fn names_are_bytes() {
    let scratch = Scratch::new();
    scratch.dir("r");
    let names: [&[u8]; 6] =
        [b"\xff\xfe.TxT", b"new\nline", b"-rf", b" ", "\u{e4}\u{1f980}".as_bytes(), &[b'n'; 255]];
    for name in names {
        fs::write(scratch.at("r").join(OsStr::from_bytes(name)), "x").unwrap();
    }
    let (said, tree) = check(|| scratch.walk(&["r"]), UsageOptions::new().by_extension(true));
    let root = tree.roots().next().unwrap();
    let mut sorted = names;
    sorted.sort_unstable();
    assert!(tree.children(root).map(|child| tree.name(child).as_bytes()).eq(sorted));
    assert_eq!(said.extensions.len(), 2);
    assert!(said.extensions.iter().any(|(name, _, files)| name == "txt" && *files == 1));
}

#[test]
fn roots_may_be_empty_files_links_or_missing() {
    let scratch = Scratch::new();
    scratch.dir("empty").file("file.RS", 12).file("d/f", 1);
    symlink("d", scratch.at("to-d")).unwrap();
    let options = UsageOptions::new().by_extension(true);
    let (said, tree) = check(|| scratch.walk(&["missing", "empty", "file.RS", "to-d"]), options);
    let expected =
        [None, scratch.sum(&["empty"]), scratch.sum(&["file.RS"]), scratch.sum(&["d", "d/f"])];
    assert_eq!(sizes(&said), expected);
    assert_eq!(said.errors, 1);
    let names: Vec<_> = tree.roots().map(|root| tree.name(root).to_owned()).collect();
    assert_eq!(names, ["empty", "file.RS", "to-d"].map(|root| scratch.at(root).into_os_string()));
    assert!(said.extensions.iter().any(|(name, _, _)| name == "rs"));
    let (said, _) = check(|| scratch.walk(&["to-d"]).symlinks(Symlinks::Never), options);
    assert_eq!(sizes(&said), [scratch.sum(&["to-d"])]);
    let (said, tree) = check(|| Walk::over(Vec::<PathBuf>::new()), options);
    assert!(said.roots.is_empty() && tree.is_empty());
}

#[test]
fn large_directories_are_whole_on_any_worker() {
    let scratch = Scratch::new();
    scratch.dir("r/sub");
    for number in 0..6_000 {
        fs::write(scratch.at(&format!("r/{number}")), "").unwrap();
        if number % 10 == 0 {
            fs::hard_link(
                scratch.at(&format!("r/{number}")),
                scratch.at(&format!("r/sub/{number}")),
            )
            .unwrap();
        }
    }
    let (said, tree) = check(|| scratch.walk(&["r"]), UsageOptions::new());
    assert_eq!(sizes(&said)[0].unwrap().inodes, 6_002);
    assert_eq!(tree.len(), 6_602);
}

#[test]
fn errors_are_reported_and_marked() {
    let scratch = Scratch::new();
    scratch.file("r/good/f", 1).dir("r/bad");
    symlink("nowhere", scratch.at("r/bad/link")).unwrap();
    let seen = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&seen);
    let walk = scratch.walk(&["r"]).symlinks(Symlinks::Always);
    let options = UsageOptions::new().detail(Detail::Directories);
    let usage = measure(walk, &options, move |error| {
        assert!(error.path.ends_with("r/bad/link"));
        counter.fetch_add(1, Ordering::Relaxed);
    })
    .unwrap();
    assert_eq!((usage.errors, seen.load(Ordering::Relaxed)), (1, 1));
    let tree = usage.tree.unwrap();
    let marked = |path: &str| tree.has_errors(node_at(&tree, &scratch.at(path)).unwrap());
    assert!(marked("r/bad"));
    assert!(!marked("r/good") && !marked("r"));
}

#[test]
fn a_cancelled_measurement_says_so() {
    let scratch = Scratch::new();
    scratch.dir("r");
    for number in 0..200 {
        scratch.file(&format!("r/{number}/f"), 1);
        symlink("nowhere", scratch.at(&format!("r/{number}/link"))).unwrap();
    }
    for detail in [Detail::Total, Detail::Directories, Detail::Files] {
        let options = UsageOptions::new().detail(detail);
        let cancelled = CancelToken::new();
        cancelled.cancel();
        let usage = measure(scratch.walk(&["r"]).cancel(cancelled), &options, |_| {}).unwrap();
        assert!(usage.stopped);
        assert_eq!(usage.roots[0].size, None);

        let cancel = CancelToken::new();
        // Each worker gets no further than to its first link.
        let walk = scratch.walk(&["r"]).symlinks(Symlinks::Always).threads(Some(4));
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

/// (The layer for other systems joins paths, and has the system's limit.)
#[cfg(not(heist_portable))]
#[test]
fn depth_has_no_limit_but_the_disk() {
    const DEPTH: usize = 3_000;
    let scratch = Scratch::new();
    scratch.dir("r");
    // The path as a whole is longer than the system takes.
    let mut dir = fs::File::open(scratch.at("r")).unwrap();
    for _ in 0..DEPTH {
        rustix::fs::mkdirat(&dir, "down", rustix::fs::Mode::RWXU).unwrap();
        let flags = rustix::fs::OFlags::DIRECTORY | rustix::fs::OFlags::CLOEXEC;
        let below = rustix::fs::openat(&dir, "down", flags, rustix::fs::Mode::empty()).unwrap();
        dir = fs::File::from(below);
    }
    drop(dir);
    let measured: Vec<_> = [1, 8]
        .map(|threads| {
            let walk = scratch.walk(&["r"]).threads(Some(threads));
            let tree =
                measure(walk, &UsageOptions::new().detail(Detail::Files), |_| {}).unwrap().tree;
            let tree = tree.unwrap();
            let root = tree.roots().next().unwrap();
            let down = std::iter::successors(Some(root), |&node| tree.children(node).next());
            (tree.size(root), tree.path(down.last().unwrap()).as_os_str().len())
        })
        .into();
    // (The standard library's way to remove it needs a descriptor for each level.)
    let removed = std::process::Command::new("rm").arg("-rf").arg(scratch.at("r")).status();
    assert!(removed.unwrap().success());
    let (size, path_len) = measured[0];
    assert_eq!(size.inodes, DEPTH as u64 + 1);
    assert_eq!(path_len, scratch.at("r").as_os_str().len() + "/down".len() * DEPTH);
    assert_eq!(measured[0], measured[1]);
}
