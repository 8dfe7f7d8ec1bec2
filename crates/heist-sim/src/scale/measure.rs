//! One measured run: a real pool on simulated threads that have their own clocks.

use super::protocol::Protocol;
use super::workload::{Workload, program_sizes, tasks_of};
use crate::driver::Timed;
use crate::failure::{Failure, Kind};
use crate::machine::costs::{CostModel, Totals};
use crate::machine::{Setup, machine};
use crate::scenario::{Act, How, Scenario, Step};
use heist::__internal::sync::machine::Machine;
use heist::__internal::sync::plant;
use heist::trace::{TraceHooks, Tracer};
use heist::{Executor, ExecutorHandle, MetricsSnapshot, WorkerCtx};
use std::cell::RefCell;
use std::sync::Arc;

/// The time before the first task, in which all workers fall asleep, as in a pool that was idle.
const SETTLE_NS: u64 = 1_000_000;

/// The figures of one run.
#[derive(Clone, Debug, Default)]
pub(super) struct Measured {
    pub(super) workers: usize,
    pub(super) tasks: u64,
    /// The time spent in tasks, summed over all workers.
    pub(super) work_ns: u64,
    /// The time from the first spawn to the end of the last task.
    pub(super) wall_ns: u64,
    /// The part of `wall_ns` in which there was work.
    pub(super) span_ns: u64,
    /// The costs from the first spawn to the end of the last task.
    pub(super) during: Totals,
    /// The time from the end of the last task until the first worker left.
    pub(super) found_done_ns: u64,
    /// The time from the end of the last task until the pool was joined.
    pub(super) joined_ns: u64,
    /// The costs after the end of the last task.
    pub(super) end: Totals,
    /// The metrics of the pool.
    pub(super) metrics: MetricsSnapshot,
    /// The number of simulated steps.
    pub(super) steps: u64,
    /// The failure, if the protocol is unsound.
    pub(super) failure: Option<Failure>,
}

/// The progress of a run.
#[derive(Default)]
struct Progress {
    tasks: u64,
    ended: u64,
    started: Option<(u64, Totals)>,
    /// The number of unfinished tasks, including those that spawned tasks have yet to spawn.
    outstanding: u64,
    /// The time since which there has been work without a break.
    busy_since_ns: Option<u64>,
    busy_ns: u64,
    last_end: Option<(u64, Totals)>,
    first_left_ns: Option<u64>,
    joined: Option<(u64, Totals)>,
    work_ns: u64,
    metrics: Option<MetricsSnapshot>,
}

thread_local! {
    static PROGRESS: RefCell<Progress> = RefCell::default();
}

fn progress<R>(change: impl FnOnce(&mut Progress) -> R) -> R {
    PROGRESS.with_borrow_mut(change)
}

/// Returns the current time and totals.
fn now() -> (u64, Totals) {
    (machine().now_ns(), machine().cost_totals())
}

/// Runs a workload under a protocol.
pub(super) fn measure(
    workload: Workload,
    protocol: Protocol,
    workers: usize,
    seed: u64,
) -> Measured {
    let mut scenario = workload.scenario(workers, seed);
    if protocol == Protocol::RoundRobinWake {
        // It tries four random victims in a look, and makes one look between two pauses.
        scenario.pool.steal_tries = 1;
    }
    let scenario = Arc::new(scenario);
    PROGRESS.set(Progress { tasks: tasks_of(&scenario), ..Progress::default() });
    plant::set(protocol.plant());
    let setup = Setup {
        driver: Box::new(Timed::default()),
        steps_max: u64::MAX,
        record: false,
        costs: Some(CostModel::default()),
    };
    let main = {
        let scenario = Arc::clone(&scenario);
        move || own_a_pool(&scenario)
    };
    let stuck = || Failure::new(Kind::Stuck, "all threads wait, but not everything has ended");
    let outcome = machine().run(setup, main, || None, stuck);
    plant::set(None);

    let known = PROGRESS.take();
    let mut measured = Measured {
        workers,
        tasks: known.tasks,
        work_ns: known.work_ns,
        metrics: known.metrics.unwrap_or_default(),
        steps: outcome.steps,
        failure: outcome.failure,
        ..Measured::default()
    };
    if let (Some(start), Some(last), Some(joined)) = (known.started, known.last_end, known.joined) {
        measured.wall_ns = last.0 - start.0;
        measured.span_ns = known.busy_ns;
        measured.during = last.1 - start.1;
        measured.end = joined.1 - last.1;
        measured.joined_ns = joined.0 - last.0;
        measured.found_done_ns =
            known.first_left_ns.map_or(measured.joined_ns, |left_ns| left_ns - last.0);
    }
    measured
}

