//! Every planted bug is found within the stated number of schedules, and nothing is found where
//! there is no bug.
#![cfg(heist_sim)]

use heist::__internal::sync::plant::Plant;
use heist_sim::explore::{Campaign, Tally};
use heist_sim::failure::Kind;
use heist_sim::plants::{SOUND_SCHEDULES, Verdict, verdict};
use std::collections::BTreeSet;

fn run(plant: Option<Plant>, scenario: Option<&str>, schedules_max: u64) -> Tally {
    let scenario = scenario.map(str::to_owned);
    Campaign { plant, scenario, schedules_max, ..Campaign::default() }.run(&|_, _| ())
}

#[test]
fn every_planted_bug_is_found_as_stated() {
    for plant in Plant::ALL {
        let Verdict::Found { scenario, kinds, within } = verdict(*plant) else { continue };
        let tally = run(Some(*plant), Some(scenario), within);
        let Some(found) = tally.found.first() else {
            panic!("{plant:?} was not found within {within} schedules of {scenario}");
        };
        println!("{plant:?}: {} after {} schedules", found.failure, found.after);
        assert!(kinds.contains(&found.failure.kind), "{plant:?}: {}", found.failure);
    }
}

#[test]
fn nothing_is_found_where_the_simulator_must_find_nothing() {
    let no_bugs = Plant::ALL
        .iter()
        .copied()
        .filter(|plant| !matches!(verdict(*plant), Verdict::Found { .. }));
    for plant in no_bugs.map(Some).chain([None]) {
        let tally = run(plant, None, SOUND_SCHEDULES);
        assert_eq!(tally.schedules, SOUND_SCHEDULES);
        assert_eq!(tally.found.first().map(|found| found.failure.to_string()), None, "{plant:?}");
    }
}

/// Each promise is broken by some planted bug, which shows that each oracle works.
#[test]
fn every_oracle_catches_a_planted_bug() {
    let mut bitten = BTreeSet::new();
    for plant in Plant::ALL {
        let Verdict::Found { scenario, within, .. } = verdict(*plant) else { continue };
        let campaign = Campaign {
            plant: Some(*plant),
            scenario: Some(scenario.to_owned()),
            schedules_max: within.min(5_000),
            stop_at_failure: false,
            ..Campaign::default()
        };
        bitten.extend(campaign.run(&|_, _| ()).found.iter().map(|found| found.failure.kind));
    }
    // `machine.rs` tests this one, which catches what the other oracles miss.
    bitten.insert(Kind::Stuck);
    assert_eq!(bitten, Kind::ALL.iter().copied().collect());
}
