//! A [`Plan`] names one schedule as `scenario/driver/seed`.

use crate::driver::{Adversary, Driver, Faulty, Pct, Random};
use crate::scenario::{self, Scenario};
use heist::rng::XorShift64;
use std::fmt;
use std::rc::Rc;
use std::str::FromStr;

/// The kinds of driver that a plan can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DriverKind {
    /// Decides at random.
    Random,
    /// Decides by thread priorities that change at a few random moments.
    Pct,
    /// Delays the threads that would make progress.
    Adversary,
}

impl DriverKind {
    /// All kinds of driver.
    pub const ALL: [Self; 3] = [Self::Random, Self::Pct, Self::Adversary];

    fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Pct => "pct",
            Self::Adversary => "adversary",
        }
    }
}

/// A schedule that can be played again, written as `scenario/driver/seed`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Plan {
    /// The name of a library scenario, or `generated-` followed by a seed.
    pub scenario: String,
    /// The driver that decides.
    pub driver: DriverKind,
    /// The seed of the driver's random numbers.
    pub seed: u64,
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.scenario, self.driver.name(), self.seed)
    }
}

impl FromStr for Plan {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let problem = || {
            format!(
                "`{text}` is not a schedule; expected SCENARIO/DRIVER/SEED, such as standard/pct/7"
            )
        };
        let mut parts = text.split('/');
        let (Some(scenario), Some(driver), Some(seed), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(problem());
        };
        let driver = DriverKind::ALL.into_iter().find(|known| known.name() == driver);
        let driver = driver.ok_or_else(problem)?;
        let seed = seed.parse().map_err(|_| problem())?;
        let plan = Self { scenario: scenario.to_owned(), driver, seed };
        plan.scenario()?;
        Ok(plan)
    }
}

/// The prefix in the names of generated scenarios.
const GENERATED: &str = "generated-";

impl Plan {
    /// Returns the plan with this number in a campaign that starts with `seed`. If `only` is given,
    /// all plans use that scenario; otherwise half of them use library scenarios and half generated
    /// ones.
    pub fn number(number: u64, seed: u64, only: Option<&str>) -> Self {
        let mut rng =
            XorShift64::new(seed.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        // The first random numbers of neighbouring seeds are similar.
        rng.next_u64();
        let driver = DriverKind::ALL[rng.below_usize(DriverKind::ALL.len())];
        let scenario = match only {
            Some(name) => name.to_owned(),
            None if rng.below(2) == 0 => format!("{GENERATED}{}", rng.next_u32()),
            None => {
                let names: Vec<_> = scenario::names().collect();
                let name = names[rng.below_usize(names.len())];
                // A schedule of `wide` takes as long as forty others.
                let name = if name == "wide" && rng.below(8) > 0 { "standard" } else { name };
                name.to_owned()
            }
        };
        Self { scenario, driver, seed: u64::from(rng.next_u32()) }
    }

    /// Returns the scenario.
    ///
    /// # Errors
    /// Returns an error if there is no scenario of that name.
    pub fn scenario(&self) -> Result<Rc<Scenario>, String> {
        let generated = self.scenario.strip_prefix(GENERATED);
        let made = match generated {
            Some(seed) => seed.parse().ok().map(scenario::generate),
            None => scenario::by_name(&self.scenario),
        };
        made.map(Rc::new).ok_or_else(|| {
            let names: Vec<_> = scenario::names().collect();
            format!(
                "there is no scenario `{}`; choose one of generated-NUMBER, {}",
                self.scenario,
                names.join(", ")
            )
        })
    }

    /// Creates the driver, with faults added.
    pub fn driver(&self) -> Box<dyn Driver> {
        let decider: Box<dyn Driver> = match self.driver {
            DriverKind::Random => Box::new(Random::new(self.seed)),
            // The priorities should change within the schedule, whose length is not known in
            // advance.
            DriverKind::Pct => Box::new(Pct::new(self.seed, 50 << (self.seed % 5))),
            DriverKind::Adversary => Box::new(Adversary::new(self.seed)),
        };
        Box::new(Faulty::new(decider, self.seed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_survives_formatting_and_parsing() {
        for number in 0..100 {
            let plan = Plan::number(number, 7, None);
            assert_eq!(plan.to_string().parse(), Ok(plan));
        }
    }

    #[test]
    fn an_invalid_plan_is_an_error_that_names_the_format() {
        for text in ["", "standard", "standard/pct", "standard/dice/1", "standard/pct/x", "a/b/c/d"]
        {
            let error = text.parse::<Plan>().unwrap_err();
            assert!(error.contains("SCENARIO/DRIVER/SEED"), "{error}");
        }
        let error = "unheard-of/pct/1".parse::<Plan>().unwrap_err();
        assert!(error.contains("unheard-of") && error.contains("standard"), "{error}");
    }
}
