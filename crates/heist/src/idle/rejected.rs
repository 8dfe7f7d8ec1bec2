//! The rejected way to be idle, to be planted and measured ([`Plant::SeedIdle`]): nobody knows who sleeps. Workers are
//! woken in turn, whether they sleep or not; at every 32nd local spawn of a worker, and at every spawn from elsewhere.
//! What that misses is found by a timeout. Searchers are not counted and not limited; each look tries a few victims at
//! random. `PROTOCOL.md` says why not.

use super::{Idle, Unparked};
use crate::sync::plant::{Plant, planted};
use crate::sync::{Ordering, Parker};
use std::time::Duration;

/// How many local spawns pass unannounced.
const HOARD: u32 = 32;

/// Nobody sleeps longer than this.
const PARK_TIMEOUT: Duration = Duration::from_micros(200);

/// How many victims one look tries.
const STEAL_TRIES: usize = 4;

/// Whether the rejected protocol is in force.
pub(crate) fn is_seed() -> bool {
    planted(Plant::SeedIdle)
}

/// How many local spawns a worker has made since it last woke somebody.
#[derive(Debug, Default)]
pub(crate) struct Hoard(u32);

impl Hoard {
    /// Counts local spawns; says how many workers to wake for them.
    pub(crate) fn grow(&mut self, spawned: usize) -> usize {
        self.0 += spawned as u32;
        let wakes = self.0 / HOARD;
        self.0 %= HOARD;
        wakes as usize
    }
}

/// Victims for one look, at random.
pub(crate) fn victims(
    worker: usize,
    others: usize,
    mut random_below: impl FnMut(usize) -> usize,
) -> [usize; STEAL_TRIES] {
    std::array::from_fn(|_| {
        let victim = random_below(others);
        victim + usize::from(victim >= worker)
    })
}

impl Idle {
    /// Gives tokens to the next workers in turn, no more than there are; says how many had none.
    pub(super) fn wake_in_turn(&self, wanted: usize) -> usize {
        let wake_next = |_: &usize| {
            let turn = self.next_in_turn.fetch_add(1, Ordering::Relaxed);
            self.unparkers[turn % self.unparkers.len()].unpark()
        };
        (0..wanted.min(self.unparkers.len())).filter(wake_next).count()
    }

    /// Sleeps until this worker's turn comes, or the time is over.
    pub(super) fn park_for_a_while(parker: &Parker) -> Unparked {
        if parker.park_timeout(PARK_TIMEOUT) { Unparked::Token } else { Unparked::FoundWork }
    }
}
