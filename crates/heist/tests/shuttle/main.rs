//! Whole executors under shuttle: real `Executor`s and `run`s, with more workers, producers and
//! tasks than loom can handle, under two random schedulers with fixed seeds. Every scenario ends,
//! or shuttle reports a deadlock.
//!
//! Shuttle is sequentially consistent, so it cannot find missing fences and missing Releases (the
//! tests `is_blind_to_*` show that); loom does. Its timed waits never time out; the behaviour tests
//! cover those.
#![cfg(heist_shuttle)]

mod support;

use heist::__internal::sync::plant::{self, Plant};
use heist::__internal::sync::thread;
use heist::{
    CancelToken, Executor, ExecutorConfig, ExecutorHandle, OnPanic, SpawnErrorKind, WorkerCtx,
};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;
use support::{DEADLOCK, LIVELOCK, Rendezvous, Tally, check, config, must_fail};

/// The fate of a scenario's tasks.
#[derive(Clone, Default)]
struct Tallies {
    made: Tally,
    dropped: Tally,
    refused: Tally,
    run: Tally,
}

/// A tree of tasks, spawned in every possible way. Each task counts the drop of its value.
struct Task {
    levels: usize,
    panics: bool,
    tallies: Tallies,
}

impl Task {
    fn new(levels: usize, panics: bool, tallies: &Tallies) -> Self {
        tallies.made.add();
        Self { levels, panics, tallies: tallies.clone() }
    }

    fn child(&self) -> Self {
        Self::new(self.levels - 1, self.panics, &self.tallies)
    }

    fn run(self, ctx: &mut WorkerCtx<'_, Self, usize>) {
        self.tallies.run.add();
        *ctx.scratch += 1;
        match self.levels {
            0 if self.panics => resume_unwind(Box::new("as planned")),
            0 => {}
            1 => {
                ctx.spawn_global(self.child());
                ctx.spawn_yielded(self.child());
            }
            2 => ctx.spawn_local_batch([self.child(), self.child()]),
            _ => {
                ctx.spawn_local(self.child());
                ctx.spawn_local(self.child());
            }
        }
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.tallies.dropped.add();
    }
}

fn start(config: ExecutorConfig) -> Executor<Task> {
    Executor::new(config, |_worker| 0, Task::run).unwrap()
}

/// A thread that spawns `count` trees, one by one.
fn produce(
    handle: ExecutorHandle<Task>,
    tallies: &Tallies,
    count: usize,
    (levels, panics): (usize, bool),
) -> thread::JoinHandle<()> {
    let tallies = tallies.clone();
    let body = move || {
        for _ in 0..count {
            if handle.spawn(Task::new(levels, panics, &tallies)).is_err() {
                tallies.refused.add();
            }
        }
    };
    thread::Builder::new().spawn(body).unwrap()
}

/// Checks the counts at the end. Returns how many tasks were run.
fn check_end(handle: &ExecutorHandle<Task>, tallies: &Tallies) -> usize {
    let metrics = handle.metrics();
    let (made, refused, run) = (tallies.made.get(), tallies.refused.get(), tallies.run.get());
    assert_eq!(tallies.dropped.get(), made, "each value ends once");
    assert_eq!(metrics.tasks_run(), run as u64, "{metrics}");
    assert_eq!(metrics.tasks_ended(), (made - refused) as u64, "{metrics}");
    assert_eq!(metrics.injector_depth, 0, "{metrics}");
    run
}

const ALL: &str = "every tree that was accepted is run";

