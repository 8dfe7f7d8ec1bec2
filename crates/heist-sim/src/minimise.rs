//! Removes from a failing schedule everything that the failure does not need.
//!
//! Minimising has two stages. The first shrinks the scenario: it removes one actor, act, task step
//! or worker at a time, and keeps the smaller scenario if a few thousand schedules of it show the
//! same kind of failure. The second removes deviations from the schedule for as long as it fails in
//! the same way.
//!
//! The result is not guaranteed to be the smallest one possible.

use crate::driver::Replay;
use crate::explore::explore;
use crate::failure::Kind;
use crate::plan::{DriverKind, Plan};
use crate::play::{afresh, play};
use crate::scenario::{Act, Scenario, Step, shrink};
use crate::schedule::{Schedule, plant_by_name};
use heist::__internal::sync::plant;
use std::rc::Rc;
use std::time::Duration;

/// The number of schedules in which a smaller scenario must show the failure.
const TRIES: u64 = 3_000;

/// The number of schedules that decide whether a smaller scenario makes sense.
const SENSE_TRIES: u64 = 100;

/// The number of schedules to try when looking for one with fewer deviations.
const FEW_DEVIATIONS_TRIES: u64 = 30_000;

/// Returns the simplest schedule found that fails in the same way. Calls `progress` after each
/// improvement.
///
/// # Errors
/// Returns an error if the schedule names a planted bug that does not exist, or if the minimised
/// schedule does not fail.
pub fn minimise(schedule: &Schedule, progress: &mut dyn FnMut(&str)) -> Result<Schedule, String> {
    let plant = schedule.plant.as_deref().map(plant_by_name).transpose()?;
    plant::set(plant);
    let mut best = schedule.clone();
    while let Some(smaller) = simpler_scenario(&best) {
        best = smaller;
        progress(&format!("{} parts left in the scenario", size(&best.scenario)));
    }
    best = fewer_decisions(best, progress);
    best = fewest_deviations(best);
    progress(&format!("{} deviations left in the schedule", best.decisions.len()));
    if best.still_fails()? {
        Ok(best)
    } else {
        Err(format!("{}: the minimised schedule does not fail as `{}`", best.origin, best.kind()))
    }
}

fn size(scenario: &Scenario) -> usize {
    let acts: usize = scenario.actors.iter().map(|acts| acts.len() + 1).sum();
    let steps: usize = scenario.programs.iter().map(Vec::len).sum();
    let batches = scenario.actors.iter().flatten().map(|act| match act {
        Act::Batch { count, .. } => *count,
        _ => 0,
    });
    let spawns = scenario.programs.iter().flatten().map(|step| match step {
        Step::Spawn { count, .. } => *count,
        Step::Again { times, .. } => *times as usize,
        _ => 0,
    });
    let futures: usize = scenario.futures.iter().map(Vec::len).sum();
    scenario.pool.workers + acts + steps + futures + batches.chain(spawns).sum::<usize>()
}

fn simpler_scenario(schedule: &Schedule) -> Option<Schedule> {
    shrink(&schedule.scenario).into_iter().find_map(|scenario| {
        let plan = afresh(|| failing_plan(schedule, &scenario))?;
        let (failure, decisions) = afresh(|| {
            let outcome = play(&Rc::new(scenario.clone()), plan.driver(), true);
            fails_as(&outcome, schedule.kind()).then_some((outcome.failure?, outcome.decisions))
        })?;
        Some(Schedule { scenario, decisions, failure, ..schedule.clone() })
    })
}

/// Returns a plan that fails in the same way in a smaller scenario, if that scenario makes sense.
fn failing_plan(schedule: &Schedule, scenario: &Scenario) -> Option<Plan> {
    let scenario = Rc::new(scenario.clone());
    if !makes_sense(schedule, &scenario) {
        return None;
    }
    let fails = |plan: &Plan| fails_as(&play(&scenario, plan.driver(), false), schedule.kind());
    (0..TRIES).map(|seed| plan(&scenario, seed)).find(fails)
}

fn plan(scenario: &Scenario, seed: u64) -> Plan {
    let driver = DriverKind::ALL[(seed % DriverKind::ALL.len() as u64) as usize];
    Plan { scenario: scenario.name.clone(), driver, seed }
}

/// Returns whether a smaller scenario still makes sense. One that waits for more tasks at a meeting
/// than it spawns, for example, never ends, whether there is a bug or not. If the bug was planted,
/// all schedules must pass without it; otherwise at least some schedules must pass.
fn makes_sense(schedule: &Schedule, scenario: &Rc<Scenario>) -> bool {
    let planted = schedule.plant.as_deref().and_then(|name| plant_by_name(name).ok());
    let passes = |seed| play(scenario, plan(scenario, seed).driver(), false).failure.is_none();
    plant::set(None);
    let makes_sense = match planted {
        Some(_) => (0..SENSE_TRIES).all(passes),
        None => (0..SENSE_TRIES).any(passes),
    };
    plant::set(planted);
    makes_sense
}

fn fails_as(outcome: &crate::machine::Outcome, kind: Kind) -> bool {
    outcome.failure.as_ref().is_some_and(|failure| failure.kind == kind)
}

/// Removes halves of the decisions, then quarters, and so on (delta debugging).
fn fewer_decisions(mut best: Schedule, progress: &mut dyn FnMut(&str)) -> Schedule {
    let mut chunk = best.decisions.len().div_ceil(2);
    while chunk > 0 {
        let mut from = 0;
        while from < best.decisions.len() {
            let kept = best.decisions.iter().enumerate();
            let kept = kept.filter(|(index, _)| !(from..from + chunk).contains(index));
            let kept: Vec<_> = kept.map(|(_, decision)| *decision).collect();
            let failed = afresh(|| {
                let scenario = Rc::new(best.scenario.clone());
                let outcome = play(&scenario, Box::new(Replay::new(kept)), true);
                fails_as(&outcome, best.kind()).then_some((outcome.failure?, outcome.decisions))
            });
            if let Some((failure, decisions)) = failed
                && decisions.len() < best.decisions.len()
            {
                (best.failure, best.decisions) = (failure, decisions);
            } else {
                from += chunk;
            }
        }
        progress(&format!("{} deviations left in the schedule", best.decisions.len()));
        chunk /= 2;
    }
    best
}

/// Searches all schedules with very few deviations for one that has even fewer.
fn fewest_deviations(best: Schedule) -> Schedule {
    let limits = (FEW_DEVIATIONS_TRIES, Duration::MAX);
    let fewer = (0..best.decisions.len().min(4) as u32).find_map(|bound| {
        afresh(|| {
            let scenario = Rc::new(best.scenario.clone());
            explore(&scenario, bound, limits, Some(best.kind()), |_| ()).found
        })
    });
    match fewer {
        Some((failure, decisions)) if decisions.len() < best.decisions.len() => {
            Schedule { failure, decisions, ..best }
        }
        _ => best,
    }
}
