//! Walks in a process that has no free descriptors.
//!
//! A program of its own, because the shortage affects the whole process.
#![cfg(all(target_os = "linux", not(heist_portable)))]

use heist_walk::{Enter, Entry, Flow, Visitor, Walk, WalkError};
use rustix::process::{Resource, getrlimit, setrlimit};
use std::convert::Infallible;
use std::fs::File;
use std::sync::mpsc::channel;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// So long that a few hundred entries fill several blocks.
const LONG_NAME: usize = 200;
const FILES: usize = 900;
const DIRECTORIES: usize = 100;

/// The tests run one at a time, because each uses up the descriptors of the process.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Lowers the limit, because some systems allow a million descriptors, which would take long to use
/// up.
fn limit_descriptors() {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, rustix::process::Rlimit { current: Some(256), ..limit }).unwrap();
}

/// Takes all descriptors when it enters the root, and gives them back when it has seen every file
/// in the root. By then, directories in the root have been refused a descriptor.
struct TakesAllDescriptors {
    taken: Vec<File>,
    files: usize,
    directories: usize,
    errors: Vec<String>,
}

impl Visitor for TakesAllDescriptors {
    type Dir = ();
    type Task = Infallible;

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

/// The only worker finds directories that it cannot open. It gets descriptors only if it meanwhile
/// continues with the rest of the root.
#[test]
fn a_worker_without_a_free_descriptor_continues_with_other_work() {
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
    let new = |_thread| TakesAllDescriptors {
        taken: Vec::new(),
        files: 0,
        directories: 0,
        errors: Vec::new(),
    };
    let report = Walk::new(root.path()).threads(Some(1)).raise_descriptor_limit(false).run(new);
    let report = report.unwrap();
    let [visitor] = &report.visitors[..] else { panic!("one thread has one visitor") };
    assert_eq!(visitor.errors, Vec::<String>::new());
    assert_eq!((visitor.files, visitor.directories), (FILES, 1 + DIRECTORIES));
    assert_eq!(report.totals.files, (FILES + DIRECTORIES) as u64);
}

/// Takes all descriptors but one when it enters the root, for the rest of the walk.
struct LeavesOneDescriptor {
    taken: Vec<File>,
    errors: usize,
}

impl Visitor for LeavesOneDescriptor {
    type Dir = ();
    type Task = Infallible;

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

/// With one descriptor the walk can open the first directory of any path but never the second. That
/// must not count as progress.
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
        let new = |_thread| LeavesOneDescriptor { taken: Vec::new(), errors: 0 };
        let report = Walk::new(path).threads(Some(1)).raise_descriptor_limit(false).run(new);
        let errors: usize = report.unwrap().visitors.iter().map(|visitor| visitor.errors).sum();
        ended.send(errors).unwrap();
    });
    let errors = when_ended.recv_timeout(Duration::from_secs(30)).expect("the walk ends");
    assert!(errors > 0, "directories were left out without an error");
}
