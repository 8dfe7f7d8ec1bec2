//! The scenarios with queues, budgets, lanes and signal gates.

use super::library::{Make, SHORT, children, scenario, spawn};
use super::{Act, Device, End, How, Push, Queue, Scenario, Step, To};

pub(super) const LIBRARY: &[(&str, Make)] = &[
    ("two-producers-one-queue", two_producers_one_queue),
    ("turns-that-end-early", turns_that_end_early),
    ("bounded-queue", bounded_queue),
    ("pipeline", pipeline),
    ("queue-against-stop", queue_against_stop),
    ("queue-closed", queue_closed),
    ("consumer-panics", consumer_panics),
    ("budget-line", budget_line),
    ("budget-given-up", budget_given_up),
    ("budget-resized", budget_resized),
    ("budget-closed", budget_closed),
    ("acquire-then-against-shutdown", acquire_then_against_shutdown),
    ("cancel-with-waiters", cancel_with_waiters),
    ("making-panics", making_panics),
    ("holders-panic", holders_panic),
    ("lost-holder", lost_holder),
    ("one-slot-two-jobs", one_slot_two_jobs),
    ("two-devices", two_devices),
    ("lanes-against-stop", lanes_against_stop),
    ("gate", gate),
    ("gates-of-one-signal", gates_of_one_signal),
    ("gates-of-two-signals", gates_of_two_signals),
    ("gates-left-early", gates_left_early),
];

fn queue(program: usize, batch: usize) -> Queue {
    Queue { program, capacity: None, batch, takes: None }
}

fn push(queue: usize, count: usize) -> Act {
    Act::Push { to: To::Queue(queue), count, push: Push::Wait }
}

fn submit(device: usize, count: usize) -> Act {
    Act::Push { to: To::Lane(device), count, push: Push::Wait }
}

fn task_pushes(to: To, push: Push) -> Step {
    Step::Push { to, push }
}

fn acquire(budget: usize, count: u64) -> Act {
    Act::Acquire { budget, count, timeout_ns: None }
}

fn acquire_then(budget: usize, count: u64, program: usize) -> Act {
    Act::AcquireThen { budget, count, program, panics: false }
}

fn publish(queue: usize, count: usize) -> Act {
    Act::Publish { queue, count }
}

const fn consume(batch: usize) -> Act {
    Act::Consume { batch, drops_guard: false }
}

const OPEN: Act = Act::Open { gate: 0 };
const WAIT: Act = Act::Block { gate: 0 };
const NAP: Act = Act::Sleep { ns: 500 };

/// Two producers, and one consumer at a time.
fn two_producers_one_queue() -> Scenario {
    let actors = vec![vec![push(0, 1)], vec![push(0, 2)]];
    let plain = scenario("two-producers-one-queue", 2, vec![vec![]], actors);
    Scenario { queues: vec![queue(0, 2)], ..plain }
}

/// A consumer that takes one item of its batch and leaves the others.
fn turns_that_end_early() -> Scenario {
    let actors = vec![vec![push(0, 3)], vec![push(0, 2)]];
    let plain = scenario("turns-that-end-early", 2, vec![vec![SHORT]], actors);
    Scenario { queues: vec![Queue { takes: Some(1), ..queue(0, 4) }], ..plain }
}

/// A queue with room for one item: some producers wait, some give up, and tasks leave the item to
/// the thread that makes room.
fn bounded_queue() -> Scenario {
    let to = To::Queue(0);
    let programs = vec![
        vec![
            task_pushes(to, Push::Try),
            task_pushes(to, Push::Then(2)),
            task_pushes(to, Push::Wait),
            task_pushes(to, Push::Then(2)),
        ],
        vec![SHORT],
        vec![],
    ];
    let actors = vec![
        vec![spawn(0), push(0, 2)],
        vec![push(0, 2), Act::Push { to, count: 1, push: Push::Then(2) }],
    ];
    let plain = scenario("bounded-queue", 2, programs, actors);
    Scenario { queues: vec![Queue { capacity: Some(1), ..queue(1, 1) }], ..plain }
}

