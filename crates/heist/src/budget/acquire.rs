//! The future that `acquire_async` returns, for any runtime.
//!
//! The future makes its request when it is first polled, and has its place in the queue from that
//! moment on. On one of heist's workers, taking a permit counts as one operation of the current
//! poll ([`coop`](crate::coop)). A task that has used up its operations makes the request, or takes
//! its grant, in its next poll.
//!
//! Invariant: a dropped future leaves nothing behind. It leaves the queue, or gives back a grant
//! that it has not yet returned to its caller.

use super::amount::{Amount, BudgetUnit};
use super::core::BudgetCore;
use super::error::AcquireError;
use super::permit::Permit;
use super::wait::Placed;
use super::waiter::{Answer, AnswerCell, Ticket, WaiterKind};
use crate::future::coop;
use crate::sync::Arc;
use crate::sync::plant::{Plant, planted};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// A future that resolves to a permit. The `acquire_async` methods of the budgets create it.
///
/// Dropping it gives up its place in the queue, or its grant. If it is polled again after it was
/// ready, it stays pending forever.
#[must_use = "a future does nothing unless it is polled"]
pub struct Acquire<P> {
    core: Arc<BudgetCore>,
    wanted: Amount,
    stage: Stage,
    as_permit: fn(Permit) -> P,
}

enum Stage {
    /// Not polled yet, or refused before the request could be made.
    New(Result<(), AcquireError>),
    Waiting(Waiting),
    Done,
}

struct Waiting {
    ticket: Ticket,
    cell: Arc<AnswerCell>,
    /// The waker that is in the queue, for comparison.
    waker: Waker,
}

impl<P> Acquire<P> {
    /// Creates a future for `wanted` of `core`, or for the error. `as_permit` gives the permit its
    /// type.
    pub(crate) fn new(
        core: &Arc<BudgetCore>,
        wanted: Result<Amount, AcquireError>,
        as_permit: fn(Permit) -> P,
    ) -> Self {
        Self {
            core: Arc::clone(core),
            wanted: wanted.unwrap_or(Amount::ZERO),
            stage: Stage::New(wanted.map(|_amount| ())),
            as_permit,
        }
    }

    fn poll_uncounted(&mut self, waker: &Waker) -> Poll<Result<Permit, AcquireError>> {
        match &mut self.stage {
            Stage::New(Ok(())) => self.ask(waker),
            Stage::New(Err(error)) => Poll::Ready(Err(*error)),
            Stage::Waiting(waiting) => match waiting.look(&self.core, waker) {
                Some(answer) => Poll::Ready(self.core.permit(self.wanted, answer)),
                None => Poll::Pending,
            },
            Stage::Done => Poll::Pending,
        }
    }

    fn ask(&mut self, waker: &Waker) -> Poll<Result<Permit, AcquireError>> {
        match BudgetCore::try_acquire(&self.core, self.wanted) {
            Err(AcquireError::NotNow) => {}
            decided => return Poll::Ready(decided),
        }
        let cell = AnswerCell::new();
        // Cloned outside the lock, because `clone` is the runtime's code.
        let (waker, queued_waker) = (waker.clone(), waker.clone());
        let kind = || Some(WaiterKind::Future(Arc::clone(&cell), queued_waker));
        match self.core.take_or_wait(self.wanted, kind) {
            Ok(Placed::Queued(ticket)) => {
                self.stage = Stage::Waiting(Waiting { ticket, cell, waker });
                Poll::Pending
            }
            Ok(Placed::Granted) => {
                Poll::Ready(Ok(Permit::new(Arc::clone(&self.core), self.wanted)))
            }
            Err(error) => Poll::Ready(Err(error)),
        }
    }
}

impl Waiting {
    fn look(&mut self, core: &BudgetCore, waker: &Waker) -> Option<Answer> {
        let answer = self.cell.answer();
        if answer.is_none() && !self.waker.will_wake(waker) {
            return self.change_waker(core, waker);
        }
        answer
    }

    /// Replaces the waker in the queue. If the answer came first, the old waker was woken instead,
    /// so this returns the answer.
    fn change_waker(&mut self, core: &BudgetCore, waker: &Waker) -> Option<Answer> {
        // Wakers are cloned and dropped outside the lock, because that is the runtime's code and
        // may panic. Before anything is dropped, the waker in the queue and the one for comparison
        // are the same again.
        let (for_comparison, mut other) = (waker.clone(), waker.clone());
        if let Some(waiter) = core.state.lock().waiter_mut(self.ticket)
            && let WaiterKind::Future(_cell, queued) = &mut waiter.kind
        {
            std::mem::swap(queued, &mut other);
        }
        let old = std::mem::replace(&mut self.waker, for_comparison);
        drop((old, other));
        self.cell.answer()
    }
}

impl<P> Future for Acquire<P> {
    type Output = Result<P, AcquireError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        if matches!(this.stage, Stage::Done) {
            return Poll::Pending;
        }
        let outcome = coop::poll_counted(cx, |cx| this.poll_uncounted(cx.waker()));
        if outcome.is_ready() {
            // Before anything else: the caller gets the permit now, so `drop` must not give it
            // back.
            this.stage = Stage::Done;
        }
        outcome.map(|outcome| outcome.map(this.as_permit))
    }
}

impl<P> Drop for Acquire<P> {
    fn drop(&mut self) {
        if let Stage::Waiting(waiting) = &self.stage
            && !self.core.give_up(waiting.ticket)
            && waiting.cell.answer() == Some(Answer::Granted)
            && !planted(Plant::CancelLosesGrant)
        {
            self.core.release(self.wanted);
        }
    }
}

impl<P> fmt::Debug for Acquire<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let layout = self.core.layout();
        f.debug_struct("Acquire")
            .field("count", &layout.get(self.wanted, BudgetUnit::Count))
            .field("bytes", &layout.get(self.wanted, BudgetUnit::Bytes))
            .field("waiting", &matches!(self.stage, Stage::Waiting(_)))
            .finish_non_exhaustive()
    }
}
