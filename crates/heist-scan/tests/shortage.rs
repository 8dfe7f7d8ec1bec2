//! A scan whose process has no descriptor left. A test program of its own, because the shortage is the whole process's.
#![cfg(target_os = "linux")]

mod support;

use heist_scan::{
    Chunk, Detector, Match, Overlap, RuleIndex, RuleInfo, ScanConfig, ScanProgress,
    parallel_scan_dir,
};
use rustix::process::{Resource, Rlimit, setrlimit};
use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use support::{Keys, Log};

/// Takes every descriptor when it is first asked whether it wants a file, just before that file is opened, and gives
/// them back when it is asked again.
struct Hog {
    asked: AtomicUsize,
    taken: Mutex<Vec<File>>,
}

impl Detector for Hog {
    type Scratch = ();

    fn scratch(&self) {}

    fn required_overlap(&self) -> Overlap {
        Keys.required_overlap()
    }

    fn wants(&self, _path: &Path) -> bool {
        let mut taken = self.taken.lock().unwrap();
        match self.asked.fetch_add(1, Ordering::Relaxed) {
            0 => *taken = std::iter::from_fn(|| File::open("/dev/null").ok()).collect(),
            _ => taken.clear(),
        }
        true
    }

    fn scan(&self, chunk: &Chunk<'_>, scratch: &mut (), matches: &mut Vec<Match>) {
        Keys.scan(chunk, scratch, matches);
    }

    fn rule(&self, rule: RuleIndex) -> RuleInfo<'_> {
        Keys.rule(rule)
    }
}

#[test]
fn a_file_that_is_refused_a_descriptor_is_scanned_later() {
    const FILES: usize = 40;
    let tree = tempfile::tempdir().unwrap();
    for number in 0..FILES {
        std::fs::write(tree.path().join(number.to_string()), "a KEY123 here").unwrap();
    }
    // Soon used up, and not to be raised.
    setrlimit(Resource::Nofile, Rlimit { current: Some(256), maximum: Some(256) }).unwrap();
    let hog = Arc::new(Hog { asked: AtomicUsize::new(0), taken: Mutex::default() });
    let log = Arc::new(Log::default());
    let config = ScanConfig::new().workers(Some(1));
    let roots = [tree.path().to_path_buf()];
    let progress = ScanProgress::default();
    let report =
        parallel_scan_dir(&roots, Arc::clone(&hog), log.clone(), &config, &progress).unwrap();
    assert!(report.is_complete(), "{:?}", report.incomplete);
    assert_eq!(report.findings, FILES as u64);
    assert_eq!(hog.asked.load(Ordering::Relaxed), FILES + 1, "one file came twice");
}
