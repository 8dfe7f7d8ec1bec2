//! The budget of reads: how many run at a time, and how many bytes they read together. A request
//! takes both in one step.

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

const LAYOUT: Layout = Layout::CountAndBytes;

/// A number of reads and a number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ReadAmount {
    /// The number of reads.
    pub count: u64,
    /// The number of bytes.
    pub bytes: u64,
}

impl ReadAmount {
    fn of(amount: Amount) -> Self {
        Self {
            count: LAYOUT.get(amount, BudgetUnit::Count),
            bytes: LAYOUT.get(amount, BudgetUnit::Bytes),
        }
    }
}

/// Limits how many reads run at a time and how many bytes they read together. Clones share the
/// budget.
///
/// A request takes one read and its bytes in one step. Two separate budgets could deadlock if two
/// requests took them in a different order. Requests are granted in the order in which they arrive;
/// see [`crate::CountBudget`].
///
/// ```
/// use heist::{AcquireError, ReadTokens};
/// use heist::budget::ReadAmount;
///
/// let reads = ReadTokens::new(8, 1 << 20)?;
/// let permit = reads.try_acquire(1 << 20)?;
/// assert_eq!(reads.available(), ReadAmount { count: 7, bytes: 0 });
/// assert_eq!(reads.try_acquire(1).unwrap_err(), AcquireError::NotNow);
/// assert_eq!(permit.bytes(), 1 << 20);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct ReadTokens {
    core: Arc<BudgetCore>,
}

impl ReadTokens {
    /// Creates a budget of `count` reads and `bytes` bytes, all of them available.
    ///
    /// # Errors
    /// Returns an error above 1,048,575 (2^20 - 1) reads or 2,199,023,255,551 (2^41 - 1) bytes, the
    /// largest numbers that the budget can count.
    pub fn new(count: u64, bytes: u64) -> Result<Self, BudgetError> {
        Ok(Self { core: BudgetCore::new(LAYOUT, LAYOUT.total(&[count, bytes])?) })
    }

    #[inline]
    fn one_read(&self, bytes: u64) -> Result<Amount, AcquireError> {
        LAYOUT.wanted(&[1, bytes], || self.core.total())
    }

    /// Takes one read of `bytes` if both are available and no request waits.
    ///
    /// # Errors
    /// [`AcquireError::NotNow`], [`AcquireError::TooLarge`] or [`AcquireError::Closed`].
    #[inline]
    pub fn try_acquire(&self, bytes: u64) -> Result<ReadPermit, AcquireError> {
        let wanted = self.one_read(bytes)?;
        BudgetCore::try_acquire(&self.core, wanted).map(ReadPermit::from_core)
    }

    /// Takes one read of `bytes` like [`ReadTokens::try_acquire`], for as long as the tokens are
    /// borrowed.
    ///
    /// # Errors
    /// The same as [`ReadTokens::try_acquire`].
    #[inline]
    pub fn try_acquire_ref(&self, bytes: u64) -> Result<PermitRef<'_>, AcquireError> {
        let wanted = self.one_read(bytes)?;
        self.core.try_take(wanted)?;
        Ok(PermitRef::new(&self.core, wanted))
    }

    /// Takes one read of `bytes`, and blocks the thread until both are granted.
    ///
    /// # Errors
    /// [`AcquireError::TooLarge`] or [`AcquireError::Closed`], possibly only after waiting;
    /// [`AcquireError::OnWorker`] if an executor's worker would have to wait.
    pub fn acquire(&self, bytes: u64) -> Result<ReadPermit, AcquireError> {
        let wanted = self.one_read(bytes)?;
        BudgetCore::acquire_blocking(&self.core, wanted, None).map(ReadPermit::from_core)
    }

    /// Takes one read of `bytes` like [`ReadTokens::acquire`], but blocks no longer than `timeout`.
    ///
    /// # Errors
    /// The same as [`ReadTokens::acquire`], and [`AcquireError::TimedOut`].
    pub fn acquire_timeout(
        &self,
        bytes: u64,
        timeout: Duration,
    ) -> Result<ReadPermit, AcquireError> {
        let wanted = self.one_read(bytes)?;
        BudgetCore::acquire_blocking(&self.core, wanted, Some(timeout)).map(ReadPermit::from_core)
    }

    /// Returns a future that takes one read of `bytes` as soon as both are granted. Any runtime can
    /// poll the future. It joins the queue when it is first polled, and leaves the queue when it is
    /// dropped.
    ///
    /// # Errors
    /// The future returns [`AcquireError::TooLarge`] or [`AcquireError::Closed`].
    pub fn acquire_async(&self, bytes: u64) -> Acquire<ReadPermit> {
        Acquire::new(&self.core, self.one_read(bytes), ReadPermit::from_core)
    }

    /// Spawns a task onto `executor` as soon as one read of `bytes` is granted to it, like
    /// [`CountBudget::acquire_then`](super::CountBudget::acquire_then). A running task of
    /// `executor` can call this even while the executor is being joined.
    ///
    /// # Errors
    /// Returns `make` if `executor` accepts no more tasks.
    pub fn acquire_then<T, F>(
        &self,
        bytes: u64,
        executor: &ExecutorHandle<T>,
        make: F,
    ) -> Result<(), SpawnError<F>>
    where
        T: Send + 'static,
        F: FnOnce(Result<ReadPermit, AcquireError>) -> T + Send + 'static,
    {
        acquire_then(&self.core, self.one_read(bytes), executor, make, ReadPermit::from_core)
    }

    /// Changes both totals while the budget is in use.
    ///
    /// Lowering the totals takes nothing away: if more than that is in use, nothing is granted
    /// until enough has come back. A waiting request for more than the new totals is refused.
    ///
    /// # Errors
    /// The same as [`ReadTokens::new`]; nothing changes then.
    pub fn set_total(&self, count: u64, bytes: u64) -> Result<(), BudgetError> {
        self.core.set_total(LAYOUT.total(&[count, bytes])?);
        Ok(())
    }
}

budget_accessors!(ReadTokens, ReadAmount, ReadAmount::of);

/// A read of some bytes, which the permit gives back when it is dropped. A permit is two words
/// large and meant to live inside tasks.
#[must_use = "dropping a permit gives it back at once"]
pub struct ReadPermit(Permit);

impl ReadPermit {
    /// Returns the number of reads: one, unless permits were split or merged.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.amount().count
    }

    /// Returns the number of bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.amount().bytes
    }

    /// Returns the number of reads and bytes.
    #[must_use]
    pub fn amount(&self) -> ReadAmount {
        ReadAmount::of(self.0.amount())
    }

    /// Splits `part` off into another permit, or returns `None` if this one holds less of either
    /// unit. A read that got fewer bytes than it asked for gives the rest back by splitting them
    /// off.
    #[must_use = "dropping a permit gives it back at once"]
    pub fn split(&mut self, part: ReadAmount) -> Option<Self> {
        let part = LAYOUT.wanted(&[part.count, part.bytes], || Amount::ZERO).ok()?;
        self.0.split(part).map(Self)
    }
}

permit_methods!(ReadPermit, LAYOUT, amount);
