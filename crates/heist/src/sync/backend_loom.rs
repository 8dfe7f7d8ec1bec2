//! The loom backend: the same names, modelled.

pub use loom::hint::spin_loop;
pub use loom::sync::MutexGuard;
pub use loom::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering, fence};
pub use std::sync::{Arc, Weak, mpsc};
pub use std::thread;

use std::fmt;
use std::time::Duration;

/// A modelled mutex. Loom's never poisons.
pub struct Mutex<T>(loom::sync::Mutex<T>);

impl<T> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Mutex")
    }
}

impl<T> Mutex<T> {
    /// A new, unlocked mutex.
    pub fn new(value: T) -> Self {
        Self(loom::sync::Mutex::new(value))
    }

    /// Locks it, waiting if need be.
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
    /// A parker without a token.
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

    /// Loom has no clock: a timed park is an untimed one, and always gets its token.
    pub fn park_timeout(&self, _timeout: Duration) -> bool {
        self.park();
        true
    }

    /// A handle that delivers the token.
    pub fn unparker(&self) -> Unparker {
        Unparker(Arc::clone(&self.0))
    }
}

impl Unparker {
    /// Delivers the token; says whether there was none before.
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
    /// A clock that starts now.
    pub fn start() -> Self {
        Self(())
    }

    /// Always the same moment.
    pub fn now_ns(&self) -> u64 {
        0
    }
}
