//! Waiting for a budget as a thread or with a callback; and giving up.
//!
//! Invariant: who gives up either leaves the queue unanswered or finds that it was answered first. There is nothing in
//! between, because both happen under the lock.

use super::amount::Amount;
use super::core::Core;
use super::error::AcquireError;
use super::permit::Permit;
use super::waiter::{Kind, Slot, Then, Ticket};
use crate::executor::task::contain;
use crate::sync::{Arc, Clock, Parker};
use crate::worker_id::current_worker_id;
use std::time::Duration;

/// What became of a request that could not be granted without the lock.
pub(super) enum Placed {
    /// It could be granted after all.
    Granted,
    /// It waits.
    Queued(Ticket),
}

/// When a thread stops waiting.
struct Deadline {
    clock: Clock,
    at_ns: u64,
}

impl Deadline {
    fn after(timeout: Duration) -> Self {
        let clock = Clock::start();
        let timeout_ns = u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
        Self { clock, at_ns: clock.now_ns().saturating_add(timeout_ns) }
    }

    /// What is left; `None` when the time is over.
    fn left(&self) -> Option<Duration> {
        let left_ns = self.at_ns.saturating_sub(self.clock.now_ns());
        (left_ns > 0).then(|| Duration::from_nanos(left_ns))
    }
}

impl Core {
    /// Calls `then` exactly once, unless it gives up (see [`Core::give_up`]) the place that this returns: now, on this
    /// thread, if `wanted` can be granted or must be refused; else later, by whoever makes it fit or closes the budget.
    /// A panic of `then` is contained.
    ///
    /// `then` should be short: those who are granted meanwhile, also by other threads, are called after it.
    pub fn acquire_with(this: &Arc<Self>, wanted: Amount, then: Then) -> Option<Ticket> {
        let mut then = Some(then);
        let mut ticket = None;
        let outcome = match this.try_take(wanted) {
            Err(AcquireError::NotNow) => {
                let placed = this.take_or_wait(wanted, || then.take().map(Kind::Callback));
                placed.map(|placed| {
                    if let Placed::Queued(place) = placed {
                        ticket = Some(place);
                    }
                })
            }
            decided => decided,
        };
        // Gone if it waits.
        if let Some(then) = then {
            let outcome = outcome.map(|()| Permit::new(Arc::clone(this), wanted));
            contain(|| then(outcome));
        }
        ticket
    }

    /// Waits for `wanted`, for at most `timeout` if there is one.
    ///
    /// # Errors
    /// `TooLarge`, `Closed`, `OnWorker` or `TimedOut`.
    pub fn acquire_blocking(
        this: &Arc<Self>,
        wanted: Amount,
        timeout: Option<Duration>,
    ) -> Result<Permit, AcquireError> {
        match Self::try_acquire(this, wanted) {
            Err(AcquireError::NotNow) => {}
            decided => return decided,
        }
        if current_worker_id().is_some() {
            return Err(AcquireError::OnWorker);
        }
        let deadline = timeout.map(Deadline::after);
        let parker = Parker::new();
        let slot = Slot::new();
        let kind = || Some(Kind::Thread(Arc::clone(&slot), parker.unparker()));
        let ticket = match this.take_or_wait(wanted, kind)? {
            Placed::Granted => return Ok(Permit::new(Arc::clone(this), wanted)),
            Placed::Queued(ticket) => ticket,
        };
        // No looking before the thread sleeps. It was measured with 1, 5 and 20 us: a few nanoseconds gained where the
        // permit is held for a moment, and two to three times as long for everybody else, because whoever looks keeps
        // the one from running whom it waits for.
        loop {
            if let Some(answer) = slot.answer() {
                return this.permit(wanted, answer);
            }
            match deadline.as_ref().map(Deadline::left) {
                None => parker.park(),
                // It may return early, and without a reason: the answer and the clock decide.
                Some(Some(left)) => {
                    parker.park_timeout(left);
                }
                Some(None) if this.give_up(ticket) => return Err(AcquireError::TimedOut),
                // The answer came first: the next round takes it.
                Some(None) => {}
            }
        }
    }

    /// Under the lock: grants, refuses, or puts a waiter of this `kind` into the queue. `kind` is called under the
    /// lock and runs none of the caller's code.
    pub(super) fn take_or_wait(
        &self,
        wanted: Amount,
        kind: impl FnOnce() -> Option<Kind>,
    ) -> Result<Placed, AcquireError> {
        let mut kind = Some(kind);
        let mut held = self.hold();
        let placed = if held.state.closed {
            Err(AcquireError::Closed)
        } else if let Some(error) = self.too_large(wanted) {
            Err(error)
        } else if held.try_take(wanted) {
            Ok(Placed::Granted)
        } else {
            kind.take()
                .and_then(|kind| kind())
                .map(|kind| Placed::Queued(held.enqueue(wanted, kind)))
                .ok_or(AcquireError::NotNow)
        };
        held.settle();
        // It may hold a runtime's waker, whose `drop` must not lose what was granted.
        contain(|| drop(kind));
        placed
    }

    /// Leaves the queue, and lets those behind through. `false` if it was answered first.
    pub fn give_up(&self, ticket: Ticket) -> bool {
        let mut held = self.hold();
        let waiter = held.remove(ticket);
        held.settle_after_giving_up();
        let gave_up = waiter.is_some();
        // Outside the lock: a waker's `drop` is a runtime's code.
        contain(|| drop(waiter));
        gave_up
    }
}
