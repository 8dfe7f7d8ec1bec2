//! The rejected ways to wake workers. `PROTOCOL.md` says why each was rejected.

use super::protocol::{Idle, Unparked};
use crate::metrics::SharedCounter;
use crate::sync::{AtomicUsize, CachePadded, Ordering, Parker, Unparker};
use std::time::Duration;

/// The number of local spawns for which one worker is woken.
const SPAWNS_PER_WAKE: u64 = 32;

/// The longest time that a worker sleeps.
const PARK_TIMEOUT: Duration = Duration::from_micros(200);

/// A whole protocol, to be planted and measured
/// ([`Plant::RoundRobinWake`](crate::sync::plant::Plant::RoundRobinWake)): it does not record which
/// workers sleep. Workers are woken in turn, parked or not: one for every 32 local spawns of a
/// worker, and one for every spawn from elsewhere. A timeout finds the work that this misses.
/// Searchers are neither counted nor limited.
#[derive(Debug)]
pub(super) struct RoundRobin {
    next_in_turn: CachePadded<AtomicUsize>,
    /// Each worker's local spawns. Only that worker uses its counter, so the checkers need not see
    /// it.
    local_spawns: Box<[SharedCounter]>,
}

impl RoundRobin {
    pub(super) fn new(workers: usize) -> Self {
        Self {
            next_in_turn: CachePadded::new(AtomicUsize::new(0)),
            local_spawns: (0..workers).map(|_| SharedCounter::default()).collect(),
        }
    }

    /// Counts local spawns of `worker`. Returns how many workers to wake for them.
    pub(super) fn wakes_for(&self, worker: usize, spawned: usize) -> usize {
        let spawns = &self.local_spawns[worker];
        let before = spawns.get();
        spawns.add(spawned as u64);
        (spawns.get() / SPAWNS_PER_WAKE - before / SPAWNS_PER_WAKE) as usize
    }

    /// Gives tokens to the next workers in turn, at most one each. Returns how many of them had
    /// none.
    pub(super) fn wake_in_turn(&self, unparkers: &[Unparker], wanted: usize) -> usize {
        let wake_next = |_: &usize| {
            let next = self.next_in_turn.fetch_add(1, Ordering::Relaxed);
            unparkers[next % unparkers.len()].unpark()
        };
        (0..wanted.min(unparkers.len())).filter(wake_next).count()
    }

    /// Sleeps until the worker receives a token or the timeout expires.
    pub(super) fn park(parker: &Parker) -> Unparked {
        if parker.park_timeout(PARK_TIMEOUT) { Unparked::Token } else { Unparked::FoundWork }
    }
}

/// The planted ways to wake one worker.
impl Idle {
    /// Counts the searcher before the bit is cleared.
    pub(super) fn wake_one_counting_first(&self) -> bool {
        let Some(worker) = self.parked.peek() else { return false };
        self.searchers.fetch_add(1, Ordering::AcqRel);
        if self.parked.remove(worker) {
            self.wakes_sent.add(1);
            self.unparkers[worker].unpark();
            true
        } else {
            self.searchers.fetch_sub(1, Ordering::AcqRel);
            false
        }
    }

    /// Wakes the next worker in turn, parked or not. The wake-ups sent so far say whose turn it is.
    pub(super) fn wake_next_in_turn(&self) -> bool {
        let worker = self.wakes_sent.get() as usize % self.unparkers.len();
        self.parked.remove(worker);
        self.searchers.fetch_add(1, Ordering::AcqRel);
        self.wakes_sent.add(1);
        self.unparkers[worker].unpark()
    }

    /// Leaves the counting to the caller.
    pub(super) fn wake_one_uncounted(&self) -> bool {
        let Some(worker) = self.parked.take_lowest() else { return false };
        self.searchers.fetch_add(1, Ordering::AcqRel);
        self.unparkers[worker].unpark();
        true
    }
}
