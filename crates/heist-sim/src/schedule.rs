//! A schedule, written down: a scenario, and what was decided differently from the default.

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

/// A schedule that failed, in a form that outlives the seed it came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// The plan that it was found by.
    pub origin: String,
    /// The bug that was planted, if one was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plant: Option<String>,
    /// What is wrong.
    pub failure: Failure,
    /// What is played.
    pub scenario: Scenario,
    /// At which steps something else is done than the default.
    pub decisions: Vec<(u64, Action)>,
}

/// The planted bug of that name.
///
/// # Errors
/// There is none.
pub fn plant_by_name(name: &str) -> Result<Plant, String> {
    let known = Plant::ALL.iter().find(|plant| format!("{plant:?}") == name);
    known
        .copied()
        .ok_or_else(|| format!("there is no planted bug `{name}`; `heist-sim list` names them"))
}

impl Schedule {
    /// Plays a plan and writes down what happens; `None` if nothing is wrong.
    ///
    /// # Errors
    /// There is no such scenario.
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

    /// Plays it, with its bug planted or without.
    ///
    /// # Errors
    /// It names a bug that does not exist, or its scenario cannot be played.
    pub fn replay(&self, with_plant: bool) -> Result<Outcome, String> {
        self.scenario.validate()?;
        let name = self.plant.as_deref().filter(|_| with_plant);
        plant::set(name.map(plant_by_name).transpose()?);
        let driver = Box::new(Replay::new(self.decisions.iter().copied()));
        let outcome = play(&Rc::new(self.scenario.clone()), driver, true);
        plant::set(None);
        Ok(outcome)
    }

    /// Whether it still fails as it says.
    ///
    /// # Errors
    /// As [`Schedule::replay`].
    pub fn still_fails(&self) -> Result<bool, String> {
        let failure = afresh(|| Ok::<_, String>(self.replay(true)?.failure))?;
        Ok(failure.map(|failure| failure.kind) == Some(self.kind()))
    }

    /// What is wrong, in a word.
    pub fn kind(&self) -> Kind {
        self.failure.kind
    }

    /// Reads a schedule.
    ///
    /// # Errors
    /// The file cannot be read, or is none.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        let mut schedule: Self = serde_json::from_str(&text).map_err(|error| {
            format!("{} is no schedule: {error}; `heist-sim run` writes them", path.display())
        })?;
        let problem = |error| format!("{} cannot be played: {error}", path.display());
        schedule.scenario.validate().map_err(problem)?;
        schedule.decisions.sort_by_key(|(step, _)| *step);
        Ok(schedule)
    }

    /// Writes it.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), String> {
        let problem = |error| format!("cannot write {}: {error}", path.display());
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(problem)?;
        }
        let text = serde_json::to_string_pretty(self).expect("a schedule is always JSON");
        std::fs::write(path, text + "\n").map_err(problem)
    }
}
