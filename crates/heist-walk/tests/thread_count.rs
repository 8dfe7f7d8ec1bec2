//! Dropping an iterator ends its walk: no thread is left, and nothing hangs.
//!
//! A program of its own, because it counts the threads of the process.
#![cfg(target_os = "linux")]

use heist_walk::Walk;
use std::fs;
use std::time::{Duration, Instant};

fn threads() -> usize {
    fs::read_dir("/proc/self/task").expect("this process").count()
}

/// Waits, because the kernel lists a joined thread for a moment longer.
fn wait_for(expected: usize, when: &str) {
    let deadline = Instant::now() + Duration::from_secs(5);
    while threads() != expected {
        assert!(Instant::now() < deadline, "{} threads {when}", threads());
        std::thread::yield_now();
    }
}

#[test]
fn no_thread_outlives_its_iterator() {
    let in_memory = tempfile::tempdir_in("/dev/shm");
    let root = in_memory.or_else(|_| tempfile::tempdir()).expect("a directory");
    for directory in 0..30 {
        let path = root.path().join(format!("{directory}/a/b"));
        fs::create_dir_all(&path).expect("directories");
        for file in 0..700 {
            fs::File::create(path.join(file.to_string())).expect("a file");
        }
    }
    let before = threads();
    for round in 0..200 {
        let walk = || Walk::new(root.path()).threads(Some(1 + round % 5));
        // Drop it at once, after a few entries, in the middle with a full channel, and after the
        // end.
        let taken = [0, 1, 5, 3_000, usize::MAX][round % 5];
        let mut entries = walk().entries().expect("a walk");
        let _ = entries.by_ref().take(taken).count();
        drop(entries);
        wait_for(before, &format!("after {taken} entries, round {round}"));
        let mut sorted = walk().sorted().expect("a walk");
        let _ = sorted.by_ref().take(taken).count();
        drop(sorted);
        wait_for(before, &format!("after {taken} sorted ones, round {round}"));
    }
}
