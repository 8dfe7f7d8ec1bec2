//! How walks end early: by a panic of the caller's code, and by a cancellation while directories
//! are being left.
//!
//! If the machine has fewer cores than the disk is good for threads, these walks have extra
//! threads. They must end as well.

use crate::support::{Log, make};
use heist::CancelToken;
use heist_walk::{Enter, Entry, Flow, Visitor, Walk, WalkError};
use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tempfile::tempdir;

/// Where a visitor panics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PanicAt {
    Enter,
    File,
    Leave,
    Error,
}

struct PanickingVisitor(PanicAt);

impl PanickingVisitor {
    fn reach(&self, at: PanicAt) {
        assert!(self.0 != at, "visitor panics");
    }
}

impl Visitor for PanickingVisitor {
    type Dir = ();
    type Task = Infallible;

    fn enter_dir(&mut self, _dir: &Entry<'_>, _parent: Option<&()>) -> Enter<()> {
        self.reach(PanicAt::Enter);
        Enter::Into(())
    }

    fn file(&mut self, _file: &Entry<'_>, _parent: Option<&()>) -> Flow {
        self.reach(PanicAt::File);
        Flow::Continue
    }

    fn leave_dir(&mut self, (): (), _parent: Option<&()>) {
        self.reach(PanicAt::Leave);
    }

    fn error(&mut self, _error: WalkError, _parent: Option<&()>) -> Flow {
        self.reach(PanicAt::Error);
        Flow::Continue
    }
}

/// Returns walks with the default number of threads, with few and with many.
fn walks(roots: &[PathBuf]) -> Vec<Walk> {
    [None, Some(1), Some(2), Some(40)]
        .into_iter()
        .map(|threads| Walk::over(roots.iter().cloned()).threads(threads))
        .collect()
}

fn message_of(walk: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(walk)).expect_err("a panic");
    match payload.downcast_ref::<&str>() {
        Some(text) => (*text).to_owned(),
        None => payload.downcast_ref::<String>().cloned().expect("a text"),
    }
}

#[test]
fn a_panic_of_a_visitor_reaches_the_caller() {
    let dir = tempdir().unwrap();
    make(dir.path(), &["a/b/c", "a/d", "e/f"]);
    let roots = [dir.path().to_path_buf(), dir.path().join("missing")];
    for at in [PanicAt::Enter, PanicAt::File, PanicAt::Leave, PanicAt::Error] {
        for walk in walks(&roots) {
            let text = message_of(|| drop(walk.run(move |_thread| PanickingVisitor(at))));
            assert_eq!(text, "visitor panics", "{at:?}");
        }
    }
}

#[test]
fn a_panic_while_creating_a_visitor_reaches_the_caller() {
    let dir = tempdir().unwrap();
    make(dir.path(), &["a/b/c"]);
    for walk in walks(&[dir.path().to_path_buf()]) {
        let text = message_of(|| {
            drop(walk.run(|_thread| -> Log {
                panic!("no visitor");
            }));
        });
        assert_eq!(text, "no visitor");
    }
}

/// Cancels the walk while it leaves the first directory in the root, after the other directory has
/// been entered.
struct Canceller {
    token: CancelToken,
    /// The number of directories in the root that were entered.
    entered: Arc<AtomicUsize>,
    /// The depths of the directories that were left.
    left: Vec<usize>,
}

fn wait_until(is_so: impl Fn() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < Duration::from_secs(20), "nothing happened");
        std::thread::sleep(Duration::from_millis(1));
    }
}

impl Visitor for Canceller {
    /// The depth of the directory.
    type Dir = usize;
    type Task = Infallible;

    fn enter_dir(&mut self, dir: &Entry<'_>, _parent: Option<&usize>) -> Enter<usize> {
        if dir.depth() == 1 && self.entered.fetch_add(1, Ordering::SeqCst) == 1 {
            wait_until(|| self.token.is_cancelled());
        }
        Enter::Into(dir.depth())
    }

    fn file(&mut self, _file: &Entry<'_>, _parent: Option<&usize>) -> Flow {
        Flow::Continue
    }

    fn leave_dir(&mut self, depth: usize, _parent: Option<&usize>) {
        if depth == 1 {
            wait_until(|| self.entered.load(Ordering::SeqCst) == 2);
            self.token.cancel();
            // Time for the other worker to release its directory, and with it the root, unread.
            std::thread::sleep(Duration::from_millis(100));
        }
        self.left.push(depth);
    }

    fn error(&mut self, error: WalkError, _parent: Option<&usize>) -> Flow {
        panic!("{error}");
    }
}

#[test]
fn a_cancelled_walk_does_not_leave_unfinished_directories() {
    let dir = tempdir().unwrap();
    make(dir.path(), &["a/b/file", "c/d/file"]);
    let (token, entered) = (CancelToken::new(), Arc::new(AtomicUsize::new(0)));
    let walk = Walk::new(dir.path()).threads(Some(2)).cancel(token.clone());
    let visitor = move |_thread| {
        let (token, entered) = (token.clone(), Arc::clone(&entered));
        Canceller { token, entered, left: Vec::new() }
    };
    let report = walk.run(visitor).unwrap();
    assert!(report.stopped);
    assert_eq!(report.totals.files, 1);
    let mut left: Vec<_> = report.visitors.iter().flat_map(|visitor| &visitor.left).collect();
    left.sort_unstable();
    assert_eq!(left, [&1, &2], "the walk has not seen everything in the root");
}