/// The items of one queue become tasks that push into the next one.
fn pipeline() -> Scenario {
    let programs = vec![
        vec![children(1, 1, How::Local), SHORT],
        vec![task_pushes(To::Queue(1), Push::Try)],
        vec![children(3, 1, How::Global)],
        vec![],
    ];
    let actors = vec![vec![push(0, 2)], vec![push(0, 1), spawn(1)]];
    let plain = scenario("pipeline", 2, programs, actors);
    Scenario { queues: vec![queue(0, 1), queue(2, 64)], ..plain }
}

/// The pool is stopped while items are in a queue and producers wait for room.
fn queue_against_stop() -> Scenario {
    let to = To::Queue(0);
    let programs = vec![
        vec![task_pushes(to, Push::Then(2)), SHORT, task_pushes(to, Push::Then(2))],
        vec![SHORT],
        vec![],
    ];
    let actors = vec![
        vec![spawn(0), push(0, 2)],
        vec![push(0, 1), Act::Push { to, count: 1, push: Push::Then(2) }, Act::Shutdown],
        vec![Act::Cancel, push(0, 1)],
    ];
    let plain = scenario("queue-against-stop", 2, programs, actors);
    Scenario { queues: vec![Queue { capacity: Some(2), ..queue(1, 2) }], ..plain }
}

/// Queues are closed while producers push: one queue is drained, the other drops its items.
fn queue_closed() -> Scenario {
    let programs = vec![
        vec![task_pushes(To::Queue(0), Push::Then(2)), task_pushes(To::Queue(1), Push::Try)],
        vec![SHORT],
        vec![],
    ];
    let actors = vec![
        vec![push(0, 2), spawn(0), push(1, 2)],
        vec![push(1, 2), Act::CloseQueue { queue: 0, drops: false }, push(0, 1)],
        vec![Act::CloseQueue { queue: 1, drops: true }, push(0, 2)],
    ];
    let plain = scenario("queue-closed", 2, programs, actors);
    let bounded = Queue { capacity: Some(1), ..queue(1, 2) };
    Scenario { queues: vec![bounded, queue(1, 1)], ..plain }
}

/// Consumers panic, and the other items of the queue must not be stranded.
fn consumer_panics() -> Scenario {
    let actors = vec![vec![push(0, 2)], vec![push(0, 2)]];
    let mut plain = scenario("consumer-panics", 2, vec![vec![SHORT, Step::Panic]], actors);
    plain.pool.isolate_panics = true;
    Scenario { queues: vec![Queue { capacity: Some(3), ..queue(0, 3) }], ..plain }
}

/// Large and small requests of all kinds, granted first come, first served.
fn budget_line() -> Scenario {
    let programs = vec![
        vec![
            Step::AcquireThen { budget: 0, count: 1, program: 1 },
            Step::AcquireThen { budget: 0, count: 2, program: 1 },
            Step::TryAcquire { budget: 0, count: 1 },
            SHORT,
        ],
        vec![SHORT],
    ];
    let actors = vec![
        vec![acquire(0, 1), acquire_then(0, 2, 1), Act::Release, spawn(0)],
        vec![Act::TryAcquire { budget: 0, count: 1 }, Act::Release, acquire(0, 2), Act::Release],
        vec![Act::Await { budget: 0, count: 1, patience_ns: None }, acquire_then(0, 2, 1)],
    ];
    Scenario { budgets: vec![2], ..scenario("budget-line", 2, programs, actors) }
}

