//! Budgets of one unit: counts and bytes. The two differ only in their names, so a macro defines
//! both.
//!
//! [`BudgetCore`] does all the work; this file gives amounts their unit and permits their type.

use super::accessors::{budget_accessors, permit_methods};
use super::acquire::Acquire;
use super::acquire_then::acquire_then;
use super::amount::{Amount, BudgetUnit, Layout};
use super::core::BudgetCore;
use super::error::{AcquireError, BudgetError};
use super::permit::Permit;
use super::permit_ref::PermitRef;
use crate::executor::{ExecutorHandle, SpawnError};
use crate::sync::Arc;
use std::fmt;
use std::time::Duration;

/// Defines a budget of one unit and its permit.
macro_rules! budget_of_one_unit {
    (
        $layout:ident, $amount:literal,
        $(#[$budget_doc:meta])* $budget:ident,
        $(#[$permit_doc:meta])* $permit:ident, $held:ident,
    ) => {
        $(#[$budget_doc])*
        #[derive(Clone)]
        pub struct $budget {
            core: Arc<BudgetCore>,
        }

        impl $budget {
            #[doc = concat!("Creates a budget of `total` ", $amount, ", all of them available.")]
            ///
            /// # Errors
            /// Returns an error if the total is above 4,611,686,018,427,387,903 (2^62 - 1), the
            /// largest number that a budget can count.
            pub fn new(total: u64) -> Result<Self, BudgetError> {
                let total = Layout::$layout.total(&[total])?;
                Ok(Self { core: BudgetCore::new(Layout::$layout, total) })
            }

            /// Converts a requested number into the amount that the budget's core uses.
            ///
            /// # Errors
            /// [`AcquireError::TooLarge`] if the number is above any possible total.
            #[inline]
            pub(crate) fn amount(&self, wanted: u64) -> Result<Amount, AcquireError> {
                Layout::$layout.wanted(&[wanted], || self.core.total())
            }

            #[inline]
            fn value(amount: Amount) -> u64 {
                Layout::$layout.get(amount, BudgetUnit::$layout)
            }

            #[doc = concat!("Takes `wanted` ", $amount, " if enough are available and no")]
            /// request waits.
            ///
            /// # Errors
            /// [`AcquireError::NotNow`], [`AcquireError::TooLarge`] or [`AcquireError::Closed`].
            #[inline]
            pub fn try_acquire(&self, wanted: u64) -> Result<$permit, AcquireError> {
                let wanted = self.amount(wanted)?;
                BudgetCore::try_acquire(&self.core, wanted).map($permit::from_core)
            }

            #[doc = concat!("Takes `wanted` ", $amount, " like [`Self::try_acquire`], for as")]
            /// long as the budget is borrowed.
            ///
            /// # Errors
            /// The same as [`Self::try_acquire`].
            #[inline]
            pub fn try_acquire_ref(&self, wanted: u64) -> Result<PermitRef<'_>, AcquireError> {
                let wanted = self.amount(wanted)?;
                self.core.try_take(wanted)?;
                Ok(PermitRef::new(&self.core, wanted))
            }

            #[doc = concat!("Takes `wanted` ", $amount, ", and blocks the thread until they")]
            /// are granted.
            ///
            /// # Errors
            /// [`AcquireError::TooLarge`] or [`AcquireError::Closed`], possibly only after waiting;
            /// [`AcquireError::OnWorker`] if an executor's worker would have to wait.
            pub fn acquire(&self, wanted: u64) -> Result<$permit, AcquireError> {
                let wanted = self.amount(wanted)?;
                BudgetCore::acquire_blocking(&self.core, wanted, None).map($permit::from_core)
            }

            #[doc = concat!("Takes `wanted` ", $amount, " like [`Self::acquire`], but blocks")]
            /// no longer than `timeout`.
            ///
            /// # Errors
            /// The same as [`Self::acquire`], and [`AcquireError::TimedOut`].
            pub fn acquire_timeout(
                &self,
                wanted: u64,
                timeout: Duration,
            ) -> Result<$permit, AcquireError> {
                let wanted = self.amount(wanted)?;
                let granted = BudgetCore::acquire_blocking(&self.core, wanted, Some(timeout));
                granted.map($permit::from_core)
            }

            #[doc = concat!("Returns a future that takes `wanted` ", $amount, " as soon as")]
            /// they are granted.
            ///
            /// Any runtime can poll the future. It joins the queue when it is first polled, and
            /// leaves the queue when it is dropped.
            ///
            /// # Errors
            /// The future returns [`AcquireError::TooLarge`] or [`AcquireError::Closed`].
            pub fn acquire_async(&self, wanted: u64) -> Acquire<$permit> {
                Acquire::new(&self.core, self.amount(wanted), $permit::from_core)
            }

            /// Changes the total while the budget is in use.
            ///
            /// Lowering the total takes nothing away: if more than the new total is in use, nothing
            /// is granted until enough has come back. A waiting request for more than the new total
            /// is refused.
            ///
            /// # Errors
            #[doc = concat!("The same as [`", stringify!($budget), "::new`]; then nothing")]
            /// changes.
            pub fn set_total(&self, total: u64) -> Result<(), BudgetError> {
                self.core.set_total(Layout::$layout.total(&[total])?);
                Ok(())
            }

            #[doc = concat!("Spawns a task onto `executor` as soon as `wanted` ", $amount, " are")]
            /// granted to it.
            ///
            /// This is how a task waits: it must not block its worker, so it ends and lets another
            /// task continue. The executor counts the new task from now on, so `join` waits for it.
            /// A stopped executor drops the task, which then leaves the queue.
            ///
            /// `make` makes the task out of the permit, or out of the error: the budget was closed,
            /// the request is too large, or the executor was stopped. heist calls `make` once, on
            /// whichever thread grants the permit, so `make` should only make the task.
            ///
            /// A running task of `executor` can call this even while the executor is being joined,
            /// and in a [`crate::run`], because the running task keeps the executor from ending.
            ///
            /// # Errors
            /// Returns `make` if `executor` accepts no more tasks.
            pub fn acquire_then<T, F>(
                &self,
                wanted: u64,
                executor: &ExecutorHandle<T>,
                make: F,
            ) -> Result<(), SpawnError<F>>
            where
                T: Send + 'static,
                F: FnOnce(Result<$permit, AcquireError>) -> T + Send + 'static,
            {
                acquire_then(&self.core, self.amount(wanted), executor, make, $permit::from_core)
            }
        }

        budget_accessors!($budget, u64, Self::value);

        $(#[$permit_doc])*
        #[must_use = "dropping a permit gives it back at once"]
        pub struct $permit(Permit);

        impl $permit {
            #[doc = concat!("Returns the number of ", $amount, " that the permit holds.")]
            #[must_use]
            #[inline]
            pub fn $held(&self) -> u64 {
                $budget::value(self.0.amount())
            }

            /// Splits `part` off into another permit, or returns `None` if this one holds less.
            #[must_use = "dropping a permit gives it back at once"]
            pub fn split(&mut self, part: u64) -> Option<Self> {
                let part = Layout::$layout.wanted(&[part], || Amount::ZERO).ok()?;
                self.0.split(part).map(Self)
            }
        }

        permit_methods!($permit, Layout::$layout, $held);
    };
}

budget_of_one_unit! {
    Count, "units",
    /// Limits how many things of a kind (open files, connections, device slots) are in use at a
    /// time. Clones share the budget.
    ///
    /// **First come, first served.** Threads, futures and tasks wait in one queue, and the budget
    /// grants their requests in the order in which they arrived. (The order in which they then run
    /// is up to the operating system.) No request overtakes another: [`CountBudget::try_acquire`]
    /// fails while others wait, and a small request waits behind a large one, because the large one
    /// would starve otherwise.
    ///
    /// ```
    /// use heist::{AcquireError, CountBudget};
    ///
    /// let files = CountBudget::new(2)?;
    /// let first = files.try_acquire(1)?;
    /// let mut second = files.acquire(1)?;
    /// assert_eq!(files.try_acquire(1).unwrap_err(), AcquireError::NotNow);
    ///
    /// drop(first);
    /// second.merge(files.try_acquire(1)?).expect("both permits are of the same budget");
    /// assert_eq!((second.count(), files.available(), files.high_water()), (2, 0, 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    CountBudget,
    /// Units taken from a [`CountBudget`], which the permit gives back when it is dropped. A
    /// permit is two words large and meant to live inside tasks.
    CountPermit, count,
}

budget_of_one_unit! {
    Bytes, "bytes",
    /// Limits how many bytes are in use at a time, for example in buffers or send queues. Clones
    /// share the budget.
    ///
    /// **First come, first served.** Threads, futures and tasks wait in one queue, and the budget
    /// grants their requests in the order in which they arrived. (The order in which they then run
    /// is up to the operating system.) No request overtakes another: [`ByteBudget::try_acquire`]
    /// fails while others wait, and a small request waits behind a large one, because the large one
    /// would starve otherwise.
    ///
    /// ```
    /// use heist::ByteBudget;
    ///
    /// let buffers = ByteBudget::new(1 << 20)?;
    /// let mut whole = buffers.acquire(1 << 20)?;
    /// let half = whole.split(1 << 19).expect("the permit holds more than half");
    /// drop(half);
    /// assert_eq!((whole.bytes(), buffers.available()), (1 << 19, 1 << 19));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ByteBudget,
    /// Bytes taken from a [`ByteBudget`], which the permit gives back when it is dropped. A permit
    /// is two words large and meant to live inside tasks.
    BytePermit, bytes,
}

impl CountBudget {
    /// Gives back the units of permits that were consumed by [`CountPermit::into_item`].
    pub(crate) fn give_back(&self, count: u64) {
        if let Ok(amount) = self.amount(count) {
            self.core.release(amount);
        }
    }

    /// Returns `true` if another handle or a permit of this budget exists.
    pub(crate) fn is_shared(&self) -> bool {
        Arc::strong_count(&self.core) > 1
    }
}

impl CountPermit {
    /// Consumes the permit without giving it back. An item owns its share from now on, and returns
    /// it with [`CountBudget::give_back`].
    pub(crate) fn into_item(self) {
        let _ = self.into_core().into_amount();
    }
}
