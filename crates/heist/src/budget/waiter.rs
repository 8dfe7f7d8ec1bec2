//! Those who wait for a budget, and how each is told.
//!
//! A thread and a future share a [`Slot`] with the budget: the answer is stored there under the budget's lock, and
//! read without it. A callback gets the answer as its argument.
//!
//! Invariant: a waiter is answered exactly once, when it leaves the queue. One that gives up leaves it unanswered.

use super::amount::Amount;
use super::error::AcquireError;
use super::permit::Permit;
use crate::executor::task::contain;
use crate::sync::{Arc, AtomicU8, AtomicU64, Ordering, Unparker};
use std::task::Waker;

/// What is done with the answer, once.
pub(super) type Then = Box<dyn FnOnce(Result<Permit, AcquireError>) + Send>;

/// A place in the queue. Numbers grow and are never used again: at a billion a second they last 584 years.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(u64);

impl Ticket {
    pub(super) const FIRST: Self = Self(0);

    pub(super) fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// The answer to a waiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// What it wants was taken for it.
    Granted,
    /// The budget was closed.
    Closed,
    /// The total was lowered to this, and it wants more.
    AboveTotal(Amount),
}

/// One who waits.
pub(super) struct Waiter {
    pub(super) ticket: Ticket,
    pub(super) wanted: Amount,
    pub(super) kind: Kind,
}

/// How one waits.
pub(super) enum Kind {
    Thread(Arc<Slot>, Unparker),
    Future(Arc<Slot>, Waker),
    Callback(Then),
}

/// Where the answer to a thread or a future is left.
#[derive(Debug)]
pub(super) struct Slot {
    answer: AtomicU8,
    /// The amount in [`Answer::AboveTotal`].
    total: AtomicU64,
}

impl Slot {
    const PENDING: u8 = 0;
    const GRANTED: u8 = 1;
    const CLOSED: u8 = 2;
    const ABOVE_TOTAL: u8 = 3;

    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { answer: AtomicU8::new(Self::PENDING), total: AtomicU64::new(0) })
    }

    /// The answer, if there is one.
    pub(super) fn answer(&self) -> Option<Answer> {
        // Acquire: pairs with the Release in `put`. Without it, who is granted a slot might not see what its last
        // holder did in it.
        match self.answer.load(Ordering::Acquire) {
            Self::PENDING => None,
            Self::GRANTED => Some(Answer::Granted),
            Self::CLOSED => Some(Answer::Closed),
            _ => Some(Answer::AboveTotal(Amount::from_bits(self.total.load(Ordering::Relaxed)))),
        }
    }

    pub(super) fn put(&self, answer: Answer) {
        let code = match answer {
            Answer::Granted => Self::GRANTED,
            Answer::Closed => Self::CLOSED,
            Answer::AboveTotal(total) => {
                self.total.store(total.to_bits(), Ordering::Relaxed);
                Self::ABOVE_TOTAL
            }
        };
        self.answer.store(code, Ordering::Release);
    }
}

/// Somebody to be woken once the lock is given back.
pub(super) enum WakeUp {
    Thread(Unparker),
    Future(Waker),
}

impl WakeUp {
    pub(super) fn send(self) {
        match self {
            Self::Thread(unparker) => {
                unparker.unpark();
            }
            // A runtime's code: its panic must not keep the others asleep, nor leave a permit's `drop`.
            Self::Future(waker) => contain(|| waker.wake()),
        }
    }
}

/// A callback to be called once the lock is given back, and what it is answered.
pub(super) struct Delivery {
    pub(super) then: Then,
    pub(super) wanted: Amount,
    pub(super) answer: Answer,
}