fn own_a_pool(scenario: &Arc<Scenario>) {
    let pool = &scenario.pool;
    let builder = Executor::builder()
        .threads(pool.workers)
        .steal_tries(pool.steal_tries)
        .steal_batch(pool.steal_batch)
        .injector_batch(pool.injector_batch)
        .spin_iters(pool.looks)
        .seed(pool.seed)
        .thread_name("worker")
        .trace(Watch);
    let tasks = Arc::clone(scenario);
    let executor = builder
        .build(|_worker| (), move |job: Job, ctx| run_job(&job, &tasks, ctx))
        .expect("the configuration is the default one, and simulated threads are never refused");
    let sizes = program_sizes(scenario);
    machine().work(SETTLE_NS);
    progress(|progress| progress.started = Some(now()));
    for act in &scenario.actors[0] {
        do_act(act, &sizes, &executor.handle());
    }
    let metrics = executor.join();
    progress(|progress| {
        progress.joined = Some(now());
        progress.metrics = Some(metrics);
    });
}

fn do_act(act: &Act, sizes: &[u64], handle: &ExecutorHandle<Job>) {
    let now_ns = machine().now_ns();
    let spawns = |program: usize, count: usize| {
        progress(|progress| {
            progress.busy_since_ns.get_or_insert(now_ns);
            progress.outstanding += sizes[program] * count as u64;
        });
    };
    let accepted = match act {
        Act::Spawn { program, .. } => {
            spawns(*program, 1);
            handle.spawn(Job { program: *program }).is_ok()
        }
        Act::Batch { program, count } => {
            spawns(*program, *count);
            let jobs = vec![Job { program: *program }; *count];
            handle.spawn_batch(jobs).is_ok()
        }
        Act::Run { ns } => {
            machine().work(*ns);
            true
        }
        other => unreachable!("workloads do not use {other:?}"),
    };
    assert!(accepted, "the pool is open");
}

/// A task.
#[derive(Clone, Copy, Debug)]
struct Job {
    program: usize,
}

fn run_job(job: &Job, scenario: &Scenario, ctx: &mut WorkerCtx<'_, Job, ()>) {
    for step in &scenario.programs[job.program] {
        match step {
            Step::Run { ns } => {
                // Vary the time of a task: if all tasks took the same time, workers would run in
                // lockstep, unlike real ones.
                let ns = ns * 3 / 4 + ctx.rng().below_usize(*ns as usize / 2) as u64;
                progress(|progress| progress.work_ns += ns);
                machine().work(ns);
            }
            Step::Spawn { program, count, how: How::Local } => {
                for _ in 0..*count {
                    ctx.spawn_local(Job { program: *program });
                }
            }
            other => unreachable!("workloads do not use {other:?}"),
        }
    }
    let now_ns = machine().now_ns();
    progress(|progress| {
        progress.ended += 1;
        progress.outstanding -= 1;
        if progress.outstanding == 0 {
            let since_ns = progress.busy_since_ns.take().expect("there was work");
            progress.busy_ns += now_ns - since_ns;
        }
        if progress.ended == progress.tasks {
            progress.last_end = Some(now());
        }
    });
}

/// Watches the workers.
#[derive(Clone, Copy, Debug)]
struct Watch;

#[derive(Debug)]
struct WorkerWatch;

impl Tracer for Watch {
    type Hooks = WorkerWatch;

    fn worker(&self, _worker: usize) -> WorkerWatch {
        WorkerWatch
    }
}

impl TraceHooks for WorkerWatch {}

impl Drop for WorkerWatch {
    fn drop(&mut self) {
        let now_ns = machine().now_ns();
        let outstanding = progress(|progress| {
            progress.first_left_ns.get_or_insert(now_ns);
            progress.tasks - progress.ended
        });
        if outstanding > 0 {
            let text = format!("a worker left, but {outstanding} tasks had not ended");
            machine().fail(Failure::new(Kind::DoneTooEarly, text));
        }
    }
}

impl Measured {
    /// Returns the time in which workers were awake outside of tasks, until the last task ended.
    pub(super) fn overhead_ns(&self) -> u64 {
        let all_ns = self.workers as u64 * self.wall_ns;
        all_ns.saturating_sub(self.during.asleep_ns).saturating_sub(self.work_ns)
    }
}
