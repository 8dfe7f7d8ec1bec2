//! The simulator's backend: the same types, on a simulated machine.
//!
//! Each atomic is a word of the machine's memory. Locks, parkers, threads and the channel are built
//! on the machine's words, as the real ones are built on atomics and the system's wait queues. The
//! same operations are read-modify-writes, so they complete the same pending stores.

pub use std::sync::atomic::Ordering;
pub use std::sync::{Arc, Weak};

use super::machine::{Address, Change, Site, machine};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::Location;
use std::sync::PoisonError;
use std::time::Duration;

macro_rules! atomic {
    ($name:ident, $value:ty, $from_word:expr) => {
        /// A simulated atomic.
        pub struct $name {
            address: Address,
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(stringify!($name))
            }
        }

        #[allow(dead_code, reason = "each type has the operations of all")]
        impl $name {
            /// Creates an atomic.
            pub fn new(value: $value) -> Self {
                Self { address: machine().allocate(value as u64) }
            }

            /// Returns the address of its word.
            pub fn address(&self) -> Address {
                self.address
            }

            fn from_word(word: u64) -> $value {
                $from_word(word)
            }

            fn site(&self, caller: &'static Location<'static>) -> Site {
                let memory = Some(std::ptr::from_ref(self).addr());
                Site { address: self.address, memory, caller }
            }

            /// Returns the value.
            #[track_caller]
            pub fn load(&self, _order: Ordering) -> $value {
                Self::from_word(machine().load(self.site(Location::caller())))
            }

            /// Stores a value.
            #[track_caller]
            pub fn store(&self, value: $value, order: Ordering) {
                let caller = Location::caller();
                machine().store(self.site(caller), value as u64);
                if order == Ordering::SeqCst {
                    machine().fence(caller);
                }
            }

            #[track_caller]
            fn update(&self, mut update: impl FnMut($value) -> Option<$value>) -> $value {
                let site = self.site(Location::caller());
                let mut update = |word| update(Self::from_word(word)).map(|new| new as u64);
                Self::from_word(machine().modify(site, Change::Modify, &mut update))
            }

            /// Stores `new` and returns the previous value, in one step.
            #[track_caller]
            pub fn swap(&self, new: $value, _order: Ordering) -> $value {
                self.update(|_held| Some(new))
            }

            /// Stores `new` if the value is `current`. Returns the previous value.
            #[track_caller]
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                _success: Ordering,
                _failure: Ordering,
            ) -> Result<$value, $value> {
                let held = self.update(|held| (held == current).then_some(new));
                if held == current { Ok(held) } else { Err(held) }
            }

            /// The same as `compare_exchange`: a simulated exchange never fails spuriously.
            #[track_caller]
            pub fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                self.compare_exchange(current, new, success, failure)
            }

            /// Changes the value by a loop of load and exchange, as the real one does.
            #[track_caller]
            pub fn fetch_update(
                &self,
                set_order: Ordering,
                fetch_order: Ordering,
                mut update: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                let mut held = self.load(fetch_order);
                while let Some(new) = update(held) {
                    match self.compare_exchange(held, new, set_order, fetch_order) {
                        Ok(_) => return Ok(held),
                        Err(now) => held = now,
                    }
                }
                Err(held)
            }
        }
    };
}

macro_rules! integer_operations {
    ($name:ident, $value:ty, $($operation:ident: $how:expr),*) => {
        #[allow(dead_code, reason = "each type has the operations of all")]
        impl $name {$(
            /// Changes the value in one step. Returns the previous value.
            #[track_caller]
            pub fn $operation(&self, operand: $value, _order: Ordering) -> $value {
                self.update(|held| Some(($how)(held, operand)))
            }
        )*}
    };
}

