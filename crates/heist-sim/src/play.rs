//! Plays a scenario: a real pool of the code that ships, on simulated threads.

use crate::driver::Driver;
use crate::failure::Kind;
use crate::machine::{Outcome, Setup, machine};
use crate::scenario::{Act, End, GATES_MAX, How, Scenario, Step};
use crate::world::{Place, World, begin_world, fail, world};
use heist::policy::Source;
use heist::sync::machine::Machine;
use heist::sync::{Ordering, fence};
use heist::trace::{TraceHooks, Tracer};
use heist::{
    CancelToken, Executor, ExecutorBuilder, ExecutorConfig, ExecutorHandle, MetricsSnapshot,
    OnPanic, SpawnError, WorkerCtx,
};
use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::time::Duration;

/// What planned panics say.
const PLANNED: &str = "as planned";

/// More steps than any schedule of the usual scenarios needs; drivers that are unfair need the room.
const STEPS_MAX: u64 = 200_000;

/// Plays one schedule.
pub fn play(scenario: &Rc<Scenario>, driver: Box<dyn Driver>, record: bool) -> Outcome {
    silence_panics();
    begin_world(scenario);
    let main = {
        let scenario = Rc::clone(scenario);
        move || contained(|| own_a_pool(&scenario))
    };
    let at_rest = || world(|world| world.check_at_rest());
    let stuck = || world(|world| world.explain_stuck());
    IN_SIMULATION.set(true);
    let setup = Setup { driver, steps_max: STEPS_MAX, record, costs: None };
    let mut outcome = machine().run(setup, main, at_rest, stuck);
    IN_SIMULATION.set(false);
    outcome.failure = outcome.failure.or_else(|| world(|world| world.check_end()));
    outcome
}

thread_local! {
    static IN_SIMULATION: Cell<bool> = const { Cell::new(false) };
}

/// A panic of the code under test is reported by an oracle; planned ones by nobody. With `HEIST_SIM_PANICS` set all of
/// them are shown, for whoever debugs the simulator itself.
fn silence_panics() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let report = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !IN_SIMULATION.get() || std::env::var_os("HEIST_SIM_PANICS").is_some() {
                report(info);
            }
        }));
    });
}

/// A panic that gets here is nobody's plan.
fn contained(body: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(body)) {
        fail(Kind::EnginePanicked, text_of(&*payload));
    }
}

fn text_of(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic".to_owned())
}

fn own_a_pool(scenario: &Rc<Scenario>) {
    let cancel = CancelToken::new();
    let builder = ExecutorBuilder::new(config(scenario, &cancel)).trace(Watch);
    let executor = match builder.build(|_worker| (), run_job) {
        Ok(executor) => executor,
        Err(error) => return fail(Kind::EnginePanicked, error.to_string()),
    };
    let handle = executor.handle();
    for (number, acts) in scenario.actors.iter().enumerate().skip(1) {
        let (acts, handle, cancel) = (acts.clone(), handle.clone(), cancel.clone());
        let body = move || contained(|| act(&acts, &handle, &cancel));
        machine().spawn(&format!("actor-{number}"), Box::new(body));
    }
    act(&scenario.actors[0], &handle, &cancel);
    let metrics = end_pool(scenario.end, executor, &handle);
    world(|world| world.has_joined(metrics));
    if let Some(unplanned) = handle.panics().iter().find(|panic| panic.message != PLANNED) {
        fail(Kind::EnginePanicked, unplanned.message.clone());
    }
}

/// Every field by name: the defaults would ask the system how many cores there are, for each schedule.
fn config(scenario: &Scenario, cancel: &CancelToken) -> ExecutorConfig {
    let pool = &scenario.pool;
    ExecutorConfig {
        workers: pool.workers,
        seed: pool.seed,
        steal_tries: pool.steal_tries,
        spin_iters: pool.looks,
        pin_threads: false,
        stealing: pool.stealing,
        steal_batch: pool.steal_batch,
        injector_batch: pool.injector_batch,
        on_panic: if pool.isolate_panics { OnPanic::Isolate } else { OnPanic::Abort },
        park_backstop: pool.backstop_ns.map(Duration::from_nanos),
        thread_name: "worker".to_owned(),
        stack_size: None,
        cancel: cancel.clone(),
    }
}

