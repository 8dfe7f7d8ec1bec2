//! Explores loom models: bounded in CI, unbounded on request, and with a planted bug.
#![allow(dead_code, unreachable_pub, reason = "each test program uses its own part of this")]

pub mod futures;

use heist::__internal::executor::{PoolShared, TaskRunner, Worker, handle_of};
use heist::__internal::policy::{IdleAction, IdleHooks, RunTask};
use heist::__internal::sync::plant::{self, Plant};
use heist::__internal::sync::{Arc, Mutex};
use heist::trace::NoTrace;
use heist::{ExecutorConfig, ExecutorHandle, WorkerCtx};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The size of a model, which decides how far it can be explored.
#[derive(Clone, Copy)]
pub enum Size {
    /// One protocol by itself: it can be explored without a bound.
    Small,
    /// Two workers of the idle protocol, or a whole pool that is small or loaded before it starts.
    Medium,
    /// Two workers of a whole pool, and a producer: a million schedules with two pre-emptions,
    /// which takes minutes.
    Large,
}

impl Size {
    /// Returns the largest number of pre-emptions: 2 in CI, and 1 for large models; with
    /// `HEIST_LOOM=full`, as many as end within minutes.
    fn bound(self) -> Option<usize> {
        let full = std::env::var("HEIST_LOOM").is_ok_and(|mode| mode == "full");
        match self {
            Self::Small if full => None,
            Self::Medium if full => Some(4),
            Self::Large if !full => Some(1),
            _ => Some(2),
        }
    }
}

/// Explores every schedule of the model, as far as its size allows.
pub fn check(size: Size, model: impl Fn() + Send + Sync + 'static) {
    explore(size.bound(), model);
}

/// Explores every schedule with at most `bound` pre-emptions.
pub fn explore(bound: Option<usize>, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = bound;
    builder.max_branches = 100_000;
    let schedules = Tally::default();
    let counted = schedules.clone();
    let started = std::time::Instant::now();
    builder.check(move || {
        counted.add();
        model();
    });
    println!("{} schedules in {:.1} s", schedules.get(), started.elapsed().as_secs_f64());
}

/// Requires that the model fails with `symptom` when `plant` is planted. `bound` pre-emptions are
/// enough to show it.
pub fn must_fail(
    plant: Plant,
    bound: usize,
    symptom: &str,
    model: impl Fn() + Send + Sync + 'static,
) {
    plant::set(Some(plant));
    let failed = fails(bound, symptom, model);
    plant::set(None);
    assert!(failed, "{plant:?} was planted, and the model did not fail");
}

thread_local! {
    static FAILURE_IS_EXPECTED: Cell<bool> = const { Cell::new(false) };
    /// The message of the first panic of an expected failure. More may follow: code that contains
    /// panics keeps running in a model that has ended.
    static FIRST_PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

fn message_of(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or_default().to_owned()
}

/// Keeps expected failures out of the output, and records the message of their first panic.
fn silence_expected_failures() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let report = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if FAILURE_IS_EXPECTED.get() {
                // A panic without a message is loom's way to end its threads.
                if let Some(message) = info.payload_as_str() {
                    FIRST_PANIC.with_borrow_mut(|first| {
                        first.get_or_insert_with(|| message.to_owned());
                    });
                }
            } else {
                report(info);
            }
        }));
    });
}

/// Returns `true` if the model fails. Panics if it fails without `symptom` in the message.
pub fn fails(bound: usize, symptom: &str, model: impl Fn() + Send + Sync + 'static) -> bool {
    silence_expected_failures();
    FIRST_PANIC.set(None);
    FAILURE_IS_EXPECTED.set(true);
    let outcome = catch_unwind(AssertUnwindSafe(|| explore(Some(bound), model)));
    FAILURE_IS_EXPECTED.set(false);
    let Err(payload) = outcome else { return false };
    let message = FIRST_PANIC.take().unwrap_or_else(|| message_of(&*payload));
    assert!(message.contains(symptom), "failed, but not as expected: {message}");
    true
}

/// Loom's message when all remaining threads wait.
pub const DEADLOCK: &str = "deadlock";

/// Looks again `times` times, then parks. Most models park at once, because spinning adds schedules
/// and nothing new.
pub struct LookAgain {
    pub times: u32,
    looks: u32,
}

impl LookAgain {
    pub fn new(times: u32) -> Self {
        Self { times, looks: 0 }
    }
}

impl IdleHooks for LookAgain {
    fn on_work(&mut self) {
        self.looks = 0;
    }

    fn on_no_work(&mut self) -> IdleAction {
        if self.looks == self.times {
            self.looks = 0;
            return IdleAction::Park;
        }
        self.looks += 1;
        IdleAction::Search
    }
}

pub fn config(workers: usize) -> ExecutorConfig {
    ExecutorConfig::new(workers).steal_tries(1)
}

