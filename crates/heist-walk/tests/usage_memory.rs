//! What a measurement needs of memory at its peak, by an allocator that counts. One test, because others beside it
//! would be counted, too.
#![cfg(target_os = "linux")]

use heist_walk::Walk;
use heist_walk::usage::{Detail, UsageOptions, measure};
use std::alloc::{GlobalAlloc, Layout, System};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The system's allocator, with a count of the bytes in use and of the most that ever were.
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

    /// How many more bytes than now `work` has in use at its peak.
    fn peak_of<T>(&self, work: impl FnOnce() -> T) -> usize {
        let before = self.live.load(Ordering::Relaxed);
        self.peak.store(before, Ordering::Relaxed);
        // What it comes to is part of it.
        let _result = work();
        self.peak.load(Ordering::Relaxed) - before
    }
}

// SAFETY: every call is handed on to the system's allocator as it came; counting touches no memory of the caller's
// and does not allocate.
unsafe impl GlobalAlloc for PeakAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.grow(layout.size());
        // SAFETY: the caller keeps `GlobalAlloc`'s contract, which is the system allocator's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // It may have to be in two places for a moment.
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

const WORKERS: usize = 2;

/// A walk's buffers and queues, with that many workers.
const WALK_BYTES_MAX: usize = 512 << 10;

/// Each worker has begun a chunk of records, and of names.
const CHUNK_BYTES: usize = 64 << 10;

/// The smallest of some: how long the walk's queues get differs from time to time.
fn peak(root: &Path, options: UsageOptions) -> usize {
    let walk = || Walk::new(root).threads(Some(WORKERS));
    let once = || ALLOCATOR.peak_of(|| measure(walk(), &options, |_| {}).unwrap());
    once().min(once()).min(once())
}

/// Sums for each root are not there for each worker, too.
fn check_many_roots(root: &Path) {
    const ROOTS: usize = 20_000;
    const SUMS_BYTES: usize = 48;
    let peak = |workers| {
        let walk = Walk::over(vec![root; ROOTS]).threads(Some(workers));
        let options = UsageOptions::new().count_links(true);
        ALLOCATOR.peak_of(|| measure(walk, &options, |_| {}).unwrap())
    };
    let more = peak(16).saturating_sub(peak(1));
    // Room for 16 workers, and for each root's sums on a few of them, in tables that are not full.
    let most = 16 * (128 << 10) + 6 * ROOTS * SUMS_BYTES;
    assert!(more <= most, "{more} bytes more for 16 workers and {ROOTS} roots than for one worker");
}

// One test: another one at the same time would be measured, too.
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
        let each = peak.saturating_sub(sums + WORKERS * CHUNK_BYTES) / entries;
        assert!(each <= 120, "{detail:?}: {each} bytes for each of {entries} entries");
        // A record each at least, all in all: or else nothing was measured.
        assert!(peak >= 40 * entries, "{detail:?}: {peak} bytes for {entries} entries");
    }
    check_many_roots(&plain.join("directory-0/file-0.txt"));
}
