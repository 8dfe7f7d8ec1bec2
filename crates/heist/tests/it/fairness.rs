//! Proves that no task waits forever while a worker runs later ones: a task from outside while the
//! worker has endless work of its own, a task from outside under a flood of later ones, and a
//! yielded task in both cases.
//!
//! All tests use one worker. With several, an idle one would help and hide the problem.

use crate::support::{check_all_run, watched, workers};
use heist::WorkerCtx;
use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Task {
    /// A link of a chain: it spawns its successor until none is left.
    Chain {
        left: u32,
    },
    /// A link of the chain in the middle of which `Waiting` is spawned.
    LeadingChain {
        left: u32,
        waits_by: WaitsBy,
    },
    Waiting,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum WaitsBy {
    SpawnGlobal,
    SpawnYielded,
}

#[derive(Clone, Copy)]
enum ChainedBy {
    SpawnLocal,
    SpawnGlobal,
}

struct Load {
    chains: usize,
    tasks_per_chain: u32,
    chained_by: ChainedBy,
    task_time: Duration,
}

impl Load {
    /// Runs a task of `Chain` or `LeadingChain`. `next` is its successor.
    fn run_link(&self, left: u32, next: Task, ctx: &mut WorkerCtx<'_, Task, Vec<Task>>) {
        let began = Instant::now();
        while began.elapsed() < self.task_time {
            std::hint::spin_loop();
        }
        match self.chained_by {
            _ if left == 1 => {}
            ChainedBy::SpawnLocal => ctx.spawn_local(next),
            ChainedBy::SpawnGlobal => ctx.spawn_global(next),
        }
    }

    fn run_task(&self, task: Task, ctx: &mut WorkerCtx<'_, Task, Vec<Task>>) {
        ctx.scratch.push(task);
        match task {
            Task::Chain { left } => self.run_link(left, Task::Chain { left: left - 1 }, ctx),
            Task::LeadingChain { left, waits_by } => {
                match waits_by {
                    _ if left != self.tasks_per_chain / 2 => {}
                    WaitsBy::SpawnGlobal => ctx.spawn_global(Task::Waiting),
                    WaitsBy::SpawnYielded => ctx.spawn_yielded(Task::Waiting),
                }
                self.run_link(left, Task::LeadingChain { left: left - 1, waits_by }, ctx);
            }
            Task::Waiting => {}
        }
    }

    /// Returns the order in which one worker runs all chains, one of them leading.
    fn order(&self, waits_by: WaitsBy) -> Vec<Task> {
        let left = self.tasks_per_chain;
        let mut roots = vec![Task::Chain { left }; self.chains];
        roots[0] = Task::LeadingChain { left, waits_by };
        let runner = |task, ctx: &mut WorkerCtx<'_, _, _>| self.run_task(task, ctx);
        let mut output = heist::run(workers(1), roots, |_| Vec::new(), runner).unwrap();
        check_all_run(&output.metrics, self.chains as u64 * u64::from(left) + 1);
        output.scratch.remove(0)
    }

    /// Returns how many tasks may run before the waiting one: those queued before it, and some
    /// more, because an interval that adapts to the task time needs time to do so. A starved task
    /// waits for all tasks.
    fn fair_share(&self) -> usize {
        self.chains + 2_000
    }
}

#[track_caller]
fn check_waiting_task_runs(waits_by: WaitsBy, load: &Load) {
    let order = load.order(waits_by);
    let half = load.tasks_per_chain / 2;
    let is_spawner = |task: &Task| *task == Task::LeadingChain { left: half, waits_by };
    let spawned = order.iter().position(is_spawner).expect("it ran");
    let ran = order.iter().position(|task| *task == Task::Waiting).expect("it ran");
    let (waited, fair, left) = (ran - spawned, load.fair_share(), order.len() - spawned);
    assert!(
        waited <= fair,
        "{waited} of the remaining {left} tasks ran before the waiting one; {fair} would be fair"
    );
}

/// A worker with endless work of its own.
const LOCAL_CHAIN: Load = Load {
    chains: 1,
    tasks_per_chain: 12_000,
    chained_by: ChainedBy::SpawnLocal,
    task_time: Duration::ZERO,
};

/// An injector that never runs empty. The tasks are short, so many of them run between two looks at
/// the injector.
const SHORT_FLOOD: Load = Load {
    chains: 256,
    tasks_per_chain: 50,
    chained_by: ChainedBy::SpawnGlobal,
    task_time: Duration::ZERO,
};

/// The same with longer tasks: fewer than a batch run between two looks at the injector.
const FLOOD: Load = Load { task_time: Duration::from_micros(50), ..SHORT_FLOOD };

#[test]
fn a_busy_worker_checks_the_injector() {
    watched(|| check_waiting_task_runs(WaitsBy::SpawnGlobal, &LOCAL_CHAIN));
}

#[test]
fn a_busy_worker_reaches_a_yielded_task() {
    watched(|| check_waiting_task_runs(WaitsBy::SpawnYielded, &LOCAL_CHAIN));
}

#[test]
fn a_yielded_task_is_not_starved_by_a_flood_of_short_tasks() {
    watched(|| check_waiting_task_runs(WaitsBy::SpawnYielded, &SHORT_FLOOD));
}

#[test]
fn a_yielded_task_is_not_starved_by_a_flood_of_longer_tasks() {
    watched(|| check_waiting_task_runs(WaitsBy::SpawnYielded, &FLOOD));
}

/// The injector is first in, first out. The tasks that a worker takes from it must not end up below
/// those that it takes later.
#[test]
fn tasks_from_outside_are_not_buried_under_later_ones() {
    watched(|| {
        for load in [SHORT_FLOOD, FLOOD] {
            let order = load.order(WaitsBy::SpawnGlobal);
            let is_root = |task: &Task| *task == Task::Chain { left: load.tasks_per_chain };
            let last_root = order.iter().rposition(is_root).expect("they all ran");
            let (all, fair, time) = (order.len(), load.fair_share(), load.task_time);
            assert!(
                last_root <= fair,
                "tasks of {time:?}: the last root ran as number {last_root} of {all}"
            );
        }
    });
}
