//! Checks on futures: who polls them, who has woken them, and how they ended.
//!
//! A future is *due* from the moment a thread is about to spawn or wake it until its next poll
//! begins. A wake-up that began before that poll but takes effect after it may cause one more poll,
//! which is not a failure.

use super::seats::Seats;
use super::{Waiting, World, fail};
use crate::failure::{Failure, Kind};
use crate::machine::{ThreadId, machine};
use crate::scenario::{FutureStep, Lifo, Scenario};
use heist::coop::OPERATIONS_PER_POLL;
use heist::current_worker_id;

/// What happened to a future.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FutureFate {
    /// Offered to the pool, which has not answered yet.
    Offered,
    /// Refused and returned.
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

/// Where a future that is due may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whereabouts {
    /// In a queue or in the injector, now or when its poll ends.
    Queued,
    /// As `Queued`, or in the LIFO slot of this worker.
    MaybeSlotOf(usize),
    /// Not known: the future may have been woken without the world seeing it.
    Unknown,
}

/// The result that a `JoinHandle` reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The future has completed.
    Output,
    /// The future has panicked.
    Panic,
    /// The future was aborted.
    Aborted,
    /// The pool was stopped.
    Stopped,
    /// Any other result.
    Other,
}

#[derive(Debug)]
struct Future {
    fate: FutureFate,
    /// Whether the future counts as the pool's but is not polled by its workers.
    is_outside: bool,
    due: bool,
    /// Where the future is, if it is due.
    whereabouts: Whereabouts,
    /// The number of wake-ups that have begun and not ended.
    wakes: usize,
    wakes_begun: u64,
    /// Whether a wake-up has ended since the last poll began, or may still take effect.
    may_be_scheduled: bool,
    /// The thread that polls the future.
    polled_by: Option<ThreadId>,
    last_worker: Option<usize>,
    /// Whether the last poll ended at a gate, so that only threads that use the gate wake the
    /// future.
    at_gate: bool,
    /// Whether the future yields at the end of its poll.
    gives_way: bool,
    /// The number of operations in the current poll.
    operations: u32,
    /// The future that this one awaits.
    awaits: Option<usize>,
    /// Whether a thread has begun to abort the future.
    aborting: bool,
    /// Whether the future was aborted at a moment when no thread polled it.
    aborted: bool,
    panics_on_drop: bool,
    spawns_on_drop: Option<usize>,
}

/// What a future does when its value is dropped.
#[derive(Clone, Copy, Debug, Default)]
pub struct OnDrop {
    /// Whether it panics.
    pub panics: bool,
    /// The future program that it spawns, if any.
    pub spawns: Option<usize>,
}

/// A wake-up that is under way.
#[derive(Debug)]
pub struct Wake {
    number: usize,
    /// The worker whose own task or future wakes, if any.
    worker: Option<usize>,
    /// Whether the future was not queued when the wake-up began.
    waits_for_this: bool,
    /// The number of wake-ups that had begun at that time.
    begun: u64,
}

/// All futures.
#[derive(Debug)]
pub(super) struct Futures {
    futures: Vec<Future>,
    /// The future that each worker polls.
    polling: Vec<Option<usize>>,
    /// Threads outside of the pool that await a future.
    awaiting: Vec<(ThreadId, usize)>,
    seats: Seats,
    /// Whether other workers steal from a worker's queue, and from its LIFO slot.
    stealing: bool,
    stealing_from_slots: bool,
    /// The number of polls that workers have begun.
    pub(super) polls: u64,
    /// The number of accepted futures.
    pub(super) spawned: u64,
    /// The number of futures that ended before they completed.
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

    /// Returns the future that a worker polls.
    pub(super) fn polled_on(&self, worker: usize) -> Option<usize> {
        self.polling[worker]
    }

    /// Returns a future that was accepted and has not ended.
    pub(super) fn any_accepted(&self) -> Option<usize> {
        self.futures.iter().position(|future| future.fate == FutureFate::Live)
    }

