//! Explores scenarios under shuttle: with two random schedulers, fixed seeds, and planted bugs.
//!
//! Each check prints how many schedules it tried. `HEIST_SHUTTLE_SCALE` multiplies that number;
//! `SHUTTLE_RANDOM_SEED`, set to the number that a failure prints, repeats the failure.
#![allow(dead_code, unreachable_pub, reason = "each test program uses its own part of this")]

use heist::__internal::sync::plant::{self, Plant};
use heist::ExecutorConfig;
use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::sync::{Condvar, Mutex};
use shuttle::{Config, FailurePersistence, MaxSteps, Runner};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// Shuttle's message when all remaining threads wait.
pub const DEADLOCK: &str = "deadlock";

/// Shuttle's message when threads run forever without waiting.
pub const LIVELOCK: &str = "exceeded max_steps";

/// The seed of the schedulers: arbitrary, but fixed, so that CI repeats itself.
const SEED: u64 = 0x0068_6569_7374;

/// The depth of the priority scheduler: priorities change at one point fewer. It is enough for
/// every planted bug, and more only spreads the schedules thinner.
const PCT_DEPTH: usize = 3;

/// A counter that is not part of the schedule.
#[derive(Clone, Default)]
pub struct Tally(Arc<AtomicUsize>);

impl Tally {
    pub fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

fn explore(
    name: &str,
    scheduler: impl Scheduler + 'static,
    scenario: impl Fn() + Send + Sync + 'static,
) {
    let mut config = Config::new();
    // Shuttle's default of 60 KiB overflows when a panic is reported.
    config.stack_size = 256 * 1024;
    config.failure_persistence = FailurePersistence::None;
    // A worker that searches forever and never parks must count as a hang.
    config.max_steps = MaxSteps::FailAfter(200_000);
    config.silence_warnings = true;
    let (schedules, began) = (Tally::default(), Instant::now());
    let counted = schedules.clone();
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        Runner::new(scheduler, config).run(move || {
            counted.add();
            scenario();
        });
    }));
    println!("{name}: {} schedules in {:.1?}", schedules.get(), began.elapsed());
    outcome.unwrap_or_else(|failure| resume_unwind(failure));
}

/// Tries `schedules` schedules of each kind.
pub fn check(schedules: usize, scenario: impl Fn() + Clone + Send + Sync + 'static) {
    let scale = std::env::var("HEIST_SHUTTLE_SCALE").map_or(1, |scale| scale.parse().unwrap());
    let schedules = schedules * scale;
    explore("random", RandomScheduler::new_from_seed(SEED, schedules), scenario.clone());
    explore("pct", PctScheduler::new_from_seed(SEED, PCT_DEPTH, schedules), scenario);
}

/// Requires that the scenario fails with `symptom` when `plant` is planted, within `schedules`
/// schedules of one of the kinds.
pub fn must_fail(
    plant: Plant,
    schedules: usize,
    symptom: &str,
    scenario: impl Fn() + Clone + Send + Sync + 'static,
) {
    plant::set(Some(plant));
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        explore("pct", PctScheduler::new_from_seed(SEED, PCT_DEPTH, schedules), scenario.clone());
        explore("random", RandomScheduler::new_from_seed(SEED, schedules), scenario);
    }));
    plant::set(None);
    let failure = outcome.expect_err("a bug was planted and nothing noticed");
    let message = failure
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| failure.downcast_ref::<&str>().copied())
        .unwrap_or_default();
    println!("{plant:?}: {message}");
    assert!(message.contains(symptom), "failed, but not as expected: {message}");
}

/// Parks at once when there is no work: spinning adds schedules and nothing new.
pub fn config(workers: usize) -> ExecutorConfig {
    ExecutorConfig::new(workers).steal_tries(1).spin_iters(0)
}

/// A point where tasks meet: they can only end together. With one worker for each party, a task for
/// which no worker is awake stops the schedule, and shuttle reports the deadlock.
#[derive(Clone)]
pub struct Rendezvous(Arc<(Mutex<usize>, Condvar)>);

impl Rendezvous {
    pub fn new(parties: usize) -> Self {
        Self(Arc::new((Mutex::new(parties), Condvar::new())))
    }

    pub fn meet(&self) {
        let (missing, arrived) = &*self.0;
        let mut missing = missing.lock().unwrap();
        *missing -= 1;
        arrived.notify_all();
        while *missing > 0 {
            missing = arrived.wait(missing).unwrap();
        }
    }
}
