//! Compares measurements of random trees with GNU `du`: equal figures for equal flags, for
//! overlapping roots, files with several names and links to anywhere.
//!
//! Which of several names of a file in one root counts depends, for `du`, on the order in which the
//! file system lists names. In these cases only the roots are compared.
#![cfg(target_os = "linux")]

use heist_walk::usage::{Detail, Size, Usage, UsageOptions, measure};
use heist_walk::{Symlinks, Walk};
use proptest::prelude::*;
use proptest::sample::Index;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An entry to add to one of the directories that exist so far.
#[derive(Clone, Debug)]
enum Entry {
    Directory,
    File { len: u16, hole: bool },
    HardLink(Index),
    Symlink(Index),
    Dangling,
}

#[derive(Clone, Debug)]
struct Plan {
    entries: Vec<(Index, Entry)>,
    roots: Vec<Index>,
}

fn plan() -> impl Strategy<Value = Plan> {
    let entry = prop_oneof![
        3 => Just(Entry::Directory),
        3 => (any::<u16>(), any::<bool>()).prop_map(|(len, hole)| Entry::File { len, hole }),
        2 => any::<Index>().prop_map(Entry::HardLink),
        2 => any::<Index>().prop_map(Entry::Symlink),
        1 => Just(Entry::Dangling),
    ];
    let entries = prop::collection::vec((any::<Index>(), entry), 0..60);
    let roots = prop::collection::vec(any::<Index>(), 1..5);
    (entries, roots).prop_map(|(entries, roots)| Plan { entries, roots })
}

/// Names that sort before and after the slash, and names that are not text.
const BEGINNINGS: [&[u8]; 6] = [b"a", b"a.", b"-", b"\xff\n", b" ", b"Z"];

/// A tree on the disk.
struct Made {
    _scratch: tempfile::TempDir,
    top: PathBuf,
    roots: Vec<PathBuf>,
    has_hard_links: bool,
}

impl Made {
    fn new(plan: &Plan) -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let top = scratch.path().join("top");
        fs::create_dir(&top).unwrap();
        let (mut directories, mut files) = (vec![top.clone()], Vec::new());
        let mut all = vec![top.clone()];
        let mut has_hard_links = false;
        for (number, (within, entry)) in plan.entries.iter().enumerate() {
            let mut name = BEGINNINGS[number % BEGINNINGS.len()].to_vec();
            name.extend_from_slice(number.to_string().as_bytes());
            let path = within.get(&directories).join(OsStr::from_bytes(&name));
            match entry {
                Entry::Directory => {
                    fs::create_dir(&path).unwrap();
                    directories.push(path.clone());
                }
                Entry::HardLink(to) if !files.is_empty() => {
                    fs::hard_link(to.get(&files), &path).unwrap();
                    has_hard_links = true;
                }
                Entry::HardLink(_) => fs::write(&path, "first").unwrap(),
                Entry::File { len, hole: true } => {
                    fs::File::create(&path).unwrap().set_len((*len).into()).unwrap();
                }
                Entry::File { len, hole: false } => {
                    fs::write(&path, vec![b'x'; usize::from(*len)]).unwrap();
                }
                Entry::Symlink(to) => symlink(to.get(&all), &path).unwrap(),
                Entry::Dangling => symlink("nowhere", &path).unwrap(),
            }
            if matches!(entry, Entry::File { .. }) {
                files.push(path.clone());
            }
            all.push(path);
        }
        let roots = plan.roots.iter().map(|root| root.get(&all).clone()).collect();
        Self { _scratch: scratch, top, roots, has_hard_links }
    }
}

/// Returns the output of `du`: a figure and a path per line.
fn du(flags: &[&str], roots: &[PathBuf]) -> Vec<(u64, OsString)> {
    let output =
        Command::new("du").env("LC_ALL", "C").arg("-0").args(flags).arg("--").args(roots).output();
    let output = output.expect("these tests need GNU `du`");
    let lines = output.stdout.split(|&byte| byte == 0).filter(|line| !line.is_empty());
    lines
        .map(|line| {
            let tab = line.iter().position(|&byte| byte == b'\t').expect("a tab after the figure");
            let figure = std::str::from_utf8(&line[..tab]).unwrap().parse().unwrap();
            (figure, OsString::from_vec(line[tab + 1..].to_vec()))
        })
        .collect()
}

