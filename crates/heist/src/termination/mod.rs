//! Detects when a pool is done.
//!
//! Each worker counts, on a cache line of its own, the tasks that it produced and the tasks that it
//! consumed. The pool is *done* when the intake is closed and the number of consumed tasks equals
//! the number of accepted and produced ones. Comparing the sums takes a pass over all workers, so
//! only those threads do it that can succeed: the last worker to go quiet, the thread that closes
//! the intake of a quiet pool, and a thread that ends a task outside of the workers. The order of
//! every step matters; `PROTOCOL.md` beside this file says why.
//!
//! Not guaranteed: that a sum which is read while tasks run means anything. Only equality does.
//!
//! In builds with planted bugs (`--cfg heist_plant`) `planted.rs` stands in front of the shipping
//! types, so that the algorithms of `rejected.rs` can take their place.

#[cfg_attr(heist_plant, allow(unreachable_pub, reason = "reached through `planted` alone"))]
mod protocol;

#[cfg(heist_plant)]
mod planted;
#[cfg(heist_plant)]
mod rejected;

#[cfg(heist_plant)]
pub use planted::{Ledger, Termination};
#[cfg(not(heist_plant))]
pub use protocol::{Ledger, Termination};
