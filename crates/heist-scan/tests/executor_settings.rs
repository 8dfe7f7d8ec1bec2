//! `ScanConfig::executor`: each setting reaches the threads that scan, in a tree and of a source.

mod support;

use heist::{CancelToken, ExecutorConfig, StartError};
use heist_scan::{
    Chunk, Detector, FileSource, Finding, Match, Overlap, RuleIndex, RuleInfo, ScanConfig,
    ScanError, ScanProgress, ScanReport, Sink, Stopped, parallel_scan_dir, scan_local,
};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use support::Keys;
use tempfile::{TempDir, tempdir};

/// Writes down what `look` finds out about the threads that scan.
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

struct Nowhere;

impl Sink for Nowhere {
    fn finding(&self, _finding: Finding) {}
}

fn tree() -> (TempDir, Vec<PathBuf>) {
    let dir = tempdir().unwrap();
    let paths: Vec<PathBuf> = (0..64).map(|number| dir.path().join(format!("{number}"))).collect();
    for path in &paths {
        std::fs::write(path, "text").unwrap();
    }
    (dir, paths)
}

/// Both ways to scan: the files below a root, and those of a source.
type Scan<D> = fn(Arc<D>, &Path, &[PathBuf], &ScanConfig) -> Result<ScanReport, ScanError>;

fn both<D: Detector>() -> [Scan<D>; 2] {
    [
        |detector, root, _, config| {
            let (roots, progress) = ([root.to_path_buf()], ScanProgress::new());
            parallel_scan_dir(&roots, detector, Arc::new(Nowhere), config, &progress)
        },
        |detector, _, paths, config| {
            scan_local(detector, FileSource::new(paths), Arc::new(Nowhere), config)
        },
    ]
}

/// What `look` finds out in a tree, and of a source.
fn look<T, F>(config: &ScanConfig, look: F) -> [(Vec<T>, ScanReport); 2]
where
    T: Send + 'static,
    F: Fn() -> T + Clone + Send + Sync + 'static,
{
    let (dir, paths) = tree();
    both().map(|scan| {
        let detector = Arc::new(Look { look: look.clone(), found: Mutex::default() });
        let report = scan(Arc::clone(&detector), dir.path(), &paths, config).unwrap();
        assert_eq!((report.outcomes.scanned, report.workers), (64, 2));
        let found = std::mem::take(&mut *detector.found.lock().unwrap());
        (found, report)
    })
}

fn config() -> ScanConfig {
    ScanConfig::new().workers(Some(2))
}

#[cfg(target_os = "linux")]
#[test]
fn pinned_threads_run_on_one_core_each() {
    let allowed = heist::affinity::allowed_cpus();
    for (masks, _) in look(&config(), heist::affinity::allowed_cpus) {
        assert!(masks.iter().all(|mask| *mask == allowed), "not pinned by default: {masks:?}");
    }
    let pinned = config().executor(|config| config.pin_threads = true);
    for (masks, report) in look(&pinned, heist::affinity::allowed_cpus) {
        let is_one = |mask: &Vec<usize>| mask.len() == 1 && allowed.contains(&mask[0]);
        assert!(masks.iter().all(is_one), "{masks:?}");
        assert_eq!(report.metrics.pin_failures, 0);
    }
}

#[test]
fn several_changes_add_up_and_the_scans_own_settings_stay() {
    fn name() -> String {
        std::thread::current().name().unwrap_or_default().to_owned()
    }

    for (names, _) in look(&config(), name) {
        assert!(names.iter().all(|name| name.starts_with("heist-scan-")), "{names:?}");
    }
    let token = CancelToken::new();
    let changed = config()
        .cancel(token.clone())
        .executor(|config| config.thread_name = "mine".to_owned())
        .executor(|config| config.workers = 7);
    for (names, _) in look(&changed, name) {
        assert!(names.iter().all(|name| name.starts_with("mine-")), "{names:?}");
    }
    token.cancel();
    let (dir, paths) = tree();
    for scan in both() {
        let report = scan(Arc::new(Keys), dir.path(), &paths, &changed).unwrap();
        assert_eq!(report.stopped, Some(Stopped::Cancelled), "the token is the scan's");
    }
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
    let (dir, paths) = tree();
    for (field, change) in cases {
        for scan in both() {
            let refused = scan(Arc::new(Keys), dir.path(), &paths, &config().executor(change));
            match refused.unwrap_err() {
                ScanError::Start(StartError::Config(error)) => assert_eq!(error.field(), field),
                error => panic!("{field}: {error}"),
            }
        }
    }
}
