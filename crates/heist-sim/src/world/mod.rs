//! A record of what the code under test has promised: which tasks, futures, items and permits
//! exist, and what happened to each of them. The oracles compare this record with what the code
//! under test does.
//!
//! The tasks and futures of a scenario report here what they see: just before a call that may have
//! an effect, and just after it has returned. Between the two, the effect may have taken place or
//! not, so the oracles only report what is wrong in both cases.

mod budgets;
mod checks;
mod futures;
mod items;
mod seats;
mod signals;

pub use budgets::{Ask, Of, WITHOUT_REQUEST};
pub use futures::{Answer, OnDrop, Wake};
pub use items::Producer;

use crate::failure::{Failure, Kind};
use crate::machine::{ThreadId, machine};
use crate::scenario::{Scenario, Step, To};
use budgets::Budgets;
use futures::Futures;
use heist::__internal::sync::machine::{Address, Machine};
use heist::MetricsSnapshot;
use items::Items;
use signals::Signals;
use std::any::Any;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// What happened to a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Offered to the pool, which has not answered yet.
    Offered,
    /// Refused and returned.
    Refused,
    /// Accepted or spawned, and not begun.
    Waiting,
    /// Running.
    Running,
    /// Ended, or panicked.
    Ended,
    /// Dropped without running.
    Dropped,
}

/// Where a task was put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the injector, where every worker finds it.
    Injector,
    /// In the own queue of this worker.
    Own(usize),
    /// Not in a queue yet: the task waits for a budget. The thread that grants its request puts it
    /// into the injector.
    Line,
}

/// The record of a task.
#[derive(Clone, Debug)]
pub struct Record {
    /// The program that the task runs.
    pub program: usize,
    /// What happened to the task.
    pub fate: Fate,
    /// Where the task was put.
    pub place: Place,
    /// How often the task spawns itself again.
    pub again: Option<u32>,
    /// Whether the task holds a permit.
    pub permit: bool,
    /// Whether the task's value panics when it is dropped.
    pub panics_on_drop: bool,
    /// The thread that offered the task from outside.
    offered_by: Option<ThreadId>,
    /// The queue or lane whose turn the task is, until the turn is over. Such a task has no
    /// program.
    pub turn_of: Option<To>,
}

impl Record {
    /// Returns whether the task neither ended nor was dropped or refused.
    fn is_lost(&self) -> bool {
        !matches!(self.fate, Fate::Ended | Fate::Dropped | Fate::Refused)
    }
}

/// When the pool may refuse a task that it is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusable {
    /// Once it is closed: the task comes from outside.
    OnceClosed,
    /// Once it is stopped: a task or future spawns it through a handle.
    OnceStopped,
    /// Never: the task is counted for a running task, and dropped if the pool is stopped.
    Never,
}

/// A place where threads and futures wait until it is opened.
#[derive(Debug)]
struct Gate {
    opened: bool,
    word: Address,
}

/// A queued task or future.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waiting {
    Task(usize),
    Future(usize),
}

/// A queued task or future, with the number of things that every worker had begun when it was
/// queued.
#[derive(Debug)]
struct Queued {
    what: Waiting,
    begun: Vec<u64>,
}

/// Everything that is known about the running schedule.
pub struct World {
    scenario: Rc<Scenario>,
    jobs: Vec<Record>,
    /// The number of tasks that were accepted or begun and have not ended.
    outstanding: usize,
    /// The task that each worker runs.
    running: Vec<Option<usize>>,
    /// Whether each worker has left.
    left: Vec<bool>,
    /// The number of tasks and polls that each worker has begun.
    begun: Vec<u64>,
    tasks_begun: u64,
    queued: VecDeque<Queued>,
    gates: Vec<Gate>,
    meeting: usize,
    permits: usize,
    permit_word: Option<Address>,
    /// Whether a thread has begun to stop the pool, so that tasks may be dropped.
    stopped: bool,
    /// Whether the pool is known to be closed.
    closed: bool,
    /// Whether a call that stops the pool has returned, so that running tasks that ask must get the
    /// answer yes.
    told_to_stop: bool,
    /// Whether the owner waits for the end.
    joining: bool,
    joined: bool,
    /// Workers whose task has panicked and that have not been seen since. The pool is closed once
    /// one of them is seen.
    aborting: Vec<ThreadId>,
    /// What vanished producers hold, until the schedule is over.
    lost: Vec<Box<dyn Any>>,
    panics: u64,
    dropped: u64,
    items: Items,
    budgets: Budgets,
    signals: Signals,
    futures: Futures,
    /// The number of actors that have not ended.
    actors_left: usize,
    /// The metrics of the pool, after it was joined.
    metrics: Option<MetricsSnapshot>,
}

