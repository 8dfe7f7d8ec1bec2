//! The inside of a budget, whatever its units: its word, and everything that needs no lock.
//!
//! The word holds the available amount and the flag SLOW. While SLOW is clear, a thread takes or
//! gives back with one compare-and-swap, and its success proves that no request waits. SLOW is set
//! and cleared only under the lock, and while it is set the word changes only under the lock. It is
//! set while requests wait, while a debt is left from lowering the total, and once the budget is
//! closed. A thread also sets it for a moment when it needs the word to stay unchanged.
//!
//! Invariant: `available + in use + forgotten = total + debt`, for each unit. The amount in use is
//! not stored, but computed from this equation.
//!
//! Not guaranteed: the high-water mark may miss a peak that was reached while the total was being
//! changed, by at most the amount of that change. No decision depends on it.

use super::amount::{Amount, BudgetWord, Guards, Layout};
use super::error::{AcquireError, BudgetError};
use super::held::BudgetState;
use super::permit::Permit;
use crate::sync::plant::{self, Plant, planted};
use crate::sync::{Arc, AtomicU64, Mutex, Ordering, Weak};
use std::fmt;

/// A budget without the names of its units. The public budgets wrap it, and so does everything else
/// that hands out permits.
// The hot fields come first, so that they share a cache line with the reference count, which an
// owned permit changes anyway. If the word had its own line, each acquisition would touch two.
#[repr(C)]
pub struct BudgetCore {
    /// A [`BudgetWord`].
    pub(super) word: AtomicU64,
    /// An [`Amount`], changed only under the lock.
    pub(super) total: AtomicU64,
    /// An [`Amount`], changed only under the lock. While at least this much is available, the
    /// amount in use is not a new peak.
    pub(super) low_water: AtomicU64,
    guards: Guards,
    layout: Layout,
    /// For the permits of callbacks, which the releasing thread creates.
    this: Weak<BudgetCore>,
    pub(super) state: Mutex<BudgetState>,
}

impl BudgetCore {
    /// Creates a budget with everything available.
    pub fn new(layout: Layout, total: Amount) -> Arc<Self> {
        Self::with_available(layout, total, total)
    }

    /// Creates a budget for permits that are released before they are ever acquired, like those of
    /// a signal. Permits released beyond the total are lost.
    ///
    /// # Errors
    /// Returns an error if the total is too large to be counted.
    pub fn with_nothing_available(total: u64) -> Result<Arc<Self>, BudgetError> {
        let total = Layout::Count.total(&[total])?;
        Ok(Self::with_available(Layout::Count, total, Amount::ZERO))
    }

    fn with_available(layout: Layout, total: Amount, available: Amount) -> Arc<Self> {
        let in_use = total.minus(available);
        Arc::new_cyclic(|this| Self {
            word: AtomicU64::new(BudgetWord::new(available, false).to_bits()),
            total: AtomicU64::new(total.to_bits()),
            low_water: AtomicU64::new(available.to_bits()),
            guards: layout.guards(),
            layout,
            this: Weak::clone(this),
            state: Mutex::new(BudgetState::new(in_use)),
        })
    }

    /// Takes `wanted` if it is available and no request waits.
    ///
    /// # Errors
    /// `NotNow`, `TooLarge` or `Closed`.
    #[inline]
    pub fn try_acquire(this: &Arc<Self>, wanted: Amount) -> Result<Permit, AcquireError> {
        this.try_take(wanted)?;
        Ok(Permit::new(Arc::clone(this), wanted))
    }

