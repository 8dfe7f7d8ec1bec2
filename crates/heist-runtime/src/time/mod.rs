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
//!     // The first tick comes at once, the others on time, however long the work in between takes.
//!     let mut ticks = interval(Duration::from_millis(1));
//!     for _ in 0..3 {
//!         ticks.tick().await;
//!     }
//! });
//! # Ok::<(), heist::StartError>(())
//! ```
//!
//! # What is guaranteed
//!
//! - **Never early.** A timer fires at its time or after it.
//! - **No duration panics.** A time that the clock cannot express never comes.
//! - **Silence.** Timers that wait cost no CPU: one thread of the process sleeps until the earliest of them is due.
//! - **Dropping cancels.** A timer that is dropped wakes nobody.
//! - **No runtime is needed.** They work on any executor, also on a plain `block_on`.
//!
//! # What is not
//!
//! - Promptness. How late a timer is depends on the system, and on the tasks that run when it fires.
//! - Order. Timers fire in the order of their times, but the tasks of those that were due at the same moment may run in
//!   any order.
//! - That what a dropped timer held is gone at once. The waker of its task, and with it the memory of the task (not
//!   what is in its future), is let go of when the reactor next looks at its timers.
//! - Time that stands still or is turned by hand: this is the machine's monotonic clock. Whether it goes on while the
//!   machine is suspended is the system's choice.
//!
//! # What it costs
//!
//! A thread, `async-io`, and on Linux three descriptors, which the first runtime, timer or socket of the process starts
//! and which never end. A runtime that cannot have them is not built ([`StartError::Reactor`](heist::StartError));
//! without a runtime, the first timer that has to wait panics, and a later one tries again. A timer that has to
//! wait is a system call when it is first polled, which wakes that thread. One that is never polled, and a
//! [`timeout`] around something that is ready at once, cost nothing.

mod interval;
mod sleep;
mod timeout;

pub use interval::{Interval, MissedTickBehavior, interval, interval_at};
pub use sleep::{Sleep, sleep, sleep_until};
pub use timeout::{Elapsed, Timeout, timeout, timeout_at};
