//! What an executor is to those who do not know the type of its tasks: queues, lanes and budgets.
//!
//! Invariant: whatever is counted here is spawned later, or was refused. What a running task counts is never refused,
//! because the executor cannot end before that task does.

use super::error::SpawnErrorKind;
use super::shared::PoolShared;
use crate::cancel::CancelToken;
use crate::intake::Intake;
use crate::sync::Arc;
use crate::worker_id::{self, PoolId};

/// What others ask of an executor without knowing the type of its tasks.
pub(crate) trait AnyExecutor: Send + Sync {
    /// Which pool it is.
    fn pool(&self) -> PoolId;

    /// Whether the calling thread runs a task of this executor.
    fn is_inside(&self) -> bool;

    /// What decides whether anything is taken from outside, for those who look often.
    fn doors(&self) -> (Arc<Intake>, CancelToken);

    /// Whether what is queued is dropped.
    fn is_stopped(&self) -> bool;

    /// Whether the calling thread runs a task of this executor, which is not stopped, and nothing else waits for its
    /// worker. A moment later that may be wrong.
    fn has_nothing_else(&self) -> bool;

    /// Why nothing is accepted. Takes notice of a cancellation, which drops things: not to be called under a lock.
    fn refusal(&self) -> SpawnErrorKind;

    /// Counts a task that will be there later.
    fn count_later(&self, inside: bool) -> Result<(), SpawnErrorKind>;
}

impl<T: Send> AnyExecutor for PoolShared<T> {
    fn pool(&self) -> PoolId {
        self.pool()
    }

    fn is_inside(&self) -> bool {
        self.is_inside()
    }

    fn doors(&self) -> (Arc<Intake>, CancelToken) {
        (Arc::clone(&self.intake), self.cancel.clone())
    }

    fn is_stopped(&self) -> bool {
        self.is_stopped()
    }

    fn has_nothing_else(&self) -> bool {
        let worker = worker_id::worker_of(self.pool());
        worker.is_some_and(|worker| {
            self.stealers[worker].is_empty() && !self.futures.wait_for(worker)
        }) && self.injector.is_empty()
            && !self.is_stopped()
    }

    fn refusal(&self) -> SpawnErrorKind {
        self.notice_cancellation();
        self.refusal()
    }

    fn count_later(&self, inside: bool) -> Result<(), SpawnErrorKind> {
        self.count_later(inside)
    }
}

impl<T> PoolShared<T> {
    /// Whether this is a thread whose running task belongs to this pool. What such a thread spawns is never refused:
    /// the pool cannot end meanwhile.
    pub(crate) fn is_inside(&self) -> bool {
        // A quiet worker may run the caller's code, too (a trace hook), but nothing keeps the pool from being found
        // done then. What a worker holds to the end (its scratch, the caller's closures) is dropped after the end.
        // A blocking call is counted, so the pool cannot end before it.
        let inside =
            worker_id::is_busy_worker_of(self.pool()) || worker_id::is_in_call_of(self.pool());
        inside && !self.termination.is_done()
    }

    /// Counts a task that will be there later. To be followed by one that spawns it. Takes no lock.
    pub(crate) fn count_later(&self, inside: bool) -> Result<(), SpawnErrorKind> {
        if inside {
            self.termination.produce_inside(1);
            return Ok(());
        }
        if self.intake.try_accept(1) { Ok(()) } else { Err(self.refusal()) }
    }

    /// Counts a task that will be there later, wherever this is called.
    pub(crate) fn count_now(&self) -> Result<(), SpawnErrorKind> {
        let inside = self.is_inside();
        if !inside && !self.notice_cancellation() {
            return Err(self.refusal());
        }
        self.count_later(inside)
    }
}
