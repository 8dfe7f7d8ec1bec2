//! The library of scenarios that every campaign plays.
//!
//! A new part of the scheduler adds its scenarios here. Those with queues, budgets and lanes are in
//! `gated`, those with futures in `futures`.

use super::{Act, End, How, Pool, Scenario, Step, futures, gated};

pub(super) type Make = fn() -> Scenario;

const LIBRARY: &[(&str, Make)] = &[
    ("standard", standard),
    ("push-against-park", push_against_park),
    ("two-need-two", two_need_two),
    ("child-needs-thief", child_needs_thief),
    ("batch-needs-all", batch_needs_all),
    ("join-idle", join_idle),
    ("close-against-spawn", close_against_spawn),
    ("panic-against-producers", panic_against_producers),
    ("shutdown-with-queue", shutdown_with_queue),
    ("cancel-midway", cancel_midway),
    ("isolated-panics", isolated_panics),
    ("chain-against-injector", chain_against_injector),
    ("yielders", yielders),
    ("no-stealing", no_stealing),
    ("with-backstop", with_backstop),
    ("lost-producer", lost_producer),
    ("crowd", crowd),
    ("close-against-run", close_against_run),
    ("thieves-meet", thieves_meet),
    ("batch-against-join", batch_against_join),
    ("wide", wide),
];

/// Returns the names of all library scenarios.
pub fn names() -> impl Iterator<Item = &'static str> {
    all().map(|(name, _)| *name)
}

/// Returns the library scenario of that name.
pub fn by_name(name: &str) -> Option<Scenario> {
    all().find(|(known, _)| *known == name).map(|(_, make)| make())
}

fn all() -> impl Iterator<Item = &'static (&'static str, Make)> {
    LIBRARY.iter().chain(gated::LIBRARY).chain(futures::LIBRARY)
}

pub(super) fn scenario(
    name: &str,
    workers: usize,
    programs: Vec<Vec<Step>>,
    actors: Vec<Vec<Act>>,
) -> Scenario {
    Scenario {
        name: name.to_owned(),
        pool: Pool { workers, ..Pool::default() },
        programs,
        actors,
        ..Scenario::default()
    }
}

pub(super) fn spawn(program: usize) -> Act {
    Act::Spawn { program, hold: false }
}

pub(super) fn children(program: usize, count: usize, how: How) -> Step {
    Step::Spawn { program, count, how }
}

pub(super) const SHORT: Step = Step::Run { ns: 100 };

/// A tree of tasks from outside on three workers, while another producer adds tasks.
pub fn standard() -> Scenario {
    let programs = vec![
        vec![children(1, 2, How::Local), SHORT, children(1, 1, How::Local)],
        vec![SHORT, children(2, 1, How::Local)],
        vec![],
    ];
    scenario("standard", 3, programs, vec![vec![spawn(0)], vec![spawn(1), spawn(2)]])
}

/// A worker goes to sleep while a task arrives.
fn push_against_park() -> Scenario {
    scenario("push-against-park", 1, vec![vec![]], vec![vec![spawn(0), spawn(0)]])
}

/// Two tasks from two producers that can only end together.
fn two_need_two() -> Scenario {
    let meet = vec![Step::Meet { parties: 2 }];
    // The owner must not close the pool before the other producer's task is accepted.
    let owner = vec![spawn(0), Act::Block { gate: 0 }];
    let other = vec![spawn(0), Act::Open { gate: 0 }];
    scenario("two-need-two", 2, vec![meet], vec![owner, other])
}

/// A task spawns children and waits for them, so other workers must steal them.
fn child_needs_thief() -> Scenario {
    let meet = Step::Meet { parties: 3 };
    let programs = vec![vec![children(1, 2, How::Local), meet.clone()], vec![meet]];
    scenario("child-needs-thief", 3, programs, vec![vec![spawn(0)]])
}

/// A batch that one worker moves to its own queue but that needs all workers.
fn batch_needs_all() -> Scenario {
    let meet = vec![Step::Meet { parties: 3 }];
    scenario("batch-needs-all", 3, vec![meet], vec![vec![Act::Batch { program: 0, count: 3 }]])
}

/// A pool without work is joined.
fn join_idle() -> Scenario {
    scenario("join-idle", 2, vec![], vec![vec![]])
}

/// More workers than one word of the parked set has bits.
fn wide() -> Scenario {
    let programs = vec![vec![children(1, 1, How::Local), SHORT], vec![]];
    let owner = vec![Act::Sleep { ns: 1_000 }, Act::Batch { program: 0, count: 6 }];
    scenario("wide", 66, programs, vec![owner, vec![spawn(0)]])
}

/// The pool is closed while a task runs whose child is stolen. The sums that are read meanwhile
/// must not be equal.
fn close_against_run() -> Scenario {
    let programs = vec![vec![children(1, 1, How::Local), SHORT], vec![]];
    // First all workers go to sleep, so that they are quiet.
    let owner = vec![Act::Sleep { ns: 1_000 }, spawn(0), spawn(1)];
    scenario("close-against-run", 2, programs, vec![owner])
}

/// A producer wakes two sleeping workers for its batch while the owner waits for the end.
fn batch_against_join() -> Scenario {
    let producer = vec![Act::Sleep { ns: 500 }, Act::Batch { program: 0, count: 2 }];
    let owner = vec![Act::Sleep { ns: 1_000 }];
    scenario("batch-against-join", 4, vec![vec![]], vec![owner, producer])
}

