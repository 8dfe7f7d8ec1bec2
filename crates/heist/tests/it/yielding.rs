//! Proves that when a task yields, the work that is already queued runs first, and that a task cut
//! into slices by any policy computes the same result as one pass. (`fairness.rs` proves that
//! yielded tasks do not starve.)

use crate::support::sync::Mutex;
use crate::support::{check_all_run, watched, workers};
use heist::WorkerCtx;
use heist::yielding::{Adaptive, Always, EveryN, Git, GitPhase, Never, YieldPolicy};
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

/// The tasks of the ordering tests.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Task {
    /// Queues `local` tasks on its worker and `injected` ones in the injector, and then yields.
    Start {
        local: u32,
        injected: u32,
    },
    Local(u32),
    Injected(u32),
    /// Runs after a yield, and yields again until nothing is left.
    Yielded {
        name: char,
        left: u32,
    },
}

type Ctx<'w> = WorkerCtx<'w, Task, Vec<Task>>;

fn run_task(task: Task, ctx: &mut Ctx<'_>) {
    ctx.scratch.push(task);
    match task {
        Task::Start { local, injected } => {
            ctx.spawn_local_batch((0..local).map(Task::Local));
            for number in 0..injected {
                ctx.spawn_global(Task::Injected(number));
            }
            ctx.spawn_yielded(Task::Yielded { name: 'a', left: 0 });
        }
        Task::Yielded { name, left } if left > 0 => {
            ctx.spawn_yielded(Task::Yielded { name, left: left - 1 });
        }
        Task::Local(_) | Task::Injected(_) | Task::Yielded { .. } => {}
    }
}

/// Returns the order in which one worker runs `roots` and everything that they spawn.
fn order(roots: impl IntoIterator<Item = Task>) -> Vec<Task> {
    let mut output = heist::run(workers(1), roots, |_| Vec::new(), run_task).unwrap();
    let order = output.scratch.remove(0);
    check_all_run(&output.metrics, order.len() as u64);
    order
}

/// Returns the number of tasks that ran before the first slice after a yield.
fn run_before_yielded(order: &[Task]) -> usize {
    order.iter().position(|task| matches!(task, Task::Yielded { .. })).expect("it ran")
}

#[test]
fn everything_queued_runs_before_a_yielded_task() {
    watched(|| {
        // The larger numbers exceed any injector interval, so the worker checks the injector in
        // between.
        for (local, injected) in
            [(0, 0), (10, 0), (0, 10), (10, 10), (700, 0), (0, 700), (700, 700)]
        {
            let order = order([Task::Start { local, injected }]);
            assert_eq!(run_before_yielded(&order), (1 + local + injected) as usize);
            assert_eq!(order.len(), (2 + local + injected) as usize);
        }
    });
}

#[test]
fn tasks_from_outside_that_came_before_the_yield_run_first() {
    watched(|| {
        let roots = std::iter::once(Task::Start { local: 400, injected: 400 });
        let order = order(roots.chain((0..400).map(Task::Injected)));
        assert_eq!(run_before_yielded(&order), 1 + 400 + 400 + 400);
    });
}

#[test]
fn yielding_tasks_alternate() {
    watched(|| {
        let roots = ['a', 'b', 'c'].map(|name| Task::Yielded { name, left: 300 });
        let order = order(roots);
        let names: String = order
            .iter()
            .map(|task| match task {
                Task::Yielded { name, .. } => *name,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(names, "abc".repeat(301));
    });
}

/// A pass over `units` that is cut into slices: what is left of it, and its result so far.
struct Pass<'u> {
    units: &'u [u64],
    digest: u64,
    slices: u32,
    policy: Box<dyn YieldPolicy + Send>,
}

fn mix(digest: u64, unit: u64) -> u64 {
    digest.rotate_left(7) ^ unit.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// Works until the policy says to yield, and then continues as a new task. Reports the result at
/// the end.
fn one_slice<'u>(
    mut pass: Pass<'u>,
    ctx: &mut WorkerCtx<'_, Pass<'u>, ()>,
    done: &Mutex<Vec<(u64, u32)>>,
) {
    pass.slices += 1;
    while let [unit, rest @ ..] = pass.units {
        let began = Instant::now();
        pass.digest = mix(pass.digest, *unit);
        pass.units = rest;
        if pass.policy.should_yield(began.elapsed()) && !rest.is_empty() {
            ctx.spawn_yielded(pass);
            return;
        }
    }
    done.lock().unwrap().push((pass.digest, pass.slices));
}

#[test]
fn a_pass_cut_into_slices_by_any_policy_equals_one_pass() {
    fn policies() -> Vec<(Box<dyn YieldPolicy + Send>, Option<u32>)> {
        let nonzero = |n| NonZeroU32::new(n).unwrap();
        let mut git = Git::new().with_interval(GitPhase::BlobScan, nonzero(100));
        git.enter(GitPhase::BlobScan);
        vec![
            (Box::new(Never), Some(1)),
            (Box::new(Always), Some(1_000)),
            (Box::new(EveryN::default()), Some(1_000_u32.div_ceil(64))),
            (Box::new(EveryN::new(nonzero(7))), Some(1_000_u32.div_ceil(7))),
            (Box::new(git), Some(10)),
            (Box::new(Adaptive::new(Duration::from_micros(20))), None),
        ]
    }
    watched(|| {
        let units: Vec<u64> = (0..1_000).map(|n| n * n).collect();
        let one_pass = units.iter().fold(0, |digest, unit| mix(digest, *unit));
        for workers_wanted in [1, 3] {
            for (which, (_, slices)) in policies().iter().enumerate() {
                // Several passes at once, so that their slices alternate.
                let passes = (0..5).map(|_| {
                    let policy = policies().swap_remove(which).0;
                    Pass { units: &units, digest: 0, slices: 0, policy }
                });
                let done = Mutex::new(Vec::new());
                let output = heist::run(
                    workers(workers_wanted),
                    passes,
                    |_| (),
                    |pass, ctx| {
                        one_slice(pass, ctx, &done);
                    },
                );
                let done = done.into_inner().unwrap();
                assert_eq!(done.len(), 5);
                for (digest, slices_taken) in &done {
                    assert_eq!(*digest, one_pass);
                    assert!(slices.is_none_or(|slices| slices == *slices_taken), "policy {which}");
                }
                let tasks: u32 = done.iter().map(|(_, slices)| slices).sum();
                check_all_run(&output.unwrap().metrics, u64::from(tasks));
            }
        }
    });
}
