//! What is known of the futures: who polls them, who has woken them, and what became of them.
//!
//! A future is *due* from the moment somebody is about to spawn or wake it until its next poll begins. A wake-up that
//! began before that poll, and has its effect after it, may have it polled once more; nobody is told off for that.

use super::seats::Seats;
use super::{Waiting, World, fail};
use crate::failure::{Failure, Kind};
use crate::machine::{ThreadId, machine};
use crate::scenario::{FutureStep, Lifo, Scenario};
use heist::coop::OPERATIONS_PER_POLL;
use heist::current_worker_id;

/// What became of a future.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FutureFate {
    /// Handed to the pool, which has not answered yet.
    Offered,
    /// Refused, and given back.
    Refused,
    /// Accepted, and not ended.
    Live,
    Completed,
    Panicked,
    /// Dropped before its end.
    Dropped,
}

impl FutureFate {
    fn is_live(self) -> bool {
        matches!(self, Self::Offered | Self::Live)
    }
}

/// Where a future that is due waits, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whereabouts {
    /// In a queue or in the injector; or it will be when its poll has ended.
    Queued,
    /// The same, or in the slot of this worker.
    MaybeSlotOf(usize),
    /// It may have been woken without the world's knowing.
    Unknown,
}

/// What a handle says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The future has completed.
    Output,
    /// It has panicked.
    Panic,
    /// It was aborted.
    Aborted,
    /// The pool was stopped.
    Stopped,
    /// Something else.
    Other,
}

#[derive(Debug)]
struct Future {
    fate: FutureFate,
    /// It counts as the pool's, but no worker polls it.
    is_outside: bool,
    due: bool,
    /// Where it is, if it is due.
    whereabouts: Whereabouts,
    /// Wake-ups that have begun and not ended.
    wakes: usize,
    wakes_begun: u64,
    /// A wake-up has ended since its last poll began, or may have its effect after that.
    may_be_scheduled: bool,
    /// Who polls it.
    polled_by: Option<ThreadId>,
    last_worker: Option<usize>,
    /// Its last poll has ended at a gate: nobody but who knows of the gate wakes it.
    at_gate: bool,
    /// It gives way at the end of its poll.
    gives_way: bool,
    /// Operations in the poll that is under way.
    operations: u32,
    /// The future that it awaits.
    awaits: Option<usize>,
    /// Somebody has begun to abort it.
    aborting: bool,
    /// Somebody has aborted it, and at that moment nobody polled it.
    aborted: bool,
    panics_on_drop: bool,
    spawns_on_drop: Option<usize>,
}

/// What a future does when its value is dropped.
#[derive(Clone, Copy, Debug, Default)]
pub struct OnDrop {
    /// It panics.
    pub panics: bool,
    /// It spawns this one.
    pub spawns: Option<usize>,
}

/// A wake-up that is under way.
#[derive(Debug)]
pub struct Wake {
    number: usize,
    /// The worker whose own doing it is.
    worker: Option<usize>,
    /// The future was not queued when it began.
    waits_for_this: bool,
    /// How many had begun then.
    begun: u64,
}

/// All of them.
#[derive(Debug)]
pub(super) struct Futures {
    futures: Vec<Future>,
    /// Which future each worker polls.
    polling: Vec<Option<usize>>,
    /// Threads outside that await a future.
    awaiting: Vec<(ThreadId, usize)>,
    seats: Seats,
    /// Whether others take what is in a worker's queue, and what is in its slot.
    stealing: bool,
    stealing_from_slots: bool,
    /// How many polls workers have begun.
    pub(super) polls: u64,
    /// How many futures were accepted.
    pub(super) spawned: u64,
    /// How many ended before they had completed.
    pub(super) cut_short: u64,
}

impl Futures {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let pool = &scenario.pool;
        Self {
            futures: Vec::new(),
            polling: vec![None; pool.workers],
            awaiting: Vec::new(),
            seats: Seats::new(scenario),
            stealing: pool.stealing,
            stealing_from_slots: pool.lifo != Lifo::Private,
            polls: 0,
            spawned: 0,
            cut_short: 0,
        }
    }

    /// The future that a worker polls.
    pub(super) fn polled_on(&self, worker: usize) -> Option<usize> {
        self.polling[worker]
    }

    /// One that was accepted, and has not ended.
    pub(super) fn any_accepted(&self) -> Option<usize> {
        self.futures.iter().position(|future| future.fate == FutureFate::Live)
    }

    /// One that lives.
    pub(super) fn any_live(&self) -> Option<usize> {
        self.futures.iter().position(|future| future.fate.is_live())
    }

    /// How many live.
    pub(super) fn live(&self) -> usize {
        self.futures.iter().filter(|future| future.fate.is_live()).count()
    }
}

