//! What the behaviour tests share: a watchdog, the check that every finished pool must pass, and a
//! pool whose tasks are closures.

#![allow(dead_code, reason = "every test program uses its own part of this")]

pub(crate) mod counting;
pub(crate) mod event;
pub(crate) mod leaks;
pub(crate) mod limited;
pub(crate) mod queued;
pub(crate) mod rounds;
pub(crate) mod silence;
pub(crate) mod sync;

use heist::{Executor, ExecutorConfig, MetricsSnapshot, WorkerCtx};
use proptest::prelude::ProptestConfig;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Once, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use sync::{Condvar, Mutex};

/// No test takes a tenth of this, even on a busy machine.
const TEST_TIME_MAX: Duration = Duration::from_secs(60);

/// Runs the body of a test and fails if it does not end. A lost wake-up must fail the test that met
/// it, and not hang everything after it.
pub(crate) fn watched(body: impl FnOnce() + Send + 'static) {
    let (ended, when_ended) = channel::<()>();
    let name = thread::current().name().unwrap_or("test").to_owned();
    let body = thread::Builder::new().name(name).spawn(move || {
        // Disconnects when the body returns or panics.
        let _ended = ended;
        body();
    });
    let body = body.expect("a thread for the test's body");
    if when_ended.recv_timeout(TEST_TIME_MAX) == Err(RecvTimeoutError::Timeout) {
        panic!("the test hangs: it did not end within {TEST_TIME_MAX:?}");
    }
    if let Err(payload) = body.join() {
        resume_unwind(payload);
    }
}

/// Returns a configuration with the number of cases that fits into CI's time, unless
/// `PROPTEST_CASES` is set.
pub(crate) fn cases(in_ci: u32) -> ProptestConfig {
    let from_environment = std::env::var_os("PROPTEST_CASES").is_some();
    let default = ProptestConfig::default();
    ProptestConfig {
        cases: if from_environment { default.cases } else { in_ci },
        // proptest prints the smallest failing program, which should then become a test.
        failure_persistence: None,
        // If a program hangs, each attempt to shrink it takes the watchdog's whole minute.
        max_shrink_time: 300_000,
        ..default
    }
}

/// Checks what must be true of every pool that has ended: each of the `spawned` tasks was run or
/// dropped, none is left, and no wake-up was lost.
#[track_caller]
pub(crate) fn check_finished(metrics: &MetricsSnapshot, spawned: u64) {
    assert_eq!(metrics.tasks_ended(), spawned, "tasks that ended: {metrics}");
    assert_eq!(metrics.injector_depth, 0, "tasks left behind: {metrics}");
    assert_eq!(metrics.backstop_rescues, 0, "lost wake-ups: {metrics}");
    assert!(metrics.steals_won <= metrics.steals_tried, "{metrics}");
    assert!(metrics.wakes_received <= metrics.parks, "{metrics}");
}

/// Like [`check_finished`], for a pool in which every task was run and none panicked.
#[track_caller]
pub(crate) fn check_all_run(metrics: &MetricsSnapshot, spawned: u64) {
    check_finished(metrics, spawned);
    assert_eq!(metrics.tasks_dropped, 0, "{metrics}");
    assert_eq!(metrics.panics, 0, "{metrics}");
}

/// Returns a configuration with this number of workers.
pub(crate) fn workers(workers: usize) -> ExecutorConfig {
    ExecutorConfig::new(workers)
}

/// How often each task ran.
pub(crate) struct Runs(Vec<AtomicU32>);

impl Runs {
    pub(crate) fn of(tasks: usize) -> Arc<Self> {
        Arc::new(Self((0..tasks).map(|_| AtomicU32::new(0)).collect()))
    }

