//! Budgets: how much of something may be in use at a time, and owned permits for parts of it.
//!
//! | file | idea |
//! |---|---|
//! | `counted`, `read_tokens` | the public budgets and permits: counts, bytes, reads (both at once) |
//! | `accessors` | what all of these have in common |
//! | `acquire` | the future of `acquire_async` |
//! | `acquire_then` | waiting as a task of an executor |
//! | `error` | why nothing was granted |
//! | `amount` | amounts, packed into one word with a flag |
//! | `core` | one budget: the word, and what needs no lock |
//! | `held` | what is done while the lock is held and the word stands still: granting, resizing, closing |
//! | `waiter` | those who wait, and how they are told |
//! | `wait` | waiting as a thread or with a callback, and giving up |
//! | `permit`, `permit_ref` | an owned part of any budget, and a borrowed one |
//!
//! Invariants:
//! - per unit, what is available, in use and forgotten is the total, or more than that by a *debt* while nothing is
//!   available, after the total was lowered below what was in use;
//! - waiters are granted in the order in which they came, and whatever is taken while somebody waits is taken by the
//!   one who waits longest;
//! - the callers' code (wakers, callbacks) is never run under the lock, and its panics are contained.
//!
//! Not guaranteed: that the waiters *run* in the order of their grants, which is up to the system and to the runtime;
//! and that a small request does not wait behind a large one. It does, or the large one would starve.
//!
//! See `PROTOCOL.md` beside this file.

mod accessors;
mod acquire;
mod acquire_then;
pub(crate) mod amount;
pub(crate) mod core;
pub(crate) mod counted;
pub(crate) mod error;
mod held;
pub(crate) mod permit;
mod permit_ref;
pub(crate) mod read_tokens;
mod wait;
mod waiter;

pub use acquire::Acquire;
pub use amount::BudgetUnit;
pub use error::BudgetError;
pub use permit_ref::PermitRef;
pub use read_tokens::ReadAmount;

pub(crate) use self::core::Core;
pub(crate) use amount::Amount;
pub(crate) use counted::{CountBudget, CountPermit};
pub(crate) use error::AcquireError;
pub(crate) use permit::Permit;
pub(crate) use waiter::Ticket;

#[cfg(all(test, not(heist_loom)))]
mod tests;
