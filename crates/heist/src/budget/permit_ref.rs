//! A part of a budget that is held within a scope.
//!
//! An owned permit counts one more reference to its budget, which many threads then change as often as the budget
//! itself. Where a permit need not outlive a borrow, this one does without.

use super::amount::{Amount, BudgetUnit};
use super::core::Core;
use std::fmt;

/// Part of a budget, borrowed: gives it back when it is dropped. For short work in one place, where it costs half as
/// much as an owned permit; what waits, moves or lives inside a task takes an owned one.
#[must_use = "a permit that is dropped at once is given back at once"]
pub struct PermitRef<'b> {
    core: &'b Core,
    amount: Amount,
}

impl<'b> PermitRef<'b> {
    /// A permit for an amount that was taken from `core`.
    #[inline]
    pub(super) fn new(core: &'b Core, amount: Amount) -> Self {
        Self { core, amount }
    }
}

impl Drop for PermitRef<'_> {
    #[inline]
    fn drop(&mut self) {
        self.core.release(self.amount);
    }
}

impl fmt::Debug for PermitRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let layout = self.core.layout();
        f.debug_struct("PermitRef")
            .field("count", &layout.get(self.amount, BudgetUnit::Count))
            .field("bytes", &layout.get(self.amount, BudgetUnit::Bytes))
            .finish()
    }
}
