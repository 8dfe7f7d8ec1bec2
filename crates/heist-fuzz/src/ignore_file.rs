//! Ignore files, as a walk with filters reads them: the walk shows what the crate `ignore` shows,
//! with one thread and with three, and reports each line that is not a pattern.

use heist_walk::{Filter, Walk};
use ignore::WalkBuilder;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The files of the tree. Their names match common patterns.
const FILES: [&str; 10] = [
    "a",
    "b.log",
    ".hidden",
    "c d",
    "dir/a",
    "dir/b.log",
    "dir/deep/a",
    "dir/deep/er/[x]",
    "target/out",
    "große/ä",
];

/// The ignore files. The input has their contents, with a zero byte between two.
const IGNORE_FILES: [&str; 3] = [".gitignore", "dir/.gitignore", "dir/deep/.ignore"];

thread_local! {
    static TREE: TempDir = make_tree();
}

fn make_tree() -> TempDir {
    let tree = tempfile::tempdir().expect("a directory");
    for file in FILES {
        let path = tree.path().join(file);
        fs::create_dir_all(path.parent().expect("it is in the tree")).expect("a directory");
        fs::write(path, "").expect("a file");
    }
    tree
}

/// Fuzzes ignore files.
pub fn target(data: &[u8]) {
    TREE.with(|tree| check(tree.path(), data));
}

fn check(tree: &Path, data: &[u8]) {
    let mut parts = data.split(|&byte| byte == 0);
    let mut is_text = true;
    for file in IGNORE_FILES {
        let content = parts.next().unwrap_or_default();
        is_text &= std::str::from_utf8(content).is_ok();
        fs::write(tree.join(file), content).expect("there is room");
    }
    let (shown, errors) = walked(tree, 1);
    assert_eq!(walked(tree, 3), (shown.clone(), errors.clone()), "another number of threads");
    for error in errors {
        assert!(!error.is_empty(), "an error has no text");
    }
    // The crate gives up the rest of a file that is not UTF-8.
    if is_text {
        let builder = WalkBuilder::new(tree).standard_filters(false).to_owned();
        assert_eq!(shown, walked_by_peer(builder, tree), "the crate `ignore` shows this");
    }
}

/// Returns the paths that a walk shows, and its errors.
fn walked(tree: &Path, threads: usize) -> (BTreeSet<PathBuf>, BTreeSet<String>) {
    let filter = Filter::new().ignore_files(true).git_ignore(true).require_git(false);
    let filter = filter.parents(false);
    let (mut shown, mut errors) = (BTreeSet::new(), BTreeSet::new());
    let walk = Walk::new(tree).filter(filter).threads(Some(threads));
    for entry in walk.entries().expect("the walk starts") {
        match entry {
            Ok(entry) => {
                shown.insert(entry.path().to_path_buf());
            }
            Err(error) => {
                errors.insert(error.to_string());
            }
        }
    }
    shown.remove(tree);
    (shown, errors)
}

fn walked_by_peer(mut builder: WalkBuilder, tree: &Path) -> BTreeSet<PathBuf> {
    builder.ignore(true).git_ignore(true).require_git(false).parents(false);
    let entries = builder.build().filter_map(Result::ok);
    let mut shown: BTreeSet<PathBuf> = entries.map(ignore::DirEntry::into_path).collect();
    shown.remove(tree);
    shown
}