    /// Like [`BudgetCore::try_acquire`], but does not create a permit.
    #[inline]
    pub(crate) fn try_take(&self, wanted: Amount) -> Result<(), AcquireError> {
        // Relaxed: the exchange below checks the value. The low-water mark is only a hint whether
        // to take the lock.
        let mut seen = self.word(Ordering::Relaxed);
        while !seen.is_slow() && seen.available().covers(wanted, self.guards) {
            let left = seen.available().minus(wanted);
            if !left.covers(self.low_water(), self.guards) {
                break;
            }
            // Acquire: pairs with the Release in `release`, so that the thread that takes a
            // resource sees what its previous holder did with it. The exchange fails if SLOW was
            // set meanwhile, so it cannot overtake a waiting request.
            match self.exchange(seen, seen.with_available(left), Ordering::Acquire) {
                Ok(()) => return Ok(()),
                Err(now) => seen = now,
            }
        }
        // The common refusal. If SLOW is set, or the request may be above the total, the reason
        // must be found under the lock.
        if !seen.is_slow()
            && !seen.available().covers(wanted, self.guards)
            && self.total().covers(wanted, self.guards)
        {
            return Err(AcquireError::NotNow);
        }
        self.try_take_under_lock(wanted)
    }

    /// The rest of `try_take`: refusals, a new high-water mark, and all cases in which SLOW is set.
    #[cold]
    fn try_take_under_lock(&self, wanted: Amount) -> Result<(), AcquireError> {
        let seen = self.word(Ordering::Relaxed);
        if !seen.is_slow() && !seen.available().covers(wanted, self.guards) {
            return Err(self.too_large(wanted).unwrap_or(AcquireError::NotNow));
        }
        let mut state = self.state.lock();
        if state.closed {
            return Err(AcquireError::Closed);
        }
        if let Some(error) = self.too_large(wanted) {
            return Err(error);
        }
        if !state.waiters.is_empty() && !planted(Plant::TryOvertakes) {
            return Err(AcquireError::NotNow);
        }
        // `hold` is not needed: under the lock nothing else that is read here changes, and if SLOW
        // is set because of a debt, it stays set.
        let mut seen = self.word(Ordering::Relaxed);
        while seen.available().covers(wanted, self.guards) {
            let left = seen.available().minus(wanted);
            // Acquire: as in `try_take`.
            match self.exchange(seen, seen.with_available(left), Ordering::Acquire) {
                Ok(()) => {
                    self.record_in_use(&mut state, left);
                    return Ok(());
                }
                Err(now) => seen = now,
            }
        }
        Err(AcquireError::NotNow)
    }

    /// Gives back an acquired amount, and grants the waiting requests that fit now.
    #[inline]
    pub fn release(&self, amount: Amount) {
        let mut seen = self.word(Ordering::Relaxed);
        while !seen.is_slow() {
            let available = seen.available().plus(amount);
            // This happens only where more is released than was acquired, and for a moment while
            // the total is being lowered.
            if !self.total().covers_sum(available, self.guards) {
                break;
            }
            plant::instead!(ReleaseIgnoresWaiters => {
                self.word.fetch_add(amount.to_bits(), Ordering::Release);
            });
            // Release: pairs with the Acquire of the thread that takes this amount. The exchange
            // fails if SLOW was set meanwhile: a request that started to wait then has not seen
            // this amount, and must be granted it under the lock.
            match self.exchange(seen, seen.with_available(available), Ordering::Release) {
                Ok(()) => return,
                Err(now) => seen = now,
            }
        }
        self.release_under_lock(amount);
    }

    #[cold]
    fn release_under_lock(&self, amount: Amount) {
        let mut held = self.hold();
        held.give_back(amount);
        held.settle();
    }

    #[inline]
    fn exchange(
        &self,
        seen: BudgetWord,
        new: BudgetWord,
        order: Ordering,
    ) -> Result<(), BudgetWord> {
        match self.word.compare_exchange_weak(
            seen.to_bits(),
            new.to_bits(),
            order,
            Ordering::Relaxed,
        ) {
            Ok(_) => Ok(()),
            Err(now) => Err(BudgetWord::from_bits(now)),
        }
    }

