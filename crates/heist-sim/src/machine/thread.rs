//! Simulated threads: coroutines whose stacks are reused.

use super::{EventKind, Pending};
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};

/// The number of a thread within its schedule. Thread 0 starts the others.
pub type ThreadId = usize;

/// Enough for the engine, a task, and formatting a panic in a debug build. Untouched pages cost
/// nothing.
const STACK_BYTES: usize = 256 * 1024;

/// The status of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Inside the code under test.
    Ready,
    /// Inside a task or a producer: the thread can continue at any time but need not.
    Working,
    /// Waiting for a word to change.
    Waiting {
        /// The address of the word.
        address: usize,
        /// The time at which the wait expires, if it has a timeout.
        deadline_ns: Option<u64>,
    },
    /// The thread has ended.
    Ended,
}

impl Status {
    pub(super) fn is_runnable(self) -> bool {
        matches!(self, Self::Ready | Self::Working)
    }
}

/// A simulated thread.
pub struct Thread {
    /// The name of the thread.
    pub name: String,
    /// The status of the thread.
    pub status: Status,
    /// The operation that the thread is about to make.
    pub pending: Pending,
    /// Whether the last wait ended because of its timeout.
    pub(super) expired: bool,
    /// A queue for which the thread lost a race, and which it must ask again.
    pub(super) unanswered_queue: Option<usize>,
    /// The clock of this thread, in runs with a cost model.
    pub clock_ns: u64,
    pub(super) coroutine: Option<Fiber>,
}

impl Thread {
    pub(super) fn new(name: &str, coroutine: Fiber, clock_ns: u64) -> Self {
        Self {
            name: name.to_owned(),
            status: Status::Waiting { address: usize::MAX, deadline_ns: None },
            pending: Pending { kind: EventKind::Say, address: 0 },
            expired: false,
            unanswered_queue: None,
            clock_ns,
            coroutine: Some(coroutine),
        }
    }
}

/// A coroutine and the channel back to the scheduler.
pub(super) struct Fiber {
    coroutine: Coroutine<(), (), (), DefaultStack>,
    pub(super) yielder: Option<*const Yielder<(), ()>>,
}

impl Fiber {
    /// Runs the coroutine until it suspends or ends. Returns whether it has ended.
    pub(super) fn resume(&mut self) -> bool {
        matches!(self.coroutine.resume(()), CoroutineResult::Return(()))
    }
}

/// Stacks for reuse, because mapping a new one takes longer than a short schedule.
#[derive(Default)]
pub(super) struct Stacks(Vec<DefaultStack>);

impl Stacks {
    pub(super) fn coroutine(&mut self, body: Box<dyn FnOnce()>) -> Fiber {
        let stack = self.0.pop().unwrap_or_else(|| {
            DefaultStack::new(STACK_BYTES).expect("the system has memory for another stack")
        });
        let coroutine = Coroutine::with_stack(stack, move |yielder: &Yielder<(), ()>, ()| {
            super::machine().yielder.set(yielder);
            body();
        });
        Fiber { coroutine, yielder: None }
    }

    pub(super) fn take_back(&mut self, mut thread: Thread) {
        let Some(mut fiber) = thread.coroutine.take() else { return };
        if !fiber.coroutine.done() {
            // A failed schedule leaves threads in the middle of their work. They cannot be unwound,
            // because the code under test would catch that as a panic of a task and continue.
            // SAFETY: the values on the stack are never dropped, and nothing refers to them:
            // simulated threads are `'static`, own what they use, and share it only through counted
            // references, which leak here.
            unsafe { fiber.coroutine.force_reset() };
        }
        self.0.push(fiber.coroutine.into_stack());
    }
}
