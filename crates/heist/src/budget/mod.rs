//! Budgets limit how much of a resource is in use at a time, and hand out owned permits for parts
//! of it.
//!
//! | file | contents |
//! |---|---|
//! | `counted`, `read_tokens` | the public budgets and permits: counts, bytes, reads (both at once) |
//! | `accessors` | the methods that all of these share |
//! | `acquire` | the future that `acquire_async` returns |
//! | `acquire_then` | waiting as a task of an executor |
//! | `error` | why a request was refused |
//! | `amount` | amounts, packed into one word with a flag |
//! | `core` | the inside of a budget: the word, and everything that needs no lock |
//! | `held` | what happens while the lock is held and the word does not change: granting, resizing, closing |
//! | `waiter` | the waiting requests, and how each of them gets its answer |
//! | `wait` | waiting as a thread or with a callback, and giving up |
//! | `permit`, `permit_ref` | an owned part of any budget, and a borrowed one |
//!
//! Invariants:
//! - For each unit, the amounts available, in use and forgotten add up to the total. After the
//!   total was lowered below the amount in use they add up to more; the difference is the *debt*,
//!   and nothing is available while there is a debt.
//! - Requests are granted in the order in which they arrived. While requests wait, only the oldest
//!   of them can take anything.
//! - The callers' code (wakers, callbacks) never runs under the lock, and its panics are contained.
//!
//! Not guaranteed: that the waiting threads, futures and tasks *run* in the order of their grants,
//! because that is up to the operating system and the runtime; and that a small request does not
//! wait behind a large one. It does, because the large one would starve otherwise.
//!
//! `PROTOCOL.md` beside this file explains how it works and why it is correct.

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

pub(crate) use self::core::BudgetCore;
pub(crate) use amount::Amount;
pub(crate) use counted::{CountBudget, CountPermit};
pub(crate) use error::AcquireError;
pub(crate) use permit::Permit;
pub(crate) use waiter::Ticket;

#[cfg(all(test, not(heist_loom)))]
mod tests;