/// Three workers, two producers, four trees. The pool is joined while they produce, or after.
fn trees_from_two_producers(workers: usize, levels: usize, join_early: bool) {
    let tallies = Tallies::default();
    let executor = start(config(workers));
    let handle = executor.handle();
    let mut producers: Vec<_> =
        (0..2).map(|_| produce(handle.clone(), &tallies, 2, (levels, false))).collect();
    if !join_early {
        producers.drain(..).for_each(|producer| producer.join().unwrap());
    }
    let metrics = executor.join();
    let run_by_join = metrics.tasks_run();
    producers.drain(..).for_each(|producer| producer.join().unwrap());
    let run = check_end(&handle, &tallies);
    assert_eq!(run_by_join, run as u64, "nothing runs after join");
    let per_tree = (1 << (levels + 1)) - 1;
    assert_eq!(run, (4 - tallies.refused.get()) * per_tree, "{ALL}");
    assert!(join_early || tallies.refused.get() == 0);
}

#[test]
fn trees_from_two_producers_are_run() {
    check(3_000, || trees_from_two_producers(3, 3, false));
}

#[test]
fn trees_from_two_producers_against_a_join() {
    check(3_000, || trees_from_two_producers(3, 2, true));
}

/// One task for each worker, from two producers and the owner.
fn outside_tasks_meet() {
    let meeting = Rendezvous::new(3);
    let runner = move |(), _: &mut WorkerCtx<'_, (), ()>| meeting.meet();
    let executor = Executor::new(config(3), |_worker| (), runner).unwrap();
    let producers: Vec<_> = (0..2)
        .map(|_| {
            let handle = executor.handle();
            thread::Builder::new().spawn(move || handle.spawn(()).unwrap()).unwrap()
        })
        .collect();
    executor.spawn(()).unwrap();
    producers.into_iter().for_each(|producer| producer.join().unwrap());
    executor.join();
}

#[test]
fn three_pushes_against_three_parking_workers() {
    check(6_000, outside_tasks_meet);
}

/// A task's children, spawned by `spawn`, meet it and each other.
fn children_meet(spawn: fn(&mut WorkerCtx<'_, bool, ()>)) {
    let meeting = Rendezvous::new(3);
    let runner = move |is_root, ctx: &mut WorkerCtx<'_, bool, ()>| {
        if is_root {
            spawn(ctx);
        }
        meeting.meet();
    };
    let executor = Executor::new(config(3), |_worker| (), runner).unwrap();
    executor.spawn(true).unwrap();
    executor.join();
}

fn spawn_two_locally(ctx: &mut WorkerCtx<'_, bool, ()>) {
    ctx.spawn_local(false);
    ctx.spawn_local(false);
}

#[test]
fn local_children_find_workers() {
    check(6_000, || children_meet(spawn_two_locally));
}

#[test]
fn a_batch_of_children_finds_workers() {
    check(6_000, || children_meet(|ctx| ctx.spawn_local_batch([false, false])));
}

#[test]
fn global_and_yielded_children_find_workers() {
    check(6_000, || {
        children_meet(|ctx| {
            ctx.spawn_global(false);
            ctx.spawn_yielded(false);
        });
    });
}

/// One batch from outside, which one worker moves into its own queue.
fn a_batch_meets() {
    let meeting = Rendezvous::new(3);
    let runner = move |(), _: &mut WorkerCtx<'_, (), ()>| meeting.meet();
    let executor = Executor::new(config(3), |_worker| (), runner).unwrap();
    executor.spawn_batch(vec![(), (), ()]).unwrap();
    executor.join();
}

#[test]
fn a_moved_batch_finds_workers() {
    check(6_000, a_batch_meets);
}

