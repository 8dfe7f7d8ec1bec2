//! An owned part of any budget. The public permits wrap it and give it the names of their units.
//!
//! Invariant: what the permit holds is in use in its budget until the permit is dropped, forgotten,
//! or consumed by [`Permit::into_amount`]. A permit that holds nothing does nothing when it is
//! dropped.

use super::amount::{Amount, BudgetUnit};
use super::core::BudgetCore;
use crate::sync::Arc;
use crate::sync::plant::{Plant, planted};
use std::fmt;

/// An amount that goes back to its budget when the permit is dropped.
#[must_use = "dropping a permit gives it back at once"]
pub struct Permit {
    core: Arc<BudgetCore>,
    amount: Amount,
}

impl Permit {
    /// Creates a permit for an amount that was taken from `core`, or that will only be given to it.
    #[inline]
    pub(super) fn new(core: Arc<BudgetCore>, amount: Amount) -> Self {
        Self { core, amount }
    }

    /// Returns the budget that this permit belongs to.
    #[inline]
    pub fn core(&self) -> &Arc<BudgetCore> {
        &self.core
    }

    /// Returns the amount that the permit holds.
    #[inline]
    pub fn amount(&self) -> Amount {
        self.amount
    }

    /// Consumes the permit without giving its amount back. The caller later calls
    /// [`BudgetCore::release`] with this amount, or with the sum of several.
    #[must_use = "an amount that is not released stays in use forever"]
    pub fn into_amount(mut self) -> Amount {
        self.take_amount()
    }

    fn take_amount(&mut self) -> Amount {
        std::mem::replace(&mut self.amount, Amount::ZERO)
    }

    /// Splits `part` off into another permit, or returns `None` if this one holds less.
    #[must_use = "dropping a permit gives it back at once"]
    pub fn split(&mut self, part: Amount) -> Option<Self> {
        if !self.amount.covers(part, self.core.guards()) {
            return None;
        }
        self.amount = self.amount.minus(part);
        Some(Self { core: Arc::clone(&self.core), amount: part })
    }

    /// Adds what `other` holds to this permit.
    ///
    /// # Errors
    /// Returns `other` if it belongs to another budget or if the sum does not fit.
    pub fn merge(&mut self, mut other: Self) -> Result<(), Self> {
        let same_budget = Arc::ptr_eq(&self.core, &other.core);
        let sum = self.core.layout().checked_add(self.amount, other.amount);
        match sum.filter(|_| same_budget) {
            Some(sum) => {
                other.take_amount();
                self.amount = sum;
                Ok(())
            }
            None => Err(other),
        }
    }

    /// Consumes the permit and never gives its amount back.
    pub fn forget(mut self) {
        let amount = self.take_amount();
        self.core.forget(amount);
    }
}

impl Drop for Permit {
    #[inline]
    fn drop(&mut self) {
        if planted(Plant::PermitLeakedOnPanic) && std::thread::panicking() {
            return;
        }
        if !self.amount.is_zero() {
            self.core.release(self.amount);
        }
    }
}

impl fmt::Debug for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let layout = self.core.layout();
        f.debug_struct("Permit")
            .field("count", &layout.get(self.amount, BudgetUnit::Count))
            .field("bytes", &layout.get(self.amount, BudgetUnit::Bytes))
            .finish_non_exhaustive()
    }
}
