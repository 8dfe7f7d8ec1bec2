//! One budget, of whatever units: its word, and everything that needs no lock.
//!
//! The word holds what is available and the flag SLOW. While SLOW is clear, whoever takes or gives back does it with
//! one compare-and-swap and knows by its success that nobody waits. SLOW is set and cleared under the lock only, and
//! while it is set the word changes under the lock only. It is set whenever somebody waits, a debt is left from
//! lowering the total, or the budget is closed, and for a moment by whoever needs the word to stand still.
//!
//! Invariant: `available + in use + forgotten = total + debt`, unit by unit. What is in use is not stored but found by
//! this equation.
//!
//! Not guaranteed: a high-water mark that was reached while the total was being changed may be missed by the amount
//! of that change. Nothing is decided by it.

use super::amount::{Amount, Guards, Layout, Word};
use super::error::{AcquireError, BudgetError};
use super::held::State;
use super::permit::Permit;
use crate::sync::plant::{self, Plant, planted};
use crate::sync::{Arc, AtomicU64, Mutex, Ordering, Weak};
use std::fmt;

/// A budget. Made and shared by the public ones, and by whatever else hands out permits.
// In this order, so that the hot fields are together, and beside the count of references that an owned permit
// changes anyway. A line of its own for the word would make each acquisition touch two.
#[repr(C)]
pub struct Core {
    /// A [`Word`].
    pub(super) word: AtomicU64,
    /// An [`Amount`], changed under the lock.
    pub(super) total: AtomicU64,
    /// An [`Amount`], changed under the lock: while no less than this is left, no more than ever is in use.
    pub(super) low_water: AtomicU64,
    guards: Guards,
    layout: Layout,
    /// For the permits of callbacks, which are granted by whoever releases.
    this: Weak<Core>,
    pub(super) state: Mutex<State>,
}

impl Core {
    /// A budget with everything available.
    pub fn new(layout: Layout, total: Amount) -> Arc<Self> {
        Self::with_available(layout, total, total)
    }

    /// A budget that counts permits which are released before they are ever acquired, as a signal's are. Whatever is
    /// released beyond the total is lost.
    ///
    /// # Errors
    /// The total is too large to be counted.
    pub fn with_nothing_available(total: u64) -> Result<Arc<Self>, BudgetError> {
        let total = Layout::Count.total(&[total])?;
        Ok(Self::with_available(Layout::Count, total, Amount::ZERO))
    }

    fn with_available(layout: Layout, total: Amount, available: Amount) -> Arc<Self> {
        let in_use = total.minus(available);
        Arc::new_cyclic(|this| Self {
            word: AtomicU64::new(Word::new(available, false).to_bits()),
            total: AtomicU64::new(total.to_bits()),
            low_water: AtomicU64::new(available.to_bits()),
            guards: layout.guards(),
            layout,
            this: Weak::clone(this),
            state: Mutex::new(State::new(in_use)),
        })
    }

    /// Takes `wanted` if it is there and nobody waits.
    ///
    /// # Errors
    /// `NotNow`, `TooLarge` or `Closed`.
    #[inline]
    pub fn try_acquire(this: &Arc<Self>, wanted: Amount) -> Result<Permit, AcquireError> {
        this.try_take(wanted)?;
        Ok(Permit::new(Arc::clone(this), wanted))
    }

    /// [`Core::try_acquire`] without the permit.
    #[inline]
    pub(crate) fn try_take(&self, wanted: Amount) -> Result<(), AcquireError> {
        // Relaxed: the exchange below checks what was read. The low water is only a hint whether to take the lock.
        let mut seen = self.word(Ordering::Relaxed);
        while !seen.is_slow() && seen.available().covers(wanted, self.guards) {
            let left = seen.available().minus(wanted);
            if !left.covers(self.low_water(), self.guards) {
                break;
            }
            // Acquire: pairs with the Release in `release`, so that who takes a slot sees what its last holder did in
            // it. The exchange fails if SLOW was set meanwhile: nobody is overtaken.
            match self.exchange(seen, seen.with_available(left), Ordering::Acquire) {
                Ok(()) => return Ok(()),
                Err(now) => seen = now,
            }
        }
        // The common refusal. (With SLOW set, or a request that may be above the total, it needs a closer look.)
        if !seen.is_slow()
            && !seen.available().covers(wanted, self.guards)
            && self.total().covers(wanted, self.guards)
        {
            return Err(AcquireError::NotNow);
        }
        self.try_take_under_lock(wanted)
    }

    /// The rest of `try_take`: refusals, a new high-water mark, and whatever goes on while SLOW is set.
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
        // The word need not stand still: under the lock nothing else of what is read here changes, and if SLOW is set
        // (a debt), it stays set.
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

