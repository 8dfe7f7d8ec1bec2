//! `Scan::executor`: each setting reaches the threads that scan, for a tree and for a source.

use crate::support::Keys;
use heist::{CancelToken, ExecutorConfig, StartError};
use heist_scan::{
    Chunk, Detector, FileSource, Match, Overlap, RuleIndex, RuleInfo, Scan, ScanError, ScanReport,
    Stopped,
};
use heist_walk::Walk;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::{TempDir, tempdir};

/// Records what `look` returns on the threads that scan.
struct Look<T, F> {
    look: F,
    found: Mutex<Vec<T>>,
}

impl<T: Send + 'static, F: Fn() -> T + Send + Sync + 'static> Detector for Look<T, F> {
    type Scratch = ();

    fn scratch(&self) {}

    fn required_overlap(&self) -> Overlap {
        Overlap::default()
    }

    fn scan(&self, _chunk: &Chunk<'_>, _scratch: &mut (), _matches: &mut Vec<Match>) {
        let found = (self.look)();
        self.found.lock().unwrap().push(found);
    }

    fn rule(&self, rule: RuleIndex) -> RuleInfo<'_> {
        Keys.rule(rule)
    }
}

fn tree() -> (TempDir, Vec<PathBuf>) {
    let dir = tempdir().unwrap();
    let paths: Vec<PathBuf> = (0..64).map(|number| dir.path().join(format!("{number}"))).collect();
    for path in &paths {
        std::fs::write(path, "text").unwrap();
    }
    (dir, paths)
}

/// The two kinds of scans: of the files below a root, and of a source.
type Run<D> = fn(Scan<D>, &Path, &[PathBuf]) -> Result<ScanReport, ScanError>;

fn both<D: Detector>() -> [Run<D>; 2] {
    [
        |scan, root, _| scan.walk(Walk::new(root)).run(Mutex::new(Vec::new())),
        |scan, _, paths| scan.source(FileSource::new(paths)).run(Mutex::new(Vec::new())),
    ]
}

/// Returns what `look` returns on the threads that scan a tree, and a source. `set` changes the
/// scan.
fn look<T, F>(
    set: impl Fn(Scan<Arc<Look<T, F>>>) -> Scan<Arc<Look<T, F>>>,
    look: F,
) -> [(Vec<T>, ScanReport); 2]
where
    T: Send + 'static,
    F: Fn() -> T + Clone + Send + Sync + 'static,
{
    let (dir, paths) = tree();
    both().map(|run| {
        let detector = Arc::new(Look { look: look.clone(), found: Mutex::default() });
        let scan = set(Scan::new(Arc::clone(&detector)).threads(Some(2)));
        let report = run(scan, dir.path(), &paths).unwrap();
        assert_eq!((report.outcomes.scanned, report.threads), (64, 2));
        let found = std::mem::take(&mut *detector.found.lock().unwrap());
        (found, report)
    })
}

#[cfg(target_os = "linux")]
#[test]
fn pinned_threads_run_on_one_core_each() {
    let allowed = heist::affinity::allowed_cpus();
    for (masks, _) in look(|scan| scan, heist::affinity::allowed_cpus) {
        assert!(masks.iter().all(|mask| *mask == allowed), "not pinned by default: {masks:?}");
    }
    let found = look(
        |scan| scan.executor(|config| config.pin_threads = true),
        heist::affinity::allowed_cpus,
    );
    for (masks, report) in found {
        let is_one = |mask: &Vec<usize>| mask.len() == 1 && allowed.contains(&mask[0]);
        assert!(masks.iter().all(is_one), "{masks:?}");
        assert_eq!(report.metrics.pin_failures, 0);
    }
}

#[test]
fn several_changes_add_up_and_do_not_change_the_scans_own_settings() {
    fn name() -> String {
        std::thread::current().name().unwrap_or_default().to_owned()
    }

    for (names, _) in look(|scan| scan, name) {
        assert!(names.iter().all(|name| name.starts_with("heist-scan-")), "{names:?}");
    }
    let token = CancelToken::new();
    fn change<D: Detector>(scan: Scan<D>, token: &CancelToken) -> Scan<D> {
        scan.cancel(token.clone())
            .executor(|config| config.thread_name = "mine".to_owned())
            .executor(|config| config.threads = 7)
    }
    for (names, _) in look(|scan| change(scan, &token), name) {
        assert!(names.iter().all(|name| name.starts_with("mine-")), "{names:?}");
    }
    token.cancel();
    let (dir, paths) = tree();
    for run in both() {
        let scan = change(Scan::new(Keys).threads(Some(2)), &token);
        let report = run(scan, dir.path(), &paths).unwrap();
        assert_eq!(report.stopped, Some(Stopped::Cancelled), "the scan uses this token");
    }
}

/// The executor checks its own settings, so a value that it refuses has reached it.
#[test]
fn an_impossible_value_is_an_error_that_names_its_field() {
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
    let (dir, paths) = tree();
    for (field, change) in cases {
        for run in both() {
            let scan = Scan::new(Keys).threads(Some(2)).executor(change);
            let refused = run(scan, dir.path(), &paths);
            match refused.unwrap_err() {
                ScanError::Start(StartError::Config(error)) => assert_eq!(error.field(), field),
                error => panic!("{field}: {error}"),
            }
        }
    }
}

/// The settings of a walk are those of the scan, except for the name and the stack size of a walk's
/// threads.
#[test]
fn a_scan_runs_with_the_settings_of_its_walk() {
    fn name() -> String {
        std::thread::current().name().unwrap_or_default().to_owned()
    }

    let (dir, _) = tree();
    let names = |walk: Walk| {
        let detector = Arc::new(Look { look: name, found: Mutex::default() });
        let scan = Scan::new(Arc::clone(&detector)).walk(walk.threads(Some(2)));
        let report = scan.run(Mutex::new(Vec::new())).unwrap();
        assert_eq!((report.outcomes.scanned, report.threads), (64, 2));
        std::mem::take(&mut *detector.found.lock().unwrap())
    };
    let default = names(Walk::new(dir.path()));
    assert!(default.iter().all(|name| name.starts_with("heist-scan-")), "{default:?}");
    let walk = Walk::new(dir.path()).executor(|config| config.thread_name = "mine".to_owned());
    let named = names(walk);
    assert!(named.iter().all(|name| name.starts_with("mine-")), "{named:?}");
}