impl World {
    /// Makes a future. One that a worker spawns is accepted from the start.
    pub fn add_future(&mut self, program: usize, worker: Option<usize>, is_outside: bool) -> usize {
        let steps = &self.scenario.futures[program];
        let inside = worker.is_some();
        let future = Future {
            fate: if inside { FutureFate::Live } else { FutureFate::Offered },
            is_outside,
            due: true,
            whereabouts: Whereabouts::Queued,
            wakes: 0,
            wakes_begun: 0,
            may_be_scheduled: true,
            polled_by: None,
            last_worker: None,
            at_gate: false,
            gives_way: false,
            operations: 0,
            awaits: None,
            aborting: false,
            aborted: false,
            panics_on_drop: steps.contains(&FutureStep::PanicOnDrop),
            spawns_on_drop: steps.iter().find_map(|step| match step {
                FutureStep::SpawnOnDrop { future } => Some(*future),
                _ => None,
            }),
        };
        self.futures.futures.push(future);
        self.outstanding += usize::from(inside);
        self.futures.spawned += u64::from(inside);
        let number = self.futures.futures.len() - 1;
        if let Some(worker) = worker {
            let live = self.futures.live();
            self.futures.seats.spawns(worker, number, live);
            self.watch_for_starvation(Waiting::Future(number));
        }
        number
    }

    /// The pool has accepted a future from outside. `was_closed`: it was known to be closed before it was asked.
    pub fn future_accepted(&mut self, number: usize, was_closed: bool) {
        if was_closed {
            let text = format!("future {number} was accepted by a pool that was closed");
            fail(Kind::AcceptedAfterClose, text);
        }
        if self.futures.futures[number].fate != FutureFate::Offered {
            return;
        }
        self.note_accepted(number);
        if self.futures.futures[number].due {
            self.watch_for_starvation(Waiting::Future(number));
        }
        if self.left.contains(&true) {
            let text = format!("future {number} was accepted, and a worker had left already");
            fail(Kind::DoneTooEarly, text);
        }
    }

    fn note_accepted(&mut self, number: usize) {
        let future = &mut self.futures.futures[number];
        if future.fate == FutureFate::Offered {
            future.fate = FutureFate::Live;
            self.outstanding += 1;
            self.futures.spawned += 1;
        }
    }

    /// The pool has refused a future: from outside, or from one of its own.
    pub fn future_refused(&mut self, number: usize, inside: bool) {
        let future = &mut self.futures.futures[number];
        self.outstanding -= usize::from(future.fate == FutureFate::Live);
        future.fate = FutureFate::Refused;
        if inside || (!self.joining && !self.stopped) {
            fail(Kind::RefusedForNoReason, format!("future {number} was refused by an open pool"));
        }
    }

    /// Somebody polls a future.
    pub fn poll_begins(&mut self, number: usize) {
        self.worker_seen();
        self.note_accepted(number);
        let future = &mut self.futures.futures[number];
        let wrong = if let Some(other) = future.polled_by {
            Some(format!("while thread {other} does"))
        } else if !future.fate.is_live() {
            Some(format!("and it is {:?}", future.fate))
        } else {
            future.aborted.then(|| "and it was aborted before".to_owned())
        };
        future.polled_by = Some(machine().thread());
        future.due = false;
        future.whereabouts = Whereabouts::Queued;
        future.may_be_scheduled = future.wakes > 0;
        future.at_gate = false;
        future.operations = 0;
        let worker = current_worker_id();
        if let Some(wrong) = wrong {
            fail(Kind::PolledWrongly, format!("future {number} is polled, {wrong}"));
        }
        if self.left.contains(&true) || self.joined {
            fail(Kind::RanAfterDone, format!("future {number} is polled after a worker had left"));
        }
        if let Some(worker) = worker {
            self.futures.polling[worker] = Some(number);
            self.futures.polls += 1;
            self.check_starvation(Waiting::Future(number), worker);
            if let Some(failure) = self.futures.seats.polls(worker, number) {
                machine().fail(failure);
            }
        }
    }

