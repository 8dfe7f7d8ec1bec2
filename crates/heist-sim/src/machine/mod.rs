//! The simulated machine: threads that run one at a time, memory behind store buffers, and a clock.
//!
//! Every operation of the code under test on heist's `sync` arrives here. Before it takes effect the driver is
//! asked who goes next, so any interleaving of operations can be had, and any can be had again.
//!
//! **Memory** is what x86 promises: each thread sees its own stores at once, others see them later, in order.
//! A store waits in its thread's buffer until it is *flushed*, which is a step of its own; a read-modify-write, a
//! `SeqCst` fence and going to sleep flush everything first. Weaker reorderings are not modelled here; loom does.
//!
//! **Rest**: when no thread is inside the code under test (all of them wait, have ended, or are at work in a task)
//! and no store is on its way, nothing will happen by itself. That is the moment to ask whether anybody sleeps who
//! should not.

pub mod costs;
mod memory;
mod operations;
mod state;
mod thread;
mod trace;

pub use costs::CostModel;
pub use state::Pending;
pub use thread::{Status, Thread, ThreadId};
pub use trace::{Event, EventKind};

use crate::driver::{Action, Driver};
use crate::failure::Failure;
use corosensei::Yielder;
use heist::__internal::sync::machine::Machine;
use state::State;
use std::cell::{Cell, RefCell};
use thread::Stacks;

/// How a schedule is to be run.
pub struct Setup {
    /// Who decides.
    pub driver: Box<dyn Driver>,
    /// More steps than this mean that there is no end.
    pub steps_max: u64,
    /// Whether to keep a readable record.
    pub record: bool,
    /// What operations cost, if that matters.
    pub costs: Option<CostModel>,
}

/// What is left of a schedule.
pub struct Outcome {
    /// What went wrong, if anything did.
    pub failure: Option<Failure>,
    /// How many steps it took.
    pub steps: u64,
    /// A digest of every step: the same schedule of the same program has the same.
    pub hash: u64,
    /// Simulated time at the end.
    pub now_ns: u64,
    /// The deviations from what the default schedule would have done, if recorded.
    pub decisions: Vec<(u64, Action)>,
    /// Every operation, if recorded.
    pub events: Vec<Event>,
    /// The threads' names.
    pub thread_names: Vec<String>,
    /// Traffic, if there is a cost model.
    pub costs: Option<CostModel>,
    /// The driver, for the next schedule.
    pub driver: Box<dyn Driver>,
}

/// The machine. One is installed per real thread, and runs one schedule after the other.
pub struct SimMachine {
    state: RefCell<State>,
    stacks: RefCell<Stacks>,
    /// The running coroutine's way back to the scheduler.
    yielder: Cell<*const Yielder<(), ()>>,
    /// Numbers of threads are never used again.
    threads_before: Cell<u64>,
}

thread_local! {
    static MACHINE: &'static SimMachine = {
        let machine: &'static SimMachine = Box::leak(Box::new(SimMachine {
            state: RefCell::new(State::new()),
            stacks: RefCell::new(Stacks::default()),
            yielder: Cell::new(std::ptr::null()),
            threads_before: Cell::new(0),
        }));
        heist::__internal::sync::machine::install(machine);
        machine
    };
}

/// This real thread's machine.
pub fn machine() -> &'static SimMachine {
    MACHINE.with(|machine| *machine)
}

impl SimMachine {
    /// Runs `main` on a simulated thread, with all the threads that it starts, until they have ended or one of the
    /// oracles has spoken. `at_rest` is asked whenever nothing happens by itself; `stuck` when threads are left that
    /// wait for ever, for what is wrong then.
    pub fn run(
        &self,
        setup: Setup,
        main: impl FnOnce() + 'static,
        at_rest: impl Fn() -> Option<Failure>,
        stuck: impl Fn() -> Failure,
    ) -> Outcome {
        {
            let mut state = self.state.borrow_mut();
            *state = State {
                driver: Some(setup.driver),
                costs: setup.costs,
                steps_max: setup.steps_max,
                record: setup.record,
                ..State::new()
            };
        }
        self.spawn("main", Box::new(main));
        self.schedule(&at_rest, &stuck);

        let mut state = self.state.replace(State::new());
        self.threads_before.set(self.threads_before.get() + state.threads.len() as u64);
        let mut stacks = self.stacks.borrow_mut();
        let thread_names = state.threads.iter().map(|thread| thread.name.clone()).collect();
        for thread in state.threads.drain(..) {
            stacks.take_back(thread);
        }
        Outcome {
            failure: state.failure,
            steps: state.steps,
            hash: state.hash,
            now_ns: state.now_ns,
            decisions: state.decisions,
            events: state.events,
            thread_names,
            costs: state.costs,
            driver: state.driver.expect("it is back"),
        }
    }