/// Trees whose leaves panic, against two producers and, perhaps, a join.
fn panics_while_producing(on_panic: OnPanic, joined: bool) {
    let tallies = Tallies::default();
    let executor = start(config(3).on_panic(on_panic));
    let handle = executor.handle();
    let producers: Vec<_> =
        (0..2).map(|_| produce(handle.clone(), &tallies, 2, (1, true))).collect();
    if !joined {
        // A producer that spawns until it is refused: the panic must close the intake by itself.
        while handle.is_accepting() {
            shuttle::thread::yield_now();
        }
    }
    producers.into_iter().for_each(|producer| producer.join().unwrap());
    let ended = catch_unwind(AssertUnwindSafe(|| executor.join()));
    let run = check_end(&handle, &tallies);
    let panics = handle.metrics().panics;
    match on_panic {
        OnPanic::StopPool => {
            assert!(ended.is_err(), "join rethrows");
            let last = Task::new(0, false, &tallies);
            assert_eq!(handle.spawn(last).unwrap_err().kind(), SpawnErrorKind::Panicked);
        }
        _ => {
            assert!(ended.is_ok());
            assert_eq!((run, panics), (4 * 3, 4 * 2));
        }
    }
}

#[test]
fn a_panic_against_producers() {
    check(3_000, || panics_while_producing(OnPanic::StopPool, true));
}

#[test]
fn a_panic_against_producers_and_no_join() {
    check(3_000, || panics_while_producing(OnPanic::StopPool, false));
}

#[test]
fn isolated_panics_against_producers() {
    check(3_000, || panics_while_producing(OnPanic::Isolate, true));
}

#[derive(Clone, Copy)]
enum Stop {
    ShutDown,
    Cancel,
    Drop,
}

fn stop_while_producing(stop: Stop) {
    let tallies = Tallies::default();
    let cancel = CancelToken::new();
    let executor = start(config(3).cancel(cancel.clone()));
    let handle = executor.handle();
    let producers: Vec<_> =
        (0..2).map(|_| produce(handle.clone(), &tallies, 2, (2, false))).collect();
    match stop {
        Stop::ShutDown => executor.shutdown(),
        Stop::Cancel => cancel.cancel(),
        Stop::Drop => {}
    }
    drop(executor);
    producers.into_iter().for_each(|producer| producer.join().unwrap());
    check_end(&handle, &tallies);
}

#[test]
fn a_shutdown_against_producers() {
    check(3_000, || stop_while_producing(Stop::ShutDown));
}

#[test]
fn a_cancellation_against_producers() {
    check(3_000, || stop_while_producing(Stop::Cancel));
}

#[test]
fn a_drop_against_producers() {
    check(3_000, || stop_while_producing(Stop::Drop));
}

/// The last task of a pool ends it, from one of its own workers.
#[test]
fn a_pool_is_shut_down_by_a_task() {
    check(3_000, || {
        let runner = |levels, ctx: &mut WorkerCtx<'_, usize, ()>| match levels {
            0 => ctx.handle().shutdown(),
            _ => ctx.spawn_local_batch([levels - 1; 2]),
        };
        let executor = Executor::new(config(3), |_worker| (), runner).unwrap();
        let handle = executor.handle();
        executor.spawn(2).unwrap();
        executor.join();
        assert_eq!(
            handle.metrics().tasks_ended(),
            handle.metrics().tasks_run() + handle.metrics().tasks_dropped
        );
        assert!(!handle.is_accepting());
    });
}

const EARLY: &str = "a worker left before every task had ended";

/// Many, so that there are many moments between a push and its count.
const CHILDREN: usize = 6;

/// A worker's scratch. It is dropped when the worker leaves, which must not happen before every
/// task has ended.
struct Leaving {
    ended: Tally,
    early: Tally,
}

impl Drop for Leaving {
    fn drop(&mut self) {
        if self.ended.get() < 1 + CHILDREN {
            self.early.add();
        }
    }
}

