//! What is known outside of the code under test: which tasks exist, what became of them, who has been told what. The
//! oracles compare this with what the code under test does.

mod budgets;
mod checks;
mod futures;
mod items;
mod seats;
mod signals;

pub use budgets::{Ask, NOBODY_ASKED, Of};
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

/// What became of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Handed to the pool, which has not answered yet.
    Offered,
    /// Refused, and given back.
    Refused,
    /// Accepted or spawned, and not begun.
    Waiting,
    /// Being run.
    Running,
    /// Run, to its end or until it panicked.
    Ended,
    /// Dropped without being run.
    Dropped,
}

/// Where a task was put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Where every worker finds it.
    Injector,
    /// The own queue of a worker.
    Own(usize),
    /// Nowhere yet: it waits for a budget, and is put into the injector by whoever grants it.
    Line,
}

/// A task, as far as it is known.
#[derive(Clone, Debug)]
pub struct Record {
    /// What it does.
    pub program: usize,
    /// What became of it.
    pub fate: Fate,
    /// Where it was put.
    pub place: Place,
    /// How often it spawns itself again.
    pub again: Option<u32>,
    /// Whether it holds a permit.
    pub permit: bool,
    /// Whether its value panics when it is dropped.
    pub panics_on_drop: bool,
    /// Who offered it from outside.
    offered_by: Option<ThreadId>,
    /// Whose turn it is, until that is over. It has no program then.
    pub turn_of: Option<To>,
}

impl Record {
    /// Whether nothing has become of it.
    fn is_lost(&self) -> bool {
        !matches!(self.fate, Fate::Ended | Fate::Dropped | Fate::Refused)
    }
}

/// When the pool may refuse a task that is offered to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusable {
    /// Once it is closed: the task comes from outside.
    OnceClosed,
    /// Once it is stopped: a task or future spawns it through a handle.
    OnceStopped,
    /// Never: it is counted for a task that runs, and is dropped if the pool is stopped.
    Never,
}

/// A place to wait at until it is opened.
#[derive(Debug)]
struct Gate {
    opened: bool,
    word: Address,
}

/// What waits for its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waiting {
    Task(usize),
    Future(usize),
}

/// Something that is queued, and what every worker had begun when it came.
#[derive(Debug)]
struct Queued {
    what: Waiting,
    begun: Vec<u64>,
}

/// Everything that is known.
pub struct World {
    scenario: Rc<Scenario>,
    jobs: Vec<Record>,
    /// Accepted or begun, and not ended.
    outstanding: usize,
    /// Which task each worker runs.
    running: Vec<Option<usize>>,
    /// Which workers have left.
    left: Vec<bool>,
    /// How many tasks and polls each worker has begun.
    begun: Vec<u64>,
    tasks_begun: u64,
    queued: VecDeque<Queued>,
    gates: Vec<Gate>,
    meeting: usize,
    permits: usize,
    permit_word: Option<Address>,
    /// Somebody has begun to stop the pool: tasks may be dropped.
    stopped: bool,
    /// The pool is known to be closed.
    closed: bool,
    /// A call that stops the pool has returned: running tasks are told when they ask.
    told_to_stop: bool,
    /// The owner waits for the end.
    joining: bool,
    joined: bool,
    /// Workers whose task has panicked and which have not been seen since: the pool is closed when one of them is.
    aborting: Vec<ThreadId>,
    /// What lost producers hold, until the schedule is over.
    lost: Vec<Box<dyn Any>>,
    panics: u64,
    dropped: u64,
    items: Items,
    budgets: Budgets,
    signals: Signals,
    futures: Futures,
    /// Actors that have not come to their end.
    actors_left: usize,
    /// The pool's own account, after it was joined.
    metrics: Option<MetricsSnapshot>,
}

thread_local! {
    static WORLD: RefCell<Option<World>> = const { RefCell::new(None) };
}

/// Looks at the world, or changes it. Must not make a step of the machine.
pub fn world<R>(change: impl FnOnce(&mut World) -> R) -> R {
    WORLD.with_borrow_mut(|world| change(world.as_mut().expect("a schedule is under way")))
}

/// Begins a new world.
pub fn begin_world(scenario: &Rc<Scenario>) {
    WORLD.set(Some(World::new(Rc::clone(scenario))));
}

