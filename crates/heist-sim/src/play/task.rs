//! Tasks that follow the programs of a scenario.

use super::gates::{self, meet, wait_at};
use super::items::Item;
use super::permits::Held;
use super::{PLANNED, equipment, futures, handles, items, permits};
use crate::failure::Kind;
use crate::machine::machine;
use crate::scenario::{How, Step, To};
use crate::world::{Place, Producer, World, fail, world};
use heist::{QueueTurn, WorkerCtx};
use heist_device::DeviceTurn;
use std::panic::resume_unwind;

/// The task type of the simulated pool.
#[derive(Debug)]
pub enum Job {
    /// A task with a program.
    Program(Task),
    /// A turn of a queue. The `Task` comes first because fields are dropped in order: it must
    /// record its end before the turn's drop takes effect.
    Queue(Task, QueueTurn<Item>),
    /// A turn of a lane.
    Lane(Task, DeviceTurn<Item>),
}

/// A task: its number in the world, and what it holds.
#[derive(Debug)]
pub struct Task {
    number: usize,
    held: Vec<Held>,
}

impl Task {
    /// Creates a task and adds it to the world.
    pub(super) fn new(program: usize, place: Place, from_outside: bool) -> Self {
        let number = world(|world| world.add_job(program, place, from_outside));
        Self { number, held: Vec::new() }
    }

    /// Creates a task for a turn.
    pub(super) fn of_turn(to: To) -> Self {
        Self { number: world(|world| world.add_turn(to)), held: Vec::new() }
    }

    /// Returns the number of the task in the world.
    pub(super) fn number(&self) -> usize {
        self.number
    }

    /// Keeps a grant until the task ends.
    pub(super) fn hold(&mut self, held: Held) {
        self.held.push(held);
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        let (permit, panics) = world(|world| world.job_dropped(self.number));
        if permit {
            world(World::give_permit_back);
        }
        self.held.clear();
        if panics && !std::thread::panicking() {
            throw();
        }
    }
}

/// Panics as planned, without calling the panic hook.
pub(super) fn throw() -> ! {
    machine().say(|| "panics".to_owned());
    world(World::panics);
    // If the panic stops the pool, threads that wait for the rest of this task must give up.
    if world(|world| world.is_stopped()) {
        world(World::wake_all_who_wait);
    }
    resume_unwind(Box::new(PLANNED));
}

/// Runs a task.
pub(super) fn run(job: Job, ctx: &mut WorkerCtx<'_, Job, ()>) {
    let number = match &job {
        Job::Program(task) | Job::Queue(task, _) | Job::Lane(task, _) => task.number,
    };
    let worker = ctx.worker_id();
    machine().say(|| format!("begins task {number}"));
    world(|world| world.begin(number, worker));
    let task = match job {
        Job::Program(mut task) => {
            let program = world(|world| world.job(number).program);
            run_program(program, &mut task, ctx);
            task
        }
        Job::Queue(mut task, turn) => {
            items::consume(&mut task, turn, ctx);
            task
        }
        Job::Lane(mut task, turn) => {
            items::run_lane(&mut task, turn, ctx);
            task
        }
    };
    machine().say(|| format!("ends task {number}"));
    world(|world| world.end(number, worker));
    drop(task);
}

/// Runs the steps of a program.
pub(super) fn run_program(program: usize, task: &mut Task, ctx: &mut WorkerCtx<'_, Job, ()>) {
    let scenario = world(|world| world.scenario());
    for step in &scenario.programs[program] {
        do_step(step, program, task, ctx);
    }
}

fn do_step(step: &Step, program: usize, task: &mut Task, ctx: &mut WorkerCtx<'_, Job, ()>) {
    let (worker, number) = (ctx.worker_id(), task.number);
    match step {
        Step::Run { ns } => {
            machine().work(*ns);
            let told = world(|world| world.is_told_to_stop());
            if !ctx.is_cancelled() && told {
                let text =
                    format!("task {number} asked, but did not learn that the pool is stopped");
                fail(Kind::StopUnheard, text);
            }
        }
        Step::Spawn { program, count, how: How::Batch } => {
            let jobs = (0..*count).map(|_| Job::Program(new_task(*program, How::Batch, worker)));
            ctx.spawn_local_batch(jobs);
        }
        Step::Spawn { program, count, how } => {
            for _ in 0..*count {
                let child = new_task(*program, *how, worker);
                spawn(ctx, child, *how);
            }
        }
        Step::Again { times, how } => {
            let left = world(|world| world.job(number).again).unwrap_or(*times);
            if left > 0 {
                let again = new_task(program, *how, worker);
                world(|world| world.job(again.number).again = Some(left - 1));
                spawn(ctx, again, *how);
            }
        }
        Step::Meet { parties } => meet(*parties),
        Step::Block { gate } => wait_at(*gate),
        Step::Open { gate } => gates::open(*gate),
        Step::Wake { gate } => gates::wake_for_nothing(*gate),
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
                Job::Program(new_task(*program, How::Batch, worker))
            });
            ctx.spawn_local_batch(jobs);
        }
        // This is a property of the task's value from the start: see `World::add_job`.
        Step::PanicOnDrop => {}
        Step::Push { to, push } => {
            items::push(*to, *push, &equipment::handle(), Producer::Task(number));
        }
        Step::AcquireThen { budget, count, program } => {
            let handle = equipment::handle();
            permits::acquire_then(*budget, *count, (*program, false), &handle, false);
        }
        Step::TryAcquire { budget, count } => {
            if let Some(held) = permits::try_acquire(*budget, *count) {
                task.hold(held);
            }
        }
        Step::SpawnFuture { future, count, handle } => {
            for _ in 0..*count {
                futures::spawn(*future, *handle, |future| Ok(ctx.spawn_future(future)));
            }
        }
        Step::UseHandle { future, how } => {
            let awaited = handles::use_one(*future, *how);
            debug_assert!(awaited.is_none(), "a task does not await");
        }
    }
}

fn new_task(program: usize, how: How, worker: usize) -> Task {
    let place = match how {
        How::Local | How::Batch => Place::Own(worker),
        How::Global | How::Yielded => Place::Injector,
    };
    Task::new(program, place, false)
}

fn spawn(ctx: &mut WorkerCtx<'_, Job, ()>, task: Task, how: How) {
    let number = task.number;
    machine().say(|| format!("spawns task {number}, {how:?}"));
    let job = Job::Program(task);
    match how {
        How::Local | How::Batch => ctx.spawn_local(job),
        How::Global => ctx.spawn_global(job),
        How::Yielded => ctx.spawn_yielded(job),
    }
}