    /// A poll comes to its end.
    pub fn poll_ends(&mut self, number: usize, completed: bool) {
        let future = &mut self.futures.futures[number];
        future.polled_by = None;
        future.last_worker = current_worker_id();
        if completed {
            future.fate = FutureFate::Completed;
        }
        let gives_way = std::mem::take(&mut future.gives_way);
        if let Some(worker) = future.last_worker {
            self.futures.polling[worker] = None;
            if gives_way {
                self.futures.seats.goes_behind(worker, number);
            }
        }
        if gives_way {
            self.watch_for_starvation(Waiting::Future(number));
        }
    }

    /// A future is about to panic in its poll.
    pub fn future_panics(&mut self, number: usize) {
        self.panics += 1;
        self.poll_ends(number, false);
        self.futures.futures[number].fate = FutureFate::Panicked;
    }

    /// A future is about to panic in its drop.
    pub fn future_drop_panics(&mut self) {
        self.panics += 1;
    }

    /// A future's value is dropped; says what it does then.
    pub fn future_dropped(&mut self, number: usize) -> OnDrop {
        let stopped = self.stopped;
        let future = &mut self.futures.futures[number];
        if future.fate == FutureFate::Refused {
            return OnDrop::default();
        }
        let on_drop = OnDrop {
            panics: std::mem::take(&mut future.panics_on_drop),
            spawns: future.spawns_on_drop.take(),
        };
        if let Some(other) = future.polled_by {
            let text = format!("future {number} is dropped while thread {other} polls it");
            fail(Kind::PolledWrongly, text);
        }
        let was_offered = future.fate == FutureFate::Offered;
        // Instead of a poll, or after one.
        let worker = current_worker_id().filter(|_| future.fate.is_live());
        if future.fate.is_live() {
            future.fate = FutureFate::Dropped;
            self.futures.cut_short += 1;
            if !future.aborting && !stopped {
                let text = format!("future {number} was dropped, and nobody had stopped the pool");
                fail(Kind::DroppedForNoReason, text);
            }
        }
        self.futures.spawned += u64::from(was_offered);
        self.outstanding -= usize::from(!was_offered);
        self.queued.retain(|queued| queued.what != Waiting::Future(number));
        self.futures.seats.dropped(worker, number);
        self.worker_seen();
        on_drop
    }

    /// Somebody is about to wake a future.
    pub fn wakes(&mut self, number: usize) -> Wake {
        let worker = self.busy_worker();
        let waits_for_this = self.waits_at_gate_for(number, worker);
        let future = &mut self.futures.futures[number];
        future.wakes += 1;
        future.wakes_begun += 1;
        let wake = Wake { number, worker, waits_for_this, begun: future.wakes_begun };
        if future.fate.is_live() && !std::mem::replace(&mut future.due, true) {
            // Otherwise it is queued when its poll has ended, as if it gave way.
            if future.polled_by.is_none() {
                future.whereabouts = match worker {
                    _ if !future.at_gate => Whereabouts::Unknown,
                    Some(worker) => Whereabouts::MaybeSlotOf(worker),
                    None => Whereabouts::Queued,
                };
                self.watch_for_starvation(Waiting::Future(number));
            }
        }
        wake
    }

    /// Whether it is certain that a future waits at a gate and is not queued, so that whoever wakes it queues it.
    fn waits_at_gate_for(&self, number: usize, worker: Option<usize>) -> bool {
        let future = &self.futures.futures[number];
        let may_be_queued = future.due || future.may_be_scheduled || future.wakes > 0;
        future.fate.is_live()
            && future.at_gate
            && future.polled_by.is_none()
            // Another worker's poll may have ended for the world, and not for the code under test.
            && future.last_worker == worker
            && !(may_be_queued || future.aborting || self.stopped)
    }

    /// Somebody has woken a future.
    pub fn has_woken(&mut self, wake: &Wake) {
        let stopped = self.stopped;
        let future = &mut self.futures.futures[wake.number];
        future.wakes -= 1;
        future.may_be_scheduled = true;
        if let Some(worker) = wake.worker {
            let was_first = wake.waits_for_this
                && future.wakes_begun == wake.begun
                && !(future.aborting || stopped);
            self.futures.seats.wakes(worker, wake.number, !was_first);
        }
    }

    /// A future that is polled is about to give way: it is woken already, or about to be.
    pub fn gives_way(&mut self, number: usize) {
        let future = &mut self.futures.futures[number];
        future.due = true;
        future.gives_way = true;
    }

    /// A future that is polled waits at a gate.
    pub fn waits_at_gate(&mut self, number: usize) {
        self.futures.futures[number].at_gate = true;
    }