thread_local! {
    static WORLD: RefCell<Option<World>> = const { RefCell::new(None) };
}

/// Reads or changes the world. `change` must not make an operation of the machine.
pub fn world<R>(change: impl FnOnce(&mut World) -> R) -> R {
    WORLD.with_borrow_mut(|world| change(world.as_mut().expect("a schedule is under way")))
}

/// Creates a new world for a schedule.
pub fn begin_world(scenario: &Rc<Scenario>) {
    WORLD.set(Some(World::new(Rc::clone(scenario))));
}

/// Ends the schedule because a promise is broken.
pub fn fail(kind: Kind, text: impl Into<String>) {
    machine().fail(Failure::new(kind, text));
}

impl World {
    fn new(scenario: Rc<Scenario>) -> Self {
        let workers = scenario.pool.workers;
        Self {
            permits: scenario.permits,
            items: Items::new(&scenario),
            budgets: Budgets::new(&scenario),
            signals: Signals::new(&scenario),
            futures: Futures::new(&scenario),
            actors_left: scenario.actors.len(),
            scenario,
            jobs: Vec::new(),
            outstanding: 0,
            running: vec![None; workers],
            left: vec![false; workers],
            begun: vec![0; workers],
            tasks_begun: 0,
            queued: VecDeque::new(),
            gates: Vec::new(),
            meeting: 0,
            permit_word: None,
            stopped: false,
            closed: false,
            told_to_stop: false,
            joining: false,
            joined: false,
            aborting: Vec::new(),
            lost: Vec::new(),
            panics: 0,
            dropped: 0,
            metrics: None,
        }
    }

    /// Returns the scenario.
    pub fn scenario(&self) -> Rc<Scenario> {
        Rc::clone(&self.scenario)
    }

    /// Returns the record of a task.
    pub fn job(&mut self, job: usize) -> &mut Record {
        &mut self.jobs[job]
    }

    /// Adds a task. A task that a worker spawns is accepted from the start.
    pub fn add_job(&mut self, program: usize, place: Place, from_outside: bool) -> usize {
        let fate = if from_outside { Fate::Offered } else { Fate::Waiting };
        self.jobs.push(Record {
            program,
            fate,
            place,
            again: None,
            permit: false,
            panics_on_drop: self.scenario.programs[program].contains(&Step::PanicOnDrop),
            offered_by: from_outside.then(|| machine().thread()),
            turn_of: None,
        });
        self.outstanding += usize::from(!from_outside);
        let job = self.jobs.len() - 1;
        if place == Place::Injector && !from_outside {
            self.watch_for_starvation(Waiting::Task(job));
        }
        job
    }

    /// Adds a task for a queue's turn, which is already counted.
    pub fn add_turn(&mut self, to: To) -> usize {
        self.turn_made(to);
        self.jobs.push(Record {
            program: usize::MAX,
            fate: Fate::Waiting,
            place: Place::Injector,
            again: None,
            permit: false,
            panics_on_drop: false,
            offered_by: None,
            turn_of: Some(to),
        });
        self.outstanding += 1;
        self.jobs.len() - 1
    }

    /// Records that a task that waited for a budget was created and will be put into the injector.
    pub fn made(&mut self, job: usize) {
        self.jobs[job].place = Place::Injector;
    }

    /// Records that the creation of a task is about to panic.
    pub fn making_panics(&mut self, job: usize) {
        let record = &mut self.jobs[job];
        self.outstanding -= usize::from(record.fate == Fate::Waiting);
        record.fate = Fate::Dropped;
        record.panics_on_drop = false;
        self.dropped += 1;
    }

    /// Records that an actor has ended or vanishes. Returns whether it is the last one.
    pub fn actor_leaves(&mut self) -> bool {
        self.actors_left -= 1;
        self.actors_left == 0
    }

    fn watch_for_starvation(&mut self, what: Waiting) {
        if self.scenario.starvation_bound.is_some() {
            self.queued.push_back(Queued { what, begun: self.begun.clone() });
        }
    }

