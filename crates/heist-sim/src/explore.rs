//! Plays many schedules and collects those that fail.
//!
//! A [`Campaign`] plays random schedules on several threads. [`explore`] plays every schedule of
//! one scenario up to a number of deviations from the default schedule.

use crate::driver::{Driver, Exhaustive, Frontier};
use crate::failure::{Failure, Kind};
use crate::machine::Outcome;
use crate::plan::Plan;
use crate::play::play;
use crate::scenario::Scenario;
use heist::__internal::sync::plant::{self, Plant};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A search over many random schedules.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// The seed from which all plans of the campaign are derived.
    pub seed: u64,
    /// Plays only this scenario, if given.
    pub scenario: Option<String>,
    /// The bug to plant, if any.
    pub plant: Option<Plant>,
    /// Stops after this many schedules.
    pub schedules_max: u64,
    /// Stops after this time.
    pub time_max: Duration,
    /// The number of schedules to play in parallel.
    pub jobs: usize,
    /// Whether to stop at the first failure.
    pub stop_at_failure: bool,
}

impl Default for Campaign {
    fn default() -> Self {
        Self {
            seed: 1,
            scenario: None,
            plant: None,
            schedules_max: u64::MAX,
            time_max: Duration::MAX,
            jobs: 1,
            stop_at_failure: true,
        }
    }
}

/// A schedule that failed.
#[derive(Clone, Debug)]
pub struct Found {
    /// The plan that plays this schedule again.
    pub plan: Plan,
    /// The broken promise.
    pub failure: Failure,
    /// The number of schedules that the campaign began before this one.
    pub after: u64,
}

/// The result of a campaign.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// The number of schedules played.
    pub schedules: u64,
    /// The number of operations in all schedules.
    pub steps: u64,
    /// The failures, up to a limit.
    pub found: Vec<Found>,
    /// The number of failures, including those that are not in `found`.
    pub failures: u64,
}

/// The number of failures that each thread keeps. Further ones are only counted.
const FOUND_MAX: usize = 100;

impl Campaign {
    /// Runs the campaign. Calls `progress` now and then with the numbers of schedules and failures.
    pub fn run(&self, progress: &(dyn Fn(u64, u64) + Sync)) -> Tally {
        let (played, failures) = (AtomicU64::new(0), AtomicU64::new(0));
        let next = AtomicU64::new(0);
        let stop = AtomicBool::new(false);
        let tally = Mutex::new(Tally::default());
        let started = Instant::now();
        std::thread::scope(|scope| {
            for _ in 0..self.jobs {
                scope.spawn(|| {
                    let mut mine = Tally::default();
                    let mut scenarios = Scenarios::default();
                    plant::set(self.plant);
                    while !stop.load(Ordering::Relaxed) {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if number >= self.schedules_max || started.elapsed() >= self.time_max {
                            break;
                        }
                        let plan = Plan::number(number, self.seed, self.scenario.as_deref());
                        let outcome = play_named(&scenarios.of(&plan), &plan);
                        mine.schedules += 1;
                        mine.steps += outcome.steps;
                        played.fetch_add(1, Ordering::Relaxed);
                        if let Some(failure) = outcome.failure {
                            mine.failures += 1;
                            failures.fetch_add(1, Ordering::Relaxed);
                            if mine.found.len() < FOUND_MAX {
                                mine.found.push(Found { plan, failure, after: number });
                            }
                            stop.fetch_or(self.stop_at_failure, Ordering::Relaxed);
                        }
                    }
                    tally.lock().unwrap_or_else(PoisonError::into_inner).add(mine);
                });
            }
            let watch_until_played = || {
                while !stop.load(Ordering::Relaxed)
                    && next.load(Ordering::Relaxed) < self.schedules_max
                    && started.elapsed() < self.time_max
                {
                    progress(played.load(Ordering::Relaxed), failures.load(Ordering::Relaxed));
                    std::thread::sleep(Duration::from_millis(20));
                }
            };
            watch_until_played();
        });
        let mut tally = tally.into_inner().unwrap_or_else(PoisonError::into_inner);
        tally.found.sort_by_key(|found| found.after);
        progress(tally.schedules, tally.failures);
        tally
    }
}