    /// Gives back what was acquired, and grants to those who wait what has become possible.
    #[inline]
    pub fn release(&self, amount: Amount) {
        let mut seen = self.word(Ordering::Relaxed);
        while !seen.is_slow() {
            let available = seen.available().plus(amount);
            // Only where more is released than was acquired, and for a moment while the total is being lowered.
            if !self.total().covers_sum(available, self.guards) {
                break;
            }
            plant::instead!(ReleaseIgnoresWaiters => {
                self.word.fetch_add(amount.to_bits(), Ordering::Release);
            });
            // Release: pairs with the Acquire of whoever takes this amount. The exchange fails if SLOW was set
            // meanwhile: a waiter that came then has not seen this amount and must be granted it, under the lock.
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
    fn exchange(&self, seen: Word, new: Word, order: Ordering) -> Result<(), Word> {
        match self.word.compare_exchange_weak(
            seen.to_bits(),
            new.to_bits(),
            order,
            Ordering::Relaxed,
        ) {
            Ok(_) => Ok(()),
            Err(now) => Err(Word::from_bits(now)),
        }
    }

    /// Counts a permit's amount as never coming back.
    pub(super) fn forget(&self, amount: Amount) {
        let mut state = self.state.lock();
        state.forgotten = state.forgotten.plus(amount);
        self.adjust_low_water(&state);
    }

    /// Refuses everything from now on, and everyone who waits. Permits stay valid and may come back.
    pub fn close(&self) {
        let mut held = self.hold();
        held.close();
        held.settle();
    }

    /// Whether it was closed.
    pub fn is_closed(&self) -> bool {
        self.state.lock().closed
    }

    /// Changes the total. What is in use above it is not granted again when it comes back; a waiter that wants more
    /// than the new total is refused.
    pub fn set_total(&self, total: Amount) {
        let mut held = self.hold();
        held.set_total(total);
        held.settle();
    }

    /// What is available now.
    pub fn available(&self) -> Amount {
        self.word(Ordering::Relaxed).available()
    }

    /// How much may be in use at a time.
    #[inline]
    pub fn total(&self) -> Amount {
        Amount::from_bits(self.total.load(Ordering::Relaxed))
    }

    /// What is held by permits.
    pub fn in_use(&self) -> Amount {
        let state = self.state.lock();
        self.in_use_with(&state, self.available())
    }

    /// The most of each unit that was ever in use.
    pub fn high_water(&self) -> Amount {
        self.state.lock().high_water
    }

    /// How many wait.
    pub fn waiting(&self) -> usize {
        self.state.lock().waiters.len()
    }

    /// What was held by permits that were forgotten.
    pub fn forgotten(&self) -> Amount {
        self.state.lock().forgotten
    }

    /// Its units.
    #[inline]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    #[inline]
    pub(super) fn guards(&self) -> Guards {
        self.guards
    }

    #[inline]
    fn word(&self, order: Ordering) -> Word {
        Word::from_bits(self.word.load(order))
    }

    #[inline]
    fn low_water(&self) -> Amount {
        Amount::from_bits(self.low_water.load(Ordering::Relaxed))
    }

    /// Itself, for a new permit; `None` while it is being dropped.
    pub(super) fn this(&self) -> Option<Arc<Self>> {
        self.this.upgrade()
    }

    /// Why `wanted` can never be granted with the present total.
    pub(super) fn too_large(&self, wanted: Amount) -> Option<AcquireError> {
        self.layout.too_large(wanted, self.total())
    }

    /// What is in use while so much is available, by the equation above.
    fn in_use_with(&self, state: &State, available: Amount) -> Amount {
        self.total().plus(state.debt).minus(available).minus(state.forgotten)
    }

    /// Takes note of how much is in use, after something was taken and so much was left.
    pub(super) fn record_in_use(&self, state: &mut State, available: Amount) {
        let in_use = self.in_use_with(state, available);
        state.high_water = self.layout.max(state.high_water, in_use);
        self.adjust_low_water(state);
    }

    /// Translates the high-water mark into what is available then, for the fast path to compare with.
    pub(super) fn adjust_low_water(&self, state: &State) {
        let all = self.in_use_with(state, Amount::ZERO);
        let low = self.layout.saturating_sub(all, state.high_water);
        // Relaxed: a hint. It is looked at again under the lock.
        self.low_water.store(low.to_bits(), Ordering::Relaxed);
    }
}

impl Drop for Core {
    /// Callbacks may still wait, for what was forgotten. (Threads and futures would have kept the budget.)
    fn drop(&mut self) {
        self.close();
    }
}

impl fmt::Debug for Core {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Core")
            .field("layout", &self.layout)
            .field("available", &self.available())
            .field("total", &self.total())
            .finish_non_exhaustive()
    }
}
