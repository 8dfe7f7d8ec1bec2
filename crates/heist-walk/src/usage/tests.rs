//! Measurements of trees that cannot be read, by faults on purpose: permissions do not stop everybody who runs tests.

use super::{Detail, Size, Usage, UsageOptions, measure};
use crate::sys::fault::{Call, Plan};
use crate::walk::Walk;
use rustix::io::Errno;
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// `r`, with `r/d` and `r/d/f`.
fn scratch() -> tempfile::TempDir {
    let scratch = tempfile::tempdir().unwrap();
    fs::create_dir_all(scratch.path().join("r/d")).unwrap();
    fs::write(scratch.path().join("r/d/f"), "x").unwrap();
    scratch
}

fn measure_with(fault: Arc<Plan>, root: &Path, detail: Detail) -> Usage {
    Plan::install(Some(fault));
    let walk = Walk::new(root).threads(Some(1));
    let usage = measure(walk, &UsageOptions::new().detail(detail), |_| {});
    Plan::install(None);
    usage.unwrap()
}

/// How many entries count, and the marks of the root and of the directory in it.
#[track_caller]
fn check(fault: impl Fn() -> Arc<Plan>, inodes: Option<u64>, marks: &[bool]) {
    let scratch = scratch();
    let root = scratch.path().join("r");
    for detail in [Detail::Total, Detail::Directories, Detail::Files] {
        let usage = measure_with(fault(), &root, detail);
        assert_eq!(usage.errors, 1, "{detail:?}");
        assert!(!usage.stopped);
        assert_eq!(usage.roots[0].size.map(|size: Size| size.inodes), inodes, "{detail:?}");
        let Some(tree) = usage.tree else { continue };
        let directories = std::iter::successors(tree.roots().next(), |&node| {
            tree.children(node).find(|&child| tree.kind(child).is_dir())
        });
        let found: Vec<_> = directories.map(|node| tree.has_errors(node)).collect();
        assert_eq!(found, marks, "{detail:?}");
    }
}

#[test]
fn a_directory_that_cannot_be_opened_counts_itself() {
    check(|| Plan::new(Call::Open, 2, 1, Errno::ACCESS), Some(2), &[false, true]);
}

#[test]
fn a_root_that_cannot_be_opened_counts_itself() {
    check(|| Plan::new(Call::Open, 1, 1, Errno::ACCESS), Some(1), &[true]);
}

#[test]
fn a_root_that_cannot_be_looked_at_counts_nothing() {
    check(|| Plan::new(Call::Stat, 1, 1, Errno::ACCESS), None, &[]);
}

#[test]
fn a_directory_that_cannot_be_listed_counts_what_is_known() {
    check(|| Plan::new(Call::List, 1, 1, Errno::IO), Some(1), &[true]);
}

#[test]
fn a_file_that_cannot_be_looked_at_marks_its_directory() {
    // Twice for the root, once for the directory, and then the file.
    check(|| Plan::new(Call::Stat, 4, 1, Errno::IO), Some(2), &[false, true]);
}
