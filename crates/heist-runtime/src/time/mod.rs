//! Timers: sleeping, deadlines, ticking. Needs the feature `io`.
//!
//! ```
//! use heist_runtime::time::{interval, sleep, timeout};
//! use std::time::Duration;
//!
//! let runtime = heist_runtime::Runtime::new()?;
//! runtime.block_on(async {
//!     sleep(Duration::from_millis(1)).await;
//!
//!     // A future that takes too long is dropped.
//!     let too_long = sleep(Duration::from_secs(3600));
//!     assert!(timeout(Duration::from_millis(1), too_long).await.is_err());
//!
//!     // The first tick is immediate. The others stay on schedule if the work takes long.
//!     let mut ticks = interval(Duration::from_millis(1));
//!     for _ in 0..3 {
//!         ticks.tick().await;
//!     }
//! });
//! # Ok::<(), heist::StartError>(())
//! ```
//!
//! # Guarantees
//!
//! - **Never early.** A timer fires at its time or after it.
//! - **No duration panics.** A time that the clock cannot express never comes.
//! - **No CPU while waiting.** One thread of the process sleeps until the earliest timer is due.
//! - **Dropping cancels.** A dropped timer does not wake its task.
//! - **No runtime is needed.** Timers work on any executor, and on a plain `block_on`.
//!
//! # What is not guaranteed
//!
//! - Promptness. How late a timer fires depends on the system and on the tasks that run at that
//!   time.
//! - Order. Timers fire in the order of their times, but the tasks of timers that are due at the
//!   same moment may run in any order.
//! - That a dropped timer frees its memory at once. The reactor releases the waker of the task, and
//!   so the memory of the task (but not of its future), when it next looks at its timers.
//! - A clock that tests can stop or set: timers use the machine's monotonic clock. Whether that
//!   runs while the machine is suspended depends on the system.
//!
//! # What it costs
//!
//! A thread named `async-io` and, on Linux, three descriptors. The first runtime, timer or socket
//! of the process starts them, and they never end. If the system refuses them, building a runtime
//! fails ([`StartError::Reactor`](heist::StartError)); without a runtime, the first timer that has
//! to wait panics, and a later one tries again. A timer that has to wait makes a system call when
//! it is first polled, which wakes that thread. A timer that is never polled costs nothing, and
//! neither does a [`timeout`] around a future that is ready at once.

mod interval;
mod sleep;
mod timeout;

pub use interval::{Interval, MissedTickBehavior, interval, interval_at};
pub use sleep::{Sleep, sleep, sleep_until};
pub use timeout::{Elapsed, Timeout, timeout, timeout_at};
