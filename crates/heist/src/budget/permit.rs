//! An owned part of a budget, whichever it is. The public permits are this one with the units' names.
//!
//! Invariant: what the permit holds is in use in its budget until it is dropped, forgotten or taken out of it by
//! [`Permit::into_amount`]. A permit that holds nothing does nothing when it is dropped.

use super::amount::{Amount, BudgetUnit};
use super::core::Core;
use crate::sync::Arc;
use std::fmt;

/// Gives its amount back to its budget when it is dropped.
#[must_use = "a permit that is dropped at once is given back at once"]
pub struct Permit {
    core: Arc<Core>,
    amount: Amount,
}

impl Permit {
    /// A permit for an amount that was taken from `core`, or that is only to be given to it.
    #[inline]
    pub(super) fn new(core: Arc<Core>, amount: Amount) -> Self {
        Self { core, amount }
    }

    /// The budget it is of.
    #[inline]
    pub fn core(&self) -> &Arc<Core> {
        &self.core
    }

    /// How much it holds.
    #[inline]
    pub fn amount(&self) -> Amount {
        self.amount
    }

    /// The permit stops being one: somebody calls [`Core::release`] with its amount later, or with the sum of many.
    #[must_use = "what is not released is in use for ever"]
    pub fn into_amount(mut self) -> Amount {
        self.take_amount()
    }

    fn take_amount(&mut self) -> Amount {
        std::mem::replace(&mut self.amount, Amount::ZERO)
    }

    /// Takes `part` off into a permit of its own; `None` if it does not hold as much.
    #[must_use = "the part that is dropped at once is given back at once"]
    pub fn split(&mut self, part: Amount) -> Option<Self> {
        if !self.amount.covers(part, self.core.guards()) {
            return None;
        }
        self.amount = self.amount.minus(part);
        Some(Self { core: Arc::clone(&self.core), amount: part })
    }

    /// Takes what `other` holds.
    ///
    /// # Errors
    /// Gives `other` back if it is of another budget, or if there is no room for the sum.
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

    /// Never gives its amount back.
    pub fn forget(mut self) {
        let amount = self.take_amount();
        self.core.forget(amount);
    }
}

impl Drop for Permit {
    #[inline]
    fn drop(&mut self) {
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
