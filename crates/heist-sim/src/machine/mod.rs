//! The simulated machine: threads that run one at a time, memory with store buffers, and a clock.
//!
//! Every operation that the code under test makes through heist's `sync` module arrives here.
//! Before the operation takes effect, the machine asks its driver which thread goes next. So every
//! interleaving of operations is possible, and every one can be repeated.
//!
//! **Memory** behaves as x86 promises: a thread sees its own stores at once, and other threads see
//! them later, in order. A store waits in the buffer of its thread until it is *flushed*, which is
//! a separate step. A read-modify-write, a `SeqCst` fence and going to sleep flush the whole buffer
//! first. Weaker reorderings are not modelled; loom checks those.
//!
//! **Rest**: the machine is at rest when no thread is inside the code under test (each of them
//! waits, has ended, or works in a task) and no store is buffered. Nothing will happen by itself
//! then, so this is the moment to check whether a thread sleeps that should not.

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

/// How to run a schedule.
pub struct Setup {
    /// The driver.
    pub driver: Box<dyn Driver>,
    /// The largest number of steps. A schedule that needs more fails as
    /// [`Kind::NoEnd`](crate::failure::Kind).
    pub steps_max: u64,
    /// Whether to record decisions and operations.
    pub record: bool,
    /// The cost model, if the run measures costs.
    pub costs: Option<CostModel>,
}

/// The result of a schedule.
pub struct Outcome {
    /// The failure, if there was one.
    pub failure: Option<Failure>,
    /// The number of steps.
    pub steps: u64,
    /// A hash of every step. The same schedule of the same program has the same hash.
    pub hash: u64,
    /// The simulated time at the end.
    pub now_ns: u64,
    /// The deviations from the default schedule, if recorded.
    pub decisions: Vec<(u64, Action)>,
    /// Every operation, if recorded.
    pub events: Vec<Event>,
    /// The names of the threads.
    pub thread_names: Vec<String>,
    /// The cost model with its totals, if there was one.
    pub costs: Option<CostModel>,
    /// The driver, which may be needed for the next schedule.
    pub driver: Box<dyn Driver>,
}

/// The machine. Each real thread has one, which runs one schedule after the other.
pub struct SimMachine {
    state: RefCell<State>,
    stacks: RefCell<Stacks>,
    /// Suspends the running coroutine, back to the scheduler.
    yielder: Cell<*const Yielder<(), ()>>,
    /// The number of threads in earlier schedules, so that thread numbers are never used twice.
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

/// Returns the machine of this real thread.
pub fn machine() -> &'static SimMachine {
    MACHINE.with(|machine| *machine)
}

impl SimMachine {
    /// Runs `main` on a simulated thread, together with all threads that it starts, until they have
    /// ended or an oracle reports a failure. Calls `at_rest` whenever the machine is at rest, and
    /// `stuck` to explain the failure if threads are left that wait forever.
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
                // A step names exactly one decision, so each question to the driver is a separate
                // step.
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

    /// Returns to the scheduler until this thread may run again.
    fn suspend(&self) {
        // SAFETY: `resume` sets the pointer to the yielder of the coroutine that it is about to
        // run, and this is that coroutine. The yielder is on the coroutine's own stack and lives as
        // long as the coroutine.
        let yielder = unsafe { &*self.yielder.get() };
        yielder.suspend(());
    }

    /// Lets other threads run before the operation that follows.
    fn point(&self, kind: EventKind, address: usize) {
        let goes_on = self.state.borrow_mut().may_go_on(Pending { kind, address });
        if !goes_on {
            self.suspend();
        }
    }

    /// Ends the schedule with a failure. The calling thread continues until its next operation.
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

    /// Lets the running thread compute for a while, outside of the code under test.
    pub fn work(&self, nanoseconds: u64) {
        {
            let mut state = self.state.borrow_mut();
            let me = state.running();
            state.set_status(me, Status::Working);
            state.spend(nanoseconds);
        }
        // `point` would continue at once if the driver says so, and the machine would not check
        // whether it is at rest.
        self.suspend();
    }

    /// Returns the number of steps made so far.
    pub fn steps(&self) -> u64 {
        self.state.borrow().steps
    }

    /// Returns the index of the running thread.
    pub fn thread(&self) -> ThreadId {
        self.state.borrow().running()
    }
}
