//! Decides which workers sleep, which search for work, and which one to wake.
//!
//! A worker is *running*, *searching* or *parked*. The rules here guarantee that **while a task
//! waits in a queue, no worker that could take it stays parked, unless another worker is
//! searching**. They need no timeout for it, so an idle pool makes no system calls, and they keep
//! the number of searchers small, so a busy pool is not flooded with wake-ups. `PROTOCOL.md` beside
//! this file has the states, the fence pairings and the proof sketch.
//!
//! Not guaranteed: that a woken worker gets the task that it was woken for (a running worker may be
//! faster), or that every task has an awake worker at once. Workers that find work wake more, one
//! after the other.
//!
//! In builds with planted bugs (`--cfg heist_plant`) `planted.rs` stands in front of the shipping
//! type, so that the algorithms of `rejected.rs` can take its place.

mod parked_set;
#[cfg_attr(heist_plant, allow(unreachable_pub, reason = "reached through `planted` alone"))]
mod protocol;

#[cfg(heist_plant)]
mod planted;
#[cfg(heist_plant)]
mod rejected;

#[cfg(heist_plant)]
pub use planted::Idle;
#[cfg(not(heist_plant))]
pub use protocol::Idle;
pub(crate) use protocol::Unparked;
