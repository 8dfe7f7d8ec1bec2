//! Where tasks wait: each worker's own queues, and the injectors that they share.
//!
//! [`LocalQueue`] is a Chase-Lev deque: its worker pushes without contention and pops the newest (typed tasks) or the
//! oldest (futures), others steal the older half. [`LifoSlot`] is a place for one future, the next. [`Injector`] takes
//! tasks from outside and those that were told to wait their turn. `PROTOCOL.md` beside this file says what publishes
//! what.

mod injector;
mod local;
mod slot;

pub(crate) use injector::{Injector, Order};
pub use local::{LocalQueue, Steal, Stealer};
pub use slot::LifoSlot;
