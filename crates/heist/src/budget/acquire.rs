//! The future of `acquire_async`, for any runtime.
//!
//! It asks for its permit when it is first polled; its place in the queue is of that moment. On a worker of heist a
//! permit counts as one operation of the poll that takes it ([`coop`](crate::coop)): a task that has used up its
//! operations asks, or takes what it was granted, in its next poll.
//!
//! Invariant: a future that is dropped leaves nothing behind. It gives up its place, or gives back what it was granted
//! and has not yet handed out.

use super::amount::{Amount, BudgetUnit};
use super::core::Core;
use super::error::AcquireError;
use super::permit::Permit;
use super::wait::Placed;
use super::waiter::{Answer, Kind, Slot, Ticket};
use crate::future::coop;
use crate::sync::Arc;
use crate::sync::plant::{Plant, planted};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// A permit to come. Made by the budgets' `acquire_async`.
///
/// Dropping it gives up its place in the queue, or its permit. Polled again after it is ready, it is pending for ever.
#[must_use = "a future does nothing unless it is polled"]
pub struct Acquire<P> {
    core: Arc<Core>,
    wanted: Amount,
    stage: Stage,
    as_permit: fn(Permit) -> P,
}

enum Stage {
    /// Not polled yet; or refused before it could ask.
    New(Result<(), AcquireError>),
    Waiting(Waiting),
    Done,
}

struct Waiting {
    ticket: Ticket,
    slot: Arc<Slot>,
    /// The waker that is in the queue, for comparison.
    waker: Waker,
}

impl<P> Acquire<P> {
    /// A future for `wanted` of `core`, or for the error; `as_permit` gives the permit its type.
    pub(crate) fn new(
        core: &Arc<Core>,
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
        match Core::try_acquire(&self.core, self.wanted) {
            Err(AcquireError::NotNow) => {}
            decided => return Poll::Ready(decided),
        }
        let slot = Slot::new();
        // Cloned outside the lock: it is a runtime's code.
        let (waker, queued_waker) = (waker.clone(), waker.clone());
        let kind = || Some(Kind::Future(Arc::clone(&slot), queued_waker));
        match self.core.take_or_wait(self.wanted, kind) {
            Ok(Placed::Queued(ticket)) => {
                self.stage = Stage::Waiting(Waiting { ticket, slot, waker });
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
    fn look(&mut self, core: &Core, waker: &Waker) -> Option<Answer> {
        let answer = self.slot.answer();
        if answer.is_none() && !self.waker.will_wake(waker) {
            return self.change_waker(core, waker);
        }
        answer
    }

    /// From now on `waker` is woken. If the answer came first, whoever gave it has woken the old one: we take it now.
    fn change_waker(&mut self, core: &Core, waker: &Waker) -> Option<Answer> {
        // Wakers are cloned and dropped outside the lock: that is a runtime's code, and may panic. By then the waker in
        // the queue and the one that is compared with it are the same again.
        let (for_comparison, mut other) = (waker.clone(), waker.clone());
        if let Some(waiter) = core.state.lock().waiter_mut(self.ticket)
            && let Kind::Future(_slot, queued) = &mut waiter.kind
        {
            std::mem::swap(queued, &mut other);
        }
        let old = std::mem::replace(&mut self.waker, for_comparison);
        drop((old, other));
        self.slot.answer()
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
            // Before anything else: the permit is handed out, and must not be given back by `drop`.
            this.stage = Stage::Done;
        }
        outcome.map(|outcome| outcome.map(this.as_permit))
    }
}

impl<P> Drop for Acquire<P> {
    fn drop(&mut self) {
        if let Stage::Waiting(waiting) = &self.stage
            && !self.core.give_up(waiting.ticket)
            && waiting.slot.answer() == Some(Answer::Granted)
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