macro_rules! atomic_integer {
    ($name:ident, $value:ty) => {
        atomic!($name, $value, |word: u64| word as $value);
        integer_operations!($name, $value,
            fetch_add: <$value>::wrapping_add, fetch_sub: <$value>::wrapping_sub,
            fetch_max: <$value as Ord>::max, fetch_and: std::ops::BitAnd::bitand,
            fetch_or: std::ops::BitOr::bitor);
    };
}

atomic!(AtomicBool, bool, |word: u64| word != 0);
atomic_integer!(AtomicU8, u8);
atomic_integer!(AtomicU64, u64);
atomic_integer!(AtomicUsize, usize);

/// Executes a fence. Only a `SeqCst` fence completes stores: the others compile to nothing on a
/// machine with ordered stores.
#[track_caller]
pub fn fence(order: Ordering) {
    if order == Ordering::SeqCst {
        machine().fence(Location::caller());
    }
}

/// Lets other threads run.
pub fn spin_loop() {
    machine().pause();
}

/// A word that threads can wait for.
#[derive(Debug)]
struct WaitWord(Address);

impl WaitWord {
    const CLEAR: u64 = 0;
    const SET: u64 = 1;

    fn new() -> Self {
        Self(machine().allocate(Self::CLEAR))
    }

    fn site(&self, caller: &'static Location<'static>) -> Site {
        Site { address: self.0, memory: None, caller }
    }

    /// Stores `value` in one step. Returns `true` if the word held another value.
    #[track_caller]
    fn put(&self, change: Change, value: u64) -> bool {
        let site = self.site(Location::caller());
        machine().modify(site, change, &mut |_held| Some(value)) != value
    }

    #[track_caller]
    fn is_set(&self) -> bool {
        machine().load(self.site(Location::caller())) == Self::SET
    }
}

/// A simulated mutex.
#[derive(Debug)]
pub struct Mutex<T> {
    locked: WaitWord,
    /// Never contended: a thread takes `locked` first.
    value: std::sync::Mutex<T>,
}

/// A guard of [`Mutex`].
#[derive(Debug)]
pub struct MutexGuard<'m, T> {
    locked: &'m WaitWord,
    value: Option<std::sync::MutexGuard<'m, T>>,
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> Mutex<T> {
    /// Creates an unlocked mutex.
    pub fn new(value: T) -> Self {
        Self { locked: WaitWord::new(), value: std::sync::Mutex::new(value) }
    }

    /// Locks the mutex. Waits while another thread holds it.
    #[track_caller]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        while !self.locked.put(Change::Lock, WaitWord::SET) {
            machine().wait(self.locked.0, None);
        }
        let value = self.value.lock().unwrap_or_else(PoisonError::into_inner);
        MutexGuard { locked: &self.locked, value: Some(value) }
    }

    /// Returns the value, which a mutable reference reaches without locking.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value.as_ref().expect("held until dropped")
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.value.as_mut().expect("held until dropped")
    }
}

impl<T> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        self.value = None;
        self.locked.put(Change::Unlock, WaitWord::CLEAR);
        machine().notify(self.locked.0);
    }
}

/// A simulated parker: one token. It handles spurious wake-ups of the system as `parking` does.
#[derive(Debug)]
pub struct Parker(Arc<WaitWord>);

/// The other end of a [`Parker`].
#[derive(Clone, Debug)]
pub struct Unparker(Arc<WaitWord>);

impl Parker {
    /// Creates a parker without a token.
    #[expect(clippy::new_without_default, reason = "mirrors the part of the real API in use")]
    pub fn new() -> Self {
        Self(Arc::new(WaitWord::new()))
    }

    /// Waits for the token and takes it.
    #[track_caller]
    pub fn park(&self) {
        while !self.0.put(Change::TakeToken, WaitWord::CLEAR) {
            machine().wait(self.0.0, None);
        }
    }

    /// Waits for the token for at most `timeout`. Returns `true` if it came.
    #[track_caller]
    pub fn park_timeout(&self, timeout: Duration) -> bool {
        if self.0.put(Change::TakeToken, WaitWord::CLEAR) {
            return true;
        }
        // Only once: `parking`'s timed wait gives up early after a spurious wake-up.
        machine().wait(self.0.0, Some(timeout.as_nanos() as u64));
        self.0.put(Change::TakeToken, WaitWord::CLEAR)
    }