    /// A future does an operation that counts against the budget of its poll.
    pub fn operates(&mut self, number: usize) {
        let future = &mut self.futures.futures[number];
        future.operations += 1;
        if future.operations > OPERATIONS_PER_POLL {
            let text = format!("future {number} does operation {} in one poll", future.operations);
            fail(Kind::PollTooLong, text);
        }
    }

    /// Somebody is about to abort a future.
    pub fn aborts(&mut self, number: usize) {
        self.futures.futures[number].aborting = true;
    }

    /// Somebody has aborted a future.
    pub fn has_aborted(&mut self, number: usize) {
        let future = &mut self.futures.futures[number];
        future.aborted = future.polled_by.is_none();
    }

    /// A future, or somebody outside, begins to await another.
    pub fn awaits(&mut self, who: Option<usize>, number: usize) {
        match who {
            Some(who) => self.futures.futures[who].awaits = Some(number),
            None => self.futures.awaiting.push((machine().thread(), number)),
        }
    }

    /// It has an answer.
    pub fn answered(&mut self, who: Option<usize>, number: usize, answer: Answer) {
        match who {
            Some(who) => self.futures.futures[who].awaits = None,
            None => self.futures.awaiting.retain(|(_, awaited)| *awaited != number),
        }
        let future = &self.futures.futures[number];
        let (fate, aborting) = (future.fate, future.aborting);
        // One that is aborted in its last poll may have come to its end, and the handle does not say so.
        let is_right = match answer {
            Answer::Output => fate == FutureFate::Completed,
            Answer::Panic => fate == FutureFate::Panicked,
            Answer::Aborted => aborting && !fate.is_live(),
            Answer::Stopped => fate == FutureFate::Dropped && !aborting,
            Answer::Other => false,
        };
        if !is_right {
            let aborted = if aborting { ", and was aborted" } else { "" };
            let text =
                format!("the handle of future {number} says {answer:?}; it is {fate:?}{aborted}");
            fail(Kind::WrongAnswer, text);
        }
    }

    /// The worker that runs this code, if its task or future does.
    fn busy_worker(&self) -> Option<usize> {
        current_worker_id()
            .filter(|worker| self.running[*worker].is_some() || self.polled_on(*worker))
    }

    fn polled_on(&self, worker: usize) -> bool {
        self.futures.polling[worker].is_some()
    }

    /// Nobody is inside the code under test. Is there a future that should be polled, or dropped, and somebody who
    /// could?
    pub(super) fn due_at_rest(&self, idle_workers: &[usize]) -> Option<Failure> {
        let all = &self.futures.futures;
        let is_over = |number: usize| !all[number].fate.is_live();
        if let Some((thread, number)) =
            self.futures.awaiting.iter().find(|(_, number)| is_over(*number))
        {
            let text =
                format!("future {number} has ended, and thread {thread} awaits it all the same");
            return Some(Failure::new(Kind::WakeLost, text));
        }
        let idle = *idle_workers.first()?;
        let everybody_sleeps = idle_workers.len() == self.running.len();
        let is_due = |future: &Future| {
            let is_reached = future.due || future.aborting || self.stopped;
            let is_due = is_reached || future.awaits.is_some_and(is_over);
            is_due && future.fate.is_live() && future.polled_by.is_none() && !future.is_outside
        };
        // Of those that may be in a slot one is there, at most.
        let mut slots = vec![None; self.running.len()];
        let mut can_be_taken = |number: usize| {
            let future = &all[number];
            let is_queued = match future.whereabouts {
                Whereabouts::Queued => true,
                Whereabouts::MaybeSlotOf(worker) => slots[worker].replace(number).is_some(),
                Whereabouts::Unknown => false,
            };
            let is_known = future.due && !future.aborting && !self.stopped;
            everybody_sleeps
                || self.futures.stealing
                    && (self.futures.stealing_from_slots || is_queued && is_known)
        };
        let due = (0..all.len()).filter(|number| is_due(&all[*number]));
        let number = due.into_iter().find(|number| can_be_taken(*number))?;
        Some(if everybody_sleeps {
            let text = format!("future {number} is to be polled or dropped, and nobody will");
            Failure::new(Kind::WakeLost, text)
        } else {
            let text = format!("future {number} waits, worker {idle} sleeps, and nobody searches");
            Failure::new(Kind::AsleepBesideWork, text)
        })
    }
}
