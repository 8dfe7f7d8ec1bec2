//! A part of a budget that is held within a scope.
//!
//! An owned permit holds a reference to its budget, so many threads change the reference count as
//! often as the budget itself. A borrowed permit avoids that.

use super::amount::{Amount, BudgetUnit};
use super::core::BudgetCore;
use std::fmt;

/// A borrowed part of a budget, given back when it is dropped. It costs half as much as an owned
/// permit, and suits short work in one place. A permit that waits, moves or lives inside a task
/// must be an owned one.
#[must_use = "dropping a permit gives it back at once"]
pub struct PermitRef<'b> {
    core: &'b BudgetCore,
    amount: Amount,
}

impl<'b> PermitRef<'b> {
    /// Creates a permit for an amount that was taken from `core`.
    #[inline]
    pub(super) fn new(core: &'b BudgetCore, amount: Amount) -> Self {
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