    pub(crate) fn count(&self, task: usize) {
        self.0[task].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn get(&self, task: usize) -> u32 {
        self.0[task].load(Ordering::Relaxed)
    }

    #[track_caller]
    pub(crate) fn check(&self, expected: impl Fn(usize) -> u32) {
        for (task, runs) in self.0.iter().enumerate() {
            assert_eq!(runs.load(Ordering::Relaxed), expected(task), "runs of task {task}");
        }
    }

    #[track_caller]
    pub(crate) fn check_each_once(&self) {
        self.check(|_task| 1);
    }
}

/// Waits for a condition that another thread brings about without a notification.
#[track_caller]
pub(crate) fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + TEST_TIME_MAX / 2;
    while !condition() {
        assert!(Instant::now() < deadline, "timed out waiting until {what}");
        thread::sleep(Duration::from_millis(1));
    }
}

/// A task that is a closure, for tests whose tasks all differ.
pub(crate) struct Job(Box<dyn FnOnce(&mut JobCtx<'_>) + Send>);

pub(crate) type JobCtx<'w> = WorkerCtx<'w, Job, ()>;

pub(crate) fn job(body: impl FnOnce(&mut JobCtx<'_>) + Send + 'static) -> Job {
    Job(Box::new(body))
}

/// Starts a pool that runs jobs.
pub(crate) fn start_jobs(config: ExecutorConfig) -> Executor<Job> {
    let runner = |Job(body): Job, ctx: &mut JobCtx<'_>| body(ctx);
    Executor::new(config, |_worker| (), runner).expect("the pool starts")
}

/// Blocks tasks until the test opens it, once.
#[derive(Clone, Default)]
pub(crate) struct Latch(Arc<(Mutex<bool>, Condvar)>);

impl Latch {
    pub(crate) fn open(&self) {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.1.notify_all();
    }

    pub(crate) fn wait(&self) {
        let opened = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.0.1.wait_while(opened, |opened| !*opened));
    }
}

/// Keeps one worker busy, from the return of this function until the latch is opened.
pub(crate) fn occupy_worker(executor: &Executor<Job>) -> Latch {
    let (entered, latch) = (Latch::default(), Latch::default());
    let held = (entered.clone(), latch.clone());
    let holder = job(move |_ctx| {
        held.0.open();
        held.1.wait();
    });
    executor.spawn(holder).expect("the pool is open");
    entered.wait();
    latch
}

/// Threads with this name panic without a message, because their panics are intended.
pub(crate) const SILENT: &str = "silent";

/// Keeps the panics of threads named [`SILENT`] out of the output. All other threads still print
/// theirs, so a failed assertion is reported.
pub(crate) fn silence_panics() {
    static INSTALL: Once = Once::new();
    INSTALL.call_once(|| {
        let report = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let thread = thread::current();
            if !thread.name().is_some_and(|name| name.starts_with(SILENT)) {
                report(info);
            }
        }));
    });
}

/// Returns the configuration for a pool whose panics do not show in the output.
pub(crate) fn silent(config: ExecutorConfig) -> ExecutorConfig {
    silence_panics();
    config.thread_name(SILENT)
}

/// Joins a pool that was stopped by a panic, and returns the message of the rethrown panic.
#[track_caller]
pub(crate) fn join_rethrows<T: Send>(executor: Executor<T>) -> String {
    let joined = catch_unwind(AssertUnwindSafe(|| executor.join()));
    let payload = joined.expect_err("join must rethrow");
    let text = panic_text(&*payload).to_owned();
    // Its `drop` may panic.
    std::mem::forget(payload);
    text
}

/// Returns the message of a panic.
pub(crate) fn panic_text(payload: &(dyn std::any::Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("(not text)")
}

/// Returns the ids of this process's threads whose name starts with `prefix`. The system cuts names
/// to 15 bytes.
#[cfg(target_os = "linux")]
pub(crate) fn threads_named(prefix: &str) -> Vec<String> {
    let threads = std::fs::read_dir("/proc/self/task").expect("/proc is mounted");
    threads
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|thread| {
            // A thread may end meanwhile.
            std::fs::read_to_string(format!("/proc/self/task/{thread}/comm"))
                .is_ok_and(|name| name.starts_with(prefix))
        })
        .collect()
}

/// Returns the path by which the test program knows a test: without the program's own name.
pub(crate) fn path_of(module: &str, name: &str) -> String {
    let inside = module.split_once("::").map(|(_program, inside)| format!("{inside}::"));
    inside.unwrap_or_default() + name
}