    fn schedule(&self, at_rest: &impl Fn() -> Option<Failure>, stuck: &impl Fn() -> Failure) {
        loop {
            let named = self.state.borrow_mut().next.take();
            let resting = named.is_none() && self.state.borrow_mut().settles();
            if resting && let Some(failure) = at_rest() {
                self.fail(failure);
            }
            let next = named.or_else(|| {
                let mut state = self.state.borrow_mut();
                // Each question has a step of its own, so that a step names a decision.
                state.count_step();
                state.choose()
            });
            if self.state.borrow().failure.is_some() {
                return;
            }
            let Some(thread) = next else {
                let all_ended = {
                    let state = self.state.borrow();
                    state.threads.iter().all(|thread| thread.status == Status::Ended)
                };
                if !all_ended {
                    self.fail(stuck());
                }
                return;
            };
            self.resume(thread);
        }
    }

    fn resume(&self, thread: ThreadId) {
        let mut coroutine = {
            let mut state = self.state.borrow_mut();
            state.current = Some(thread);
            state.set_status(thread, Status::Ready);
            state.threads[thread].coroutine.take().expect("it is suspended")
        };
        if let Some(yielder) = coroutine.yielder {
            self.yielder.set(yielder);
        }
        let ended = coroutine.resume();
        let mut state = self.state.borrow_mut();
        coroutine.yielder = Some(self.yielder.get());
        state.threads[thread].coroutine = Some(coroutine);
        if ended {
            state.flush_all(thread);
            state.set_status(thread, Status::Ended);
            state.current = None;
        }
    }

    /// Goes back to the scheduler, until it is this thread's turn again.
    fn suspend(&self) {
        // SAFETY: `resume` sets the pointer to the yielder of the coroutine that it is about to run, and this is that
        // coroutine. Its yielder lives at the bottom of its own stack, as long as the coroutine does.
        let yielder = unsafe { &*self.yielder.get() };
        yielder.suspend(());
    }

    /// A point where others may run before the operation that follows.
    fn point(&self, kind: EventKind, address: usize) {
        let goes_on = self.state.borrow_mut().may_go_on(Pending { kind, address });
        if !goes_on {
            self.suspend();
        }
    }

    /// Ends the schedule. The thread that calls this goes on until its next operation.
    pub fn fail(&self, failure: Failure) {
        self.state.borrow_mut().fail(failure);
    }

    /// Adds a line to the record, if there is one.
    pub fn say(&self, text: impl FnOnce() -> String) {
        let mut state = self.state.borrow_mut();
        if !state.record {
            return;
        }
        let (step, now_ns, thread) = (state.steps, state.now_ns, state.current.unwrap_or(0));
        let (kind, text) = (EventKind::Say, Some(text()));
        state.events.push(Event {
            step,
            now_ns,
            thread,
            kind,
            address: 0,
            value: 0,
            caller: None,
            text,
        });
    }

    /// The running thread computes for a while: it is outside of the code under test.
    pub fn work(&self, nanoseconds: u64) {
        {
            let mut state = self.state.borrow_mut();
            let me = state.running();
            state.set_status(me, Status::Working);
            state.spend(nanoseconds);
        }
        // Not `point`: that would go on at once where the driver says so, and nobody would ask whether all are at rest.
        self.suspend();
    }

    /// How many steps were made so far.
    pub fn steps(&self) -> u64 {
        self.state.borrow().steps
    }

    /// The index of the running thread.
    pub fn thread(&self) -> ThreadId {
        self.state.borrow().running()
    }
}
