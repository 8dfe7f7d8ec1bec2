//! The shipping backend: the standard library's atomics and locks, and the parker of `parking`.

pub use parking::{Parker, Unparker};
pub use std::hint::spin_loop;
pub use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering, fence};
pub use std::sync::{Arc, MutexGuard, Weak, mpsc};
pub use std::thread;

use std::sync::PoisonError;

/// A mutex whose poison is ignored: no critical section in this crate runs the caller's code, so a
/// panicking holder cannot leave its data half changed.
#[derive(Debug, Default)]
pub struct Mutex<T>(std::sync::Mutex<T>);

impl<T> Mutex<T> {
    /// A new, unlocked mutex.
    pub fn new(value: T) -> Self {
        Self(std::sync::Mutex::new(value))
    }

    /// Locks it, waiting if need be.
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The pool's clock: nanoseconds since it was made.
#[derive(Clone, Copy, Debug)]
pub struct Clock(std::time::Instant);

impl Clock {
    /// A clock that starts now.
    pub fn start() -> Self {
        Self(std::time::Instant::now())
    }

    /// Nanoseconds since the start: 584 years fit.
    #[inline]
    pub fn now_ns(&self) -> u64 {
        self.0.elapsed().as_nanos() as u64
    }
}
