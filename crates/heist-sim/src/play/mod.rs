//! Plays a scenario: a real pool of the code that ships, on simulated threads.
//!
//! | file | contents |
//! |---|---|
//! | `actor` | threads that use the pool from outside |
//! | `task` | tasks |
//! | `equipment` | the queues, lanes, budgets and signal gates that they use |
//! | `items` | pushing and consuming items |
//! | `permits` | requesting, holding and giving back permits |
//! | `futures`, `handles` | futures and their handles |
//! | `gates` | places where threads and futures wait for each other |
//! | `signals` | raw signal gates, without a pool |

mod actor;
mod equipment;
mod futures;
mod gates;
mod handles;
mod items;
mod permits;
mod signals;
mod task;

pub use task::Job;

use crate::driver::Driver;
use crate::failure::Kind;
use crate::machine::{Outcome, Setup, machine};
use crate::scenario::{End, Lifo, Scenario};
use crate::world::{World, begin_world, fail, world};
use actor::act;
use heist::__internal::sync::machine::Machine;
use heist::__internal::sync::plant::{self, Plant};
use heist::trace::{Source, TraceHooks, Tracer};
use heist::{
    CancelToken, Executor, ExecutorBuilder, ExecutorConfig, ExecutorHandle, MetricsSnapshot,
    OnPanic,
};
use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::time::Duration;

/// The payload of planned panics.
const PLANNED: &str = "as planned";

/// More steps than any schedule of the usual scenarios needs, with room for unfair drivers. (A
/// generated scenario of 1,900 futures, some of which spawn a task each, needs more than 200,000.)
const STEPS_MAX: u64 = 400_000;

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
    equipment::forget_what_is_left();
    outcome.failure = outcome.failure.or_else(|| world(|world| world.check_end()));
    if outcome.failure.is_some() {
        world(World::forget_what_is_left);
    }
    outcome
}

/// Calls `body` on this thread, or on a new one if a failed schedule has left this thread in the
/// middle of a panic. On such a thread `std::thread::panicking` is true, and the code under test
/// would behave differently.
pub fn afresh<R: Send>(body: impl FnOnce() -> R + Send) -> R {
    if !std::thread::panicking() {
        return body();
    }
    let planted = Plant::ALL.iter().copied().find(|plant| plant::planted(*plant));
    let with_plant = || {
        plant::set(planted);
        body()
    };
    let played = std::thread::scope(|scope| scope.spawn(with_plant).join());
    played.unwrap_or_else(|payload| std::panic::resume_unwind(payload))
}

thread_local! {
    static IN_SIMULATION: Cell<bool> = const { Cell::new(false) };
}

/// Silences panic messages: an oracle reports the panics of the code under test, and planned panics
/// need no report. With `HEIST_SIM_PANICS` set all messages are printed, to debug the simulator
/// itself.
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

/// Calls `body` and reports a panic that it does not contain, which is never planned.
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
    let executor = match builder.build(|_worker| (), task::run) {
        Ok(executor) => executor,
        Err(error) => return fail(Kind::EnginePanicked, error.to_string()),
    };
    let handle = executor.handle();
    if let Err(problem) = equipment::install(scenario, &handle) {
        return fail(Kind::EnginePanicked, problem);
    }
    for (number, acts) in scenario.actors.iter().enumerate().skip(1) {
        let (acts, handle, cancel) = (acts.clone(), handle.clone(), cancel.clone());
        let body = move || {
            contained(|| {
                drop(act(number, &acts, &handle, &cancel));
                equipment::leave();
            });
        };
        machine().spawn(&format!("actor-{number}"), Box::new(body));
    }
    let held = act(0, &scenario.actors[0], &handle, &cancel);
    let metrics = end_pool(scenario.end, executor, &handle);
    world(|world| world.has_joined(metrics));
    if let Some(unplanned) = handle.panics().iter().find(|panic| panic.message != PLANNED) {
        fail(Kind::EnginePanicked, unplanned.message.clone());
    }
    drop(held);
    equipment::leave();
}

/// Sets every field, so that a schedule depends only on its scenario.
fn config(scenario: &Scenario, cancel: &CancelToken) -> ExecutorConfig {
    let pool = &scenario.pool;
    ExecutorConfig::new(pool.workers)
        .seed(pool.seed)
        .steal_tries(pool.steal_tries)
        .spin_iters(pool.looks)
        .pin_threads(false)
        .stealing(pool.stealing)
        .steal_batch(pool.steal_batch)
        .injector_batch(pool.injector_batch)
        .lifo_slot(pool.lifo != Lifo::Off)
        .lifo_stealing(pool.lifo == Lifo::Stealable)
        .injector_interval(None)
        .on_panic(if pool.isolate_panics { OnPanic::Isolate } else { OnPanic::StopPool })
        .park_backstop(pool.backstop_ns.map(Duration::from_nanos))
        .thread_name("worker")
        .stack_size(None)
        .cancel(cancel.clone())
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

/// Joins the pool. `join` rethrows the panic of a task; any other panic is a failure.
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

/// Records that the pool is about to be stopped, and releases all threads that wait at a gate.
fn stop() {
    world(|world| {
        world.stops();
        world.wake_all_who_wait();
    });
}

/// Reports to the world what the workers do.
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

    fn poll_start(&mut self, source: Source) {
        machine().say(|| format!("takes a future: {source:?}"));
    }

    fn steal(&mut self, victim: usize) {
        machine().say(|| format!("has stolen from worker {victim}"));
    }

    fn park(&mut self) {
        machine().say(|| "is about to park".to_owned());
        world(World::worker_seen);
    }

    fn unpark(&mut self, woken: bool) {
        machine().say(|| format!("wakes up{}", if woken { ", by a token" } else { "" }));
    }
}

impl Drop for WorkerWatch {
    fn drop(&mut self) {
        machine().say(|| "leaves".to_owned());
        world(|world| world.worker_left(self.0));
    }
}
