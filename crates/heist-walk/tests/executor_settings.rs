//! `Walk::executor`: each setting reaches the threads that walk.

mod support;

use heist::{ExecutorConfig, MetricsSnapshot, StartError};
use heist_walk::{Enter, Entry, Flow, Visitor, Walk, WalkError};
use std::path::Path;
use std::time::Duration;
use support::make;
use tempfile::{TempDir, tempdir};

/// What a visitor finds out about the thread that it is on.
struct Look<T, F> {
    look: F,
    found: Vec<T>,
}

impl<T: Send + 'static, F: Fn() -> T + Send + 'static> Visitor for Look<T, F> {
    type Dir = ();

    fn enter_dir(&mut self, _dir: &Entry<'_>, _parent: Option<&()>) -> Enter<()> {
        Enter::Into(())
    }

    fn file(&mut self, _file: &Entry<'_>, _parent: Option<&()>) -> Flow {
        self.found.push((self.look)());
        Flow::Continue
    }

    fn error(&mut self, error: WalkError, _parent: Option<&()>) -> Flow {
        panic!("{error}");
    }
}

/// What `look` found on each thread of the walk that visited something.
fn look<T: Send + 'static>(
    walk: Walk,
    look: impl Fn() -> T + Clone + Send + Sync + 'static,
) -> (Vec<T>, MetricsSnapshot) {
    let walked = walk.run(move |_worker| Look { look: look.clone(), found: Vec::new() }).unwrap();
    let found: Vec<T> = walked.visitors.into_iter().flat_map(|visitor| visitor.found).collect();
    assert!(!found.is_empty(), "something is visited");
    (found, walked.metrics)
}

fn tree() -> TempDir {
    let dir = tempdir().unwrap();
    for number in 0..64 {
        make(dir.path(), &[format!("{number}/a/file").as_str(), format!("{number}/file").as_str()]);
    }
    dir
}

fn walk(root: &Path) -> Walk {
    Walk::new(root).threads(Some(2))
}

#[cfg(target_os = "linux")]
#[test]
fn pinned_threads_run_on_one_core_each() {
    let dir = tree();
    let allowed = heist::affinity::allowed_cpus();
    let (masks, _) = look(walk(dir.path()), heist::affinity::allowed_cpus);
    assert!(masks.iter().all(|mask| *mask == allowed), "not pinned by default: {masks:?}");

    let pinned = walk(dir.path()).executor(|config| config.pin_threads = true);
    let (masks, metrics) = look(pinned, heist::affinity::allowed_cpus);
    assert!(masks.iter().all(|mask| mask.len() == 1 && allowed.contains(&mask[0])), "{masks:?}");
    assert_eq!(metrics.pin_failures, 0);
}

#[test]
fn threads_have_the_name_that_was_set() {
    fn name() -> String {
        std::thread::current().name().unwrap_or_default().to_owned()
    }

    let dir = tree();
    let (names, _) = look(walk(dir.path()), name);
    assert!(names.iter().all(|name| name.starts_with("heist-walk-")), "{names:?}");
    let (names, _) = look(walk(dir.path()).executor(|c| c.thread_name = "mine".into()), name);
    assert!(names.iter().all(|name| name.starts_with("mine-")), "{names:?}");
}

/// Overflows the default stack of 1 MiB, which would end the process.
#[test]
fn a_visitor_gets_the_stack_that_was_asked_for() {
    fn deep(levels: usize) -> u64 {
        let frame = std::hint::black_box([levels as u64; 1024]);
        if levels == 0 { frame[0] } else { deep(levels - 1) + std::hint::black_box(frame)[1] }
    }

    let dir = tree();
    let roomy = walk(dir.path()).executor(|config| config.stack_size = Some(64 << 20));
    // Frames of 8 KiB: 8 MiB at least.
    let (sums, _) = look(roomy, || deep(1_024));
    assert!(sums.iter().all(|&sum| sum == 1_024 * 1_025 / 2), "{sums:?}");
}