/// Requests at the front of the line are given up, and those behind must not wait forever.
fn budget_given_up() -> Scenario {
    let actors = vec![
        vec![acquire(0, 1), OPEN, NAP, Act::Release],
        vec![WAIT, Act::Acquire { budget: 0, count: 2, timeout_ns: Some(200) }, Act::Release],
        vec![WAIT, Act::Await { budget: 0, count: 2, patience_ns: Some(200) }],
        vec![WAIT, acquire_then(0, 1, 0), acquire(0, 1), Act::Release],
    ];
    Scenario { budgets: vec![2], ..scenario("budget-given-up", 1, vec![vec![]], actors) }
}

/// A budget grows and shrinks while it is in use.
fn budget_resized() -> Scenario {
    let actors = vec![
        vec![acquire_then(0, 1, 0), acquire_then(0, 2, 0), Act::Resize { budget: 0, total: 1 }],
        vec![acquire(0, 2), Act::Resize { budget: 0, total: 2 }, Act::Release],
        vec![acquire_then(0, 1, 0), acquire(0, 1), Act::Release],
    ];
    Scenario { budgets: vec![3], ..scenario("budget-resized", 2, vec![vec![SHORT]], actors) }
}

/// A budget is closed, and all waiting requests are refused.
fn budget_closed() -> Scenario {
    let actors = vec![
        vec![acquire(0, 1), acquire_then(0, 1, 0), Act::CloseBudget { budget: 0 }],
        vec![acquire(0, 1)],
        vec![Act::Await { budget: 0, count: 1, patience_ns: None }, acquire_then(0, 1, 0)],
    ];
    Scenario { budgets: vec![1], ..scenario("budget-closed", 1, vec![vec![]], actors) }
}

/// Requests for a permit that never comes are dropped when the pool is stopped.
fn acquire_then_against_shutdown() -> Scenario {
    // The permit is held until the pool has ended.
    let owner = vec![acquire(0, 1), OPEN, acquire_then(0, 1, 0)];
    let other = vec![WAIT, Act::Shutdown];
    let plain = scenario("acquire-then-against-shutdown", 1, vec![vec![]], vec![owner, other]);
    Scenario { budgets: vec![1], ..plain }
}

/// The pool is cancelled when everything that is left waits for a permit and no worker checks for
/// the cancellation.
fn cancel_with_waiters() -> Scenario {
    let programs = vec![vec![Step::AcquireThen { budget: 0, count: 1, program: 1 }], vec![]];
    let owner = vec![acquire(0, 1), OPEN, spawn(0), acquire_then(0, 1, 1)];
    let other = vec![WAIT, NAP, Act::Cancel];
    let plain = scenario("cancel-with-waiters", 2, programs, vec![owner, other]);
    Scenario { budgets: vec![1], ..plain }
}

/// The last task of the pool ends because its creation panics, on a thread that is not a worker.
fn making_panics() -> Scenario {
    let panics = Act::AcquireThen { budget: 0, count: 1, program: 0, panics: true };
    let owner = vec![WAIT, panics];
    let holder = vec![acquire(0, 1), OPEN, NAP, Act::Release];
    let mut plain = scenario("making-panics", 1, vec![vec![]], vec![owner, holder]);
    plain.pool.isolate_panics = true;
    Scenario { budgets: vec![1], ..plain }
}

/// Tasks panic while they hold permits.
fn holders_panic() -> Scenario {
    let programs = vec![vec![SHORT, Step::Panic], vec![Step::TryAcquire { budget: 0, count: 1 }]];
    let actors = vec![
        vec![acquire_then(0, 1, 0), spawn(1), submit(0, 2)],
        vec![acquire_then(0, 1, 0), acquire(0, 1), Act::Release],
    ];
    let mut plain = scenario("holders-panic", 2, programs, actors);
    plain.pool.isolate_panics = true;
    Scenario { budgets: vec![1], devices: vec![Device { program: 0, slots: 1 }], ..plain }
}

