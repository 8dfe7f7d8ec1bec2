//! Dropping an iterator ends its walk: no thread is left, and nobody hangs. Alone in its process, because it counts
//! threads.
#![cfg(target_os = "linux")]

use heist_walk::Walk;
use std::fs;

fn threads() -> usize {
    fs::read_dir("/proc/self/task").expect("this process").count()
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
        // At once, after a few, in the middle with the channel full, and after the end.
        let taken = [0, 1, 5, 3_000, usize::MAX][round % 5];
        let mut entries = walk().entries().expect("a walk");
        let _ = entries.by_ref().take(taken).count();
        drop(entries);
        assert_eq!(threads(), before, "after {taken} entries, round {round}");
        let mut sorted = walk().sorted().expect("a walk");
        let _ = sorted.by_ref().take(taken).count();
        drop(sorted);
        assert_eq!(threads(), before, "after {taken} sorted ones, round {round}");
    }
}
