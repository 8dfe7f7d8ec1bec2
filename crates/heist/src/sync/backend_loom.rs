//! The loom backend: loom's models of the same types.

pub use loom::hint::spin_loop;
pub use loom::sync::MutexGuard;
pub use loom::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering, fence};
pub use std::sync::{Arc, Weak, mpsc};
pub use std::thread;

use std::fmt;
use std::time::Duration;

/// A modelled mutex. Loom's mutex never poisons.
pub struct Mutex<T>(loom::sync::Mutex<T>);

impl<T> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Mutex")
    }
}

impl<T> Mutex<T> {
    /// Creates an unlocked mutex.
    pub fn new(value: T) -> Self {
        Self(loom::sync::Mutex::new(value))
    }

    /// Locks the mutex. Waits while another thread holds it.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().expect("loom's mutex does not poison")
    }

    /// Returns the value, which a mutable reference reaches without locking.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().expect("loom's mutex does not poison")
    }
}

#[derive(Debug)]
struct Token {
    available: Mutex<bool>,
    arrived: loom::sync::Condvar,
}

/// A modelled parker: one token, and `park` returns only by taking it.
#[derive(Debug)]
pub struct Parker(Arc<Token>);

/// The other end of a [`Parker`].
#[derive(Clone, Debug)]
pub struct Unparker(Arc<Token>);

impl Parker {
    /// Creates a parker without a token.
    #[expect(clippy::new_without_default, reason = "mirrors the part of the real API in use")]
    pub fn new() -> Self {
        let token = Token { available: Mutex::new(false), arrived: loom::sync::Condvar::new() };
        Self(Arc::new(token))
    }

    /// Waits for the token and takes it.
    pub fn park(&self) {
        let mut available = self.0.available.lock();
        while !*available {
            available = self.0.arrived.wait(available).expect("loom's mutex does not poison");
        }
        *available = false;
    }

    /// Waits for the token without a timeout, because loom has no clock. Always returns `true`.
    pub fn park_timeout(&self, _timeout: Duration) -> bool {
        self.park();
        true
    }

    /// Returns a handle that delivers the token.
    pub fn unparker(&self) -> Unparker {
        Unparker(Arc::clone(&self.0))
    }
}

impl Unparker {
    /// Delivers the token. Returns `true` if there was none before.
    pub fn unpark(&self) -> bool {
        let mut available = self.0.available.lock();
        let was_empty = !*available;
        *available = true;
        self.0.arrived.notify_one();
        was_empty
    }
}

/// A clock that stands still: a model must not depend on real time.
#[derive(Clone, Copy, Debug)]
pub struct Clock(());

impl Clock {
    /// Creates the clock.
    pub fn start() -> Self {
        Self(())
    }

    /// Returns 0.
    pub fn now_ns(&self) -> u64 {
        0
    }
}
