//! Permits: how consumers wait for a ready queue.
//!
//! There is one permit for every marked signal. So heist wakes one consumer for each signal that
//! has work, and each consumer finds something. A permit ends in one of three ways. A consumer that
//! leaves bits in the signal passes it on. A consumer that empties the signal gives it up together
//! with the mark. And if no signal is marked at all, the permit came from [`SignalWaker::release`]
//! and the consumer can simply discard it.

use super::index::{Position, SignalIndexError, signal_index};
use super::waker::{Nearest, SignalWaker};
use super::word::AcquiredBit;
use crate::budget::Acquire;
use crate::budget::amount::{Amount, BudgetUnit};
use crate::budget::core::BudgetCore;
use crate::budget::permit::Permit;
use crate::budget::{AcquireError, BudgetError};
use crate::sync::Arc;
use crate::sync::plant::{Plant, planted};
use std::future::Future;
use std::time::Duration;

/// The most permits that stay available; permits released beyond that are lost. 64 are enough for
/// every mark, and no program has 2^32 consumers.
const AVAILABLE_MAX: u64 = 1 << 32;

/// The permits that no consumer holds: a budget that starts empty and grants released permits in
/// the order of the requests.
///
/// A release is a Release and a grant is an Acquire. So a consumer that takes a permit sees the
/// mark that came with it, and every earlier mark. Without that it might see no mark and give the
/// permit up.
#[derive(Debug)]
pub(super) struct Permits {
    budget: Arc<BudgetCore>,
}

impl Permits {
    const ONE: Amount = Amount::counted(1);

    pub(super) fn new() -> Self {
        let budget: Result<_, BudgetError> = BudgetCore::with_nothing_available(AVAILABLE_MAX);
        Self { budget: budget.expect("a count of 32 bits fits") }
    }

    #[inline]
    pub(super) fn try_acquire(&self) -> bool {
        self.budget.try_take(Self::ONE).is_ok()
    }

    #[inline]
    pub(super) fn release(&self, count: u64) {
        if count > 0 {
            self.budget.release(Amount::counted(count));
        }
    }
}

impl SignalWaker {
    /// Takes a permit, if one is available and no consumer waits for it.
    pub fn try_acquire(&self) -> Option<SignalPermit<'_>> {
        // `then`, not `then_some`: an unused permit would be dropped, and so released.
        self.permits.try_acquire().then(|| SignalPermit { waker: self })
    }

    /// Blocks the thread until a permit is available. The consumer that has waited longest gets the
    /// first one.
    ///
    /// # Errors
    ///
    /// [`AcquireError::OnWorker`] if an executor's worker would have to wait, since it would hold
    /// up its pool.
    pub fn acquire(&self) -> Result<SignalPermit<'_>, AcquireError> {
        self.acquire_blocking(None)
    }

    /// Like [`acquire`](Self::acquire), but waits no longer than `timeout`.
    ///
    /// # Errors
    ///
    /// [`AcquireError::TimedOut`] after `timeout`, or [`AcquireError::OnWorker`] if an executor's
    /// worker would have to wait.
    pub fn acquire_timeout(&self, timeout: Duration) -> Result<SignalPermit<'_>, AcquireError> {
        self.acquire_blocking(Some(timeout))
    }

    fn acquire_blocking(
        &self,
        timeout: Option<Duration>,
    ) -> Result<SignalPermit<'_>, AcquireError> {
        let granted = BudgetCore::acquire_blocking(&self.permits.budget, Permits::ONE, timeout)?;
        Ok(self.permit(granted))
    }

    /// Like [`acquire`](Self::acquire), for async code on any runtime. The future joins the line of
    /// waiting consumers when it is first polled. If it is dropped, it leaves the line, or passes
    /// on the permit that it was granted.
    ///
    /// # Errors
    ///
    /// None at present. The error type is that of the budget that counts the permits.
    pub fn acquire_async(
        &self,
    ) -> impl Future<Output = Result<SignalPermit<'_>, AcquireError>> + Send {
        let granted: Acquire<Permit> =
            Acquire::new(&self.permits.budget, Ok(Permits::ONE), |granted| granted);
        async { Ok(self.permit(granted.await?)) }
    }

    /// Takes the permit out of the budget's own guard: from here on `SignalPermit` returns it.
    fn permit(&self, granted: Permit) -> SignalPermit<'_> {
        let _one = granted.into_amount();
        SignalPermit { waker: self }
    }

    /// Adds permits that do not belong to any queue: each wakes a consumer, which finds nothing.
    /// Use this to make waiting consumers look at something else, for example at the end of the
    /// work.
    pub fn release(&self, count: u64) {
        // Permits beyond the limit are lost anyway, and such a count might not fit an `Amount`.
        self.permits.release(count.min(AVAILABLE_MAX));
    }

    /// Returns the number of available permits. Other threads may have changed it by the time this
    /// returns.
    #[must_use]
    pub fn permits(&self) -> u64 {
        let budget = &self.permits.budget;
        budget.layout().get(budget.available(), BudgetUnit::Count)
    }
}

