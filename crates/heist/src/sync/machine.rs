//! The interface between the simulator and the simulator's backend of [`crate::sync`]: memory,
//! threads and time.
//!
//! The machine itself is not part of this crate: a simulator implements [`Machine`] and installs it
//! for the thread that it runs on. The backend performs every operation through it. Each operation
//! may suspend the simulated thread that performs it, so other threads may run between any two
//! operations.

use std::cell::Cell;
use std::panic::Location;

/// The address of a word of simulated memory. Locks, tokens and the ends of threads are words as
/// well; a thread can wait for a change of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Address(pub usize);

/// The place of an operation.
#[derive(Clone, Copy, Debug)]
pub struct Site {
    /// The word.
    pub address: Address,
    /// The atomic's position in real memory, from which the machine derives which atomics share a
    /// cache line. `None` for locks, tokens and the ends of threads: each has a line of its own, so
    /// that the result does not depend on the allocator.
    pub memory: Option<usize>,
    /// The source line that performs the operation.
    pub caller: &'static Location<'static>,
}

/// The purpose of a read-modify-write. It only labels the operation in reports, except for
/// `Unlock`: the machine need not let other threads run before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// An atomic read-modify-write.
    Modify,
    /// A thread takes a lock, or finds it taken.
    Lock,
    /// A thread releases a lock.
    Unlock,
    /// A parked thread takes its token, or finds that it has none.
    TakeToken,
    /// A thread delivers a token.
    GiveToken,
}

/// A machine that runs simulated threads one at a time.
pub trait Machine {
    /// Allocates a word that holds `value`.
    fn allocate(&self, value: u64) -> Address;

    /// Reads a word: the thread's own latest store if it is still on its way, and memory otherwise.
    fn load(&self, site: Site) -> u64;

    /// Sends a value on its way to memory.
    fn store(&self, site: Site, value: u64);

    /// Completes the thread's own stores, then reads a word, and writes it if `update` returns a
    /// value. Returns what it read.
    fn modify(&self, site: Site, change: Change, update: &mut dyn FnMut(u64) -> Option<u64>)
    -> u64;

    /// Completes the thread's own stores.
    fn fence(&self, caller: &'static Location<'static>);

    /// Pauses in a loop that waits for other threads, which should run now.
    fn pause(&self);

    /// Blocks the thread until `notify` is called for the word, the timeout expires, or spuriously.
    /// Returns `true` if the timeout has expired.
    fn wait(&self, address: Address, timeout_ns: Option<u64>) -> bool;

    /// Unblocks all threads that wait for the word.
    fn notify(&self, address: Address);

    /// Returns the simulated time.
    fn now_ns(&self) -> u64;

    /// Starts a thread and returns its number.
    fn spawn(&self, name: &str, body: Box<dyn FnOnce()>) -> u64;

    /// Returns the number of the running thread, which is unique in this process.
    fn current_thread(&self) -> u64;

    /// Reports that a thief lost a race for `queue` and learnt nothing: it must try again.
    fn steal_must_be_retried(&self, queue: Address);

    /// Reports that a thief looks at `queue`, for the first time or again.
    fn thief_looks_at(&self, queue: Address);
}

thread_local! {
    static INSTALLED: Cell<Option<&'static dyn Machine>> = const { Cell::new(None) };
}

/// Installs the machine on which this thread's simulated threads run.
pub fn install(machine: &'static dyn Machine) {
    INSTALLED.set(Some(machine));
}

/// Returns the installed machine.
pub(crate) fn machine() -> &'static dyn Machine {
    INSTALLED.get().expect("built with `--cfg heist_sim`, but not run by the simulator")
}
