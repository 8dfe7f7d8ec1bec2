//! Permits: how consumers wait for a ready queue.
//!
//! There is one for every marked signal, so as many consumers are woken as there are signals to look at, and each one
//! finds something. A permit ends in one of three ways: it is passed on when bits are left in the signal, it goes with
//! the mark when the signal is empty, or nothing is marked at all, and then it came from
//! [`SignalWaker::release`] and nobody misses it.

use super::index::{Position, SignalIndexError, signal_index};
use super::waker::{Nearest, SignalWaker};
use super::word::AcquiredBit;
use crate::budget::Acquire;
use crate::budget::amount::{Amount, BudgetUnit};
use crate::budget::core::Core;
use crate::budget::permit::Permit;
use crate::budget::{AcquireError, BudgetError};
use crate::sync::Arc;
use crate::sync::plant::{Plant, planted};
use std::future::Future;
use std::time::Duration;

/// More can be released, but not kept: 64 are enough for every mark, and no program has as many consumers.
const AVAILABLE_MAX: u64 = 1 << 32;

/// The permits that nobody holds: a budget that starts with nothing, and grants what is released in the order in which
/// it was asked.
///
/// What is released is given with Release and taken with Acquire. So whoever takes a permit sees the mark that it came
/// with, and every earlier one; without that it might see nothing marked and give the permit up.
#[derive(Debug)]
pub(super) struct Permits {
    budget: Arc<Core>,
}

impl Permits {
    const ONE: Amount = Amount::counted(1);

    pub(super) fn new() -> Self {
        let budget: Result<_, BudgetError> = Core::with_nothing_available(AVAILABLE_MAX);
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
    /// Takes a permit, if one is available and nobody waits for it.
    pub fn try_acquire(&self) -> Option<SignalPermit<'_>> {
        // Lazily: a permit that is made is a permit that is dropped.
        self.permits.try_acquire().then(|| SignalPermit { waker: self })
    }

    /// Waits for a permit, and blocks the thread until there is one. Who waits longest gets the first.
    ///
    /// # Errors
    ///
    /// [`AcquireError::OnWorker`] if a worker of an executor would have to wait: it would hold up its pool.
    pub fn acquire(&self) -> Result<SignalPermit<'_>, AcquireError> {
        self.acquire_blocking(None)
    }

    /// [`acquire`](Self::acquire), but waits no longer than `timeout`.
    ///
    /// # Errors
    ///
    /// [`AcquireError::TimedOut`]; or [`AcquireError::OnWorker`] if a worker of an executor would have to wait.
    pub fn acquire_timeout(&self, timeout: Duration) -> Result<SignalPermit<'_>, AcquireError> {
        self.acquire_blocking(Some(timeout))
    }

    fn acquire_blocking(
        &self,
        timeout: Option<Duration>,
    ) -> Result<SignalPermit<'_>, AcquireError> {
        let granted = Core::acquire_blocking(&self.permits.budget, Permits::ONE, timeout)?;
        Ok(self.permit(granted))
    }

    /// [`acquire`](Self::acquire) for async code, on any runtime. The future takes its place among those who wait when
    /// it is first polled; dropped, it gives up its place, or passes on its permit.
    ///
    /// # Errors
    ///
    /// None at present. They are those of the budget that permits are counted by.
    pub fn acquire_async(
        &self,
    ) -> impl Future<Output = Result<SignalPermit<'_>, AcquireError>> + Send {
        let granted: Acquire<Permit> =
            Acquire::new(&self.permits.budget, Ok(Permits::ONE), |granted| granted);
        async { Ok(self.permit(granted.await?)) }
    }

    /// From now on the permit is given back by us.
    fn permit(&self, granted: Permit) -> SignalPermit<'_> {
        let _one = granted.into_amount();
        SignalPermit { waker: self }
    }

    /// Adds permits that stand for no queue: each wakes a consumer, which finds nothing. For the end of the work,
    /// when consumers are to look at something else, too.
    pub fn release(&self, count: u64) {
        // A count beyond the most that is kept is lost above it anyway, and might not fit an amount.
        self.permits.release(count.min(AVAILABLE_MAX));
    }

    /// How many permits are available. As all looks: true of a moment that may be past.
    #[must_use]
    pub fn permits(&self) -> u64 {
        let budget = &self.permits.budget;
        budget.layout().get(budget.available(), BudgetUnit::Count)
    }
}

/// The right to come for one ready queue. Dropped unused, it is passed on to the next consumer.
#[must_use = "dropped unused, it is passed on to the next consumer"]
#[derive(Debug)]
pub struct SignalPermit<'a> {
    waker: &'a SignalWaker,
}

impl<'a> SignalPermit<'a> {
    /// Takes a ready queue; all that are ready get their turn. The permit is passed on if its signal has other bits
    /// set, and goes with the summary's mark otherwise.
    ///
    /// `None` if there is nothing: somebody released permits that stand for no queue, or a queue was taken before its
    /// producer had told everybody. The consumer waits for the next permit.
    #[must_use = "the queue's bit is taken: nobody else will look at it"]
    pub fn take_ready(self) -> Option<usize> {
        let waker = self.disarm();
        let turn = waker.turn();
        loop {
            match waker.nearest(Position::wrapping(turn)) {
                Nearest::Queue(queue) => {
                    let spare = match waker.signal_at(queue).acquire_mask(queue.mask()) {
                        // Another was faster. It may have left the next bit of the same signal.
                        AcquiredBit::NotSet => continue,
                        AcquiredBit::LeftOthers => u64::from(!planted(Plant::PermitNotPassedOn)),
                        AcquiredBit::WasLast => waker.settle(queue, 1),
                    };
                    waker.move_turn_beyond(queue, turn);
                    waker.permits.release(spare);
                    return Some(queue.queue());
                }
                // Another has taken its last bit and is about to clear the mark, or the mark came late. Left marked
                // and without a permit, the signal's next producer would wake nobody.
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

    /// Clears a signal's mark, unless the signal has a bit set, and gives the permit up with the mark. To be called by
    /// whoever took the last bit of a signal by itself ([`Signal::acquire`](super::Signal::acquire)); who left others
    /// drops the permit instead, which passes it on.
    ///
    /// # Errors
    ///
    /// If there is no such signal; the permit is passed on.
    pub fn clear(self, signal: usize) -> Result<(), SignalIndexError> {
        let signal = Position::new(signal_index(signal)?, 0);
        let waker = self.disarm();
        waker.permits.release(waker.settle(signal, 1));
        Ok(())
    }

    /// The waker, and no drop.
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
