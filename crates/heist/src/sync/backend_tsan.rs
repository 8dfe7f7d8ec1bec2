//! The ThreadSanitizer backend: real threads and the real queue, with locks and fences that it
//! understands.
//!
//! ThreadSanitizer follows only code that is compiled with it. The standard library is not: the
//! waiting half of its mutex is a black box, and every lock would look like a race. So the locks,
//! the parker and the channel are built on `parking_lot`, which is compiled with everything else.
//! ThreadSanitizer does not know fences at all. So `Arc` is one that uses a load where std's has a
//! fence, and [`fence`] is a read-modify-write of one static word, which orders at least as much.
//!
//! It orders more, in fact: any two such fences are ordered. This build therefore misses a race
//! between what comes before one fence and what comes after another. Loom, which models fences
//! exactly, finds those.

pub use portable_atomic_util::{Arc, Weak};
pub use std::hint::spin_loop;
pub use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
pub use std::thread;

use std::time::{Duration, Instant};

/// A guard of [`Mutex`].
pub type MutexGuard<'a, T> = parking_lot::MutexGuard<'a, T>;

/// Replaces a fence by a read-modify-write.
#[inline]
pub fn fence(_order: Ordering) {
    static FENCE: AtomicUsize = AtomicUsize::new(0);
    FENCE.fetch_add(1, Ordering::SeqCst);
}

/// A mutex that is never poisoned.
#[derive(Debug, Default)]
pub struct Mutex<T>(parking_lot::Mutex<T>);

impl<T> Mutex<T> {
    /// Creates an unlocked mutex.
    pub fn new(value: T) -> Self {
        Self(parking_lot::Mutex::new(value))
    }

    /// Locks the mutex. Waits while another thread holds it.
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
    /// Creates a parker without a token.
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

    /// Waits for the token for at most `timeout`. Returns `true` if it came.
    pub fn park_timeout(&self, timeout: Duration) -> bool {
        // A deadline that the clock cannot represent means no timeout.
        let Some(deadline) = Instant::now().checked_add(timeout) else {
            self.park();
            return true;
        };
        let mut available = self.0.available.lock();
        while !*available && !self.0.arrived.wait_until(&mut available, deadline).timed_out() {}
        std::mem::take(&mut *available)
    }

    /// Returns a handle that delivers the token.
    pub fn unparker(&self) -> Unparker {
        Unparker(Arc::clone(&self.0))
    }
}

impl Unparker {
    /// Delivers the token. Returns `true` if there was none before.
    pub fn unpark(&self) -> bool {
        let was_empty = !std::mem::replace(&mut *self.0.available.lock(), true);
        self.0.arrived.notify_one();
        was_empty
    }
}

/// The pool's clock.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Instant);

impl Clock {
    /// Creates a clock that starts now.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Returns the nanoseconds since the start.
    #[inline]
    pub fn now_ns(&self) -> u64 {
        self.0.elapsed().as_nanos() as u64
    }
}

/// A channel that only reports that it is closed: heist uses nothing else of it.
pub mod mpsc {
    use super::{Arc, Mutex};
    use std::marker::PhantomData;
    use std::time::{Duration, Instant};

    pub use std::sync::mpsc::RecvTimeoutError;

    #[derive(Debug)]
    struct Channel {
        senders: Mutex<usize>,
        closed: parking_lot::Condvar,
    }

    /// Keeps the channel open.
    #[derive(Debug)]
    pub struct Sender<T>(Arc<Channel>, PhantomData<fn(T)>);

    /// Waits until the channel is closed.
    #[derive(Debug)]
    pub struct Receiver<T>(Arc<Channel>, PhantomData<fn() -> T>);

    /// Creates a channel with one sender.
    pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
        let channel =
            Arc::new(Channel { senders: Mutex::new(1), closed: parking_lot::Condvar::new() });
        (Sender(Arc::clone(&channel), PhantomData), Receiver(channel, PhantomData))
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
        /// Waits until the last sender is dropped.
        ///
        /// # Errors
        /// Always: `Disconnected` if the last sender was dropped, `Timeout` if not.
        pub fn recv_timeout(&self, timeout: Duration) -> Result<T, RecvTimeoutError> {
            // A deadline that the clock cannot represent means no timeout.
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
