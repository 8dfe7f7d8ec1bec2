//! The shuttle backend: the same names, scheduled at random.
//!
//! Shuttle runs its threads as coroutines on one real thread and switches between them at every operation below, as
//! a seeded random scheduler says. It takes pools that are too large for loom, but it is sequentially consistent:
//! every access counts as `SeqCst` and fences do nothing, so what a missing fence or a missing Release breaks, it
//! cannot see. That is loom's part.

pub use shuttle::hint::spin_loop;
pub use shuttle::sync::MutexGuard;
pub use shuttle::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering, fence};
pub use shuttle::sync::mpsc;
pub use std::sync::{Arc, Weak};

use std::fmt;
use std::sync::PoisonError;
use std::time::Duration;

/// A scheduled mutex, whose poison is ignored like the real one's.
pub struct Mutex<T>(shuttle::sync::Mutex<T>);

impl<T> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Mutex")
    }
}

impl<T> Mutex<T> {
    /// A new, unlocked mutex.
    pub fn new(value: T) -> Self {
        Self(shuttle::sync::Mutex::new(value))
    }

    /// Locks it, waiting if need be.
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
    /// A parker without a token.
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

    /// No timeout ever passes: a lost wake-up must show as a deadlock.
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

/// A clock that follows the schedule, so that a seed repeats it: every switch between threads takes 1 µs.
#[derive(Clone, Copy, Debug)]
pub struct Clock(());

impl Clock {
    /// The clock of this schedule.
    pub fn start() -> Self {
        Self(())
    }

    /// Nanoseconds since the schedule began.
    pub fn now_ns(&self) -> u64 {
        1_000 * shuttle::current::context_switches() as u64
    }
}

/// Threads of the schedule, with the part of std's API that is in use.
pub mod thread {
    pub use shuttle::thread::{JoinHandle, ScopedJoinHandle, current, scope};

    use shuttle::thread::Scope;
    use std::io;

    /// Shuttle's own has no scoped threads.
    #[derive(Debug, Default)]
    pub struct Builder(shuttle::thread::Builder);

    impl Builder {
        /// A builder with shuttle's defaults.
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

        /// Starts a thread. It is never refused.
        ///
        /// # Errors
        /// None.
        pub fn spawn<F, T>(self, body: F) -> io::Result<JoinHandle<T>>
        where
            F: FnOnce() -> T + Send + 'static,
            T: Send + 'static,
        {
            self.0.spawn(body)
        }

        /// Starts a thread of the scope, without its name. It is never refused.
        ///
        /// # Errors
        /// None.
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
