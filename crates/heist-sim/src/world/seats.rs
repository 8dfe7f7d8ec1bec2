//! What is known of the futures that wait with a worker: in its slot and in its queue.
//!
//! Only where nobody steals, so that what is put there stays until its worker takes it. A future is in here if it is
//! certain that it is there; one that may be elsewhere is not. So what is said of those that are in here is true of the
//! real ones, and nothing is said of the others.

use crate::failure::{Failure, Kind};
use crate::scenario::{Lifo, Scenario};
use std::collections::VecDeque;

/// How many futures in a row a worker polls out of its slot while others are in its queue.
const SLOT_RUN_MAX: u32 = 3;

/// A worker's queue with so many futures is full for those that it spawns.
const FULL: usize = 64;

#[derive(Clone, Debug, Default)]
struct Seat {
    slot: Option<usize>,
    queue: VecDeque<usize>,
    /// How many were polled out of the slot since the last one that was not, while the queue held something.
    slot_run: u32,
}

/// All of them.
#[derive(Debug)]
pub(super) struct Seats {
    seats: Vec<Seat>,
    /// Whether nobody steals.
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

    /// A worker's own doing has woken a future. `may_be_elsewhere`: somebody else may have queued it.
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

    /// A worker's own doing is about to spawn a future, while so many live: if they may fill its queue, it gives some
    /// away.
    pub(super) fn spawns(&mut self, worker: usize, future: usize, live: usize) {
        if live > FULL {
            self.seats[worker].queue.clear();
        }
        self.goes_behind(worker, future);
    }

    /// A future goes behind those in its worker's queue.
    pub(super) fn goes_behind(&mut self, worker: usize, future: usize) {
        if self.known {
            self.seats[worker].queue.push_back(future);
        }
    }

    /// A future is gone, which was in a slot, a queue or elsewhere: `worker` has taken and dropped it.
    pub(super) fn dropped(&mut self, worker: Option<usize>, future: usize) {
        for seat in &mut self.seats {
            seat.slot.take_if(|slot| *slot == future);
            seat.queue.retain(|queued| *queued != future);
        }
        if let Some(worker) = worker {
            self.seats[worker].slot_run = 0;
        }
    }

    /// A worker begins to poll a future. Was it the next?
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
                    "future {next} waits in the queue of worker {worker}, which polls {in_a_row} in a row out of its \
                     slot"
                )
            };
            return (in_a_row > SLOT_RUN_MAX).then(|| Failure::new(Kind::Starved, text()));
        }
        let overtakes = next != future && seat.queue.contains(&future);
        self.dropped(Some(worker), future);
        let text = || {
            format!(
                "future {future} is polled by worker {worker}, in whose queue future {next} has waited since before"
            )
        };
        overtakes.then(|| Failure::new(Kind::PolledTooSoon, text()))
    }
}
