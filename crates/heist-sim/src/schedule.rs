//! A failing schedule in a file: the scenario, and every deviation from the default schedule.

use crate::driver::{Action, Replay};
use crate::failure::{Failure, Kind};
use crate::machine::Outcome;
use crate::plan::Plan;
use crate::play::{afresh, play};
use crate::scenario::Scenario;
use heist::__internal::sync::plant::{self, Plant};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::rc::Rc;

/// A schedule that failed, in a form that does not depend on random numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// The plan that found it.
    pub origin: String,
    /// The name of the planted bug, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plant: Option<String>,
    /// The failure that the schedule shows.
    pub failure: Failure,
    /// The scenario to play.
    pub scenario: Scenario,
    /// The deviations from the default schedule, each with its step.
    pub decisions: Vec<(u64, Action)>,
}

/// Returns the planted bug of that name.
///
/// # Errors
/// Returns an error if there is no such bug.
pub fn plant_by_name(name: &str) -> Result<Plant, String> {
    let known = Plant::ALL.iter().find(|plant| format!("{plant:?}") == name);
    known.copied().ok_or_else(|| {
        format!("there is no planted bug `{name}`; `heist-sim list` shows all of them")
    })
}

impl Schedule {
    /// Plays a plan and records it. Returns `None` if the plan does not fail.
    ///
    /// # Errors
    /// Returns an error if the scenario of the plan does not exist.
    pub fn of_plan(plan: &Plan, plant: Option<Plant>) -> Result<Option<Self>, String> {
        afresh(|| {
            let scenario = plan.scenario()?;
            plant::set(plant);
            let outcome = play(&scenario, plan.driver(), true);
            plant::set(None);
            Ok(outcome.failure.map(|failure| Self {
                origin: plan.to_string(),
                plant: plant.map(|plant| format!("{plant:?}")),
                failure,
                scenario: (*scenario).clone(),
                decisions: outcome.decisions,
            }))
        })
    }

    /// Plays the schedule, with or without its planted bug.
    ///
    /// # Errors
    /// Returns an error if the schedule names a bug that does not exist or has an invalid scenario.
    pub fn replay(&self, with_plant: bool) -> Result<Outcome, String> {
        self.scenario.validate()?;
        let name = self.plant.as_deref().filter(|_| with_plant);
        plant::set(name.map(plant_by_name).transpose()?);
        let driver = Box::new(Replay::new(self.decisions.iter().copied()));
        let outcome = play(&Rc::new(self.scenario.clone()), driver, true);
        plant::set(None);
        Ok(outcome)
    }

    /// Returns whether the schedule still fails in the same way.
    ///
    /// # Errors
    /// Returns the errors of [`Schedule::replay`].
    pub fn still_fails(&self) -> Result<bool, String> {
        let failure = afresh(|| Ok::<_, String>(self.replay(true)?.failure))?;
        Ok(failure.map(|failure| failure.kind) == Some(self.kind()))
    }

    /// Returns the kind of the failure.
    pub fn kind(&self) -> Kind {
        self.failure.kind
    }

    /// Reads a schedule from a file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or does not contain a valid schedule.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        let mut schedule: Self = serde_json::from_str(&text).map_err(|error| {
            format!(
                "{} is not a schedule: {error}. `heist-sim run` writes schedules",
                path.display()
            )
        })?;
        let problem = |error| format!("{} cannot be played: {error}", path.display());
        schedule.scenario.validate().map_err(problem)?;
        schedule.decisions.sort_by_key(|(step, _)| *step);
        Ok(schedule)
    }

    /// Writes the schedule to a file, and creates the directory if necessary.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), String> {
        let problem = |error| format!("cannot write {}: {error}", path.display());
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(problem)?;
        }
        let text = serde_json::to_string_pretty(self).expect("a schedule is always JSON");
        std::fs::write(path, text + "\n").map_err(problem)
    }
}
