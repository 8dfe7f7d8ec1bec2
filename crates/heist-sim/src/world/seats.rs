//! Checks on the order of futures in a worker's LIFO slot and queue.
//!
//! The order is only known without stealing (or with one worker), because a future then stays in
//! its worker's LIFO slot or queue until that worker takes it. A future is listed here only if it
//! is certainly there. So every statement about a listed future is true, and nothing is stated
//! about others.

use crate::failure::{Failure, Kind};
use crate::scenario::{Lifo, Scenario};
use std::collections::VecDeque;

/// The number of futures in a row that a worker polls from its LIFO slot while others are in its
/// queue.
const SLOT_RUN_MAX: u32 = 3;

/// The number of futures at which a worker's queue is full for the futures that it spawns.
const FULL: usize = 64;

#[derive(Clone, Debug, Default)]
struct Seat {
    slot: Option<usize>,
    queue: VecDeque<usize>,
    /// The number of consecutive polls from the LIFO slot while the queue held something.
    slot_run: u32,
}

/// The LIFO slots and queues of all workers.
#[derive(Debug)]
pub(super) struct Seats {
    seats: Vec<Seat>,
    /// Whether the order is known, because no worker steals.
    known: bool,
    has_slots: bool,
}

impl Seats {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let pool = &scenario.pool;
        Self {
            seats: vec![Seat::default(); pool.workers],
            known: pool.workers == 1 || !pool.stealing,
            has_slots: pool.lifo != Lifo::Off,
        }
    }

    /// Records that a worker's own task or future has woken a future. `may_be_elsewhere` says
    /// whether another thread may have queued it.
    pub(super) fn wakes(&mut self, worker: usize, future: usize, may_be_elsewhere: bool) {
        if !self.known {
            return;
        }
        let seat = &mut self.seats[worker];
        if !self.has_slots {
            seat.queue.extend((!may_be_elsewhere).then_some(future));
            return;
        }
        let displaced = seat.slot.take();
        if !may_be_elsewhere {
            seat.slot = Some(future);
            seat.queue.extend(displaced);
        }
    }

    /// Records that a worker's own task or future is about to spawn a future. If the `live` futures
    /// may fill its queue, the worker moves some of them elsewhere.
    pub(super) fn spawns(&mut self, worker: usize, future: usize, live: usize) {
        if live > FULL {
            self.seats[worker].queue.clear();
        }
        self.goes_behind(worker, future);
    }

    /// Records that a future goes to the back of its worker's queue.
    pub(super) fn goes_behind(&mut self, worker: usize, future: usize) {
        if self.known {
            self.seats[worker].queue.push_back(future);
        }
    }

    /// Records that a future is gone, wherever it was. `worker` has taken and dropped it.
    pub(super) fn dropped(&mut self, worker: Option<usize>, future: usize) {
        for seat in &mut self.seats {
            seat.slot.take_if(|slot| *slot == future);
            seat.queue.retain(|queued| *queued != future);
        }
        if let Some(worker) = worker {
            self.seats[worker].slot_run = 0;
        }
    }

    /// Records that a worker begins to poll a future. Returns a failure if another future was next.
    pub(super) fn polls(&mut self, worker: usize, future: usize) -> Option<Failure> {
        let seat = &mut self.seats[worker];
        let Some(&next) = seat.queue.front() else {
            self.dropped(Some(worker), future);
            return None;
        };
        if seat.slot == Some(future) {
            seat.slot = None;
            seat.slot_run += 1;
            let in_a_row = seat.slot_run;
            let text = || {
                format!(
                    "future {next} waits in the queue of worker {worker}, which polls {in_a_row} in a row \
                     from its LIFO slot"
                )
            };
            return (in_a_row > SLOT_RUN_MAX).then(|| Failure::new(Kind::Starved, text()));
        }
        let overtakes = next != future && seat.queue.contains(&future);
        self.dropped(Some(worker), future);
        let text = || {
            format!(
                "worker {worker} polls future {future}, but future {next} was ahead of it in the queue"
            )
        };
        overtakes.then(|| Failure::new(Kind::PolledTooSoon, text()))
    }
}