/// Newer versions of `du` do not count the lengths of directories.
fn du_counts_lengths_of_directories() -> bool {
    let empty = tempfile::tempdir().unwrap();
    du(&["-sb"], &[empty.path().to_path_buf()])[0].0 > 0
}

fn measured(roots: &[PathBuf], options: UsageOptions, symlinks: Symlinks, threads: usize) -> Usage {
    let walk = Walk::over(roots).symlinks(symlinks).threads(Some(threads));
    measure(walk, &options, |_| {}).unwrap()
}

fn root_lines(usage: &Usage, figure: fn(Size) -> u64) -> Vec<(u64, OsString)> {
    let counted = usage.roots.iter().filter_map(|root| Some((figure(root.size?), &root.path)));
    counted.map(|(figure, path)| (figure, path.as_os_str().to_owned())).collect()
}

fn node_lines(usage: &Usage) -> BTreeMap<OsString, u64> {
    let tree = usage.tree.as_ref().unwrap();
    let mut lines = BTreeMap::new();
    let mut pending: Vec<_> = tree.roots().collect();
    while let Some(node) = pending.pop() {
        lines.insert(tree.path(node).into_os_string(), tree.size(node).allocated);
        pending.extend(tree.children(node));
    }
    lines
}

fn du_lines(flags: &[&str], root: &Path) -> BTreeMap<OsString, u64> {
    du(flags, &[root.to_path_buf()]).into_iter().map(|(figure, path)| (path, figure)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 40, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn roots_match_du(plan in plan(), threads in 1..4_usize) {
        let made = Made::new(&plan);
        let with_directories = du_counts_lengths_of_directories();
        for (flag, symlinks) in
            [("-P", Symlinks::Never), ("-D", Symlinks::Roots), ("-L", Symlinks::Always)]
        {
            let by_du = du(&["-s", "-B1", flag], &made.roots);
            let inodes_by_du = du(&["-s", "--inodes", flag], &made.roots);
            for detail in [Detail::Total, Detail::Directories, Detail::Files] {
                let options = UsageOptions::new().detail(detail);
                let usage = measured(&made.roots, options, symlinks, threads);
                let allocated = root_lines(&usage, |size| size.allocated);
                prop_assert_eq!(&allocated, &by_du, "{} {:?}", flag, detail);
                prop_assert_eq!(&root_lines(&usage, |size| size.inodes), &inodes_by_du);
                if with_directories {
                    let lengths = du(&["-sb", flag], &made.roots);
                    prop_assert_eq!(root_lines(&usage, |size| size.len), lengths);
                }
            }
        }
    }

    #[test]
    fn roots_match_du_when_everything_counts_each_time(plan in plan(), threads in 1..4_usize) {
        let made = Made::new(&plan);
        let by_du = du(&["-s", "-B1", "-l"], &made.roots);
        for detail in [Detail::Total, Detail::Files] {
            let options = UsageOptions::new().detail(detail).count_links(true);
            let usage = measured(&made.roots, options, Symlinks::Never, threads);
            prop_assert_eq!(root_lines(&usage, |size| size.allocated), by_du.clone());
        }
    }

    #[test]
    fn nodes_match_du(plan in plan(), threads in 1..4_usize) {
        let made = Made::new(&plan);
        let once = if made.has_hard_links { &[true] as &[bool] } else { &[true, false] };
        for &count_links in once {
            let links: &[&str] = if count_links { &["-l"] } else { &[] };
            let cases: [(Detail, &[&str]); 2] =
                [(Detail::Files, &["-a", "-B1"]), (Detail::Directories, &["-B1"])];
            for (detail, flags) in cases {
                let options = UsageOptions::new().detail(detail).count_links(count_links);
                let top = std::slice::from_ref(&made.top);
                let usage = measured(top, options, Symlinks::Never, threads);
                prop_assert_eq!(node_lines(&usage), du_lines(&[flags, links].concat(), &made.top));
            }
        }
    }
}
