//! The queues of a pool: each worker's own queues, and the injectors that all workers share.
//!
//! [`LocalQueue`] is a Chase-Lev deque: its worker pushes without contention and pops the newest
//! task, or the oldest future; other workers steal the older half. [`LifoSlot`] holds the one
//! future that its worker polls next. [`Injector`] takes tasks from outside and tasks that yielded.
//! `PROTOCOL.md` beside this file says which operation publishes what.

mod injector;
mod local;
mod slot;

pub(crate) use injector::{Injector, Order};
pub use local::{LocalQueue, Steal, Stealer};
pub use slot::LifoSlot;
