//! Measurements of unreadable trees, by fault injection, because permissions do not stop a root
//! user who runs the tests.

use super::{Detail, Size, Usage, UsageOptions, measure};
use crate::sys::fault::{Call, FaultPlan};
use crate::walk::Walk;
use rustix::io::Errno;
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// Makes the directory `r` with `r/d` and `r/d/f`.
fn scratch() -> tempfile::TempDir {
    let scratch = tempfile::tempdir().unwrap();
    fs::create_dir_all(scratch.path().join("r/d")).unwrap();
    fs::write(scratch.path().join("r/d/f"), "x").unwrap();
    scratch
}

fn measure_with(fault: Arc<FaultPlan>, root: &Path, detail: Detail) -> Usage {
    FaultPlan::install(Some(fault));
    let walk = Walk::new(root).threads(Some(1));
    let usage = measure(walk, &UsageOptions::new().detail(detail), |_| {});
    FaultPlan::install(None);
    usage.unwrap()
}

/// Checks how many entries count, and the error marks of the root and of the directory in it.
#[track_caller]
fn check(fault: impl Fn() -> Arc<FaultPlan>, inodes: Option<u64>, marks: &[bool]) {
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
    check(|| FaultPlan::new(Call::Open, 2, 1, Errno::ACCESS), Some(2), &[false, true]);
}

#[test]
fn a_root_that_cannot_be_opened_counts_itself() {
    check(|| FaultPlan::new(Call::Open, 1, 1, Errno::ACCESS), Some(1), &[true]);
}

#[test]
fn a_root_without_metadata_counts_nothing() {
    check(|| FaultPlan::new(Call::Stat, 1, 1, Errno::ACCESS), None, &[]);
}

#[test]
fn a_directory_that_cannot_be_listed_counts_only_what_is_known() {
    check(|| FaultPlan::new(Call::List, 1, 1, Errno::IO), Some(1), &[true]);
}

#[test]
fn a_file_without_metadata_marks_its_directory() {
    // The root is examined twice, the directory once, and then the file.
    check(|| FaultPlan::new(Call::Stat, 4, 1, Errno::IO), Some(2), &[false, true]);
}
