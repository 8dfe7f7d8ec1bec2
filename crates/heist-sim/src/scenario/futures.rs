//! The scenarios with futures.

use super::library::{Make, SHORT, children, scenario, spawn};
use super::{Act, End, FutureStep, Handle, How, Lifo, Push, Queue, Scenario, Step, To, Use};

pub(super) const LIBRARY: &[(&str, Make)] = &[
    ("wake-against-park", wake_against_park),
    ("foreign-wakes", foreign_wakes),
    ("wake-after-close", wake_after_close),
    ("tasks-of-futures-against-join", tasks_of_futures_against_join),
    ("slot-and-a-long-poll", slot_and_a_long_poll),
    ("slot-and-a-long-task", slot_and_a_long_task),
    ("giving-way-to-a-private-slot", giving_way_to_a_private_slot),
    ("displaced-from-a-private-slot", displaced_from_a_private_slot),
    ("chain-through-the-slot", chain_through_the_slot),
    ("yielding-futures", yielding_futures),
    ("a-greedy-future", a_greedy_future),
    ("abort-against-poll", abort_against_poll),
    ("awaiting-each-other", awaiting_each_other),
    ("futures-panic", futures_panic),
    ("wake-against-shutdown", wake_against_shutdown),
    ("futures-against-shutdown", futures_against_shutdown),
    ("futures-against-cancel", futures_against_cancel),
    ("futures-against-drop", futures_against_drop),
    ("task-panics-beside-futures", task_panics_beside_futures),
    ("tasks-and-futures", tasks_and_futures),
    ("turns-of-tasks-and-futures", turns_of_tasks_and_futures),
    ("future-run-outside", future_run_outside),
    ("futures-without-stealing", futures_without_stealing),
    ("futures-without-a-slot", futures_without_a_slot),
    ("futures-with-queues", futures_with_queues),
    ("crowd-of-futures", crowd_of_futures),
];

fn futures(
    name: &str,
    workers: usize,
    futures: Vec<Vec<FutureStep>>,
    actors: Vec<Vec<Act>>,
) -> Scenario {
    Scenario { futures, ..scenario(name, workers, vec![], actors) }
}

const fn detached(future: usize) -> Act {
    Act::SpawnFuture { future, handle: Handle::Detached }
}

const fn kept(future: usize) -> Act {
    Act::SpawnFuture { future, handle: Handle::Kept }
}

const fn with_handle(future: usize, how: Use) -> Act {
    Act::UseHandle { future, how }
}

const fn open(gate: usize) -> Act {
    Act::Open { gate }
}

const fn wait(gate: usize) -> FutureStep {
    FutureStep::Wait { gate }
}

const fn opens(gate: usize) -> FutureStep {
    FutureStep::Open { gate }
}

const fn yields(times: u32) -> FutureStep {
    FutureStep::Yield { times }
}

const fn runs(ns: u64) -> FutureStep {
    FutureStep::Run { ns }
}

const fn spawns(future: usize, count: usize, handle: Handle) -> FutureStep {
    FutureStep::Spawn { future, count, handle }
}

const NAP: Act = Act::Sleep { ns: 500 };

/// Longer than a thief watches a LIFO slot before it takes the future from it.
const LONG_NS: u64 = 20_000;

/// A worker goes to sleep while a future is woken.
fn wake_against_park() -> Scenario {
    futures("wake-against-park", 1, vec![vec![wait(0)]], vec![vec![detached(0), open(0)]])
}

/// Two threads wake futures again and again, then let them end.
fn foreign_wakes() -> Scenario {
    let programs = vec![vec![wait(0), runs(100), wait(1)], vec![wait(1), opens(0)]];
    let owner = vec![detached(0), detached(1), Act::Wake { gate: 0 }, Act::Wake { gate: 1 }];
    let other = vec![detached(0), Act::Wake { gate: 0 }, NAP, open(1), open(0)];
    futures("foreign-wakes", 2, programs, vec![owner, other])
}

/// A future is woken after the pool was closed, and then spawns others.
fn wake_after_close() -> Scenario {
    let programs = vec![vec![wait(0), spawns(1, 2, Handle::Detached), wait(1)], vec![runs(100)]];
    let other = vec![Act::Sleep { ns: 1_000 }, open(0), NAP, open(1)];
    futures("wake-after-close", 2, programs, vec![vec![detached(0)], other])
}

