//! How walks end early: by a panic of the caller's code, and by a cancellation while directories are being left.
//!
//! Each walk here has a reserve, if the machine has fewer cores than its disk is good for: nobody may be left behind.

mod support;

use heist::CancelToken;
use heist_walk::{Enter, Entry, Flow, Visitor, Walk, WalkError};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use support::{Log, make};
use tempfile::tempdir;

/// Where a visitor panics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Enter,
    File,
    Leave,
    Error,
}

struct Clumsy(At);

impl Clumsy {
    fn reach(&self, at: At) {
        assert!(self.0 != at, "clumsy");
    }
}

impl Visitor for Clumsy {
    type Dir = ();

    fn enter_dir(&mut self, _dir: &Entry<'_>, _parent: Option<&()>) -> Enter<()> {
        self.reach(At::Enter);
        Enter::Into(())
    }

    fn file(&mut self, _file: &Entry<'_>, _parent: Option<&()>) -> Flow {
        self.reach(At::File);
        Flow::Continue
    }

    fn leave_dir(&mut self, (): (), _parent: Option<&()>) {
        self.reach(At::Leave);
    }

    fn error(&mut self, _error: WalkError, _parent: Option<&()>) -> Flow {
        self.reach(At::Error);
        Flow::Continue
    }
}

/// The walks to try: those with threads as they come, those with few, and those with many.
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
    for at in [At::Enter, At::File, At::Leave, At::Error] {
        for walk in walks(&roots) {
            let text = message_of(|| drop(walk.run(move |_worker| Clumsy(at))));
            assert_eq!(text, "clumsy", "{at:?}");
        }
    }
}

#[test]
fn a_panic_of_who_makes_visitors_reaches_the_caller() {
    let dir = tempdir().unwrap();
    make(dir.path(), &["a/b/c"]);
    for walk in walks(&[dir.path().to_path_buf()]) {
        let text = message_of(|| {
            drop(walk.run(|_worker| -> Log {
                panic!("no visitor");
            }));
        });
        assert_eq!(text, "no visitor");
    }
}

/// Cancels the walk while it leaves the first directory in the root, when the other one there has been entered.
struct Canceller {
    token: CancelToken,
    /// How many directories in the root have been entered.
    entered: Arc<AtomicUsize>,
    /// The depths of those that were left.
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
    /// Its depth.
    type Dir = usize;

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
            // Time for the other worker to let go of its directory, and so of the root, unread.
            std::thread::sleep(Duration::from_millis(100));
        }
        self.left.push(depth);
    }

    fn error(&mut self, error: WalkError, _parent: Option<&usize>) -> Flow {
        panic!("{error}");
    }
}

#[test]
fn a_directory_that_a_cancelled_walk_did_not_finish_is_not_left() {
    let dir = tempdir().unwrap();
    make(dir.path(), &["a/b/file", "c/d/file"]);
    let (token, entered) = (CancelToken::new(), Arc::new(AtomicUsize::new(0)));
    let walk = Walk::new(dir.path()).threads(Some(2)).cancel(token.clone());
    let visitor = move |_worker| {
        let (token, entered) = (token.clone(), Arc::clone(&entered));
        Canceller { token, entered, left: Vec::new() }
    };
    let walked = walk.run(visitor).unwrap();
    assert!(walked.stopped);
    assert_eq!(walked.totals.files, 1);
    let mut left: Vec<_> = walked.visitors.iter().flat_map(|visitor| &visitor.left).collect();
    left.sort_unstable();
    assert_eq!(left, [&1, &2], "the root has something in it that nobody has seen");
}
