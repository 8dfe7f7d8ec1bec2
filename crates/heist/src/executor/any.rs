//! An executor without its task type, as queues, lanes and budgets see it.
//!
//! Invariant: every task that is counted here is spawned later. What a running task counts is never
//! refused, because the executor cannot end before that task does.

use super::error::SpawnErrorKind;
use super::shared::PoolShared;
use crate::cancel::CancelToken;
use crate::intake::Intake;
use crate::sync::Arc;
use crate::worker_id::{self, PoolId};

/// An executor whose task type is not known.
pub(crate) trait AnyExecutor: Send + Sync {
    /// Returns the pool's id.
    fn pool(&self) -> PoolId;

    /// Returns `true` if the calling thread runs a task of this executor.
    fn is_inside(&self) -> bool;

    /// Returns what decides whether the pool accepts work from outside, for callers that check
    /// often.
    fn doors(&self) -> (Arc<Intake>, CancelToken);

    /// Returns `true` if the pool drops queued work instead of running it.
    fn is_stopped(&self) -> bool;

    /// Returns `true` if the calling thread runs a task of this executor, the executor is not
    /// stopped, and no other work waits for this worker. The answer may be out of date at once.
    fn has_nothing_else(&self) -> bool;

    /// Returns why nothing is accepted. It notices a cancellation, which drops values of the
    /// caller's: do not call it while holding a lock.
    fn refusal(&self) -> SpawnErrorKind;

    /// Counts a task that is spawned later.
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
    /// Returns `true` if the calling thread runs a task of this pool. What such a thread spawns is
    /// never refused: the pool cannot end meanwhile.
    pub(crate) fn is_inside(&self) -> bool {
        // A quiet worker may also run the caller's code (a trace hook), but then nothing keeps the
        // pool from being found done. What a worker holds to the end (its scratch, the caller's
        // closures) is dropped after the end. A blocking call is counted, so the pool cannot end
        // before it.
        let inside =
            worker_id::is_busy_worker_of(self.pool()) || worker_id::is_in_call_of(self.pool());
        inside && !self.termination.is_done()
    }

    /// Counts a task that is spawned later; the caller must do so. Takes no lock.
    pub(crate) fn count_later(&self, inside: bool) -> Result<(), SpawnErrorKind> {
        if inside {
            self.termination.produce_inside(1);
            return Ok(());
        }
        if self.intake.try_accept(1) { Ok(()) } else { Err(self.refusal()) }
    }

    /// Counts a task that is spawned later, whichever thread calls this.
    pub(crate) fn count_now(&self) -> Result<(), SpawnErrorKind> {
        let inside = self.is_inside();
        if !inside && !self.notice_cancellation() {
            return Err(self.refusal());
        }
        self.count_later(inside)
    }
}
