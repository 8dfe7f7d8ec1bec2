//! The shipping backend: the standard library's atomics and locks, and the parker of `parking`.

pub use parking::{Parker, Unparker};
pub use std::hint::spin_loop;
pub use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering, fence};
pub use std::sync::{Arc, MutexGuard, Weak, mpsc};
pub use std::thread;

use std::sync::{PoisonError, TryLockError};

/// A mutex that ignores poison: no critical section of this crate runs the caller's code, so a
/// panic cannot leave the data half changed.
#[derive(Debug, Default)]
pub struct Mutex<T>(std::sync::Mutex<T>);

impl<T> Mutex<T> {
    /// Creates an unlocked mutex.
    pub fn new(value: T) -> Self {
        Self(std::sync::Mutex::new(value))
    }

    /// Locks the mutex. While another thread holds it, spins for a few microseconds, then sleeps.
    ///
    /// Every lock of this crate is held for nanoseconds. The standard mutex spins as well, but not
    /// once a thread sleeps on it: from then on each unlock is a system call, and with many threads
    /// the mutex never leaves that state. Spinning longer keeps it from getting there, and makes
    /// pushing into one queue from several threads twice as fast (`heist-bench gates --case
    /// queue-4`).
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        match self.0.try_lock() {
            Ok(guard) => guard,
            Err(refused) => self.lock_after_spinning(refused),
        }
    }

    /// Returns the value, which a mutable reference reaches without locking.
    #[inline]
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    // Takes the error by value: a poisoned guard in it holds the lock, so locking again would wait
    // for this very thread. Out of line, because otherwise every lock pays for it (`heist-bench
    // runtime --case chained_spawn-2`).
    #[cold]
    fn lock_after_spinning<'a>(
        &'a self,
        refused: TryLockError<MutexGuard<'a, T>>,
    ) -> MutexGuard<'a, T> {
        if let TryLockError::Poisoned(poisoned) = refused {
            return poisoned.into_inner();
        }
        // Twice as long each time: about 3 µs in total.
        for round in 0..7 {
            for _ in 0..1 << round {
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

/// The pool's clock.
#[derive(Clone, Copy, Debug)]
pub struct Clock(std::time::Instant);

impl Clock {
    /// Creates a clock that starts now.
    pub fn start() -> Self {
        Self(std::time::Instant::now())
    }

    /// Returns the nanoseconds since the start, for up to 584 years.
    #[inline]
    pub fn now_ns(&self) -> u64 {
        self.0.elapsed().as_nanos() as u64
    }
}