/// Futures spawn tasks through a handle, before and after the owner begins to join. `join` must
/// wait for those tasks.
fn tasks_of_futures_against_join() -> Scenario {
    let futures = vec![
        vec![runs(100), FutureStep::SpawnTask { program: 0 }],
        vec![wait(0), FutureStep::SpawnTask { program: 0 }],
    ];
    let other = vec![Act::Sleep { ns: 1_000 }, open(0)];
    let actors = vec![vec![detached(1), detached(0)], other];
    Scenario { futures, ..scenario("tasks-of-futures-against-join", 2, vec![vec![SHORT]], actors) }
}

/// A future wakes another one, which goes to the LIFO slot, and then runs for long. Another worker
/// must take the woken future.
fn slot_and_a_long_poll() -> Scenario {
    let programs = vec![vec![wait(1), opens(0), runs(LONG_NS)], vec![wait(0), runs(100)]];
    let owner = vec![detached(1), detached(0), NAP, open(1)];
    futures("slot-and-a-long-poll", 2, programs, vec![owner])
}

/// The same with a task, which waits for the future that it has woken.
fn slot_and_a_long_task() -> Scenario {
    let task = vec![Step::Open { gate: 0 }, Step::Block { gate: 1 }];
    let owner = vec![detached(0), NAP, spawn(0)];
    let futures = vec![vec![wait(0), opens(1)]];
    Scenario { futures, ..scenario("slot-and-a-long-task", 3, vec![task], vec![owner]) }
}

/// A future yields to one that only its worker can take and that runs for long. Other workers must
/// take the first future.
fn giving_way_to_a_private_slot() -> Scenario {
    let programs = vec![vec![wait(0), runs(LONG_NS)], vec![opens(0), yields(1)]];
    let owner = vec![detached(0), NAP, detached(1)];
    let mut scenario = futures("giving-way-to-a-private-slot", 2, programs, vec![owner]);
    scenario.pool.lifo = Lifo::Private;
    scenario
}

/// A future wakes two others and runs for long. Only its worker can take the second one, but other
/// workers must take the first.
fn displaced_from_a_private_slot() -> Scenario {
    let programs = vec![vec![wait(0), runs(100)], vec![opens(0), runs(LONG_NS)]];
    let owner = vec![detached(0), detached(0), NAP, detached(1)];
    let mut scenario = futures("displaced-from-a-private-slot", 2, programs, vec![owner]);
    scenario.pool.lifo = Lifo::Private;
    scenario
}

/// Futures that wake each other in a chain, beside one that yields.
fn chain_through_the_slot() -> Scenario {
    let mut programs: Vec<_> = (0..6).map(|link| vec![wait(link), opens(link + 1)]).collect();
    programs.push(vec![yields(4)]);
    programs.push(vec![opens(0)]);
    let owner = (0..8).map(detached).collect();
    futures("chain-through-the-slot", 1, programs, vec![owner])
}

/// Futures that yield to each other and to the futures that they spawned.
fn yielding_futures() -> Scenario {
    let programs = vec![vec![spawns(1, 2, Handle::Detached), yields(2)], vec![yields(3)]];
    let owner = vec![detached(0), detached(1), detached(0)];
    futures("yielding-futures", 1, programs, vec![owner])
}

/// A future that is always ready, and another one beside it.
fn a_greedy_future() -> Scenario {
    let programs = vec![vec![FutureStep::Operate { count: 300 }], vec![runs(100)]];
    futures("a-greedy-future", 1, programs, vec![vec![detached(0), detached(1)]])
}

/// A future is aborted while other threads wake and poll it.
fn abort_against_poll() -> Scenario {
    let programs = vec![vec![yields(1), wait(0), yields(2)]];
    let owner = vec![kept(0), with_handle(0, Use::Abort), with_handle(0, Use::Await)];
    let other = vec![Act::Wake { gate: 0 }, open(0)];
    futures("abort-against-poll", 2, programs, vec![owner, other])
}

/// Futures that await the futures that they spawned, some of which are aborted and some detached.
fn awaiting_each_other() -> Scenario {
    let use_handle = |future, how| FutureStep::UseHandle { future, how };
    let programs = vec![
        vec![spawns(1, 3, Handle::Kept), use_handle(1, Use::Await), use_handle(1, Use::Await)],
        vec![spawns(2, 1, Handle::Kept), wait(0), use_handle(2, Use::Await)],
        vec![yields(1)],
    ];
    let owner = vec![kept(0), with_handle(0, Use::Await)];
    let other = vec![with_handle(1, Use::Abort), open(0), with_handle(1, Use::Detach)];
    futures("awaiting-each-other", 2, programs, vec![owner, other])
}

