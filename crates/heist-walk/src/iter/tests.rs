//! Tests of the iterators that need access to internals: panics, little memory and injected faults.

use super::WalkEntry;
use crate::{Walk, WalkError};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

/// Makes `directories` directories with `files` files each.
fn tree(directories: usize, files: usize) -> tempfile::TempDir {
    let in_memory = tempfile::tempdir_in("/dev/shm");
    let root = in_memory.or_else(|_| tempfile::tempdir()).expect("a directory");
    for directory in 0..directories {
        let path = root.path().join(format!("d{directory:03}"));
        fs::create_dir(&path).expect("a directory");
        for file in 0..files {
            fs::write(path.join(format!("f{file:03}")), "").expect("a file");
        }
    }
    root
}

/// Formats each entry and each error as a line.
fn lines(items: impl Iterator<Item = Result<WalkEntry, WalkError>>) -> Vec<String> {
    let line = |item: Result<WalkEntry, WalkError>| match item {
        Ok(entry) => format!("{} {:?} {}", entry.depth(), entry.kind(), entry.path().display()),
        Err(error) => error.to_string(),
    };
    items.map(line).collect()
}

fn walk(root: &Path, threads: usize) -> Walk {
    Walk::new(root).threads(Some(threads))
}

#[test]
fn next_rethrows_a_panic_and_then_ends() {
    let root = tree(40, 2);
    fs::write(root.path().join("d020/panics on purpose"), "").expect("a file");
    type Items = Box<dyn Iterator<Item = Result<WalkEntry, WalkError>>>;
    for threads in [1, 4] {
        let entries: Items = Box::new(walk(root.path(), threads).entries().expect("a walk"));
        let sorted: Items = Box::new(walk(root.path(), threads).sorted().expect("a walk"));
        for mut items in [entries, sorted] {
            let panicked = catch_unwind(AssertUnwindSafe(|| items.by_ref().for_each(drop)));
            let payload = panicked.expect_err("a panic");
            let message = payload.downcast_ref::<String>().expect("a message");
            assert!(message.contains("panics on purpose"), "{message}");
            // Whatever the iterator returns now, it must end.
            let _ = catch_unwind(AssertUnwindSafe(|| items.by_ref().for_each(drop)));
        }
    }
}

/// With a limit of 0 bytes, the memory is always full of later directories.
#[test]
fn a_sorted_walk_never_waits_for_memory() {
    let root = tree(60, 3);
    let expected = lines(walk(root.path(), 1).sorted().expect("a walk"));
    assert_eq!(expected.len(), 1 + 60 * 4);
    for bytes in [0, 1, 2_000, 20_000] {
        for threads in [1, 2, 8] {
            let sorted = walk(root.path(), threads).sorted_within(bytes).expect("a walk");
            assert_eq!(lines(sorted), expected, "{bytes} bytes, {threads} threads");
        }
    }
}

/// Waits until the walk makes no more progress. Returns how many entries it has visited.
fn at_rest(progress: &crate::Progress) -> u64 {
    let mut before = 0;
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(100));
        let now = progress.totals().entries();
        if now == before && now > 0 {
            break;
        }
        before = now;
    }
    before
}

#[test]
fn a_slow_caller_slows_a_sorted_walk_down() {
    let root = tree(100, 50);
    let walk = walk(root.path(), 3);
    let progress = walk.progress();
    // Room for about ten directories.
    let mut sorted = walk.sorted_within(50_000).expect("a walk");
    assert_eq!(sorted.next().expect("an entry").expect("no error").depth(), 0);
    let seen = at_rest(&progress);
    assert!((200..2_000).contains(&seen), "{seen} entries were read ahead");
    assert_eq!(1 + sorted.count(), 1 + 100 * 51);
    assert_eq!(progress.totals().entries(), 1 + 100 * 51);
}

/// So deep that nested drops would overflow the stack.
#[cfg(all(target_os = "linux", not(heist_portable)))]
#[test]
fn nested_listings_are_dropped_without_recursion() {
    use super::sorted_listing::{ListedEntry, ListingRequest, SortedListing};
    let mut listing = SortedListing::default();
    for _ in 0..200_000 {
        let request = ListingRequest::root(0);
        request.set_done(listing);
        listing = SortedListing::default();
        listing.contents.push(ListedEntry::Directory(std::ffi::OsStr::new("d").into(), request));
    }
    let small = std::thread::Builder::new().stack_size(64 << 10);
    small.spawn(move || drop(listing)).expect("a thread").join().expect("no overflow");
}

#[cfg(all(target_os = "linux", not(heist_portable)))]
mod faults {
    use super::{lines, tree, walk};
    use crate::sys::fault::{Call, FaultPlan};
    use rustix::io::Errno;

    #[test]
    fn an_error_follows_its_directory() {
        let root = tree(3, 1);
        let path = |name: &str| root.path().join(name).display().to_string();
        // The root is opened and listed first. Listing takes two calls, because the second one
        // finds the end.
        for (call, from, error, message) in [
            (Call::Open, 3, Errno::ACCESS, "cannot open directory"),
            (Call::List, 5, Errno::IO, "cannot read directory"),
        ] {
            FaultPlan::install(Some(FaultPlan::new(call, from, 1, error)));
            let sorted = lines(walk(root.path(), 1).sorted().expect("a walk"));
            FaultPlan::install(None);
            let at = sorted.iter().position(|line| line.starts_with(message)).expect("an error");
            assert!(
                sorted[at].starts_with(&format!("{message} '{}': ", path("d001"))),
                "{sorted:?}"
            );
            assert_eq!(sorted[at - 1], format!("1 Directory {}", path("d001")));
            assert_eq!(sorted[at + 1], format!("1 Directory {}", path("d002")));
        }
    }
}
