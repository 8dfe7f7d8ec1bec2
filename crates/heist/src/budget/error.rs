//! Why a budget could not be created, and why a request was refused.

use super::amount::BudgetUnit;
use std::error::Error;
use std::fmt;

/// An impossible total for a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BudgetError {
    /// The total is larger than the budget can count.
    TotalTooLarge {
        /// The unit of the total.
        unit: BudgetUnit,
        /// The total that the caller asked for.
        total: u64,
        /// The largest possible total.
        most: u64,
    },
}

impl fmt::Display for BudgetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TotalTooLarge { unit, total, most } => {
                write!(f, "a budget cannot have a total of {total} ({unit}); the maximum is {most}")
            }
        }
    }
}

impl Error for BudgetError {}

/// Why a budget refused a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AcquireError {
    /// Not enough is available, or other requests wait and would be overtaken. Only `try_acquire`
    /// returns this.
    NotNow,
    /// The request is above the total, so it would wait forever.
    TooLarge {
        /// The unit of which too much was requested.
        unit: BudgetUnit,
        /// The requested amount.
        wanted: u64,
        /// The total of the budget.
        total: u64,
    },
    /// The budget was closed.
    Closed,
    /// An executor's worker would have had to block, which would hold up its pool.
    OnWorker,
    /// The timeout passed before the request was granted.
    TimedOut,
    /// The executor whose task waited for the permit was stopped.
    Stopped,
}

impl fmt::Display for AcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotNow => f.write_str(
                "not enough of the budget is available, or other requests wait for it; \
                 try again later, or wait: in a task with `acquire_then` (for device slots: \
                 `DeviceLanes`), on a thread that is not a worker with `acquire`",
            ),
            Self::TooLarge { unit, wanted, total } => write!(
                f,
                "a budget with a total of {total} can never grant {wanted} ({unit}); \
                 request less, or raise the total"
            ),
            Self::Closed => f.write_str("the budget is closed and grants no more requests"),
            Self::OnWorker => f.write_str(
                "an executor's worker must not block for a permit; use `try_acquire` or \
                 `acquire_then` (for device slots: `DeviceLanes`), or acquire the permit before \
                 spawning the task",
            ),
            Self::TimedOut => f.write_str(
                "the permit was not granted in time; wait longer, give permits back sooner, \
                 or raise the total",
            ),
            Self::Stopped => f.write_str(
                "the executor was stopped while a task waited for its permit; \
                 use an executor that is running",
            ),
        }
    }
}

impl Error for AcquireError {}
