//! [`Termination`] and [`Ledger`] of builds with planted bugs: they pass every call on to the
//! shipping types, unless a bug or a rejected algorithm ([`Scheme`]) is planted.

use super::protocol::{self, WentQuiet};
use super::rejected::Scheme;
use crate::intake::Intake;
use crate::sync::plant::{Plant, planted};
use crate::sync::{Arc, Ordering};

/// The shared half of termination detection.
#[derive(Debug)]
pub struct Termination {
    shipping: protocol::Termination,
    rejected: Option<Arc<Scheme>>,
}

/// One worker's own half.
#[derive(Debug)]
pub struct Ledger {
    shipping: protocol::Ledger,
    worker: usize,
    rejected: Option<Arc<Scheme>>,
    /// The tasks produced minus the tasks consumed that a rejected scheme has not published.
    delta: i64,
    /// For a rejected scheme: whether this worker is quiet.
    quiet: bool,
}

impl Termination {
    /// Creates the counters of `workers` workers, none of them quiet, and each worker's ledger.
    pub fn new(workers: usize) -> (Self, Vec<Ledger>) {
        let (shipping, ledgers) = protocol::Termination::new(workers);
        let rejected = Scheme::planted(workers).map(Arc::new);
        let ledger = |(worker, shipping)| Ledger {
            shipping,
            worker,
            rejected: rejected.clone(),
            delta: 0,
            quiet: false,
        };
        let ledgers = ledgers.into_iter().enumerate().map(ledger).collect();
        (Self { shipping, rejected }, ledgers)
    }

    /// Returns `true` if the pool is done. For the thread that has just closed the intake.
    #[must_use]
    pub fn closer_finds_done(&self, intake: &Intake) -> bool {
        if planted(Plant::CloserDoesNotCheck) {
            return false;
        }
        match &self.rejected {
            Some(scheme) => scheme.closer_finds_done(&self.shipping, intake),
            None => self.shipping.closer_finds_done(intake),
        }
    }

    /// Counts tasks that a running task produces without its worker's ledger.
    pub fn produce_inside(&self, count: u64) {
        self.shipping.produce_inside(count);
        self.count_at_once(count as i64);
    }

    /// Counts futures as spawned by `worker`.
    pub fn spawn_futures_on(&self, worker: usize, count: u64) {
        self.shipping.spawn_futures_on(worker, count);
        self.count_at_once(count as i64);
    }

    /// Counts a future as ended by `worker`.
    pub fn end_future_on(&self, worker: usize) {
        self.shipping.end_future_on(worker);
        self.count_at_once(-1);
    }

    /// Counts one task as ended on a thread that is not a worker. Returns `true` if the pool is
    /// done.
    #[must_use]
    pub fn consume_outside(&self, intake: &Intake) -> bool {
        match &self.rejected {
            Some(scheme) => {
                self.shipping.consumed_outside.fetch_add(1, Ordering::Release);
                scheme.count_at_once(-1);
                scheme.closer_finds_done(&self.shipping, intake)
            }
            None => self.shipping.consume_outside(intake),
        }
    }

    fn count_at_once(&self, change: i64) {
        if let Some(scheme) = &self.rejected {
            scheme.count_at_once(change);
        }
    }

    /// Returns how many tasks and futures were produced inside the pool, as far as this thread
    /// sees.
    pub(crate) fn sum_produced(&self) -> u64 {
        self.shipping.sum_produced()
    }

    /// Declares the pool done.
    pub fn set_done(&self) {
        self.shipping.set_done();
    }

    /// Returns `true` once the pool was declared done.
    pub fn is_done(&self) -> bool {
        self.shipping.is_done()
    }
}

impl Ledger {
    /// Counts `count` tasks as produced, then calls `push` to publish them.
    pub fn produce(&mut self, termination: &Termination, count: u64, push: impl FnOnce()) {
        if let Some(scheme) = &self.rejected {
            scheme.count(&mut self.delta, count as i64);
        }
        if planted(Plant::ProducedAfterPush) {
            push();
            return self.shipping.produce(&termination.shipping, count, || ());
        }
        self.shipping.produce(&termination.shipping, count, push);
    }

    /// Counts one task as ended.
    pub fn consume(&mut self) {
        self.shipping.consume();
        if let Some(scheme) = &self.rejected {
            scheme.count(&mut self.delta, -1);
        }
    }

    /// Marks the worker as quiet.
    #[must_use]
    pub fn go_quiet(&mut self, termination: &Termination, intake: &Intake) -> WentQuiet {
        let Some(scheme) = &self.rejected else {
            return self.shipping.go_quiet(&termination.shipping, intake);
        };
        if self.quiet {
            return WentQuiet::default();
        }
        let flushed = self.shipping.publish_consumed(&termination.shipping);
        self.quiet = true;
        let (checked, done) =
            scheme.went_quiet(&termination.shipping, intake, self.worker, &mut self.delta);
        WentQuiet { checked, flushed, done }
    }

    /// Marks the worker as busy. Returns `true` if it was quiet.
    pub fn leave_quiet(&mut self, termination: &Termination) -> bool {
        let Some(scheme) = &self.rejected else {
            return self.shipping.leave_quiet(&termination.shipping);
        };
        if self.quiet {
            scheme.left_quiet(self.worker);
        }
        std::mem::take(&mut self.quiet)
    }
}
