//! What a simulated machine offers to the simulator's backend of [`crate::sync`]: memory, threads and time.
//!
//! The machine itself is not part of this crate: a simulator implements [`Machine`] and installs it for the thread
//! that it runs on. Every operation of the backend goes through it, and may suspend the simulated thread that makes
//! it: between two operations anything may happen.

use std::cell::Cell;
use std::panic::Location;

/// A word of simulated memory. Locks, tokens and threads' ends are words too: one can wait for a change of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Address(pub usize);

/// Where an operation takes place.
#[derive(Clone, Copy, Debug)]
pub struct Site {
    /// The word.
    pub address: Address,
    /// Where the atomic lies in real memory, so that the machine knows which ones share a cache line. `None` for locks,
    /// tokens and threads' ends: where the allocator puts those must not matter, so they have a line each.
    pub memory: Option<usize>,
    /// The line of source that makes the operation.
    pub caller: &'static Location<'static>,
}

/// What an operation that reads and writes a word is for: nothing but words in a report, save for `Unlock`, before
/// which no other thread needs a chance to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// An atomic read-modify-write.
    Modify,
    /// A lock is taken, or found taken.
    Lock,
    /// A lock is given back.
    Unlock,
    /// A parked thread takes its token, or finds none.
    TakeToken,
    /// A token is delivered.
    GiveToken,
}

/// A machine that runs simulated threads one at a time.
pub trait Machine {
    /// A new word that holds `value`.
    fn allocate(&self, value: u64) -> Address;

    /// Reads a word: the own latest store if it is still on its way, else what is in memory.
    fn load(&self, site: Site) -> u64;

    /// Sends a value on its way to memory.
    fn store(&self, site: Site, value: u64);

    /// Completes the own stores; then reads a word and, if `update` wants so, writes it. Returns what it read.
    fn modify(&self, site: Site, change: Change, update: &mut dyn FnMut(u64) -> Option<u64>)
    -> u64;

    /// Completes the own stores.
    fn fence(&self, caller: &'static Location<'static>);

    /// A pause in a loop that waits for others: they should run now.
    fn pause(&self);

    /// Blocks the thread until `notify` is called for the word, or the time is over, or for no reason at all.
    /// Returns whether the time is over.
    fn wait(&self, address: Address, timeout_ns: Option<u64>) -> bool;

    /// Lets all threads go on that wait for the word.
    fn notify(&self, address: Address);

    /// The simulated time.
    fn now_ns(&self) -> u64;

    /// Starts a thread; returns its number.
    fn spawn(&self, name: &str, body: Box<dyn FnOnce()>) -> u64;

    /// The number of the running thread: no other thread of this process has it or had it.
    fn current_thread(&self) -> u64;

    /// A thief lost a race for `queue` and has learnt nothing: it has to ask again.
    fn steal_must_be_retried(&self, queue: Address);

    /// A thief looks at `queue`, for the first time or again.
    fn thief_looks_at(&self, queue: Address);
}

thread_local! {
    static INSTALLED: Cell<Option<&'static dyn Machine>> = const { Cell::new(None) };
}

/// Makes `machine` the one that this thread's simulated threads run on.
pub fn install(machine: &'static dyn Machine) {
    INSTALLED.set(Some(machine));
}

/// The installed machine.
pub(crate) fn machine() -> &'static dyn Machine {
    INSTALLED.get().expect("built with `--cfg heist_sim`, but not run by the simulator")
}