/// The right to take one ready queue. If it is dropped unused, it passes to the next consumer.
#[must_use = "a permit that is dropped unused passes to the next consumer"]
#[derive(Debug)]
pub struct SignalPermit<'a> {
    waker: &'a SignalWaker,
}

impl<'a> SignalPermit<'a> {
    /// Takes a ready queue, in rotation. The permit passes to the next consumer if the signal of
    /// the queue has other bits set, and is used up together with the signal's mark otherwise.
    ///
    /// Returns `None` if there is no ready queue: either the permit came from
    /// [`SignalWaker::release`], or another consumer took the queue before its producer had
    /// finished announcing it. The caller should then wait for the next permit.
    #[must_use = "the queue's bit is taken, so no other consumer will look at the queue"]
    pub fn take_ready(self) -> Option<usize> {
        let waker = self.disarm();
        let cursor = waker.cursor();
        loop {
            match waker.nearest(Position::wrapping(cursor)) {
                Nearest::Queue(queue) => {
                    let spare = match waker.signal_at(queue).acquire_mask(queue.mask()) {
                        // Another consumer was faster. It may have left the next bit of the same
                        // signal.
                        AcquiredBit::NotSet => continue,
                        AcquiredBit::LeftOthers => u64::from(!planted(Plant::PermitNotPassedOn)),
                        AcquiredBit::WasLast => waker.settle(queue, 1),
                    };
                    waker.move_cursor_past(queue, cursor);
                    waker.permits.release(spare);
                    return Some(queue.queue());
                }
                // Another consumer has taken the last bit and is about to clear the mark, or the
                // producer set the mark late. If the signal stayed marked without a permit, its
                // next producer would wake no consumer.
                Nearest::EmptySignal(_) if planted(Plant::EmptySignalLeftMarked) => return None,
                Nearest::EmptySignal(signal) => match waker.settle(signal, 1) {
                    0 if waker.permits.try_acquire() => {}
                    0 => return None,
                    held => waker.permits.release(held - 1),
                },
                Nearest::Nothing => return None,
            }
        }
    }

    /// Clears the mark of a signal unless the signal has a bit set, and gives the permit up with
    /// the mark. Call this after taking the last bit of a signal with
    /// [`Signal::acquire`](super::Signal::acquire). If other bits are left, drop the permit
    /// instead, which passes it on.
    ///
    /// # Errors
    ///
    /// Returns an error if `signal` is beyond 63; the permit is then passed on.
    pub fn clear(self, signal: usize) -> Result<(), SignalIndexError> {
        let signal = Position::new(signal_index(signal)?, 0);
        let waker = self.disarm();
        waker.permits.release(waker.settle(signal, 1));
        Ok(())
    }

    /// Returns the waker without running the permit's `drop`.
    fn disarm(self) -> &'a SignalWaker {
        let waker = self.waker;
        std::mem::forget(self);
        waker
    }
}

impl Drop for SignalPermit<'_> {
    fn drop(&mut self) {
        self.waker.permits.release(1);
    }
}
