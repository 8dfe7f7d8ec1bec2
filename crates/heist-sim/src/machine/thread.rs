//! Simulated threads: coroutines on stacks that are used again.

use super::{EventKind, Pending};
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};

/// The number of a thread in its schedule. Thread 0 is the one that starts the others.
pub type ThreadId = usize;

/// Enough for the engine, a task, and the formatting of a panic in a debug build. Only what is touched is paid for.
const STACK_BYTES: usize = 256 * 1024;

/// What a thread is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Inside the code under test.
    Ready,
    /// Inside a task or a producer: it can go on at any time, but need not.
    Working,
    /// Waiting for a word to change.
    Waiting {
        /// The word.
        address: usize,
        /// When it stops waiting, if ever.
        deadline_ns: Option<u64>,
    },
    /// Gone.
    Ended,
}

impl Status {
    pub(super) fn is_runnable(self) -> bool {
        matches!(self, Self::Ready | Self::Working)
    }
}

/// A simulated thread.
pub struct Thread {
    /// What it is called.
    pub name: String,
    /// What it is doing.
    pub status: Status,
    /// What it is about to do.
    pub pending: Pending,
    /// Whether its wait has ended because the time was over.
    pub(super) expired: bool,
    /// A queue that it has asked for a task and got no answer.
    pub(super) unanswered_queue: Option<usize>,
    /// Its own time, where threads have one.
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

/// A coroutine and its way back.
pub(super) struct Fiber {
    coroutine: Coroutine<(), (), (), DefaultStack>,
    pub(super) yielder: Option<*const Yielder<(), ()>>,
}

impl Fiber {
    /// Runs it until it suspends itself or ends; says whether it has ended.
    pub(super) fn resume(&mut self) -> bool {
        matches!(self.coroutine.resume(()), CoroutineResult::Return(()))
    }
}

/// Stacks, to be used again: mapping one costs more than a short schedule does.
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
            // A schedule that failed leaves threads in the middle of what they did. They cannot be unwound: the code
            // under test would catch that as a task's panic and go on.
            // SAFETY: what is on the stack is never dropped, and nothing refers to it: simulated threads are
            // `'static`, own what they use, and share it by counted references, which leak here.
            unsafe { fiber.coroutine.force_reset() };
        }
        self.0.push(fiber.coroutine.into_stack());
    }
}
