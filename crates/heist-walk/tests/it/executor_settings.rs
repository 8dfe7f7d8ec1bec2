//! `Walk::executor`: each setting reaches the threads of the walk.

use crate::support;
use crate::support::make;
use heist::{ExecutorConfig, MetricsSnapshot};
use heist_walk::{Enter, Entry, Flow, Visitor, Walk, WalkError, WalkStartError};
use std::convert::Infallible;
use std::path::Path;
use std::time::Duration;
use tempfile::{TempDir, tempdir};

/// Calls a function for each file, on the thread that visits the file.
struct Probe<T, F> {
    probe: F,
    found: Vec<T>,
}

impl<T: Send + 'static, F: Fn() -> T + Send + 'static> Visitor for Probe<T, F> {
    type Dir = ();
    type Task = Infallible;

    fn enter_dir(&mut self, _dir: &Entry<'_>, _parent: Option<&()>) -> Enter<()> {
        Enter::Into(())
    }

    fn file(&mut self, _file: &Entry<'_>, _parent: Option<&()>) -> Flow {
        self.found.push((self.probe)());
        Flow::Continue
    }

    fn error(&mut self, error: WalkError, _parent: Option<&()>) -> Flow {
        panic!("{error}");
    }
}

/// Returns what `probe` returned for each file.
fn probe<T: Send + 'static>(
    walk: Walk,
    probe: impl Fn() -> T + Clone + Send + Sync + 'static,
) -> (Vec<T>, MetricsSnapshot) {
    let report =
        walk.run(move |_thread| Probe { probe: probe.clone(), found: Vec::new() }).unwrap();
    let found: Vec<T> = report.visitors.into_iter().flat_map(|visitor| visitor.found).collect();
    assert!(!found.is_empty(), "no file was visited");
    (found, report.metrics)
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
    let (masks, _) = probe(walk(dir.path()), heist::affinity::allowed_cpus);
    assert!(masks.iter().all(|mask| *mask == allowed), "not pinned by default: {masks:?}");

    let pinned = walk(dir.path()).executor(|config| config.pin_threads = true);
    let (masks, metrics) = probe(pinned, heist::affinity::allowed_cpus);
    assert!(masks.iter().all(|mask| mask.len() == 1 && allowed.contains(&mask[0])), "{masks:?}");
    assert_eq!(metrics.pin_failures, 0);
}

#[test]
fn threads_have_the_configured_name() {
    fn name() -> String {
        std::thread::current().name().unwrap_or_default().to_owned()
    }

    let dir = tree();
    let (names, _) = probe(walk(dir.path()), name);
    assert!(names.iter().all(|name| name.starts_with("heist-walk-")), "{names:?}");
    let (names, _) = probe(walk(dir.path()).executor(|c| c.thread_name = "mine".into()), name);
    assert!(names.iter().all(|name| name.starts_with("mine-")), "{names:?}");
}

/// Without the setting this would overflow the default stack of 1 MiB and abort the process.
#[test]
fn a_visitor_gets_the_configured_stack() {
    fn deep(levels: usize) -> u64 {
        let frame = std::hint::black_box([levels as u64; 1024]);
        if levels == 0 { frame[0] } else { deep(levels - 1) + std::hint::black_box(frame)[1] }
    }

    let dir = tree();
    let roomy = walk(dir.path()).executor(|config| config.stack_size = Some(64 << 20));
    // Frames of 8 KiB, so at least 8 MiB.
    let (sums, _) = probe(roomy, || deep(1_024));
    assert!(sums.iter().all(|&sum| sum == 1_024 * 1_025 / 2), "{sums:?}");
}

/// A walk over one root starts on one worker, and the others can only steal.
#[test]
fn without_stealing_one_thread_walks_a_root() {
    let dir = tree();
    let still = walk(dir.path()).executor(|config| config.stealing = false);
    let (threads, metrics) = probe(still, || std::thread::current().id());
    assert!(threads.iter().all(|thread| *thread == threads[0]), "{threads:?}");
    assert_eq!(metrics.steals_tried, 0);
}

/// The executor checks its settings itself, so a value that it rejects has reached it.
#[test]
fn an_unusable_value_is_an_error_that_names_its_field() {
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
        let refused = |error: &WalkStartError| match error {
            WalkStartError::Setting(error) => error.field() == field,
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
fn several_changes_add_up_and_the_walk_keeps_its_own_settings() {
    let dir = tree();
    let token = heist::CancelToken::new();
    let walk = walk(dir.path())
        .cancel(token.clone())
        .executor(|config| config.thread_name = "added".into())
        .executor(|config| {
            config.threads = 7;
            config.on_panic = heist::OnPanic::Isolate;
            config.spin_iters = 0;
        });
    let report = walk.clone().run(|_| support::Log::default()).unwrap();
    assert_eq!(report.threads, 2, "the setting of the walk decides");
    let (names, _) =
        probe(walk.clone(), || std::thread::current().name().unwrap_or_default().to_owned());
    assert!(names.iter().all(|name| name.starts_with("added-")), "{names:?}");

    let panics = std::panic::AssertUnwindSafe(|| probe(walk.clone(), || panic!("at a file")));
    assert!(std::panic::catch_unwind(panics).is_err(), "the panic was not rethrown");

    token.cancel();
    assert!(
        walk.run(|_| support::Log::default()).unwrap().stopped,
        "the token did not stop the walk"
    );
}

/// A sorted walk has its own threads, which take the name as well.
#[cfg(target_os = "linux")]
#[test]
fn threads_that_read_ahead_have_the_configured_name() {
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
