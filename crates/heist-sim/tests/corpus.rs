//! Replays the corpus, which contains schedules that once failed. Those of planted bugs must fail
//! with the bug and pass without it; those of fixed bugs must pass.
//!
//! A schedule is a list of deviations at numbered steps, so a change to the code under test may
//! lead it elsewhere. In that case a search of the same scenario must still find the bug.
//! `heist-sim corpus` writes all schedules of planted bugs again.
#![cfg(heist_sim)]

use heist::__internal::sync::plant;
use heist_sim::failure::Kind;
use heist_sim::plan::{DriverKind, Plan};
use heist_sim::play::play;
use heist_sim::schedule::{Schedule, plant_by_name};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// The number of schedules in a search that replaces a schedule which has led elsewhere.
const SEARCH: u64 = 100_000;

fn corpus() -> Vec<(PathBuf, Schedule)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), Schedule::read(&path).unwrap())).collect()
}

/// Calls `body` on its own thread. A failing schedule may leave its thread in the middle of a
/// panic, which would change the behaviour of all later schedules on that thread.
fn on_its_own_thread<R: Send>(body: impl FnOnce() -> R + Send) -> R {
    std::thread::scope(|scope| scope.spawn(body).join().unwrap())
}

fn search_finds(schedule: &Schedule) -> bool {
    let planted = schedule.plant.as_deref().map(|name| plant_by_name(name).unwrap());
    plant::set(planted);
    let scenario = Rc::new(schedule.scenario.clone());
    let found = (0..SEARCH).any(|seed| {
        let driver = DriverKind::ALL[(seed % 3) as usize];
        let plan = Plan { scenario: scenario.name.clone(), driver, seed };
        let outcome = play(&scenario, plan.driver(), false);
        outcome.failure.is_some_and(|failure| failure.kind == schedule.kind())
    });
    plant::set(None);
    found
}

#[test]
fn schedules_fail_with_their_bug_and_pass_without_it() {
    let corpus = corpus();
    assert!(corpus.len() >= 20, "the corpus is missing");
    let mut astray = 0;
    for (path, schedule) in &corpus {
        let name = path.file_name().unwrap().to_string_lossy();
        let without_bug = on_its_own_thread(|| schedule.replay(false).unwrap().failure);
        assert_eq!(without_bug.map(|failure| failure.to_string()), None, "{name}, without its bug");
        if schedule.plant.is_some() && !on_its_own_thread(|| schedule.still_fails().unwrap()) {
            astray += 1;
            let finds = on_its_own_thread(|| search_finds(schedule));
            assert!(finds, "{name} no longer fails as {}", schedule.kind());
        }
    }
    println!("{} schedules, {astray} of which no longer lead to their failure", corpus.len());
    assert!(
        astray <= corpus.len() / 2,
        "too many schedules are outdated; write them again with `heist-sim corpus`"
    );
}

#[test]
fn the_corpus_covers_the_oracles() {
    let corpus = corpus();
    let covered = |kind: Kind| corpus.iter().any(|(_, schedule)| schedule.kind() == kind);
    for kind in [
        Kind::AsleepBesideWork,
        Kind::DoneTooEarly,
        Kind::DoneNeverFound,
        Kind::MetricsWrong,
        Kind::Stranded,
        Kind::OverGranted,
        Kind::Overtaken,
        Kind::WaiterForgotten,
        Kind::TwoConsumers,
    ] {
        assert!(covered(kind), "{kind}");
    }
}