    /// Returns whether the pool is known to be closed.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Returns whether the pool is known to refuse such tasks.
    pub fn must_refuse(&self, refusable: Refusable) -> bool {
        match refusable {
            Refusable::OnceClosed => self.closed,
            Refusable::OnceStopped => self.told_to_stop,
            Refusable::Never => false,
        }
    }

    /// Records that the pool accepted a task from outside. `was_closed` is the answer of
    /// `must_refuse` before the call.
    pub fn accepted(&mut self, job: usize, was_closed: bool) {
        if was_closed {
            fail(Kind::AcceptedAfterClose, format!("task {job} was accepted by a closed pool"));
        }
        if self.jobs[job].fate != Fate::Offered {
            return;
        }
        self.jobs[job].fate = Fate::Waiting;
        self.outstanding += 1;
        self.watch_for_starvation(Waiting::Task(job));
        if self.left.contains(&true) {
            let text = format!("task {job} was accepted after a worker had left");
            fail(Kind::DoneTooEarly, text);
        }
    }

    /// Records that the pool refused a task.
    pub fn refused(&mut self, job: usize, refusable: Refusable) {
        self.outstanding -= usize::from(self.jobs[job].fate == Fate::Waiting);
        self.jobs[job].fate = Fate::Refused;
        let may_refuse = match refusable {
            Refusable::OnceClosed => self.joining || self.stopped,
            Refusable::OnceStopped => self.stopped,
            Refusable::Never => false,
        };
        if !may_refuse {
            let text = format!("task {job} was refused, which is allowed {refusable:?} only");
            fail(Kind::RefusedForNoReason, text);
        }
    }

    /// Records that a worker begins a task.
    pub fn begin(&mut self, job: usize, worker: usize) {
        self.worker_seen();
        let record = &mut self.jobs[job];
        self.outstanding += usize::from(record.fate == Fate::Offered);
        record.fate = Fate::Running;
        self.running[worker] = Some(job);
        self.tasks_begun += 1;
        if self.left.contains(&true) || self.joined {
            fail(Kind::RanAfterDone, format!("task {job} ran after a worker had left"));
        }
        self.check_starvation(Waiting::Task(job), worker);
    }

    /// Records that a worker begins a task or poll, and checks whether something else has waited
    /// too long.
    fn check_starvation(&mut self, what: Waiting, worker: usize) {
        self.begun[worker] += 1;
        let Some(bound) = self.scenario.starvation_bound else { return };
        self.queued.retain(|queued| queued.what != what);
        let Some(oldest) = self.queued.front() else { return };
        let others = self.begun[worker] - oldest.begun[worker];
        if others > bound {
            let text = format!(
                "{:?} waits, but worker {worker} has begun {others} others since",
                oldest.what
            );
            fail(Kind::Starved, text);
        }
    }

    /// Records that a task ends or is about to panic.
    pub fn end(&mut self, job: usize, worker: usize) {
        self.jobs[job].fate = Fate::Ended;
        self.running[worker] = None;
        self.outstanding -= 1;
        self.note_turn_over(job);
    }

    /// Records that a task is about to panic.
    pub fn panics(&mut self) {
        self.panics += 1;
        if !self.scenario.pool.isolate_panics {
            self.stopped = true;
            self.aborting.push(machine().thread());
        }
    }

    /// Records that a worker does something between tasks. If its last task panicked, the pool has
    /// dealt with that.
    pub fn worker_seen(&mut self) {
        if !self.aborting.is_empty() && self.aborting.contains(&machine().thread()) {
            self.closed = true;
        }
    }

    /// Records that the value of a task is dropped. Returns whether it gives back a permit, and
    /// whether it panics.
    pub fn job_dropped(&mut self, job: usize) -> (bool, bool) {
        let record = &mut self.jobs[job];
        let permit = std::mem::take(&mut record.permit);
        // A refused task is dropped by its producer, which does not expect a panic.
        let panics = std::mem::take(&mut record.panics_on_drop) && record.fate != Fate::Refused;
        if record.fate == Fate::Offered && record.offered_by == Some(machine().thread()) {
            let text = format!("task {job} was accepted, but its own producer had to drop it");
            fail(Kind::DoneTooEarly, text);
        }
        match record.fate {
            // An offered task is being returned, or the pool dropped it before it answered.
            Fate::Offered | Fate::Waiting => {
                self.outstanding -= usize::from(record.fate == Fate::Waiting);
                record.fate = Fate::Dropped;
                self.dropped += 1;
                self.queued.retain(|queued| queued.what != Waiting::Task(job));
                self.note_turn_over(job);
                self.worker_seen();
                if !self.stopped {
                    let text = format!("task {job} was dropped although the pool was not stopped");
                    fail(Kind::DroppedForNoReason, text);
                }
            }
            Fate::Refused | Fate::Ended | Fate::Dropped | Fate::Running => {}
        }
        (permit, panics)
    }

