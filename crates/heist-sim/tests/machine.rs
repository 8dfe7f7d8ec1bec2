//! The simulated machine behaves like x86, checked by litmus tests over every schedule up to a
//! bound; and it is deterministic.
#![cfg(heist_sim)]

use heist::__internal::sync::machine::Machine;
use heist::__internal::sync::{Arc, AtomicU64, Mutex, Ordering, fence};
use heist_sim::driver::{Driver, Exhaustive, Frontier, Replay};
use heist_sim::failure::{Failure, Kind};
use heist_sim::machine::{Setup, machine};
use heist_sim::plan::Plan;
use heist_sim::play::play;
use heist_sim::scenario::{Act, by_name};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Mutex as StdMutex;

/// Two words that start at 0, and the values that two threads have read.
struct Litmus {
    x: AtomicU64,
    y: AtomicU64,
    read: StdMutex<[u64; 2]>,
}

impl Litmus {
    fn has_read(&self, thread: usize, value: u64) {
        self.read.lock().unwrap()[thread] = value;
    }
}

/// Returns the values that two threads can read, over all schedules with at most three deviations.
fn outcomes(first: fn(&Litmus), second: fn(&Litmus)) -> BTreeSet<[u64; 2]> {
    let mut outcomes = BTreeSet::new();
    let mut frontier = Frontier::new(3);
    loop {
        let result = std::sync::Arc::new(StdMutex::new([0; 2]));
        let told = std::sync::Arc::clone(&result);
        let main = move || {
            let litmus = Arc::new(Litmus {
                x: AtomicU64::new(0),
                y: AtomicU64::new(0),
                read: StdMutex::new([0; 2]),
            });
            let left = Arc::new(AtomicU64::new(2));
            for body in [first, second] {
                let (litmus, left, told) = (Arc::clone(&litmus), Arc::clone(&left), told.clone());
                let thread = move || {
                    body(&litmus);
                    if left.fetch_sub(1, Ordering::SeqCst) == 1 {
                        *told.lock().unwrap() = *litmus.read.lock().unwrap();
                    }
                };
                machine().spawn("thread", Box::new(thread));
            }
        };
        let driver: Box<dyn Driver> = Box::new(Exhaustive::new(frontier));
        let setup = Setup { driver, steps_max: 1_000, record: false, costs: None };
        let stuck = || Failure::new(Kind::Stuck, "stuck");
        let mut outcome = machine().run(setup, main, || None, stuck);
        assert_eq!(outcome.failure, None);
        outcomes.insert(*result.lock().unwrap());
        let exhaustive = outcome.driver.as_any().downcast_mut::<Exhaustive>().unwrap();
        frontier = exhaustive.into_frontier();
        if !frontier.advance() {
            return outcomes;
        }
    }
}

#[test]
fn store_buffering_shows_without_fences_and_not_with_them() {
    let bare = outcomes(
        |l| {
            l.x.store(1, Ordering::Release);
            l.has_read(0, l.y.load(Ordering::Acquire));
        },
        |l| {
            l.y.store(1, Ordering::Release);
            l.has_read(1, l.x.load(Ordering::Acquire));
        },
    );
    assert_eq!(bare, [[0, 0], [0, 1], [1, 0], [1, 1]].into());

    let fenced = outcomes(
        |l| {
            l.x.store(1, Ordering::Relaxed);
            fence(Ordering::SeqCst);
            l.has_read(0, l.y.load(Ordering::Relaxed));
        },
        |l| {
            l.y.store(1, Ordering::Relaxed);
            fence(Ordering::SeqCst);
            l.has_read(1, l.x.load(Ordering::Relaxed));
        },
    );
    assert_eq!(fenced, [[0, 1], [1, 0], [1, 1]].into());
}

#[test]
fn a_read_modify_write_completes_the_stores_before_it() {
    let outcomes = outcomes(
        |l| {
            l.x.store(1, Ordering::Relaxed);
            l.has_read(0, l.y.fetch_add(0, Ordering::AcqRel));
        },
        |l| {
            l.y.store(1, Ordering::Relaxed);
            l.has_read(1, l.x.fetch_add(0, Ordering::AcqRel));
        },
    );
    assert!(!outcomes.contains(&[0, 0]), "{outcomes:?}");
}

#[test]
fn stores_arrive_in_order() {
    let outcomes = outcomes(
        |l| {
            l.x.store(1, Ordering::Relaxed);
            l.y.store(1, Ordering::Relaxed);
        },
        |l| {
            let y = l.y.load(Ordering::Relaxed);
            let x = l.x.load(Ordering::Relaxed);
            l.has_read(0, y);
            l.has_read(1, x);
        },
    );
    // The second store is never visible without the first.
    assert_eq!(outcomes, [[0, 0], [0, 1], [1, 1]].into());
}

