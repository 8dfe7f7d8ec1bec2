//! [`Runtime`]: futures, and nothing but futures, on the work-stealing core.
//!
//! It is an executor without typed tasks, plus what users of an async runtime expect: [`Runtime::block_on`],
//! [`spawn`]. Whoever has typed tasks *and*
//! futures needs no second pool: any [`crate::Executor`] takes futures, too
//! ([`crate::ExecutorHandle::spawn_future`]).
//!
//! | file | idea |
//! |---|---|
//! | `pool`, `builder`, `handle` | `Runtime`, what is set, and the handle for other threads |
//! | `block_on` | a future on the calling thread |
//! | `current` | which runtime this code runs on |

mod block_on;
mod builder;
mod current;
mod handle;
mod pool;

pub use block_on::block_on;
pub use builder::RuntimeBuilder;
pub use current::spawn;
pub use handle::RuntimeHandle;
pub use pool::Runtime;
