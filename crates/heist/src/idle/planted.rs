//! [`Idle`] of builds with planted bugs: it passes every call on to the shipping type, unless a bug
//! or the rejected protocol ([`RoundRobin`]) is planted.

use super::protocol::{self, Unparked};
use super::rejected::RoundRobin;
use crate::sync::Parker;
use crate::sync::plant::{Plant, planted};
use std::cell::Cell;
use std::time::Duration;

/// The shared half of the idle protocol.
#[derive(Debug)]
pub struct Idle {
    shipping: protocol::Idle,
    round_robin: RoundRobin,
}

impl Idle {
    /// Creates the protocol for `workers` workers, and each worker's parker.
    pub fn new(workers: usize) -> (Self, Vec<Parker>) {
        let (shipping, parkers) = protocol::Idle::new(workers);
        (Self { shipping, round_robin: RoundRobin::new(workers) }, parkers)
    }

    /// Applies the push rule. Returns how many workers were woken.
    pub fn notify_pushed(&self, pushed: usize) -> usize {
        if planted(Plant::RoundRobinWake) {
            return self.round_robin.wake_in_turn(&self.shipping.unparkers, pushed);
        }
        self.count_late(self.shipping.notify_pushed(pushed))
    }

    /// Applies the rule of [`Plant::RoundRobinWake`] for tasks that `worker` spawned locally.
    pub fn notify_hoarded(&self, worker: usize, spawned: usize) -> usize {
        self.notify_pushed(self.round_robin.wakes_for(worker, spawned))
    }

    /// Returns how many wake-ups were sent so far.
    pub fn wakes_sent(&self) -> u64 {
        self.shipping.wakes_sent()
    }

    /// Counts the calling worker as a searcher, or refuses.
    #[must_use]
    pub fn try_start_searching(&self) -> bool {
        planted(Plant::RoundRobinWake) || self.shipping.try_start_searching()
    }

    /// Ends the search of a worker that found work. Returns how many workers were woken.
    pub fn found_work(&self, any_work: impl Fn() -> bool) -> usize {
        if planted(Plant::RoundRobinWake) {
            return 0;
        }
        let looks = !planted(Plant::LastSearcherSilent);
        self.count_late(self.shipping.found_work(|| looks && any_work()))
    }

    /// Parks worker `me` until it has a reason to search.
    pub fn park(
        &self,
        me: usize,
        searching: bool,
        parker: &Parker,
        backstop: Option<Duration>,
        any_work: impl Fn() -> bool,
    ) -> Unparked {
        if planted(Plant::RoundRobinWake) {
            return RoundRobin::park(parker);
        }
        let skips_look =
            planted(Plant::NoLookAfterBit) || !searching && planted(Plant::RefusedDoesNotLook);
        let skips_look = Cell::new(skips_look);
        let any_work = || !skips_look.take() && any_work();
        self.shipping.park(me, searching, parker, backstop, any_work)
    }

    /// Gives every worker a token.
    pub fn wake_all_for_exit(&self) {
        self.shipping.wake_all_for_exit();
    }

    /// Counts wake-ups after they were sent, if [`Plant::WakesCountedLate`] wants so.
    fn count_late(&self, woken: usize) -> usize {
        if planted(Plant::WakesCountedLate) {
            self.shipping.wakes_sent.add(woken as u64);
        }
        woken
    }
}