/// Plays a plan. If the simulator itself panics, prints the plan before the panic goes on.
fn play_named(scenario: &Rc<Scenario>, plan: &Plan) -> Outcome {
    let played = catch_unwind(AssertUnwindSafe(|| play(scenario, plan.driver(), false)));
    played.unwrap_or_else(|payload| {
        eprintln!("heist-sim: the simulator itself panicked while playing {plan}");
        resume_unwind(payload);
    })
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.schedules += other.schedules;
        self.steps += other.steps;
        self.failures += other.failures;
        self.found.extend(other.found);
    }
}

/// Library scenarios that were already built, by name.
#[derive(Default)]
struct Scenarios(HashMap<String, Rc<Scenario>>);

impl Scenarios {
    fn of(&mut self, plan: &Plan) -> Rc<Scenario> {
        if let Some(known) = self.0.get(&plan.scenario) {
            return Rc::clone(known);
        }
        let scenario = plan.scenario().expect("a campaign's scenarios exist");
        if scenario.name == plan.scenario && !plan.scenario.starts_with("generated-") {
            self.0.insert(plan.scenario.clone(), Rc::clone(&scenario));
        }
        scenario
    }
}

/// Scenarios that are small enough to play all of their schedules, each with the largest number of
/// deviations to try.
pub const SMALL: &[(&str, u32)] = &[
    ("push-against-park", 3),
    ("join-idle", 3),
    ("two-need-two", 2),
    ("close-against-run", 2),
    ("close-against-spawn", 2),
    ("cancel-midway", 2),
    ("thieves-meet", 2),
    ("two-producers-one-queue", 2),
    ("one-slot-two-jobs", 2),
    ("acquire-then-against-shutdown", 2),
    ("gate", 2),
];

/// Like [`SMALL`], for scenarios with futures.
pub const SMALL_WITH_FUTURES: &[(&str, u32)] = &[
    ("wake-against-park", 3),
    ("tasks-of-futures-against-join", 2),
    ("abort-against-poll", 2),
    ("giving-way-to-a-private-slot", 2),
];

/// The result of an exhaustive exploration.
#[derive(Clone, Debug)]
pub struct Explored {
    /// The number of schedules played.
    pub schedules: u64,
    /// Whether every schedule within the bound was played.
    pub complete: bool,
    /// The first failure, and the deviations that lead to it.
    pub found: Option<(Failure, Vec<(u64, crate::driver::Action)>)>,
}

/// Plays every schedule of a scenario with at most `bound` deviations, until one fails or a limit
/// is reached. If `wanted` is given, only failures of that kind count.
pub fn explore(
    scenario: &Rc<Scenario>,
    bound: u32,
    (schedules_max, time_max): (u64, Duration),
    wanted: Option<Kind>,
    mut progress: impl FnMut(u64),
) -> Explored {
    let mut frontier = Frontier::new(bound);
    let mut schedules = 0;
    let started = Instant::now();
    loop {
        if schedules >= schedules_max || started.elapsed() >= time_max {
            return Explored { schedules, complete: false, found: None };
        }
        let driver: Box<dyn Driver> = Box::new(Exhaustive::new(frontier));
        let mut outcome = play(scenario, driver, true);
        schedules += 1;
        progress(schedules);
        if let Some(failure) = outcome.failure
            && wanted.is_none_or(|wanted| wanted == failure.kind)
        {
            let found = Some((failure, outcome.decisions));
            return Explored { schedules, complete: false, found };
        }
        let exhaustive = outcome.driver.as_any().downcast_mut::<Exhaustive>();
        frontier = exhaustive.expect("it is the one that was handed in").into_frontier();
        if !frontier.advance() {
            return Explored { schedules, complete: true, found: None };
        }
    }
}
