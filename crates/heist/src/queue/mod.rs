//! Where tasks wait: each worker's own queue, and the injector that they share.
//!
//! [`LocalQueue`] is a Chase-Lev deque: its worker pushes and pops at one end without contention, others
//! steal half from the far end. [`Injector`] takes tasks from outside and those that were told to wait their
//! turn. `PROTOCOL.md` beside this file says what publishes what.

mod injector;
mod local;

pub use injector::{Injector, Order};
pub use local::{LocalQueue, Steal, Stealer};