/// Two thieves steal from the same queue.
fn thieves_meet() -> Scenario {
    let programs = vec![vec![children(1, 3, How::Batch), SHORT], vec![]];
    scenario("thieves-meet", 3, programs, vec![vec![spawn(0)]])
}

/// A producer spawns while the owner closes the pool.
fn close_against_spawn() -> Scenario {
    let producer = vec![spawn(0), Act::Batch { program: 0, count: 2 }, spawn(0)];
    scenario("close-against-spawn", 2, vec![vec![SHORT]], vec![vec![spawn(0)], producer])
}

/// A task panics while producers wait for permits that queued tasks hold.
fn panic_against_producers() -> Scenario {
    let producer = vec![Act::Spawn { program: 1, hold: true }; 4];
    let mut scenario = scenario(
        "panic-against-producers",
        2,
        vec![vec![SHORT, Step::Panic], vec![SHORT]],
        vec![vec![spawn(0)], producer.clone(), producer],
    );
    scenario.permits = 1;
    scenario
}

/// The pool is shut down while tasks are queued everywhere.
fn shutdown_with_queue() -> Scenario {
    let programs = vec![
        vec![children(1, 3, How::Local), children(1, 1, How::Global), SHORT],
        vec![SHORT, Step::PanicOnDrop],
        vec![SHORT],
    ];
    let owner = vec![Act::Batch { program: 0, count: 2 }];
    let other = vec![spawn(0), Act::Shutdown, spawn(2)];
    scenario("shutdown-with-queue", 2, programs, vec![owner, other])
}

/// The pool is cancelled while tasks wait for each other.
fn cancel_midway() -> Scenario {
    let programs = vec![vec![children(1, 2, How::Batch), Step::Block { gate: 0 }], vec![SHORT]];
    let actors = vec![vec![spawn(0)], vec![Act::Cancel, spawn(1)], vec![Act::Open { gate: 0 }]];
    Scenario {
        end: End::JoinTimeout { ns: 1_000 },
        ..scenario("cancel-midway", 2, programs, actors)
    }
}

/// Tasks panic everywhere, and the pool continues.
fn isolated_panics() -> Scenario {
    let programs = vec![
        vec![Step::PanicInBatch { program: 1, after: 2 }],
        vec![SHORT, Step::Panic],
        vec![Step::PanicOnDrop],
    ];
    let actors = vec![vec![spawn(0), spawn(2)], vec![spawn(1), spawn(0)]];
    let mut scenario = scenario("isolated-panics", 2, programs, actors);
    scenario.pool.isolate_panics = true;
    scenario
}

/// A worker that never runs out of work, and a task from outside that must get its chance.
fn chain_against_injector() -> Scenario {
    let programs = vec![vec![Step::Again { times: 600, how: How::Local }], vec![]];
    let mut scenario =
        scenario("chain-against-injector", 1, programs, vec![vec![spawn(0)], vec![spawn(1)]]);
    // A batch would wait in the worker's own queue, where newer tasks go first.
    scenario.pool.injector_batch = 1;
    // The longest interval between two looks at the injector, plus the task that was due.
    scenario.starvation_bound = Some(256);
    scenario
}

/// Tasks that yield to each other and to tasks from outside.
fn yielders() -> Scenario {
    let programs = vec![
        vec![children(2, 2, How::Local), Step::Again { times: 2, how: How::Yielded }],
        vec![children(2, 1, How::Yielded), SHORT, children(2, 2, How::Global)],
        vec![],
    ];
    scenario("yielders", 2, programs, vec![vec![spawn(0), spawn(1)], vec![spawn(2), spawn(0)]])
}

/// Without stealing, locally spawned tasks stay with their worker.
fn no_stealing() -> Scenario {
    let programs = vec![vec![children(1, 2, How::Local), children(1, 2, How::Global)], vec![SHORT]];
    let mut scenario = scenario("no-stealing", 2, programs, vec![vec![spawn(0)], vec![spawn(0)]]);
    scenario.pool.stealing = false;
    scenario
}

/// Parked workers wake up early, by the backstop.
fn with_backstop() -> Scenario {
    let mut scenario = standard();
    scenario.name = "with-backstop".to_owned();
    scenario.pool.backstop_ns = Some(2_000);
    scenario
}

/// A producer vanishes.
fn lost_producer() -> Scenario {
    let programs = vec![vec![children(1, 2, How::Local)], vec![SHORT]];
    let lost = vec![spawn(0), Act::Vanish];
    Scenario {
        end: End::Drop,
        ..scenario("lost-producer", 2, programs, vec![vec![spawn(0)], lost])
    }
}

/// More workers and more tasks; workers search twice before they park.
fn crowd() -> Scenario {
    let programs = vec![
        vec![children(1, 4, How::Batch), SHORT],
        vec![children(2, 2, How::Local), SHORT, children(2, 1, How::Global)],
        vec![SHORT],
    ];
    let producer = vec![spawn(1), Act::Batch { program: 2, count: 5 }];
    let mut scenario =
        scenario("crowd", 6, programs, vec![vec![spawn(0)], producer.clone(), producer]);
    scenario.pool.looks = 2;
    scenario.pool.steal_tries = 2;
    scenario
}
