//! The shuttle backend: the same types, scheduled at random.
//!
//! Shuttle runs its threads as coroutines on one real thread. A seeded random scheduler switches
//! between them at every operation below. It can run pools that are too large for loom. But it is
//! sequentially consistent: every access counts as `SeqCst` and fences do nothing, so it cannot
//! find a missing fence or a missing Release. Loom finds those.

pub use shuttle::hint::spin_loop;
pub use shuttle::sync::MutexGuard;
pub use shuttle::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering, fence};
pub use shuttle::sync::mpsc;
pub use std::sync::{Arc, Weak};

use std::fmt;
use std::sync::PoisonError;
use std::time::Duration;

/// A scheduled mutex. It ignores poison, as the shipping one does.
pub struct Mutex<T>(shuttle::sync::Mutex<T>);

impl<T> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Mutex")
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> Mutex<T> {
    /// Creates an unlocked mutex.
    pub fn new(value: T) -> Self {
        Self(shuttle::sync::Mutex::new(value))
    }

    /// Locks the mutex. Waits while another thread holds it.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the value, which a mutable reference reaches without locking.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
struct Token {
    available: Mutex<bool>,
    arrived: shuttle::sync::Condvar,
}

/// A scheduled parker: one token, and `park` returns only by taking it.
#[derive(Debug)]
pub struct Parker(Arc<Token>);

/// The other end of a [`Parker`].
#[derive(Clone, Debug)]
pub struct Unparker(Arc<Token>);

impl Parker {
    /// Creates a parker without a token.
    #[expect(clippy::new_without_default, reason = "mirrors the part of the real API in use")]
    pub fn new() -> Self {
        let token = Token { available: Mutex::new(false), arrived: shuttle::sync::Condvar::new() };
        Self(Arc::new(token))
    }

    /// Waits for the token and takes it.
    pub fn park(&self) {
        let mut available = self.0.available.lock();
        while !*available {
            available = self.0.arrived.wait(available).unwrap_or_else(PoisonError::into_inner);
        }
        *available = false;
    }

    /// Waits for the token without a timeout, so that a lost wake-up shows as a deadlock. Always
    /// returns `true`.
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

/// A clock that follows the schedule, so that a seed repeats it: each switch between threads takes
/// 1 µs.
#[derive(Clone, Copy, Debug)]
pub struct Clock(());

impl Clock {
    /// Returns the clock of this schedule.
    pub fn start() -> Self {
        Self(())
    }

    /// Returns the nanoseconds since the schedule began.
    pub fn now_ns(&self) -> u64 {
        1_000 * shuttle::current::context_switches() as u64
    }
}

/// Threads of the schedule, with the part of std's API that heist uses.
pub mod thread {
    pub use shuttle::thread::{JoinHandle, ScopedJoinHandle, current, scope};

    use shuttle::thread::Scope;
    use std::io;

    /// Starts threads. (Shuttle's own builder cannot start scoped ones.)
    #[derive(Debug, Default)]
    pub struct Builder(shuttle::thread::Builder);

    impl Builder {
        /// Creates a builder with shuttle's defaults.
        pub fn new() -> Self {
            Self::default()
        }

        /// Names the thread.
        #[must_use]
        pub fn name(self, name: String) -> Self {
            Self(self.0.name(name))
        }

        /// Sets the size of the thread's stack.
        #[must_use]
        pub fn stack_size(self, bytes: usize) -> Self {
            Self(self.0.stack_size(bytes))
        }

        /// Starts a thread.
        ///
        /// # Errors
        /// Never.
        pub fn spawn<F, T>(self, body: F) -> io::Result<JoinHandle<T>>
        where
            F: FnOnce() -> T + Send + 'static,
            T: Send + 'static,
        {
            self.0.spawn(body)
        }

        /// Starts a thread of the scope, without its name.
        ///
        /// # Errors
        /// Never.
        pub fn spawn_scoped<'scope, F, T>(
            self,
            scope: &'scope Scope<'scope, '_>,
            body: F,
        ) -> io::Result<ScopedJoinHandle<'scope, T>>
        where
            F: FnOnce() -> T + Send + 'scope,
            T: Send + 'scope,
        {
            Ok(scope.spawn(body))
        }
    }
}