/// The holder of a permit vanishes, and the pool is dropped with the requests that wait for it.
fn lost_holder() -> Scenario {
    let actors = vec![
        vec![acquire_then(0, 1, 0), acquire_then(0, 2, 0)],
        vec![acquire(0, 1), acquire_then(0, 2, 0), Act::Vanish],
    ];
    let plain = scenario("lost-holder", 2, vec![vec![SHORT]], actors);
    Scenario { budgets: vec![2], end: End::Drop, ..plain }
}

/// A lane with one device slot: one job at a time, and waiting jobs do not hold a worker.
fn one_slot_two_jobs() -> Scenario {
    let actors = vec![vec![submit(0, 1)], vec![submit(0, 1)]];
    let plain = scenario("one-slot-two-jobs", 2, vec![vec![SHORT]], actors);
    Scenario { devices: vec![Device { program: 0, slots: 1 }], ..plain }
}

/// Two devices, with jobs from everywhere, while their numbers of slots change.
fn two_devices() -> Scenario {
    let programs = vec![
        vec![task_pushes(To::Lane(0), Push::Try), task_pushes(To::Lane(1), Push::Then(2))],
        vec![children(2, 1, How::Local), SHORT],
        vec![],
    ];
    let actors = vec![
        vec![spawn(0), submit(0, 2)],
        vec![submit(1, 2), Act::SetSlots { device: 0, slots: 2 }, submit(0, 1)],
        vec![
            Act::AcquireSlot { device: 1 },
            Act::SetSlots { device: 1, slots: 1 },
            Act::Release,
            Act::CloseLanes { drops: false },
        ],
    ];
    let plain = scenario("two-devices", 2, programs, actors);
    let devices = vec![Device { program: 1, slots: 1 }, Device { program: 1, slots: 2 }];
    Scenario { devices, lane_capacity: Some(2), ..plain }
}

/// The pool is stopped while jobs wait for a device slot that never comes.
fn lanes_against_stop() -> Scenario {
    let programs = vec![vec![task_pushes(To::Lane(0), Push::Then(1)), SHORT], vec![], vec![SHORT]];
    let owner = vec![Act::AcquireSlot { device: 0 }, submit(0, 1), spawn(0)];
    let other = vec![submit(0, 2), Act::CloseLanes { drops: true }, submit(0, 1)];
    let plain = scenario("lanes-against-stop", 2, programs, vec![owner, other]);
    let devices = vec![Device { program: 2, slots: 1 }];
    Scenario { devices, end: End::ShutdownAndJoin, ..plain }
}

/// Builds a scenario of threads and signal gates only. The pool has nothing to do.
fn gates(name: &str, signals: Vec<usize>, mut actors: Vec<Vec<Act>>) -> Scenario {
    actors.insert(0, vec![]);
    Scenario { signals, ..scenario(name, 1, vec![], actors) }
}

/// Two producers and two consumers at one signal gate.
fn gate() -> Scenario {
    let producers = [vec![publish(0, 2)], vec![publish(0, 1)]];
    gates("gate", vec![0], [producers, [vec![consume(8)], vec![consume(8)]]].concat())
}

/// Queues that share a signal: a consumer that takes one bit must leave the others.
fn gates_of_one_signal() -> Scenario {
    let actors = vec![
        vec![publish(0, 1), publish(1, 1)],
        vec![publish(1, 1), publish(0, 1)],
        vec![consume(1)],
        vec![consume(8)],
    ];
    gates("gates-of-one-signal", vec![3, 40], actors)
}

/// Queues of two signals.
fn gates_of_two_signals() -> Scenario {
    let actors = vec![
        vec![publish(0, 2), publish(1, 1)],
        vec![publish(1, 1)],
        vec![consume(1)],
        vec![consume(2)],
    ];
    gates("gates-of-two-signals", vec![0, 64], actors)
}

/// Consumers that drop their guards while items are left.
fn gates_left_early() -> Scenario {
    let consumer = vec![Act::Consume { batch: 1, drops_guard: true }];
    let actors = vec![vec![publish(0, 3)], consumer.clone(), consumer];
    gates("gates-left-early", vec![7], actors)
}
