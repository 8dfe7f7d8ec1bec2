//! Why a budget could not be made, and why nothing was granted.

use super::amount::BudgetUnit;
use std::error::Error;
use std::fmt;

/// A total that a budget cannot have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BudgetError {
    /// The total is larger than the budget can count.
    TotalTooLarge {
        /// What is counted.
        unit: BudgetUnit,
        /// The total that was asked for.
        total: u64,
        /// The largest possible one.
        most: u64,
    },
}

impl fmt::Display for BudgetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TotalTooLarge { unit, total, most } => {
                write!(f, "a budget cannot have a total of {total} ({unit}); {most} is the most")
            }
        }
    }
}

impl Error for BudgetError {}

/// Why a budget granted nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AcquireError {
    /// Not enough is available, or others wait and would be overtaken. Only `try_acquire` says this.
    NotNow,
    /// More was wanted than there is in total: it would wait for ever.
    TooLarge {
        /// Of what too much was wanted.
        unit: BudgetUnit,
        /// How much was wanted.
        wanted: u64,
        /// How much there is.
        total: u64,
    },
    /// The budget was closed.
    Closed,
    /// A worker of an executor would have had to block, and its pool with it.
    OnWorker,
    /// The time was over before it was granted.
    TimedOut,
    /// The executor that waited for it was stopped.
    Stopped,
}

impl fmt::Display for AcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotNow => f.write_str(
                "not enough of the budget is available now, or others wait for it; let a task wait with \
                 `acquire_then` (for slots: `DeviceLanes`), let a thread that is no worker wait with `acquire`, or try \
                 again later",
            ),
            Self::TooLarge { unit, wanted, total } => write!(
                f,
                "{wanted} ({unit}) can never be granted from a budget of {total}; ask for less, or raise the limit"
            ),
            Self::Closed => {
                f.write_str("the budget is closed and grants nothing any more; stop asking")
            }
            Self::OnWorker => f.write_str(
                "a worker of an executor must not block for a permit; use `acquire_then` (for slots: `DeviceLanes`) or \
                 `try_acquire`, or acquire the permit before the task is spawned",
            ),
            Self::TimedOut => f.write_str(
                "the permit was not granted in time; wait longer, return permits sooner, or raise the limit",
            ),
            Self::Stopped => f.write_str(
                "the executor was stopped while a task waited for its permit; stop asking, or use an executor that \
                 is running",
            ),
        }
    }
}

impl Error for AcquireError {}
