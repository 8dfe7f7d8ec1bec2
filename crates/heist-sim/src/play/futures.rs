//! Futures that follow the programs of a scenario.

use super::actor::offer;
use super::permits::Held;
use super::task::{Job, Task};
use super::{PLANNED, equipment, gates, handles, items, permits};
use crate::machine::machine;
use crate::scenario::{FutureStep, Handle, Push};
use crate::world::{Place, Producer, Refusable, World, world};
use heist::__internal::executor::spawn_future_elsewhere;
use heist::__internal::raw::Runnable;
use heist::coop::poll_proceed;
use heist::{ExecutorHandle, JoinHandle, SpawnError, current_worker_id};
use std::future::{Future, poll_fn};
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

/// A future that follows a program and reports to the world.
pub(super) struct Played {
    number: usize,
    steps: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl Future for Played {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let number = self.number;
        machine().say(|| format!("polls future {number}"));
        world(|world| world.poll_begins(number));
        let polled = self.steps.as_mut().poll(cx);
        machine().say(|| format!("future {number} is {polled:?}"));
        world(|world| world.poll_ends(number, polled.is_ready()));
        polled
    }
}

impl Drop for Played {
    fn drop(&mut self) {
        let number = self.number;
        machine().say(|| format!("future {number} is dropped"));
        let on_drop = world(|world| world.future_dropped(number));
        if let Some(future) = on_drop.spawns {
            let handle = equipment::handle();
            spawn(future, Handle::Detached, |future| handle.spawn_future(future));
        }
        if on_drop.panics && !std::thread::panicking() {
            world(World::future_drop_panics);
            resume_unwind(Box::new(PLANNED));
        }
    }
}

/// Spawns a future by calling `spawn`.
pub(super) fn spawn(
    program: usize,
    kept: Handle,
    spawn: impl FnOnce(Played) -> Result<JoinHandle<()>, SpawnError<Played>>,
) {
    offer_future(program, kept, false, spawn);
}

/// Spawns a future that counts as the pool's and polls it on this thread until it ends. If the pool
/// is stopped, the future is dropped, as on threads for blocking calls.
pub(super) fn run_here(program: usize, kept: Handle, handle: &ExecutorHandle<Job>) {
    let queue = Arc::new(Mutex::new(Vec::new()));
    let take_one =
        |queue: &Mutex<Vec<Runnable>>| queue.lock().unwrap_or_else(PoisonError::into_inner).pop();
    let scheduled = Arc::clone(&queue);
    let schedule = move |runnable, _woken_while_running| {
        scheduled.lock().unwrap_or_else(PoisonError::into_inner).push(runnable);
    };
    offer_future(program, kept, true, |future| spawn_future_elsewhere(handle, future, schedule));
    while let Some(runnable) = take_one(&queue) {
        if world(|world| world.is_stopped()) {
            drop(runnable);
        } else {
            runnable.run();
        }
    }
}

fn offer_future(
    program: usize,
    kept: Handle,
    is_outside: bool,
    spawn: impl FnOnce(Played) -> Result<JoinHandle<()>, SpawnError<Played>>,
) {
    let worker = current_worker_id();
    let inside = worker.is_some();
    let number = world(|world| world.add_future(program, worker, is_outside));
    let was_closed = !inside && world(|world| world.is_closed());
    machine().say(|| format!("spawns future {number}"));
    match spawn(Played { number, steps: Box::pin(play(program, number)) }) {
        Ok(handle) => {
            world(|world| world.future_accepted(number, was_closed));
            handles::keep(program, number, kept, handle);
        }
        Err(refused) => {
            machine().say(|| format!("refused: {refused}"));
            world(|world| world.future_refused(number, inside));
            drop(refused);
        }
    }
}

async fn play(program: usize, number: usize) {
    let mut held = Vec::new();
    let mut place = 0;
    while let Some(step) = world(|world| world.scenario().futures[program].get(place).cloned()) {
        place += 1;
        do_step(step, number, &mut held).await;
    }
}

async fn do_step(step: FutureStep, number: usize, held: &mut Vec<Held>) {
    machine().say(|| format!("future {number}: {step:?}"));
    match step {
        FutureStep::Run { ns } => machine().work(ns),
        FutureStep::Wait { gate } => poll_fn(|cx| gates::poll_wait(gate, number, cx)).await,
        FutureStep::Open { gate } => gates::open(gate),
        FutureStep::Wake { gate } => gates::wake_for_nothing(gate),
        FutureStep::Yield { times } => {
            for _ in 0..times {
                world(|world| world.gives_way(number));
                heist::yield_now().await;
            }
        }
        FutureStep::Operate { count } => {
            for _ in 0..count {
                operate(number).await;
            }
        }
        FutureStep::Spawn { future, count, handle } => {
            for _ in 0..count {
                let pool = equipment::handle();
                spawn(future, handle, |future| pool.spawn_future(future));
            }
        }
        FutureStep::SpawnTask { program } => {
            let task = Task::new(program, Place::Injector, true);
            let job = task.number();
            let refusable = match current_worker_id() {
                Some(_) => Refusable::OnceStopped,
                None => Refusable::OnceClosed,
            };
            offer(&[job], refusable, || equipment::handle().spawn(Job::Program(task)));
        }
        FutureStep::UseHandle { future, how } => {
            if let Some(awaited) = handles::use_one(future, how) {
                awaited.wait(number).await;
            }
        }
        FutureStep::Push { to } => {
            let is_outside = current_worker_id().is_none();
            let producer =
                if is_outside { Producer::this_actor() } else { Producer::Future(number) };
            items::push(to, Push::Try, &equipment::handle(), producer);
        }
        FutureStep::Acquire { budget, count } => {
            held.extend(permits::acquire_in_future(budget, count).await);
        }
        FutureStep::Panic => {
            machine().say(|| format!("future {number} panics"));
            world(|world| world.future_panics(number));
            resume_unwind(Box::new(PLANNED));
        }
        // These are properties of the future's value from the start: see `World::add_future`.
        FutureStep::PanicOnDrop | FutureStep::SpawnOnDrop { .. } => {}
    }
}

/// Makes one operation, in the next poll if the budget of this one is used up.
async fn operate(number: usize) {
    let ask = |cx: &mut Context<'_>| {
        let may = poll_proceed(cx);
        if may.is_pending() {
            world(|world| world.gives_way(number));
        }
        may
    };
    poll_fn(ask).await;
    world(|world| world.operates(number));
}