#[test]
fn a_thread_sees_its_own_stores_at_once() {
    let outcomes = outcomes(
        |l| {
            l.x.store(1, Ordering::Relaxed);
            l.x.store(2, Ordering::Relaxed);
            l.has_read(0, l.x.load(Ordering::Relaxed));
        },
        |l| l.has_read(1, l.x.load(Ordering::Relaxed)),
    );
    assert_eq!(outcomes, [[2, 0], [2, 1], [2, 2]].into());
}

#[test]
fn a_lock_is_held_by_one_at_a_time() {
    let main = || {
        let counter = Arc::new(Mutex::new(0));
        for _ in 0..3 {
            let counter = Arc::clone(&counter);
            let thread = move || {
                let mut held = counter.lock();
                let before = *held;
                // Other threads run here and find the lock taken.
                machine().work(10);
                *held = before + 1;
                if *held == 3 {
                    machine().fail(Failure::new(Kind::Lost, "all three were counted"));
                }
            };
            machine().spawn("thread", Box::new(thread));
        }
    };
    for seed in 0..200 {
        let driver = Plan::number(seed, 1, Some("standard")).driver();
        let setup = Setup { driver, steps_max: 1_000, record: false, costs: None };
        let outcome = machine().run(setup, main, || None, || Failure::new(Kind::Stuck, "stuck"));
        assert_eq!(outcome.failure.map(|failure| failure.kind), Some(Kind::Lost), "seed {seed}");
    }
}

#[test]
fn the_same_plan_gives_the_same_trace_twice_and_on_another_thread() {
    let hash = |plan: &Plan| play(&plan.scenario().unwrap(), plan.driver(), false).hash;
    let plans: Vec<_> = (0..300).map(|number| Plan::number(number, 99, None)).collect();
    let first: Vec<_> = plans.iter().map(hash).collect();
    let again: Vec<_> = plans.iter().map(hash).collect();
    assert_eq!(first, again);
    let elsewhere = std::thread::scope(|scope| {
        scope.spawn(|| plans.iter().map(hash).collect::<Vec<_>>()).join().unwrap()
    });
    assert_eq!(first, elsewhere);
    let different: BTreeSet<_> = first.iter().collect();
    assert!(different.len() > 250, "{} different traces of 300", different.len());
}

#[test]
fn recording_does_not_change_the_schedule() {
    let plan: Plan = "standard/random/5".parse().unwrap();
    let scenario = plan.scenario().unwrap();
    let silent = play(&scenario, plan.driver(), false);
    let recorded = play(&scenario, plan.driver(), true);
    assert_eq!((silent.hash, silent.steps), (recorded.hash, recorded.steps));
    assert!(recorded.events.len() as u64 > recorded.steps / 2);
}

/// This check catches what the oracles miss.
#[test]
fn threads_that_wait_forever_are_reported() {
    let mut scenario = by_name("standard").unwrap();
    scenario.actors[0].push(Act::Block { gate: 0 });
    assert!(scenario.validate().is_err());
    let plan: Plan = "standard/random/5".parse().unwrap();
    let outcome = play(&Rc::new(scenario), plan.driver(), false);
    assert_eq!(outcome.failure.map(|failure| failure.kind), Some(Kind::Stuck));
}

/// A producer that keeps asking a cancelled pool must not wake every worker each time.
#[test]
fn being_refused_costs_the_same_however_many_workers_there_are() {
    let mut scenario = by_name("cancel-midway").unwrap();
    scenario.pool.workers = 64;
    // Long enough for the pool to end.
    scenario.actors[1].push(Act::Sleep { ns: 1_000_000 });
    scenario.actors[1].extend(vec![Act::Spawn { program: 1, hold: false }; 10]);
    let outcome = play(&Rc::new(scenario), Box::new(Replay::new([])), true);
    assert_eq!(outcome.failure, None);
    let actor = outcome.thread_names.iter().position(|name| name == "actor-1").unwrap();
    let told = outcome.events.iter().filter(|event| event.thread == actor);
    let asked: Vec<_> = told.collect();
    let starts_with = |text: &Option<String>, word: &str| {
        text.as_deref().is_some_and(|text| text.starts_with(word))
    };
    let refused = asked.split_inclusive(|event| starts_with(&event.text, "refused"));
    let last = refused.into_iter().nth(10).expect("eleven were refused");
    assert!(last.len() < 20, "the eleventh refusal took {} operations", last.len());
}
