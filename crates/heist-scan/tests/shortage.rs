//! A scan in a process that has run out of file descriptors. The test has a process of its own,
//! because the limit applies to the whole process.
#![cfg(target_os = "linux")]

mod support;

use heist_scan::{Chunk, Detector, Match, Overlap, RuleIndex, RuleInfo, Scan};
use heist_walk::Walk;
use rustix::process::{Resource, Rlimit, setrlimit};
use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use support::{Keys, Log};

/// Takes all file descriptors when it is first asked whether it wants a file, just before that file
/// is opened, and returns them when it is asked again.
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
    // A low limit, which cannot be raised.
    setrlimit(Resource::Nofile, Rlimit { current: Some(256), maximum: Some(256) }).unwrap();
    let hog = Arc::new(Hog { asked: AtomicUsize::new(0), taken: Mutex::default() });
    let log = Arc::new(Log::default());
    let scan = Scan::new(Arc::clone(&hog)).threads(Some(1)).walk(Walk::new(tree.path()));
    let report = scan.run(Arc::clone(&log)).unwrap();
    assert!(report.is_complete(), "{:?}", report.incomplete);
    assert_eq!(report.findings, FILES as u64);
    assert_eq!(hog.asked.load(Ordering::Relaxed), FILES + 1, "one file was handed out twice");
}