    /// Records that a worker has left its loop.
    pub fn worker_left(&mut self, worker: usize) {
        self.left[worker] = true;
        // If none of them is running, they are lost or will run later; other checks report both.
        let is_polling = |worker| self.futures.polled_on(worker).is_some();
        let is_busy = |worker: usize| self.running[worker].is_some() || is_polling(worker);
        if self.outstanding > 0 && (0..self.running.len()).any(is_busy) {
            let text = format!(
                "worker {worker} left, but {} tasks or futures had not ended",
                self.outstanding
            );
            fail(Kind::DoneTooEarly, text);
        }
    }

    /// Keeps what a vanished producer holds until the schedule is over.
    pub fn keep_forever(&mut self, held: impl Any) {
        self.lost.push(Box::new(held));
    }

    /// Leaks what vanished producers hold after a failed schedule. It cannot be dropped outside of
    /// a simulated thread, and the next world would take the tasks for its own.
    pub fn forget_what_is_left(&mut self) {
        std::mem::forget(std::mem::take(&mut self.lost));
    }

    /// Records that a thread is about to stop the pool.
    pub fn stops(&mut self) {
        self.stopped = true;
    }

    /// Records that a call that stops the pool has returned.
    pub fn has_stopped(&mut self) {
        self.told_to_stop = true;
        self.closed = true;
    }

    /// Returns whether a call that stops the pool has returned.
    pub fn is_told_to_stop(&self) -> bool {
        self.told_to_stop
    }

    /// Returns whether a thread has begun to stop the pool.
    pub fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// Records that a thread has stopped or closed the pool.
    pub fn has_closed(&mut self) {
        self.closed = true;
    }

    /// Records that the owner is about to wait for the end.
    pub fn joins(&mut self) {
        self.joining = true;
    }

    /// Records that the owner's wait has returned, and checks that everything has ended.
    pub fn has_joined(&mut self, metrics: MetricsSnapshot) {
        self.joined = true;
        self.metrics = Some(metrics);
        self.closed = true;
        self.check_items_at_join();
        if let Some(future) = self.futures.any_accepted() {
            fail(
                Kind::DoneTooEarly,
                format!("the pool was joined, but future {future} is still live"),
            );
        }
        if let Some(worker) = self.left.iter().position(|left| !left) {
            fail(
                Kind::DoneTooEarly,
                format!("the pool was joined, but worker {worker} had not left"),
            );
        }
    }

    /// Returns the word of a gate, and whether the gate is open.
    pub fn gate(&mut self, gate: usize) -> (Address, bool) {
        while self.gates.len() <= gate {
            self.gates.push(Gate { opened: false, word: machine().allocate(0) });
        }
        (self.gates[gate].word, self.gates[gate].opened)
    }

    /// Opens a gate.
    pub fn open(&mut self, gate: usize) {
        let (word, _) = self.gate(gate);
        self.gates[gate].opened = true;
        machine().notify(word);
    }

    /// Wakes all threads that wait at a gate or for a permit, because the pool is stopped.
    pub fn wake_all_who_wait(&mut self) {
        for word in self.gates.iter().map(|gate| gate.word).chain(self.permit_word) {
            machine().notify(word);
        }
    }

    /// Adds a task to the meeting. Returns how many there are.
    pub fn meet(&mut self) -> usize {
        self.meeting += 1;
        self.meeting
    }

    /// Returns the word at which threads wait for a permit.
    pub fn permit_word(&mut self) -> Address {
        *self.permit_word.get_or_insert_with(|| machine().allocate(0))
    }

    /// Takes a permit if there is one. Returns whether there was.
    pub fn try_take_permit(&mut self) -> bool {
        let taken = self.permits > 0;
        self.permits -= usize::from(taken);
        taken
    }

    /// Gives a permit back.
    pub fn give_permit_back(&mut self) {
        self.permits += 1;
        let word = self.permit_word();
        machine().notify(word);
    }
}