/// Parked workers, one task and its children, and a join that checks for the end while they run.
fn a_join_finds_no_early_end() {
    let (ended, early) = (Tally::default(), Tally::default());
    let scratch_init = {
        let (ended, early) = (ended.clone(), early.clone());
        move |_worker| Leaving { ended: ended.clone(), early: early.clone() }
    };
    let runner = |is_root, ctx: &mut WorkerCtx<'_, bool, Leaving>| {
        if is_root {
            (0..CHILDREN).for_each(|_| ctx.spawn_local(false));
        }
        // So that the schedule can interrupt a task.
        shuttle::thread::sleep(Duration::ZERO);
        ctx.scratch.ended.add();
    };
    let executor = Executor::new(config(2), scratch_init, runner).unwrap();
    while executor.metrics().parks < 2 {
        shuttle::thread::yield_now();
    }
    // On a new thread, which has a fresh priority: this one lost its own by waiting.
    let closer = thread::Builder::new().spawn(move || {
        executor.spawn(true).unwrap();
        executor.join();
    });
    closer.unwrap().join().unwrap();
    assert_eq!(early.get(), 0, "{EARLY}");
    assert_eq!(ended.get(), 1 + CHILDREN);
}

#[test]
fn no_worker_leaves_before_the_end() {
    check(20_000, a_join_finds_no_early_end);
}

/// A run over borrowed data: the sums in all workers' scratch values add up.
fn run_adds_up() {
    let values: Vec<usize> = (1..=4).collect();
    let output = heist::run(
        config(3),
        &values[..2],
        |_worker| 0,
        |value, ctx| {
            *ctx.scratch += value;
            if *value <= 2 {
                ctx.spawn_local(&values[value + 1]);
            }
        },
    );
    let output = output.unwrap();
    assert_eq!(output.scratch.len(), 3);
    assert_eq!(output.scratch.iter().sum::<usize>(), 10);
    assert_eq!(output.metrics.tasks_run(), 4);
}

#[test]
fn a_run_over_borrowed_data_adds_up() {
    check(3_000, run_adds_up);
}

#[test]
fn bites_no_look_after_the_bit_is_set() {
    must_fail(Plant::NoLookAfterBit, 1_000, DEADLOCK, outside_tasks_meet);
}

#[test]
fn bites_no_wake_by_the_last_searcher() {
    must_fail(Plant::LastSearcherSilent, 1_000, DEADLOCK, outside_tasks_meet);
}

#[test]
fn bites_a_batch_moved_without_the_push_rule() {
    must_fail(Plant::MoveWithoutNotify, 1_000, DEADLOCK, a_batch_meets);
}

#[test]
fn bites_sums_reversed() {
    must_fail(Plant::SumsReversed, 20_000, EARLY, a_join_finds_no_early_end);
}

#[test]
fn bites_produced_after_the_push() {
    must_fail(Plant::ProducedAfterPush, 200_000, EARLY, a_join_finds_no_early_end);
}

#[test]
fn bites_a_closer_that_does_not_check() {
    must_fail(Plant::CloserDoesNotCheck, 1_000, DEADLOCK, || {
        trees_from_two_producers(3, 1, false);
    });
}

#[test]
fn bites_accepting_in_two_steps() {
    must_fail(Plant::AcceptInTwoSteps, 5_000, ALL, || trees_from_two_producers(3, 1, true));
}

#[test]
fn bites_an_intake_left_open_on_panic() {
    must_fail(Plant::IntakeOpenOnPanic, 1_000, LIVELOCK, || {
        panics_while_producing(OnPanic::StopPool, false);
    });
}

/// Requires that the scenario passes with a planted bug that only a weaker memory model shows.
fn is_blind_to(plant: Plant, scenario: fn()) {
    plant::set(Some(plant));
    check(1_000, scenario);
    plant::set(None);
}

#[test]
fn is_blind_to_missing_fences() {
    is_blind_to(Plant::NoLightFence, outside_tasks_meet);
    is_blind_to(Plant::NoHeavyFence, outside_tasks_meet);
}

#[test]
fn is_blind_to_a_missing_release() {
    is_blind_to(Plant::ConsumedRelaxed, || trees_from_two_producers(3, 2, true));
}

#[test]
fn is_blind_to_a_closer_that_only_loads() {
    is_blind_to(Plant::CloserOnlyLoads, || trees_from_two_producers(3, 1, false));
}