    /// Returns a live future.
    pub(super) fn any_live(&self) -> Option<usize> {
        self.futures.iter().position(|future| future.fate.is_live())
    }

    /// Returns the number of live futures.
    pub(super) fn live(&self) -> usize {
        self.futures.iter().filter(|future| future.fate.is_live()).count()
    }
}

impl World {
    /// Adds a future. A future that a worker spawns is accepted from the start.
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

    /// Records that the pool accepted a future from outside. `was_closed` says whether the pool was
    /// known to be closed before the call.
    pub fn future_accepted(&mut self, number: usize, was_closed: bool) {
        if was_closed {
            let text = format!("future {number} was accepted by a closed pool");
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
            let text = format!("future {number} was accepted after a worker had left");
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

    /// Records that the pool refused a future. `inside` says whether it came from one of the pool's
    /// own tasks or futures.
    pub fn future_refused(&mut self, number: usize, inside: bool) {
        let future = &mut self.futures.futures[number];
        self.outstanding -= usize::from(future.fate == FutureFate::Live);
        future.fate = FutureFate::Refused;
        if inside || (!self.joining && !self.stopped) {
            fail(Kind::RefusedForNoReason, format!("future {number} was refused by an open pool"));
        }
    }

    /// Records that the current thread polls a future.
    pub fn poll_begins(&mut self, number: usize) {
        self.worker_seen();
        self.note_accepted(number);
        let future = &mut self.futures.futures[number];
        let wrong = if let Some(other) = future.polled_by {
            Some(format!("while thread {other} polls it"))
        } else if !future.fate.is_live() {
            Some(format!("but it is {:?}", future.fate))
        } else {
            future.aborted.then(|| "but it was aborted before".to_owned())
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

    /// Records that a poll ends.
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

    /// Records that a future is about to panic in its poll.
    pub fn future_panics(&mut self, number: usize) {
        self.panics += 1;
        self.poll_ends(number, false);
        self.futures.futures[number].fate = FutureFate::Panicked;
    }

    /// Records that a future is about to panic in its drop.
    pub fn future_drop_panics(&mut self) {
        self.panics += 1;
    }

    /// Records that the value of a future is dropped. Returns what it does then.
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
        // A worker drops a future instead of polling it, or after polling it.
        let worker = current_worker_id().filter(|_| future.fate.is_live());
        if future.fate.is_live() {
            future.fate = FutureFate::Dropped;
            self.futures.cut_short += 1;
            if !future.aborting && !stopped {
                let text = format!("future {number} was dropped although the pool was not stopped");
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

    /// Records that the current thread is about to wake a future.
    pub fn wakes(&mut self, number: usize) -> Wake {
        let worker = self.busy_worker();
        let waits_for_this = self.waits_at_gate_for(number, worker);
        let future = &mut self.futures.futures[number];
        future.wakes += 1;
        future.wakes_begun += 1;
        let wake = Wake { number, worker, waits_for_this, begun: future.wakes_begun };
        if future.fate.is_live() && !std::mem::replace(&mut future.due, true) {
            // Otherwise the future is queued when its poll ends, as if it yielded.
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

    /// Returns whether a future certainly waits at a gate and is not queued, so that waking it
    /// queues it.
    fn waits_at_gate_for(&self, number: usize, worker: Option<usize>) -> bool {
        let future = &self.futures.futures[number];
        let may_be_queued = future.due || future.may_be_scheduled || future.wakes > 0;
        future.fate.is_live()
            && future.at_gate
            && future.polled_by.is_none()
            // A poll by another worker may have ended for the world but not yet for the code under
            // test.
            && future.last_worker == worker
            && !(may_be_queued || future.aborting || self.stopped)
    }

    /// Records that a wake-up has returned.
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

    /// Records that a future is about to yield in its poll. It is already woken, or about to be.
    pub fn gives_way(&mut self, number: usize) {
        let future = &mut self.futures.futures[number];
        future.due = true;
        future.gives_way = true;
    }

    /// Records that a future waits at a gate in its poll.
    pub fn waits_at_gate(&mut self, number: usize) {
        self.futures.futures[number].at_gate = true;
    }

    /// Records an operation that counts against the budget of the poll.
    pub fn operates(&mut self, number: usize) {
        let future = &mut self.futures.futures[number];
        future.operations += 1;
        if future.operations > OPERATIONS_PER_POLL {
            let text = format!("future {number} makes operation {} in one poll", future.operations);
            fail(Kind::PollTooLong, text);
        }
    }

    /// Records that a thread is about to abort a future.
    pub fn aborts(&mut self, number: usize) {
        self.futures.futures[number].aborting = true;
    }

    /// Records that a thread has aborted a future.
    pub fn has_aborted(&mut self, number: usize) {
        let future = &mut self.futures.futures[number];
        future.aborted = future.polled_by.is_none();
    }

    /// Records that a future, or the current thread, begins to await another future.
    pub fn awaits(&mut self, who: Option<usize>, number: usize) {
        match who {
            Some(who) => self.futures.futures[who].awaits = Some(number),
            None => self.futures.awaiting.push((machine().thread(), number)),
        }
    }

    /// Records and checks the result of awaiting a future.
    pub fn answered(&mut self, who: Option<usize>, number: usize, answer: Answer) {
        match who {
            Some(who) => self.futures.futures[who].awaits = None,
            None => self.futures.awaiting.retain(|(_, awaited)| *awaited != number),
        }
        let future = &self.futures.futures[number];
        let (fate, aborting) = (future.fate, future.aborting);
        // A future that is aborted during its last poll may have completed although its handle
        // reports the abort.
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

    /// Returns the worker that runs this code, if it does so in a task or a future.
    fn busy_worker(&self) -> Option<usize> {
        current_worker_id()
            .filter(|worker| self.running[*worker].is_some() || self.polled_on(*worker))
    }

    fn polled_on(&self, worker: usize) -> bool {
        self.futures.polling[worker].is_some()
    }

    /// Returns a failure if a future should be polled or dropped and a worker could do it. Called
    /// when the machine is at rest.
    pub(super) fn due_at_rest(&self, idle_workers: &[usize]) -> Option<Failure> {
        let all = &self.futures.futures;
        let is_over = |number: usize| !all[number].fate.is_live();
        if let Some((thread, number)) =
            self.futures.awaiting.iter().find(|(_, number)| is_over(*number))
        {
            let text = format!("future {number} has ended, but thread {thread} still awaits it");
            return Some(Failure::new(Kind::WakeLost, text));
        }
        let idle = *idle_workers.first()?;
        let all_workers_sleep = idle_workers.len() == self.running.len();
        let is_due = |future: &Future| {
            let is_reached = future.due || future.aborting || self.stopped;
            let is_due = is_reached || future.awaits.is_some_and(is_over);
            is_due && future.fate.is_live() && future.polled_by.is_none() && !future.is_outside
        };
        // Of the futures that may be in a LIFO slot, at most one is.
        let mut slots = vec![None; self.running.len()];
        let mut can_be_taken = |number: usize| {
            let future = &all[number];
            let is_queued = match future.whereabouts {
                Whereabouts::Queued => true,
                Whereabouts::MaybeSlotOf(worker) => slots[worker].replace(number).is_some(),
                Whereabouts::Unknown => false,
            };
            let is_known = future.due && !future.aborting && !self.stopped;
            all_workers_sleep
                || self.futures.stealing
                    && (self.futures.stealing_from_slots || is_queued && is_known)
        };
        let due = (0..all.len()).filter(|number| is_due(&all[*number]));
        let number = due.into_iter().find(|number| can_be_taken(*number))?;
        Some(if all_workers_sleep {
            let text =
                format!("future {number} should be polled or dropped, but no thread will do it");
            Failure::new(Kind::WakeLost, text)
        } else {
            let text =
                format!("future {number} waits, worker {idle} sleeps, and no worker searches");
            Failure::new(Kind::AsleepBesideWork, text)
        })
    }
}
