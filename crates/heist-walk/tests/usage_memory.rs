//! The peak memory of measurements.
//!
//! A program of its own with a single test, because its allocator counts every allocation of the
//! process.
#![cfg(target_os = "linux")]

use heist_walk::Walk;
use heist_walk::usage::{Detail, UsageOptions, measure};
use std::alloc::{GlobalAlloc, Layout, System};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The system's allocator, counting the bytes in use and their peak.
struct PeakAllocator {
    live: AtomicUsize,
    peak: AtomicUsize,
}

impl PeakAllocator {
    fn grow(&self, bytes: usize) {
        let live = self.live.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.peak.fetch_max(live, Ordering::Relaxed);
    }

    fn shrink(&self, bytes: usize) {
        self.live.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Returns by how many bytes `work` raises the memory in use at its peak.
    fn peak_of<T>(&self, work: impl FnOnce() -> T) -> usize {
        let before = self.live.load(Ordering::Relaxed);
        self.peak.store(before, Ordering::Relaxed);
        // The result counts as well.
        let _result = work();
        self.peak.load(Ordering::Relaxed) - before
    }
}

// SAFETY: passes every call on to the system's allocator unchanged. Counting neither touches the
// caller's memory nor allocates.
unsafe impl GlobalAlloc for PeakAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.grow(layout.size());
        // SAFETY: the caller fulfils the contract of `GlobalAlloc`, which is that of the system's
        // allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // The old and the new block may exist at the same time.
        self.grow(new_size);
        // SAFETY: as above; the block came from the system's allocator.
        let moved = unsafe { System.realloc(block, layout, new_size) };
        self.shrink(layout.size());
        moved
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        self.shrink(layout.size());
        // SAFETY: as above; the block came from the system's allocator.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: PeakAllocator =
    PeakAllocator { live: AtomicUsize::new(0), peak: AtomicUsize::new(0) };

const DIRECTORIES: usize = 300;
const FILES_EACH: usize = 20;

const THREADS: usize = 2;

/// The buffers and queues of a walk with this number of threads.
const WALK_BYTES_MAX: usize = 512 << 10;

/// The block of records and names that each worker has begun.
const BLOCK_BYTES: usize = 64 << 10;

/// Returns the smallest of three peaks, because the length of the walk's queues varies.
fn peak(root: &Path, options: UsageOptions) -> usize {
    let walk = || Walk::new(root).threads(Some(THREADS));
    let once = || ALLOCATOR.peak_of(|| measure(walk(), &options, |_| {}).unwrap());
    once().min(once()).min(once())
}

/// Checks that the sums for each root do not exist once per worker.
fn check_many_roots(root: &Path) {
    const ROOTS: usize = 20_000;
    const SUMS_BYTES: usize = 48;
    let peak = |threads| {
        let walk = Walk::over(vec![root; ROOTS]).threads(Some(threads));
        let options = UsageOptions::new().count_links(true);
        ALLOCATOR.peak_of(|| measure(walk, &options, |_| {}).unwrap())
    };
    let more = peak(16).saturating_sub(peak(1));
    // For 16 threads, and for the sums of each root on a few of them in tables that are not full.
    let most = 16 * (128 << 10) + 6 * ROOTS * SUMS_BYTES;
    assert!(more <= most, "{more} bytes more for 16 threads and {ROOTS} roots than for one thread");
}

#[test]
fn entries_roots_and_linked_files_stay_within_their_budgets() {
    let scratch = tempfile::tempdir().unwrap();
    let (plain, linked) = (scratch.path().join("plain"), scratch.path().join("linked"));
    for directory in 0..DIRECTORIES {
        let name = format!("directory-{directory}");
        fs::create_dir_all(plain.join(&name)).unwrap();
        fs::create_dir_all(linked.join(&name)).unwrap();
        for file in 0..FILES_EACH {
            let name = format!("{name}/file-{file}.txt");
            fs::write(plain.join(&name), "").unwrap();
            fs::hard_link(plain.join(&name), linked.join(&name)).unwrap();
        }
    }
    let sums = peak(&linked, UsageOptions::new().count_links(true));
    assert!(sums <= WALK_BYTES_MAX, "{sums} bytes for sums alone");
    let files = DIRECTORIES * FILES_EACH;
    let each = peak(&linked, UsageOptions::new()).saturating_sub(sums) / files;
    assert!(each <= 16, "{each} bytes for each of {files} files with several names");
    let entries = 1 + DIRECTORIES + files;
    for detail in [Detail::Directories, Detail::Files] {
        let peak = peak(&linked, UsageOptions::new().detail(detail));
        let each = peak.saturating_sub(sums + THREADS * BLOCK_BYTES) / entries;
        assert!(each <= 120, "{detail:?}: {each} bytes for each of {entries} entries");
        // At least a record for each entry. Otherwise nothing was measured.
        assert!(peak >= 40 * entries, "{detail:?}: {peak} bytes for {entries} entries");
    }
    check_many_roots(&plain.join("directory-0/file-0.txt"));
}
