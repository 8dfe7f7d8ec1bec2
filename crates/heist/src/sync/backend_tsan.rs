//! The backend for ThreadSanitizer: real threads and the real queue, with locks and fences that it understands.
//!
//! ThreadSanitizer follows what is compiled with it, and the standard library is not: the waiting half of its mutex
//! is a black box, and would make every lock look like a race. So locks, the parker and the one channel are
//! `parking_lot`'s, which is compiled with everything else. Fences it does not know at all: `Arc` is one that loads
//! where std's has a fence, and ours is a read-modify-write of one static word, which orders at least as much.
//!
//! More, in truth: any two fences are ordered, so a race between what comes before one and after another is missed
//! here. Loom, which models fences as they are, is for those.

pub use portable_atomic_util::{Arc, Weak};
pub use std::hint::spin_loop;
pub use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
pub use std::thread;

use std::time::{Duration, Instant};

/// A guard of [`Mutex`].
pub type MutexGuard<'a, T> = parking_lot::MutexGuard<'a, T>;

/// Stands for a fence.
#[inline]
pub fn fence(_order: Ordering) {
    static FENCE: AtomicUsize = AtomicUsize::new(0);
    FENCE.fetch_add(1, Ordering::SeqCst);
}

/// A mutex that is never poisoned.
#[derive(Debug, Default)]
pub struct Mutex<T>(parking_lot::Mutex<T>);

impl<T> Mutex<T> {
    /// A new, unlocked mutex.
    pub fn new(value: T) -> Self {
        Self(parking_lot::Mutex::new(value))
    }

    /// Locks it, waiting if need be.
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock()
    }

    /// Returns the value, which a mutable reference reaches without locking.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut()
    }
}

#[derive(Debug, Default)]
struct Token {
    available: Mutex<bool>,
    arrived: parking_lot::Condvar,
}

/// A parker: one token, and `park` returns only by taking it.
#[derive(Debug, Default)]
pub struct Parker(Arc<Token>);

/// The other end of a [`Parker`].
#[derive(Clone, Debug)]
pub struct Unparker(Arc<Token>);

impl Parker {
    /// A parker without a token.
    pub fn new() -> Self {
        Self::default()
    }

    /// Waits for the token and takes it.
    pub fn park(&self) {
        let mut available = self.0.available.lock();
        while !*available {
            self.0.arrived.wait(&mut available);
        }
        *available = false;
    }

    /// Waits for the token for at most `timeout`; says whether it got it.
    pub fn park_timeout(&self, timeout: Duration) -> bool {
        // A deadline beyond the clock's end is none.
        let Some(deadline) = Instant::now().checked_add(timeout) else {
            self.park();
            return true;
        };
        let mut available = self.0.available.lock();
        while !*available && !self.0.arrived.wait_until(&mut available, deadline).timed_out() {}
        std::mem::take(&mut *available)
    }

    /// A handle that delivers the token.
    pub fn unparker(&self) -> Unparker {
        Unparker(Arc::clone(&self.0))
    }
}

impl Unparker {
    /// Delivers the token; says whether there was none before.
    pub fn unpark(&self) -> bool {
        let was_empty = !std::mem::replace(&mut *self.0.available.lock(), true);
        self.0.arrived.notify_one();
        was_empty
    }
}

/// The pool's clock: nanoseconds since it was made.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Instant);

impl Clock {
    /// A clock that starts now.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Nanoseconds since the start.
    #[inline]
    pub fn now_ns(&self) -> u64 {
        self.0.elapsed().as_nanos() as u64
    }
}

/// A channel that says when it is closed, which is all that is asked of one.
pub mod mpsc {
    use super::{Arc, Mutex};
    use std::marker::PhantomData;
    use std::time::{Duration, Instant};

    pub use std::sync::mpsc::RecvTimeoutError;

    #[derive(Debug)]
    struct Shared {
        senders: Mutex<usize>,
        closed: parking_lot::Condvar,
    }

    /// Keeps the channel open.
    #[derive(Debug)]
    pub struct Sender<T>(Arc<Shared>, PhantomData<fn(T)>);

    /// Waits until the channel is closed.
    #[derive(Debug)]
    pub struct Receiver<T>(Arc<Shared>, PhantomData<fn() -> T>);

    /// A channel with one sender.
    pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
        let shared =
            Arc::new(Shared { senders: Mutex::new(1), closed: parking_lot::Condvar::new() });
        (Sender(Arc::clone(&shared), PhantomData), Receiver(shared, PhantomData))
    }

    impl<T> Clone for Sender<T> {
        fn clone(&self) -> Self {
            *self.0.senders.lock() += 1;
            Self(Arc::clone(&self.0), PhantomData)
        }
    }

    impl<T> Drop for Sender<T> {
        fn drop(&mut self) {
            *self.0.senders.lock() -= 1;
            self.0.closed.notify_all();
        }
    }

    impl<T> Receiver<T> {
        /// Waits until there is no sender any more.
        ///
        /// # Errors
        /// The channel is closed, or the time is over.
        pub fn recv_timeout(&self, timeout: Duration) -> Result<T, RecvTimeoutError> {
            // A deadline beyond the clock's end is none.
            let deadline = Instant::now().checked_add(timeout);
            let mut senders = self.0.senders.lock();
            while *senders > 0 {
                match deadline {
                    None => self.0.closed.wait(&mut senders),
                    Some(deadline) => {
                        if self.0.closed.wait_until(&mut senders, deadline).timed_out() {
                            return Err(RecvTimeoutError::Timeout);
                        }
                    }
                }
            }
            Err(RecvTimeoutError::Disconnected)
        }
    }
}