/// Ends the pool as the scenario says.
fn end_pool(end: End, executor: Executor<Job>, handle: &ExecutorHandle<Job>) -> MetricsSnapshot {
    machine().say(|| format!("ends the pool: {end:?}"));
    world(World::joins);
    match end {
        End::Join => rethrown_as_planned(|| executor.join()),
        End::JoinTimeout { ns } => {
            rethrown_as_planned(|| match executor.join_timeout(Duration::from_nanos(ns)) {
                Ok(metrics) => metrics,
                Err(late) => {
                    world(World::has_closed);
                    late.into_executor().join()
                }
            })
        }
        End::Drop => {
            stop();
            drop(executor);
            None
        }
        End::ShutdownAndJoin => {
            stop();
            executor.shutdown();
            world(World::has_closed);
            rethrown_as_planned(|| executor.join())
        }
    }
    .unwrap_or_else(|| handle.metrics())
}

/// `join` rethrows a task's panic. Any other is a failure.
fn rethrown_as_planned(join: impl FnOnce() -> MetricsSnapshot) -> Option<MetricsSnapshot> {
    match catch_unwind(AssertUnwindSafe(join)) {
        Ok(metrics) => Some(metrics),
        Err(payload) => {
            let text = text_of(&*payload);
            if text != PLANNED {
                fail(Kind::EnginePanicked, text);
            }
            None
        }
    }
}

/// Somebody is about to stop the pool: whoever waits at a gate gives up.
fn stop() {
    world(|world| {
        world.stops();
        world.wake_all_who_wait();
    });
}

/// What an actor does.
fn act(acts: &[Act], handle: &ExecutorHandle<Job>, cancel: &CancelToken) {
    for act in acts {
        machine().say(|| format!("{act:?}"));
        match act {
            Act::Spawn { program, hold } => {
                if *hold && !take_permit() {
                    continue;
                }
                let job = Job(world(|world| {
                    let job = world.add_job(*program, Place::Injector, true);
                    world.job(job).permit = *hold;
                    job
                }));
                offer(&[job.0], || handle.spawn(job));
            }
            Act::Batch { program, count } => {
                let jobs: Vec<Job> = (0..*count)
                    .map(|_| Job(world(|world| world.add_job(*program, Place::Injector, true))))
                    .collect();
                let numbers: Vec<_> = jobs.iter().map(|job| job.0).collect();
                offer(&numbers, || handle.spawn_batch(jobs));
            }
            Act::Run { ns } => machine().work(*ns),
            Act::Sleep { ns } => {
                let nobody_tells = machine().allocate(0);
                // A wake-up for no reason just makes the sleep shorter.
                machine().wait(nobody_tells, Some(*ns));
            }
            Act::Block { gate } => wait_at(*gate),
            Act::Open { gate } => world(|world| world.open(*gate)),
            Act::Shutdown => {
                stop();
                handle.shutdown();
                world(World::has_stopped);
            }
            Act::Cancel => {
                stop();
                cancel.cancel();
                // A cancelled pool accepts nothing, whether it has noticed or not; but nobody else can know of it
                // before the store has arrived.
                fence(Ordering::SeqCst);
                world(World::has_stopped);
            }
            Act::Vanish => {
                return world(|world| world.keep_for_ever(handle.clone()));
            }
        }
    }
}

/// Offers tasks to the pool.
fn offer<R>(jobs: &[usize], spawn: impl FnOnce() -> Result<(), SpawnError<R>>) {
    let was_closed = world(|world| world.is_closed());
    match spawn() {
        Ok(()) => world(|world| jobs.iter().for_each(|job| world.accepted(*job, was_closed))),
        Err(refused) => {
            machine().say(|| format!("refused: {refused}"));
            world(|world| jobs.iter().for_each(|job| world.refused(*job)));
            drop(refused);
        }
    }
}

/// Waits for a permit; says whether there is one. If the pool is stopped there may never be.
fn take_permit() -> bool {
    loop {
        let (taken, stopped, word) =
            world(|world| (world.try_take_permit(), world.is_closed(), world.permit_word()));
        if taken || stopped {
            return taken;
        }
        machine().wait(word, None);
    }
}

fn wait_at(gate: usize) {
    loop {
        let ((word, opened), stopped) = world(|world| (world.gate(gate), world.is_stopped()));
        if opened || stopped {
            return;
        }
        machine().wait(word, None);
    }
}

/// The gate at which those wait who meet. It is beyond those that scenarios name.
const MEETING: usize = GATES_MAX;

fn meet(parties: usize) {
    if world(World::meet) == parties {
        world(|world| world.open(MEETING));
    }
    wait_at(MEETING);
}

/// A task: its number in the world.
#[derive(Debug)]
pub struct Job(usize);

impl Drop for Job {
    fn drop(&mut self) {
        let (permit, panics) = world(|world| world.job_dropped(self.0));
        if permit {
            world(World::give_permit_back);
        }
        if panics && !std::thread::panicking() {
            throw();
        }
    }
}

