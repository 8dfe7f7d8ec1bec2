//! A walk whose process has no descriptor left. A test program of its own, because the shortage is the whole process's.
#![cfg(all(target_os = "linux", not(heist_portable)))]

use heist_walk::{Enter, Entry, Flow, Visitor, Walk, WalkError};
use rustix::process::{Resource, getrlimit, setrlimit};
use std::fs::File;
use std::sync::mpsc::channel;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// So long that a few hundred entries are several blocks of a directory.
const LONG_NAME: usize = 200;
const FILES: usize = 900;
const DIRECTORIES: usize = 100;

/// The descriptors are the whole process's: one test at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Some systems allow a process a million descriptors, which would take long to use up.
fn limit_descriptors() {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, rustix::process::Rlimit { current: Some(256), ..limit }).unwrap();
}

/// Takes every descriptor of the process when it enters the root, and gives them back when it has seen every file in
/// it: by then directories in it have been refused.
struct Hog {
    taken: Vec<File>,
    files: usize,
    directories: usize,
    errors: Vec<String>,
}

impl Visitor for Hog {
    type Dir = ();

    fn enter_dir(&mut self, dir: &Entry<'_>, _parent: Option<&()>) -> Enter<()> {
        if dir.depth() == 0 {
            self.taken = std::iter::from_fn(|| File::open("/dev/null").ok()).collect();
        }
        self.directories += 1;
        Enter::Into(())
    }

    fn file(&mut self, file: &Entry<'_>, _parent: Option<&()>) -> Flow {
        self.files += usize::from(file.depth() == 1);
        if self.files == FILES {
            self.taken.clear();
        }
        Flow::Continue
    }

    fn error(&mut self, error: WalkError, _parent: Option<&()>) -> Flow {
        self.errors.push(error.to_string());
        Flow::Continue
    }
}

/// The only worker finds directories that it cannot open. It gets descriptors only if it goes on with the rest of the
/// root meanwhile.
#[test]
fn a_worker_that_is_refused_a_descriptor_goes_on_with_other_work() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    limit_descriptors();
    let root = tempfile::tempdir().unwrap();
    for number in 0..FILES {
        File::create(root.path().join(format!("file{number:0>LONG_NAME$}"))).unwrap();
    }
    for number in 0..DIRECTORIES {
        let directory = root.path().join(format!("directory{number:0>LONG_NAME$}"));
        std::fs::create_dir(&directory).unwrap();
        File::create(directory.join("file")).unwrap();
    }
    let new = |_worker| Hog { taken: Vec::new(), files: 0, directories: 0, errors: Vec::new() };
    let walked = Walk::new(root.path()).threads(Some(1)).raise_descriptor_limit(false).run(new);
    let walked = walked.unwrap();
    let [hog] = &walked.visitors[..] else { panic!("one worker has one visitor") };
    assert_eq!(hog.errors, Vec::<String>::new());
    assert_eq!((hog.files, hog.directories), (FILES, 1 + DIRECTORIES));
    assert_eq!(walked.totals.files, (FILES + DIRECTORIES) as u64);
}

/// Leaves one descriptor of the process free when it enters the root, for the rest of the walk.
struct Miser {
    taken: Vec<File>,
    errors: usize,
}

impl Visitor for Miser {
    type Dir = ();

    fn enter_dir(&mut self, dir: &Entry<'_>, _parent: Option<&()>) -> Enter<()> {
        if dir.depth() == 0 {
            self.taken = std::iter::from_fn(|| File::open("/dev/null").ok()).collect();
            self.taken.pop();
        }
        Enter::Into(())
    }

    fn file(&mut self, _file: &Entry<'_>, _parent: Option<&()>) -> Flow {
        Flow::Continue
    }

    fn error(&mut self, _error: WalkError, _parent: Option<&()>) -> Flow {
        self.errors += 1;
        Flow::Continue
    }
}

/// One descriptor opens the first directory of any path and never the next: that must not pass for progress.
#[test]
fn a_walk_with_one_free_descriptor_ends_with_errors() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    limit_descriptors();
    let root = tempfile::tempdir().unwrap();
    for outer in 0..10 {
        for inner in 0..10 {
            let directory = root.path().join(format!("{outer}/{inner}/innermost"));
            std::fs::create_dir_all(directory).unwrap();
        }
    }
    let path = root.path().to_owned();
    let (ended, when_ended) = channel();
    std::thread::spawn(move || {
        let new = |_worker| Miser { taken: Vec::new(), errors: 0 };
        let walked = Walk::new(path).threads(Some(1)).raise_descriptor_limit(false).run(new);
        let errors: usize = walked.unwrap().visitors.iter().map(|miser| miser.errors).sum();
        ended.send(errors).unwrap();
    });
    let errors = when_ended.recv_timeout(Duration::from_secs(30)).expect("the walk ends");
    assert!(errors > 0, "directories were left out without an error");
}