/// A promise is broken: ends the schedule.
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

    /// The scenario.
    pub fn scenario(&self) -> Rc<Scenario> {
        Rc::clone(&self.scenario)
    }

    /// A task.
    pub fn job(&mut self, job: usize) -> &mut Record {
        &mut self.jobs[job]
    }

    /// Makes a task. One that a worker spawns is accepted from the start.
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

    /// A task was made of a queue's turn: it is counted already.
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

    /// A task that has waited in no queue was made, and will be put into one.
    pub fn made(&mut self, job: usize) {
        self.jobs[job].place = Place::Injector;
    }

    /// The making of a task is about to panic.
    pub fn making_panics(&mut self, job: usize) {
        let record = &mut self.jobs[job];
        self.outstanding -= usize::from(record.fate == Fate::Waiting);
        record.fate = Fate::Dropped;
        record.panics_on_drop = false;
        self.dropped += 1;
    }

    /// An actor has come to its end, or will not be heard of again; says whether it is the last one.
    pub fn actor_leaves(&mut self) -> bool {
        self.actors_left -= 1;
        self.actors_left == 0
    }

    fn watch_for_starvation(&mut self, what: Waiting) {
        if self.scenario.starvation_bound.is_some() {
            self.queued.push_back(Queued { what, begun: self.begun.clone() });
        }
    }

    /// Whether the pool is known to be closed.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Whether the pool is known to refuse such tasks.
    pub fn must_refuse(&self, refusable: Refusable) -> bool {
        match refusable {
            Refusable::OnceClosed => self.closed,
            Refusable::OnceStopped => self.told_to_stop,
            Refusable::Never => false,
        }
    }

    /// The pool has accepted a task from outside. `was_closed`: it was known to refuse it before it was asked.
    pub fn accepted(&mut self, job: usize, was_closed: bool) {
        if was_closed {
            fail(
                Kind::AcceptedAfterClose,
                format!("task {job} was accepted by a pool that was closed"),
            );
        }
        if self.jobs[job].fate != Fate::Offered {
            return;
        }
        self.jobs[job].fate = Fate::Waiting;
        self.outstanding += 1;
        self.watch_for_starvation(Waiting::Task(job));
        if self.left.contains(&true) {
            let text = format!("task {job} was accepted, and a worker had left already");
            fail(Kind::DoneTooEarly, text);
        }
    }

    /// The pool has refused a task.
    pub fn refused(&mut self, job: usize, refusable: Refusable) {
        self.outstanding -= usize::from(self.jobs[job].fate == Fate::Waiting);
        self.jobs[job].fate = Fate::Refused;
        let may_refuse = match refusable {
            Refusable::OnceClosed => self.joining || self.stopped,
            Refusable::OnceStopped => self.stopped,
            Refusable::Never => false,
        };
        if !may_refuse {
            let text = format!("task {job} was refused, and may be {refusable:?} only");
            fail(Kind::RefusedForNoReason, text);
        }
    }

    /// A worker begins a task.
    pub fn begin(&mut self, job: usize, worker: usize) {
        self.worker_seen();
        let record = &mut self.jobs[job];
        self.outstanding += usize::from(record.fate == Fate::Offered);
        record.fate = Fate::Running;
        self.running[worker] = Some(job);
        self.tasks_begun += 1;
        if self.left.contains(&true) || self.joined {
            fail(Kind::RanAfterDone, format!("task {job} was run after a worker had left"));
        }
        self.check_starvation(Waiting::Task(job), worker);
    }

    /// A worker begins something. Has something else waited too long?
    fn check_starvation(&mut self, what: Waiting, worker: usize) {
        self.begun[worker] += 1;
        let Some(bound) = self.scenario.starvation_bound else { return };
        self.queued.retain(|queued| queued.what != what);
        let Some(oldest) = self.queued.front() else { return };
        let others = self.begun[worker] - oldest.begun[worker];
        if others > bound {
            let text = format!(
                "{:?} waits, and worker {worker} has begun {others} others since",
                oldest.what
            );
            fail(Kind::Starved, text);
        }
    }

    /// A worker's task comes to its end, or is about to panic.
    pub fn end(&mut self, job: usize, worker: usize) {
        self.jobs[job].fate = Fate::Ended;
        self.running[worker] = None;
        self.outstanding -= 1;
        self.note_turn_over(job);
    }

    /// A panic is about to be thrown by a task.
    pub fn panics(&mut self) {
        self.panics += 1;
        if !self.scenario.pool.isolate_panics {
            self.stopped = true;
            self.aborting.push(machine().thread());
        }
    }

    /// A worker does something between tasks: if its last task has panicked, that has been dealt with.
    pub fn worker_seen(&mut self) {
        if !self.aborting.is_empty() && self.aborting.contains(&machine().thread()) {
            self.closed = true;
        }
    }

    /// The value of a task is dropped; says whether it gives back a permit, and whether it panics.
    pub fn job_dropped(&mut self, job: usize) -> (bool, bool) {
        let record = &mut self.jobs[job];
        let permit = std::mem::take(&mut record.permit);
        // What was refused is dropped by its producer, who does not expect a panic.
        let panics = std::mem::take(&mut record.panics_on_drop) && record.fate != Fate::Refused;
        if record.fate == Fate::Offered && record.offered_by == Some(machine().thread()) {
            let text = format!("task {job} was accepted, and its own producer had to drop it");
            fail(Kind::DoneTooEarly, text);
        }
        match record.fate {
            // An offered one is on its way back, or the pool has dropped it before it has answered.
            Fate::Offered | Fate::Waiting => {
                self.outstanding -= usize::from(record.fate == Fate::Waiting);
                record.fate = Fate::Dropped;
                self.dropped += 1;
                self.queued.retain(|queued| queued.what != Waiting::Task(job));
                self.note_turn_over(job);
                self.worker_seen();
                if !self.stopped {
                    let text = format!("task {job} was dropped, and nobody had stopped the pool");
                    fail(Kind::DroppedForNoReason, text);
                }
            }
            Fate::Refused | Fate::Ended | Fate::Dropped | Fate::Running => {}
        }
        (permit, panics)
    }

    /// A worker has left its loop.
    pub fn worker_left(&mut self, worker: usize) {
        self.left[worker] = true;
        // If none of them is running, they are lost, or will be run after all: either will show.
        let is_polling = |worker| self.futures.polled_on(worker).is_some();
        let is_busy = |worker: usize| self.running[worker].is_some() || is_polling(worker);
        if self.outstanding > 0 && (0..self.running.len()).any(is_busy) {
            let text = format!(
                "worker {worker} left, and {} tasks or futures had not ended",
                self.outstanding
            );
            fail(Kind::DoneTooEarly, text);
        }
    }

    /// A producer is never heard of again, and neither is what it holds.
    pub fn keep_for_ever(&mut self, held: impl Any) {
        self.lost.push(Box::new(held));
    }

    /// The schedule has failed. What lost producers hold cannot be dropped outside of a simulated thread, and tasks
    /// would be taken for the next world's.
    pub fn forget_what_is_left(&mut self) {
        std::mem::forget(std::mem::take(&mut self.lost));
    }

    /// Somebody is about to stop the pool.
    pub fn stops(&mut self) {
        self.stopped = true;
    }

    /// A call that stops the pool has returned.
    pub fn has_stopped(&mut self) {
        self.told_to_stop = true;
        self.closed = true;
    }

    /// Whether such a call has returned.
    pub fn is_told_to_stop(&self) -> bool {
        self.told_to_stop
    }

    /// Whether somebody has begun to stop the pool.
    pub fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// Somebody has stopped or closed the pool.
    pub fn has_closed(&mut self) {
        self.closed = true;
    }

    /// The owner is about to wait for the end.
    pub fn joins(&mut self) {
        self.joining = true;
    }

    /// The owner's wait is over.
    pub fn has_joined(&mut self, metrics: MetricsSnapshot) {
        self.joined = true;
        self.metrics = Some(metrics);
        self.closed = true;
        self.check_items_at_join();
        if let Some(future) = self.futures.any_accepted() {
            fail(Kind::DoneTooEarly, format!("the pool was joined, and future {future} lives"));
        }
        if let Some(worker) = self.left.iter().position(|left| !left) {
            fail(
                Kind::DoneTooEarly,
                format!("the pool was joined, and worker {worker} had not left"),
            );
        }
    }

    /// The word behind a gate, and whether it is open.
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

    /// The words that everybody waits at, to be told that the pool is stopped.
    pub fn wake_all_who_wait(&mut self) {
        for word in self.gates.iter().map(|gate| gate.word).chain(self.permit_word) {
            machine().notify(word);
        }
    }

    /// One more is at the meeting; says how many there are.
    pub fn meet(&mut self) -> usize {
        self.meeting += 1;
        self.meeting
    }

    /// The word that those wait at who want a permit.
    pub fn permit_word(&mut self) -> Address {
        *self.permit_word.get_or_insert_with(|| machine().allocate(0))
    }

    /// Takes a permit, if there is one.
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