/// All of a walk over one root begins on one worker: another one can only steal.
#[test]
fn without_stealing_one_thread_walks_a_root_alone() {
    let dir = tree();
    let still = walk(dir.path()).executor(|config| config.stealing = false);
    let (threads, metrics) = look(still, || std::thread::current().id());
    assert!(threads.iter().all(|thread| *thread == threads[0]), "{threads:?}");
    assert_eq!(metrics.steals_tried, 0);
}

/// The executor checks its settings itself, so a value that it refuses has reached it.
#[test]
fn a_value_that_cannot_be_used_is_an_error_that_names_its_field() {
    type Change = fn(&mut ExecutorConfig);
    let cases: [(&str, Change); 7] = [
        ("steal_tries", |config| config.steal_tries = 0),
        ("steal_batch", |config| config.steal_batch = 0),
        ("injector_batch", |config| config.injector_batch = 0),
        ("injector_interval", |config| config.injector_interval = Some(0)),
        ("park_backstop", |config| config.park_backstop = Some(Duration::ZERO)),
        ("stack_size", |config| config.stack_size = Some(1)),
        ("thread_name", |config| config.thread_name = "a\0b".to_owned()),
    ];
    let dir = tree();
    for (field, change) in cases {
        let refused = |error: &StartError| match error {
            StartError::Config(error) => error.field() == field,
            _ => false,
        };
        let walk = walk(dir.path()).executor(change);
        let error = walk.clone().run(|_| support::Log::default()).map(|_| ()).unwrap_err();
        assert!(refused(&error), "{field}: {error}");
        let error = walk.clone().entries().map(|_| ()).unwrap_err();
        assert!(refused(&error), "{field}: {error}");
        let error = walk.sorted().map(|_| ()).unwrap_err();
        assert!(refused(&error), "{field}: {error}");
    }
}

#[test]
fn several_changes_add_up_and_the_walks_own_settings_stay() {
    let dir = tree();
    let token = heist::CancelToken::new();
    let walk = walk(dir.path())
        .cancel(token.clone())
        .executor(|config| config.thread_name = "added".into())
        .executor(|config| {
            config.workers = 7;
            config.on_panic = heist::OnPanic::Isolate;
            config.spin_iters = 0;
        });
    let walked = walk.clone().run(|_| support::Log::default()).unwrap();
    assert_eq!(walked.threads, 2, "`threads` says how many, and not `workers`");
    let (names, _) =
        look(walk.clone(), || std::thread::current().name().unwrap_or_default().to_owned());
    assert!(names.iter().all(|name| name.starts_with("added-")), "{names:?}");

    let panics = std::panic::AssertUnwindSafe(|| look(walk.clone(), || panic!("at a file")));
    assert!(std::panic::catch_unwind(panics).is_err(), "a panic is rethrown, not isolated");

    token.cancel();
    assert!(walk.run(|_| support::Log::default()).unwrap().stopped, "the token is the walk's");
}

/// An iterator in order has threads of its own, which take the name.
#[cfg(target_os = "linux")]
#[test]
fn threads_that_read_ahead_have_the_name_that_was_set() {
    let dir = tree();
    let walk = walk(dir.path()).executor(|config| config.thread_name = "ahead".into());
    let mut sorted = walk.sorted().unwrap();
    assert!(sorted.next().is_some());
    let names = || {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap();
        let comm = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("comm"));
        tasks.filter_map(|task| comm(task.unwrap()).ok()).collect::<Vec<_>>()
    };
    // A new thread has its parent's name until it sets its own.
    let deadline = std::time::Instant::now() + Duration::from_secs(20);
    while !names().contains(&"ahead-1\n".to_owned()) {
        assert!(std::time::Instant::now() < deadline, "{:?}", names());
        std::thread::yield_now();
    }
}