/// Futures panic in their polls and in their drops, without harm to others.
fn futures_panic() -> Scenario {
    let programs = vec![
        vec![spawns(1, 1, Handle::Kept), yields(1), FutureStep::Panic],
        vec![FutureStep::PanicOnDrop, wait(0)],
        vec![yields(1)],
    ];
    let owner = vec![kept(0), kept(1), detached(2), with_handle(0, Use::Await)];
    let other = vec![with_handle(1, Use::Abort), open(0), with_handle(1, Use::Await)];
    futures("futures-panic", 2, programs, vec![owner, other])
}

/// A future is woken for no reason while the pool is shut down. A worker that polls it once more
/// must not leave it behind.
fn wake_against_shutdown() -> Scenario {
    let wake = Act::Wake { gate: 0 };
    let owner = vec![detached(0), NAP, wake.clone(), wake];
    let other = vec![NAP, Act::Shutdown];
    // The gate is opened late: a stopped pool must drop its waiting futures without that.
    let late = vec![Act::Sleep { ns: 100_000 }, open(0)];
    futures("wake-against-shutdown", 1, vec![vec![wait(0)]], vec![owner, other, late])
}

/// Futures for every way to stop a pool: some wait, some are queued, some begin to wait at that
/// moment, and some spawn others when they are dropped.
fn stopped(name: &str, end: End, acts: Vec<Act>) -> Scenario {
    let programs = vec![
        vec![wait(0), runs(100), wait(1)],
        vec![FutureStep::SpawnOnDrop { future: 2 }, yields(1), wait(1)],
        vec![runs(100), wait(1)],
    ];
    let owner = vec![detached(0), kept(1), detached(2)];
    let other = [vec![kept(1), open(0)], acts].concat();
    // The gate is opened late: a stopped pool must drop its waiting futures without that.
    let late = vec![Act::Sleep { ns: 100_000 }, open(1)];
    Scenario { end, ..futures(name, 2, programs, vec![owner, other, late]) }
}

fn futures_against_shutdown() -> Scenario {
    let acts = vec![Act::Shutdown, detached(2), with_handle(1, Use::Await)];
    stopped("futures-against-shutdown", End::Join, acts)
}

fn futures_against_cancel() -> Scenario {
    let acts = vec![NAP, Act::Cancel, with_handle(1, Use::Await)];
    stopped("futures-against-cancel", End::JoinTimeout { ns: 1_000 }, acts)
}

fn futures_against_drop() -> Scenario {
    stopped("futures-against-drop", End::Drop, vec![detached(0), with_handle(1, Use::Abort)])
}

/// The panic of a task stops the pool, including the futures that wait.
fn task_panics_beside_futures() -> Scenario {
    let programs = vec![vec![SHORT, Step::Panic]];
    let futures = vec![vec![wait(0), yields(1), wait(1)]];
    let owner = vec![detached(0), kept(0), spawn(0), with_handle(0, Use::Await)];
    let other = vec![open(0), Act::Sleep { ns: 100_000 }, open(1)];
    let actors = vec![owner, other];
    Scenario { futures, ..scenario("task-panics-beside-futures", 2, programs, actors) }
}

/// Tasks spawn, wake and abort futures, and futures spawn tasks.
fn tasks_and_futures() -> Scenario {
    let spawn_futures = |future, count, handle| Step::SpawnFuture { future, count, handle };
    let programs = vec![
        vec![spawn_futures(0, 2, Handle::Kept), children(1, 2, How::Local), SHORT],
        vec![Step::Wake { gate: 0 }, spawn_futures(1, 1, Handle::Detached)],
        vec![SHORT, Step::Open { gate: 0 }, Step::UseHandle { future: 0, how: Use::Abort }],
        vec![SHORT],
    ];
    let futures = vec![
        vec![wait(0), FutureStep::SpawnTask { program: 3 }, runs(100)],
        vec![yields(1), FutureStep::SpawnTask { program: 2 }, opens(0)],
    ];
    let actors = vec![vec![spawn(0), spawn(2)], vec![spawn(1), detached(0), open(0)]];
    Scenario { futures, ..scenario("tasks-and-futures", 3, programs, actors) }
}