    /// Records that the amount of a forgotten permit never comes back.
    pub(super) fn forget(&self, amount: Amount) {
        let mut state = self.state.lock();
        state.forgotten = state.forgotten.plus(amount);
        self.adjust_low_water(&state);
    }

    /// Refuses all waiting and all future requests. Existing permits stay valid and can be given
    /// back.
    pub fn close(&self) {
        let mut held = self.hold();
        held.close();
        held.settle();
    }

    /// Returns `true` if the budget was closed.
    pub fn is_closed(&self) -> bool {
        self.state.lock().closed
    }

    /// Changes the total. If more than the new total is in use, the excess is not granted again
    /// when it comes back. A waiting request for more than the new total is refused.
    pub fn set_total(&self, total: Amount) {
        let mut held = self.hold();
        held.set_total(total);
        held.settle();
    }

    /// Returns the available amount.
    pub fn available(&self) -> Amount {
        self.word(Ordering::Relaxed).available()
    }

    /// Returns the amount that may be in use at a time.
    #[inline]
    pub fn total(&self) -> Amount {
        Amount::from_bits(self.total.load(Ordering::Relaxed))
    }

    /// Returns the amount that permits hold.
    pub fn in_use(&self) -> Amount {
        let state = self.state.lock();
        self.in_use_with(&state, self.available())
    }

    /// Returns the largest amount of each unit that was ever in use.
    pub fn high_water(&self) -> Amount {
        self.state.lock().high_water
    }

    /// Returns the number of waiting requests.
    pub fn waiting(&self) -> usize {
        self.state.lock().waiters.len()
    }

    /// Returns the amount that forgotten permits held.
    pub fn forgotten(&self) -> Amount {
        self.state.lock().forgotten
    }

    /// Returns the units of this budget.
    #[inline]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    #[inline]
    pub(super) fn guards(&self) -> Guards {
        self.guards
    }

    #[inline]
    fn word(&self, order: Ordering) -> BudgetWord {
        BudgetWord::from_bits(self.word.load(order))
    }

    #[inline]
    fn low_water(&self) -> Amount {
        Amount::from_bits(self.low_water.load(Ordering::Relaxed))
    }

    /// Returns a new reference to this budget for a permit, or `None` while the budget is being
    /// dropped.
    pub(super) fn this(&self) -> Option<Arc<Self>> {
        self.this.upgrade()
    }

    /// Returns the error for a `wanted` that the current total can never cover.
    pub(super) fn too_large(&self, wanted: Amount) -> Option<AcquireError> {
        self.layout.too_large(wanted, self.total())
    }

    /// Computes the amount in use from the available amount, by the equation in the module
    /// documentation.
    fn in_use_with(&self, state: &BudgetState, available: Amount) -> Amount {
        self.total().plus(state.debt).minus(available).minus(state.forgotten)
    }

    /// Updates the high-water mark after an amount was taken and `available` was left.
    pub(super) fn record_in_use(&self, state: &mut BudgetState, available: Amount) {
        let in_use = self.in_use_with(state, available);
        state.high_water = self.layout.max(state.high_water, in_use);
        self.adjust_low_water(state);
    }

    /// Translates the high-water mark into an available amount, with which the fast path compares.
    pub(super) fn adjust_low_water(&self, state: &BudgetState) {
        let all = self.in_use_with(state, Amount::ZERO);
        let low = self.layout.saturating_sub(all, state.high_water);
        // Relaxed: this is a hint, which is checked again under the lock.
        self.low_water.store(low.to_bits(), Ordering::Relaxed);
    }
}

impl Drop for BudgetCore {
    /// Refuses the callbacks that still wait, for example for a forgotten amount. (Waiting threads
    /// and futures would have kept the budget alive.)
    fn drop(&mut self) {
        self.close();
    }
}

impl fmt::Debug for BudgetCore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BudgetCore")
            .field("layout", &self.layout)
            .field("available", &self.available())
            .field("total", &self.total())
            .finish_non_exhaustive()
    }
}