    /// Returns a handle that delivers the token.
    pub fn unparker(&self) -> Unparker {
        Unparker(Arc::clone(&self.0))
    }
}

impl Unparker {
    /// Delivers the token. Returns `true` if there was none before.
    #[track_caller]
    pub fn unpark(&self) -> bool {
        let was_empty = self.0.put(Change::GiveToken, WaitWord::SET);
        machine().notify(self.0.0);
        was_empty
    }
}

/// The simulated clock.
#[derive(Clone, Copy, Debug)]
pub struct Clock(());

impl Clock {
    /// Returns a clock that starts with the simulation.
    pub fn start() -> Self {
        Self(())
    }

    /// Returns the nanoseconds since the start.
    pub fn now_ns(&self) -> u64 {
        machine().now_ns()
    }
}

/// A value for each simulated thread, all of which run on one real thread.
#[derive(Debug)]
pub struct PerThread<T>(RefCell<BTreeMap<u64, T>>);

impl<T> PerThread<T> {
    /// Creates the storage, without a value for any thread.
    #[expect(clippy::new_without_default, reason = "created once, for a static")]
    pub const fn new() -> Self {
        Self(RefCell::new(BTreeMap::new()))
    }

    /// Changes this thread's value. Returns the previous one.
    pub fn replace(&self, value: Option<T>) -> Option<T> {
        let thread = machine().current_thread();
        match value {
            Some(value) => self.0.borrow_mut().insert(thread, value),
            None => self.0.borrow_mut().remove(&thread),
        }
    }

    /// Changes this thread's value.
    pub fn set(&self, value: Option<T>) {
        self.replace(value);
    }

    /// Takes this thread's value.
    pub fn take(&self) -> Option<T> {
        self.replace(None)
    }
}

impl<T> Drop for PerThread<T> {
    fn drop(&mut self) {
        // These are values of simulated threads that were abandoned half-way. Dropping them would
        // perform operations, and there is no simulated thread left to perform them.
        std::mem::forget(std::mem::take(self.0.get_mut()));
    }
}

impl<T: Copy> PerThread<T> {
    /// Returns this thread's value.
    pub fn get(&self) -> Option<T> {
        self.0.borrow().get(&machine().current_thread()).copied()
    }
}

/// Simulated threads, with the part of std's API that heist uses.
pub mod thread {
    use super::{Change, WaitWord, machine};
    use crate::sync::Arc;
    use std::io;

    /// Scopes stay real: code that borrows cannot run on a simulated thread. See
    /// [`Builder::spawn_scoped`].
    pub use std::thread::{Scope, ScopedJoinHandle, scope};

    /// The identity of a thread.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct ThreadId(u64);

    /// A thread.
    #[derive(Clone, Copy, Debug)]
    pub struct Thread(ThreadId);

    impl Thread {
        /// Returns the thread's identity.
        pub fn id(&self) -> ThreadId {
            self.0
        }
    }

    /// Returns the running thread.
    pub fn current() -> Thread {
        Thread(ThreadId(machine().current_thread()))
    }

    /// Starts threads. The simulator decides the size of their stacks.
    #[derive(Debug, Default)]
    pub struct Builder {
        name: String,
    }

    impl Builder {
        /// Creates a builder for a thread without a name.
        pub fn new() -> Self {
            Self::default()
        }

        /// Names the thread.
        pub fn name(self, name: String) -> Self {
            Self { name }
        }

        /// Has no effect.
        pub fn stack_size(self, _bytes: usize) -> Self {
            self
        }

