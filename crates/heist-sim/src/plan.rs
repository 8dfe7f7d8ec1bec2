//! Which schedule: a scenario, a driver and a seed, in one word that can be written down.

use crate::driver::{Adversary, Driver, Faulty, Pct, Random};
use crate::scenario::{self, Scenario};
use heist::rng::XorShift64;
use std::fmt;
use std::rc::Rc;
use std::str::FromStr;

/// Who decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DriverKind {
    /// By the dice.
    Random,
    /// By priorities that change now and then.
    Pct,
    /// Against whoever would make progress.
    Adversary,
}

impl DriverKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Random, Self::Pct, Self::Adversary];

    fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Pct => "pct",
            Self::Adversary => "adversary",
        }
    }
}

/// A schedule that can be had again: `scenario/driver/seed`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Plan {
    /// The name of a scenario of the library, or `generated-` and the seed it was made from.
    pub scenario: String,
    /// Who decides.
    pub driver: DriverKind,
    /// What the driver's dice start with.
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
            format!("`{text}` is no schedule; expected SCENARIO/DRIVER/SEED, as in standard/pct/7")
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

/// What a generated scenario's name begins with.
const GENERATED: &str = "generated-";

impl Plan {
    /// The schedule with number `number` of a campaign that starts at `seed`: half of them of scenarios out of the
    /// library, half of generated ones; or all of the one that is asked for.
    pub fn number(number: u64, seed: u64, only: Option<&str>) -> Self {
        let mut rng =
            XorShift64::new(seed.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        // The first numbers of neighbouring seeds resemble each other.
        rng.next_u64();
        let driver = DriverKind::ALL[rng.below_usize(DriverKind::ALL.len())];
        let scenario = match only {
            Some(name) => name.to_owned(),
            None if rng.below(2) == 0 => format!("{GENERATED}{}", rng.next_u32()),
            None => {
                let names: Vec<_> = scenario::names().collect();
                let name = names[rng.below_usize(names.len())];
                // A schedule of that one takes as long as forty others.
                let name = if name == "wide" && rng.below(8) > 0 { "standard" } else { name };
                name.to_owned()
            }
        };
        Self { scenario, driver, seed: u64::from(rng.next_u32()) }
    }

    /// The scenario.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn scenario(&self) -> Result<Rc<Scenario>, String> {
        let generated = self.scenario.strip_prefix(GENERATED);
        let made = match generated {
            Some(seed) => seed.parse().ok().map(scenario::generate),
            None => scenario::by_name(&self.scenario),
        };
        made.map(Rc::new).ok_or_else(|| {
            let names: Vec<_> = scenario::names().collect();
            format!(
                "there is no scenario `{}`; there are generated-NUMBER, {}",
                self.scenario,
                names.join(", ")
            )
        })
    }

    /// The driver, ready to go.
    pub fn driver(&self) -> Box<dyn Driver> {
        let decider: Box<dyn Driver> = match self.driver {
            DriverKind::Random => Box::new(Random::new(self.seed)),
            // Where the priorities change depends on how long the schedule will be; nobody knows.
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
    fn a_plan_is_what_it_says() {
        for number in 0..100 {
            let plan = Plan::number(number, 7, None);
            assert_eq!(plan.to_string().parse(), Ok(plan));
        }
    }

    #[test]
    fn what_is_no_plan_is_an_error_that_says_what_one_is() {
        for text in ["", "standard", "standard/pct", "standard/dice/1", "standard/pct/x", "a/b/c/d"]
        {
            let error = text.parse::<Plan>().unwrap_err();
            assert!(error.contains("SCENARIO/DRIVER/SEED"), "{error}");
        }
        let error = "unheard-of/pct/1".parse::<Plan>().unwrap_err();
        assert!(error.contains("unheard-of") && error.contains("standard"), "{error}");
    }
}
