//! Plays every schedule of the small scenarios, up to a number of deviations that takes seconds.
#![cfg(heist_sim)]

use heist::__internal::sync::plant::{self, Plant};
use heist_sim::explore::{SMALL, SMALL_WITH_FUTURES, explore};
use heist_sim::scenario::by_name;
use std::rc::Rc;
use std::time::Duration;

fn explore_all(scenarios: &[(&str, u32)]) {
    for (name, bound) in scenarios {
        let scenario = Rc::new(by_name(name).unwrap());
        let explored = explore(&scenario, *bound, (u64::MAX, Duration::MAX), None, |_| ());
        assert!(explored.found.is_none(), "{name}: {:?}", explored.found);
        assert!(explored.complete);
        println!("{name}: {} schedules with at most {bound} deviations", explored.schedules);
    }
}

#[test]
fn no_schedule_of_a_small_scenario_fails() {
    explore_all(SMALL);
}

#[test]
fn no_schedule_of_a_small_scenario_of_futures_fails() {
    explore_all(SMALL_WITH_FUTURES);
}

/// The exhaustive search must find a known behaviour.
#[test]
fn exploring_finds_store_buffering_with_few_deviations() {
    plant::set(Some(Plant::NoLightFence));
    let scenario = Rc::new(by_name("standard").unwrap());
    let explored = explore(&scenario, 2, (100_000, Duration::MAX), None, |_| ());
    plant::set(None);
    let (failure, decisions) = explored.found.expect("two deviations are enough");
    println!("{failure} after {} schedules", explored.schedules);
    assert!(decisions.len() <= 2, "{decisions:?}");
}