        /// Starts a simulated thread.
        ///
        /// # Errors
        /// Never.
        pub fn spawn<T>(self, body: impl FnOnce() -> T + 'static) -> io::Result<JoinHandle<T>>
        where
            T: 'static,
        {
            let end = Arc::new((WaitWord::new(), std::sync::Mutex::new(None)));
            let ending = Arc::clone(&end);
            let number = machine().spawn(
                &self.name,
                Box::new(move || {
                    let result = body();
                    *ending.1.lock().expect("one simulated thread runs at a time") = Some(result);
                    ending.0.put(Change::Modify, WaitWord::SET);
                    machine().notify(ending.0.0);
                }),
            );
            Ok(JoinHandle { thread: Thread(ThreadId(number)), end })
        }

        /// Starts a real thread, on which nothing is simulated. It exists only so that the crate
        /// compiles.
        ///
        /// # Errors
        /// The system refuses the thread.
        pub fn spawn_scoped<'scope, F, T>(
            self,
            scope: &'scope Scope<'scope, '_>,
            body: F,
        ) -> io::Result<ScopedJoinHandle<'scope, T>>
        where
            F: FnOnce() -> T + Send + 'scope,
            T: Send + 'scope,
        {
            std::thread::Builder::new().name(self.name).spawn_scoped(scope, body)
        }
    }

    /// A handle that waits for the end of a thread.
    #[derive(Debug)]
    pub struct JoinHandle<T> {
        thread: Thread,
        end: Arc<(WaitWord, std::sync::Mutex<Option<T>>)>,
    }

    impl<T> JoinHandle<T> {
        /// Returns the thread.
        pub fn thread(&self) -> &Thread {
            &self.thread
        }

        /// Waits until the thread has ended, and returns its result.
        ///
        /// # Errors
        /// Never: a panic that leaves a simulated thread ends the simulation.
        #[track_caller]
        pub fn join(self) -> std::thread::Result<T> {
            let (ended, result) = &*self.end;
            let take_result = || result.lock().expect("one simulated thread runs at a time").take();
            while !ended.is_set() {
                machine().wait(ended.0, None);
            }
            Ok(take_result().expect("an ended thread has left its result"))
        }
    }
}

/// A channel on which nothing is sent: receivers wait until the last sender is dropped.
pub mod mpsc {
    use super::{AtomicUsize, Ordering, machine};
    use crate::sync::Arc;
    use std::marker::PhantomData;
    use std::time::Duration;

    pub use std::sync::mpsc::RecvTimeoutError;

    /// The sending end.
    #[derive(Debug)]
    pub struct Sender<T>(Arc<AtomicUsize>, PhantomData<T>);

    /// The receiving end.
    #[derive(Debug)]
    pub struct Receiver<T>(Arc<AtomicUsize>, PhantomData<T>);

    /// Creates a channel with one sender.
    pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
        let senders = Arc::new(AtomicUsize::new(1));
        (Sender(Arc::clone(&senders), PhantomData), Receiver(senders, PhantomData))
    }

    impl<T> Clone for Sender<T> {
        fn clone(&self) -> Self {
            self.0.fetch_add(1, Ordering::Relaxed);
            Self(Arc::clone(&self.0), PhantomData)
        }
    }

    impl<T> Drop for Sender<T> {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::AcqRel);
            machine().notify(self.0.address);
        }
    }

    impl<T> Receiver<T> {
        /// Waits until the last sender is dropped, for at most `timeout`.
        ///
        /// # Errors
        /// Always: `Disconnected` if the last sender was dropped, `Timeout` if not.
        pub fn recv_timeout(&self, timeout: Duration) -> Result<T, RecvTimeoutError> {
            let deadline_ns = machine().now_ns().saturating_add(timeout.as_nanos() as u64);
            while self.0.load(Ordering::Acquire) > 0 {
                let left_ns = deadline_ns.saturating_sub(machine().now_ns());
                if machine().wait(self.0.address, Some(left_ns)) {
                    return Err(RecvTimeoutError::Timeout);
                }
            }
            Err(RecvTimeoutError::Disconnected)
        }
    }
}