/// The threads of a model's pool.
pub struct Threads(Vec<loom::thread::JoinHandle<()>>);

impl Threads {
    pub fn join(self) {
        for thread in self.0 {
            thread.join().unwrap();
        }
    }
}

/// Starts a pool of real workers, each on a thread of the model, which pass their tasks to `run`.
pub fn start<T: Send + 'static>(
    config: &ExecutorConfig,
    run: impl Fn(&mut Worker<T>, T) + Clone + Send + 'static,
) -> (Arc<PoolShared<T>>, Threads) {
    start_with(config, move |worker| {
        work(worker, &mut |worker: &mut Worker<T>, task| run(worker, task));
    })
}

/// [`start`], with tasks in the injector and the intake closed before the first worker runs: only
/// the workers are left to interleave.
pub fn start_loaded<T: Send + 'static>(
    config: &ExecutorConfig,
    mut tasks: Vec<T>,
    run: impl Fn(&mut Worker<T>, T) + Clone + Send + 'static,
) -> Threads {
    let (shared, workers) = PoolShared::new(config);
    shared.spawn_drain(&mut tasks).unwrap();
    shared.close();
    start_workers(workers, move |worker| {
        work(worker, &mut |worker: &mut Worker<T>, task| run(worker, task));
    })
}

/// Starts a pool of real workers, each on a thread of the model that calls `work`.
pub fn start_with<T: Send + 'static>(
    config: &ExecutorConfig,
    work: impl Fn(&mut Worker<T>) + Clone + Send + 'static,
) -> (Arc<PoolShared<T>>, Threads) {
    let (shared, workers) = PoolShared::new(config);
    (shared, start_workers(workers, work))
}

/// [`start`] with the real task runner, which contains panics and drops tasks after a stop. Calls
/// `prepare` before the first worker runs.
pub fn start_prepared<T: Send + 'static, P>(
    config: &ExecutorConfig,
    prepare: impl FnOnce(&ExecutorHandle<T>) -> P,
    run: impl Fn(T) + Clone + Send + 'static,
) -> (Arc<PoolShared<T>>, P, Threads) {
    let (shared, workers) = PoolShared::new(config);
    let prepared = prepare(&handle_of(Arc::clone(&shared)));
    let threads = start_workers(workers, move |worker| {
        let run = run.clone();
        let runner = move |task, _: &mut WorkerCtx<'_, T, ()>| run(task);
        let mut tasks = TaskRunner::new(worker, &|_worker| (), &runner, &|_scratch: &mut ()| {});
        work(worker, &mut tasks);
    });
    (shared, prepared, threads)
}

fn start_workers<T: Send + 'static>(
    workers: Vec<Worker<T>>,
    work: impl Fn(&mut Worker<T>) + Clone + Send + 'static,
) -> Threads {
    let start = |mut worker: Worker<T>| {
        let work = work.clone();
        loom::thread::spawn(move || {
            worker.enter();
            work(&mut worker);
        })
    };
    Threads(workers.into_iter().map(start).collect())
}

/// Runs the real worker loop until the pool is done.
pub fn work<T>(worker: &mut Worker<T>, runner: &mut impl RunTask<Worker<T>>) {
    worker.work_until_done(&mut LookAgain::new(0), &mut NoTrace, runner);
}

/// A point where tasks meet: they can only end together. With one worker for each party, a task for
/// which no worker is awake stops the model, and loom reports the deadlock.
#[derive(Clone)]
pub struct Rendezvous(Arc<(Mutex<usize>, loom::sync::Condvar)>);

impl Rendezvous {
    pub fn new(parties: usize) -> Self {
        Self(Arc::new((Mutex::new(parties), loom::sync::Condvar::new())))
    }

    pub fn meet(&self) {
        let (missing, arrived) = &*self.0;
        let mut missing = missing.lock();
        *missing -= 1;
        arrived.notify_all();
        while *missing > 0 {
            missing = arrived.wait(missing).expect("loom's mutex does not poison");
        }
    }
}

/// A value that a failing model leaks. Loom's threads are gone then, and a `drop` that uses its
/// atomics (a permit's, a budget's) would abort the process before the failure is reported.
pub struct Kept<T>(Option<T>);

impl<T> Kept<T> {
    pub fn new(value: T) -> Self {
        Self(Some(value))
    }
}

impl<T> std::ops::Deref for Kept<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_ref().expect("only `drop` takes it out")
    }
}

impl<T> Drop for Kept<T> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::mem::forget(self.0.take());
        }
    }
}

/// A counter that is not part of the model.
#[derive(Clone, Default)]
pub struct Tally(Arc<std::sync::atomic::AtomicUsize>);

impl Tally {
    pub fn add(&self) {
        self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
    }

    pub fn get(&self) -> usize {
        self.0.load(std::sync::atomic::Ordering::SeqCst)
    }
}
