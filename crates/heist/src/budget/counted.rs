//! Budgets of one unit: counts and bytes. The two differ in their names only, so they are written once.
//!
//! Everything is done by [`Core`]; here amounts get their unit and permits their type.

use super::accessors::{budget_accessors, permit_methods};
use super::acquire::Acquire;
use super::acquire_then::acquire_then;
use super::amount::{Amount, BudgetUnit, Layout};
use super::core::Core;
use super::error::{AcquireError, BudgetError};
use super::permit::Permit;
use super::permit_ref::PermitRef;
use crate::executor::{ExecutorHandle, SpawnError};
use crate::sync::Arc;
use std::fmt;
use std::time::Duration;

/// Writes a budget of one unit and its permit.
macro_rules! budget_of_one_unit {
    (
        $layout:ident, $amount:literal,
        $(#[$budget_doc:meta])* $budget:ident,
        $(#[$permit_doc:meta])* $permit:ident, $held:ident,
    ) => {
        $(#[$budget_doc])*
        #[derive(Clone)]
        pub struct $budget {
            core: Arc<Core>,
        }

        impl $budget {
            #[doc = concat!("A budget of `total` ", $amount, ", all of them available.")]
            ///
            /// # Errors
            /// The total is above 4,611,686,018,427,387,903 (2^62 - 1), the most that can be counted.
            pub fn new(total: u64) -> Result<Self, BudgetError> {
                let total = Layout::$layout.total(&[total])?;
                Ok(Self { core: Core::new(Layout::$layout, total) })
            }

            /// What somebody wants, for the budget without its unit.
            ///
            /// # Errors
            /// [`AcquireError::TooLarge`]: it is above any total.
            #[inline]
            pub(crate) fn amount(&self, wanted: u64) -> Result<Amount, AcquireError> {
                Layout::$layout.wanted(&[wanted], || self.core.total())
            }

            #[inline]
            fn value(amount: Amount) -> u64 {
                Layout::$layout.get(amount, BudgetUnit::$layout)
            }

            #[doc = concat!("Takes ", $amount, " if they are available and nobody waits for any.")]
            ///
            /// # Errors
            /// [`AcquireError::NotNow`], [`AcquireError::TooLarge`] or [`AcquireError::Closed`].
            #[inline]
            pub fn try_acquire(&self, wanted: u64) -> Result<$permit, AcquireError> {
                let wanted = self.amount(wanted)?;
                Core::try_acquire(&self.core, wanted).map($permit::from_core)
            }

            #[doc = concat!("Takes ", $amount, " as [`Self::try_acquire`] does, while the budget is borrowed.")]
            ///
            /// # Errors
            /// As [`Self::try_acquire`].
            #[inline]
            pub fn try_acquire_ref(&self, wanted: u64) -> Result<PermitRef<'_>, AcquireError> {
                let wanted = self.amount(wanted)?;
                self.core.try_take(wanted)?;
                Ok(PermitRef::new(&self.core, wanted))
            }

            #[doc = concat!("Takes ", $amount, ", and blocks the thread until they are granted.")]
            ///
            /// # Errors
            /// [`AcquireError::TooLarge`] or [`AcquireError::Closed`], also while it waits; [`AcquireError::OnWorker`]
            /// if a worker of an executor would have to wait.
            pub fn acquire(&self, wanted: u64) -> Result<$permit, AcquireError> {
                let wanted = self.amount(wanted)?;
                Core::acquire_blocking(&self.core, wanted, None).map($permit::from_core)
            }

            #[doc = concat!("Takes ", $amount, ", and blocks the thread until they are granted, but not for longer")]
            /// than `timeout`.
            ///
            /// # Errors
            /// As [`Self::acquire`], and [`AcquireError::TimedOut`].
            pub fn acquire_timeout(
                &self,
                wanted: u64,
                timeout: Duration,
            ) -> Result<$permit, AcquireError> {
                let wanted = self.amount(wanted)?;
                Core::acquire_blocking(&self.core, wanted, Some(timeout)).map($permit::from_core)
            }

            #[doc = concat!("Takes ", $amount, " as soon as they are granted, without blocking. The future can be")]
            /// polled by any runtime; it takes its place when it is first polled, and gives it up when it is dropped.
            ///
            /// # Errors
            /// The future yields [`AcquireError::TooLarge`] or [`AcquireError::Closed`].
            pub fn acquire_async(&self, wanted: u64) -> Acquire<$permit> {
                Acquire::new(&self.core, self.amount(wanted), $permit::from_core)
            }

            /// Changes the total while the budget is in use.
            ///
            /// Lowering it takes nothing away: if more than that is in use, nothing is granted until enough has come
            /// back. Who waits for more than the new total is refused.
            ///
            /// # Errors
            #[doc = concat!("As [`", stringify!($budget), "::new`]. Nothing was changed then.")]
            pub fn set_total(&self, total: u64) -> Result<(), BudgetError> {
                self.core.set_total(Layout::$layout.total(&[total])?);
                Ok(())
            }

            #[doc = concat!("Spawns a task onto `executor` as soon as ", $amount, " are granted to it: the way for a")]
            /// task to wait, which must not hold its worker. It counts for the executor from now on, so `join` waits
            /// for it; a stopped executor drops it, and it gives up its place.
            ///
            /// `make` makes the task out of the permit, or of the reason why there is none (the budget was closed, the
            /// request is too large, the executor was stopped). It is called once, on whichever thread grants the
            /// permit, so it should do no more than that.
            ///
            /// From a running task of `executor` this works also while that is being joined, and in a [`crate::run`]:
            /// the task that runs keeps it from ending.
            ///
            /// # Errors
            /// `executor` takes no more tasks; the error gives `make` back.
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
        #[must_use = "a permit that is dropped at once is given back at once"]
        pub struct $permit(Permit);

        impl $permit {
            #[doc = concat!("How many ", $amount, " it is for.")]
            #[must_use]
            #[inline]
            pub fn $held(&self) -> u64 {
                $budget::value(self.0.amount())
            }

            /// Takes `part` off into a permit of its own; `None` if it holds less.
            #[must_use = "the part that is dropped at once is given back at once"]
            pub fn split(&mut self, part: u64) -> Option<Self> {
                let part = Layout::$layout.wanted(&[part], || Amount::ZERO).ok()?;
                self.0.split(part).map(Self)
            }
        }

        permit_methods!($permit, Layout::$layout, $held);
    };
}

budget_of_one_unit! {
    Count, "things",
    /// How many things of a kind (open files, connections, slots) may be in use at a time. Clones are the same budget.
    ///
    /// **First come, first served.** Threads, futures and tasks wait in one line and are granted in the order in which
    /// they came. (In which order they then run is up to the system.) Nobody overtakes: [`CountBudget::try_acquire`]
    /// fails while others wait, and a small request waits behind a large one, or the large one would starve.
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
    /// second.merge(files.try_acquire(1)?).expect("of the same budget");
    /// assert_eq!((second.count(), files.available(), files.high_water()), (2, 0, 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    CountBudget,
    /// Some things of a [`CountBudget`]: given back when this is dropped. Two words, made to live inside of tasks.
    CountPermit, count,
}

budget_of_one_unit! {
    Bytes, "bytes",
    /// How many bytes may be in use at a time: for buffers, for what is queued or sent. Clones are the same budget.
    ///
    /// **First come, first served.** Threads, futures and tasks wait in one line and are granted in the order in which
    /// they came. (In which order they then run is up to the system.) Nobody overtakes: [`ByteBudget::try_acquire`]
    /// fails while others wait, and a small request waits behind a large one, or the large one would starve.
    ///
    /// ```
    /// use heist::ByteBudget;
    ///
    /// let buffers = ByteBudget::new(1 << 20)?;
    /// let mut whole = buffers.acquire(1 << 20)?;
    /// let half = whole.split(1 << 19).expect("it holds more");
    /// drop(half);
    /// assert_eq!((whole.bytes(), buffers.available()), (1 << 19, 1 << 19));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ByteBudget,
    /// Some bytes of a [`ByteBudget`]: given back when this is dropped. Two words, made to live inside of tasks.
    BytePermit, bytes,
}

impl CountBudget {
    /// Gives back what permits held that were taken apart.
    pub(crate) fn give_back(&self, count: u64) {
        if let Ok(amount) = self.amount(count) {
            self.core.release(amount);
        }
    }

    /// The budget without its unit.
    #[inline]
    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    /// Whether anybody else has this budget, or a permit of it.
    pub(crate) fn is_shared(&self) -> bool {
        Arc::strong_count(&self.core) > 1
    }
}

impl CountPermit {
    /// The permit without its unit.
    #[inline]
    pub(crate) fn into_core(self) -> Permit {
        self.0
    }

    /// The permit is taken apart: what it held is an item's from now on, and comes back with
    /// [`CountBudget::give_back`].
    pub(crate) fn into_item(self) {
        let _ = self.into_core().into_amount();
    }
}
