//! The shipping backend: the standard library's atomics and locks, and the parker of `parking`.

pub use parking::{Parker, Unparker};
pub use std::hint::spin_loop;
pub use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering, fence};
pub use std::sync::{Arc, MutexGuard, Weak, mpsc};
pub use std::thread;

use std::sync::{PoisonError, TryLockError};

/// A mutex whose poison is ignored: no critical section in this crate runs the caller's code, so a
/// panicking holder cannot leave its data half changed.
#[derive(Debug, Default)]
pub struct Mutex<T>(std::sync::Mutex<T>);

impl<T> Mutex<T> {
    /// A new, unlocked mutex.
    pub fn new(value: T) -> Self {
        Self(std::sync::Mutex::new(value))
    }

    /// Locks it, waiting if need be: for a few microseconds by looking again, then asleep.
    ///
    /// Every lock of this crate is held for nanoseconds. The standard one looks again, too, but not once somebody
    /// sleeps for it; from then on each unlocking is a system call, and nobody gets out of that while there are many.
    /// So the thing is not to let it come to that. It makes pushing into one queue from several threads twice as fast
    /// (`heist-bench gates --case queue-4`).
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        match self.0.try_lock() {
            Ok(guard) => guard,
            Err(refused) => self.lock_after_looking(refused),
        }
    }

    /// Returns the value, which a mutable reference reaches without locking.
    #[inline]
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    // It takes the error by value, poison and all: the poisoned guard holds the lock, so that locking it again would
    // wait for this very thread. And out of line, or every lock pays for it (`heist-bench runtime --case
    // chained_spawn-2`).
    #[cold]
    fn lock_after_looking<'a>(
        &'a self,
        refused: TryLockError<MutexGuard<'a, T>>,
    ) -> MutexGuard<'a, T> {
        if let TryLockError::Poisoned(poisoned) = refused {
            return poisoned.into_inner();
        }
        // Twice as long each time: about 3 us in all.
        for looks in 0..7 {
            for _ in 0..1 << looks {
                spin_loop();
            }
            match self.0.try_lock() {
                Ok(guard) => return guard,
                Err(TryLockError::Poisoned(poisoned)) => return poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => {}
            }
        }
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