/// Tasks that never run out, futures that yield again and again, and work from outside: none of
/// them may starve.
fn turns_of_tasks_and_futures() -> Scenario {
    let programs = vec![vec![Step::Again { times: 120, how: How::Local }], vec![]];
    let futures = vec![vec![yields(40)], vec![yields(1)]];
    let actors = vec![vec![spawn(0), detached(0)], vec![spawn(1), detached(1)]];
    let mut scenario = Scenario {
        futures,
        // The runs of tasks and of futures, and the interval between two looks at the injector.
        starvation_bound: Some(64),
        ..scenario("turns-of-tasks-and-futures", 1, programs, actors)
    };
    scenario.pool.injector_batch = 1;
    scenario
}

/// A future that counts as the pool's ends on a thread that is not a worker, while the pool is
/// joined.
fn future_run_outside() -> Scenario {
    let run_here = |future, handle| Act::RunFuture { future, handle };
    let programs = vec![vec![runs(100), opens(0)], vec![wait(0)], vec![FutureStep::Panic]];
    let owner = vec![detached(1), NAP];
    let other = vec![run_here(0, Handle::Kept), run_here(2, Handle::Detached)];
    let aborter = vec![with_handle(0, Use::Abort), open(0)];
    futures("future-run-outside", 2, programs, vec![owner, other, aborter])
}

/// Without stealing, the futures that a worker has woken stay with it.
fn futures_without_stealing() -> Scenario {
    let programs = vec![
        vec![yields(1), wait(0), yields(1), opens(1)],
        vec![wait(1), yields(2)],
        vec![opens(0), spawns(3, 2, Handle::Detached), runs(100)],
        vec![wait(1)],
    ];
    let owner = vec![detached(0), detached(1), detached(2)];
    let other = vec![detached(1), detached(0), Act::Wake { gate: 1 }];
    let mut scenario = futures("futures-without-stealing", 2, programs, vec![owner, other]);
    scenario.pool.stealing = false;
    scenario
}

/// Without a LIFO slot, woken futures go to the back of the queue.
fn futures_without_a_slot() -> Scenario {
    let programs =
        vec![vec![wait(0), yields(1), opens(1)], vec![wait(1), runs(100)], vec![opens(0)]];
    let owner = vec![detached(0), detached(1), detached(2)];
    let mut scenario =
        futures("futures-without-a-slot", 2, programs, vec![owner, vec![detached(1)]]);
    scenario.pool.lifo = Lifo::Off;
    scenario
}

/// Futures push into a queue, and wait for a permit that its consumer holds.
fn futures_with_queues() -> Scenario {
    let programs = vec![vec![SHORT, Step::TryAcquire { budget: 0, count: 1 }]];
    let futures = vec![
        vec![FutureStep::Push { to: To::Queue(0) }, FutureStep::Acquire { budget: 0, count: 1 }],
        vec![FutureStep::Acquire { budget: 0, count: 2 }, FutureStep::Push { to: To::Queue(0) }],
    ];
    let push = Act::Push { to: To::Queue(0), count: 2, push: Push::Wait };
    let actors = vec![
        vec![detached(0), kept(1), push.clone()],
        vec![detached(0), with_handle(1, Use::Abort), push],
    ];
    Scenario {
        futures,
        queues: vec![Queue { program: 0, capacity: Some(2), batch: 1, takes: None }],
        budgets: vec![2],
        ..scenario("futures-with-queues", 2, programs, actors)
    }
}

/// More workers, and more of everything.
fn crowd_of_futures() -> Scenario {
    let programs = vec![vec![children(1, 3, How::Batch), Step::Open { gate: 0 }], vec![SHORT]];
    let futures = vec![
        vec![spawns(1, 4, Handle::Detached), opens(1), runs(LONG_NS)],
        vec![wait(0), yields(1), wait(1), runs(100)],
        vec![wait(1), spawns(3, 2, Handle::Detached), yields(1)],
        vec![runs(100), FutureStep::SpawnTask { program: 1 }],
    ];
    let owner = vec![detached(1), detached(2), kept(0), detached(2), spawn(0)];
    let other = vec![detached(0), Act::Wake { gate: 1 }, detached(2), with_handle(0, Use::Await)];
    let mut scenario =
        Scenario { futures, ..scenario("crowd-of-futures", 8, programs, vec![owner, other]) };
    scenario.pool.looks = 2;
    scenario
}