/// Panics as planned, without telling the panic hook.
fn throw() -> ! {
    machine().say(|| "panics".to_owned());
    world(World::panics);
    // Those who wait for what this task would have done give up.
    if world(|world| world.is_stopped()) {
        world(World::wake_all_who_wait);
    }
    resume_unwind(Box::new(PLANNED));
}

/// Runs a task.
#[expect(clippy::needless_pass_by_value, reason = "the pool hands over the task")]
fn run_job(job: Job, ctx: &mut WorkerCtx<'_, Job, ()>) {
    let (number, worker) = (job.0, ctx.worker_id());
    machine().say(|| format!("begins task {number}"));
    let (scenario, program) = world(|world| {
        world.begin(number, worker);
        (world.scenario(), world.job(number).program)
    });
    for step in &scenario.programs[program] {
        do_step(step, number, program, ctx);
    }
    machine().say(|| format!("ends task {number}"));
    world(|world| world.end(number, worker));
}

fn do_step(step: &Step, number: usize, program: usize, ctx: &mut WorkerCtx<'_, Job, ()>) {
    let worker = ctx.worker_id();
    match step {
        Step::Run { ns } => {
            machine().work(*ns);
            let told = world(|world| world.is_told_to_stop());
            if !ctx.is_cancelled() && told {
                let text =
                    format!("task {number} asked, and was not told that the pool is stopped");
                fail(Kind::StopUnheard, text);
            }
        }
        Step::Spawn { program, count, how: How::Batch } => {
            let jobs = (0..*count).map(|_| new_job(*program, How::Batch, worker));
            ctx.spawn_local_batch(jobs);
        }
        Step::Spawn { program, count, how } => {
            for _ in 0..*count {
                let job = new_job(*program, *how, worker);
                spawn(ctx, job, *how);
            }
        }
        Step::Again { times, how } => {
            let left = world(|world| world.job(number).again).unwrap_or(*times);
            if left > 0 {
                let job = new_job(program, *how, worker);
                world(|world| world.job(job.0).again = Some(left - 1));
                spawn(ctx, job, *how);
            }
        }
        Step::Meet { parties } => meet(*parties),
        Step::Block { gate } => wait_at(*gate),
        Step::Open { gate } => world(|world| world.open(*gate)),
        Step::Panic => {
            world(|world| world.end(number, worker));
            throw();
        }
        Step::PanicInBatch { program, after } => {
            let jobs = (0..=*after).map(|index| {
                if index == *after {
                    world(|world| world.end(number, worker));
                    throw();
                }
                new_job(*program, How::Batch, worker)
            });
            ctx.spawn_local_batch(jobs);
        }
        // A property of the task's value, from the start: see `World::add_job`.
        Step::PanicOnDrop => {}
    }
}

fn new_job(program: usize, how: How, worker: usize) -> Job {
    let place = match how {
        How::Local | How::Batch => Place::Own(worker),
        How::Global | How::Yielded => Place::Injector,
    };
    Job(world(|world| world.add_job(program, place, false)))
}

fn spawn(ctx: &mut WorkerCtx<'_, Job, ()>, job: Job, how: How) {
    let number = job.0;
    machine().say(|| format!("spawns task {number}, {how:?}"));
    match how {
        How::Local | How::Batch => ctx.spawn_local(job),
        How::Global => ctx.spawn_global(job),
        How::Yielded => ctx.spawn_yielded(job),
    }
}

/// Watches the workers come and go.
#[derive(Clone, Copy, Debug)]
struct Watch;

#[derive(Debug)]
struct WorkerWatch(usize);

impl Tracer for Watch {
    type Hooks = WorkerWatch;

    fn worker(&self, worker: usize) -> WorkerWatch {
        WorkerWatch(worker)
    }
}

impl TraceHooks for WorkerWatch {
    fn task_start(&mut self, source: Source) {
        machine().say(|| format!("takes a task: {source:?}"));
    }

    fn steal(&mut self, victim: usize) {
        machine().say(|| format!("has stolen from worker {victim}"));
    }

    fn park(&mut self) {
        machine().say(|| "is about to park".to_owned());
        world(World::worker_seen);
    }

    fn unpark(&mut self, woken: bool) {
        machine().say(|| format!("is awake again{}", if woken { ", by a token" } else { "" }));
    }
}

impl Drop for WorkerWatch {
    fn drop(&mut self) {
        machine().say(|| "leaves".to_owned());
        world(|world| world.worker_left(self.0));
    }
}
