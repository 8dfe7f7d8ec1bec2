//! The budget of reads: how many at a time, and how many bytes together. Both are taken, or neither.

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

const LAYOUT: Layout = Layout::CountAndBytes;

/// A number of reads, and of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ReadAmount {
    /// How many reads.
    pub count: u64,
    /// How many bytes.
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

/// How many reads may be under way at a time, and of how many bytes together. Clones are the same budget.
///
/// A request takes one read and its bytes in one step: there is no order in which two budgets, one for each, could
/// deadlock. Requests are granted in the order in which they come; see [`crate::CountBudget`].
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
    core: Arc<Core>,
}

impl ReadTokens {
    /// A budget of `count` reads and `bytes` bytes, all of them available.
    ///
    /// # Errors
    /// More than can be counted: 1,048,575 (2^20 - 1) reads, 2,199,023,255,551 (2^41 - 1) bytes.
    pub fn new(count: u64, bytes: u64) -> Result<Self, BudgetError> {
        Ok(Self { core: Core::new(LAYOUT, LAYOUT.total(&[count, bytes])?) })
    }

    #[inline]
    fn one_read(&self, bytes: u64) -> Result<Amount, AcquireError> {
        LAYOUT.wanted(&[1, bytes], || self.core.total())
    }

    /// Takes one read of `bytes` if both are available and nobody waits.
    ///
    /// # Errors
    /// [`AcquireError::NotNow`], [`AcquireError::TooLarge`] or [`AcquireError::Closed`].
    #[inline]
    pub fn try_acquire(&self, bytes: u64) -> Result<ReadPermit, AcquireError> {
        let wanted = self.one_read(bytes)?;
        Core::try_acquire(&self.core, wanted).map(ReadPermit::from_core)
    }

    /// Takes one read of `bytes` as [`ReadTokens::try_acquire`] does, for as long as the tokens are borrowed.
    ///
    /// # Errors
    /// As [`ReadTokens::try_acquire`].
    #[inline]
    pub fn try_acquire_ref(&self, bytes: u64) -> Result<PermitRef<'_>, AcquireError> {
        let wanted = self.one_read(bytes)?;
        self.core.try_take(wanted)?;
        Ok(PermitRef::new(&self.core, wanted))
    }

    /// Takes one read of `bytes`, and blocks the thread until both are granted.
    ///
    /// # Errors
    /// [`AcquireError::TooLarge`] or [`AcquireError::Closed`], also while it waits; [`AcquireError::OnWorker`] if a
    /// worker of an executor would have to wait.
    pub fn acquire(&self, bytes: u64) -> Result<ReadPermit, AcquireError> {
        let wanted = self.one_read(bytes)?;
        Core::acquire_blocking(&self.core, wanted, None).map(ReadPermit::from_core)
    }

    /// Takes one read of `bytes`, and blocks the thread until both are granted, but not for longer than `timeout`.
    ///
    /// # Errors
    /// As [`ReadTokens::acquire`], and [`AcquireError::TimedOut`].
    pub fn acquire_timeout(
        &self,
        bytes: u64,
        timeout: Duration,
    ) -> Result<ReadPermit, AcquireError> {
        let wanted = self.one_read(bytes)?;
        Core::acquire_blocking(&self.core, wanted, Some(timeout)).map(ReadPermit::from_core)
    }

    /// Takes one read of `bytes` as soon as both are granted, without blocking. The future can be polled by any
    /// runtime; it takes its place when it is first polled, and gives it up when it is dropped.
    ///
    /// # Errors
    /// The future yields [`AcquireError::TooLarge`] or [`AcquireError::Closed`].
    pub fn acquire_async(&self, bytes: u64) -> Acquire<ReadPermit> {
        Acquire::new(&self.core, self.one_read(bytes), ReadPermit::from_core)
    }

    /// Spawns a task onto `executor` as soon as one read of `bytes` is granted to it. As
    /// [`CountBudget::acquire_then`](super::CountBudget::acquire_then): from a running task of `executor`, also while
    /// that is being joined.
    ///
    /// # Errors
    /// `executor` takes no more tasks; the error gives `make` back.
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
    /// Lowering them takes nothing away: if more than that is in use, nothing is granted until enough has come back.
    /// Who waits for more than the new totals is refused.
    ///
    /// # Errors
    /// As [`ReadTokens::new`]. Nothing was changed then.
    pub fn set_total(&self, count: u64, bytes: u64) -> Result<(), BudgetError> {
        self.core.set_total(LAYOUT.total(&[count, bytes])?);
        Ok(())
    }
}

budget_accessors!(ReadTokens, ReadAmount, ReadAmount::of);

/// A read of some bytes: given back when this is dropped. Two words, made to live inside of tasks.
#[must_use = "a permit that is dropped at once is given back at once"]
pub struct ReadPermit(Permit);

impl ReadPermit {
    /// How many reads it is for: one, unless permits were split or merged.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.amount().count
    }

    /// How many bytes it is for.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.amount().bytes
    }

    /// Both.
    #[must_use]
    pub fn amount(&self) -> ReadAmount {
        ReadAmount::of(self.0.amount())
    }

    /// Takes `part` off into a permit of its own; `None` if it holds less of either. A read that has got less than it
    /// asked for gives the rest of its bytes back by splitting them off.
    #[must_use = "the part that is dropped at once is given back at once"]
    pub fn split(&mut self, part: ReadAmount) -> Option<Self> {
        let part = LAYOUT.wanted(&[part.count, part.bytes], || Amount::ZERO).ok()?;
        self.0.split(part).map(Self)
    }
}

permit_methods!(ReadPermit, LAYOUT, amount);
