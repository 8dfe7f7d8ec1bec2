//! The requests that wait for a budget, and how each of them gets its answer.
//!
//! A thread or a future shares an [`AnswerCell`] with the budget. The budget stores the answer
//! there under its lock, and the waiter reads it without the lock. A callback gets the answer as
//! its argument.
//!
//! Invariant: a request is answered exactly once, when it leaves the queue. A request that gives up
//! leaves the queue without an answer.

use super::amount::Amount;
use super::error::AcquireError;
use super::permit::Permit;
use crate::executor::task::contain;
use crate::sync::{Arc, AtomicU8, AtomicU64, Ordering, Unparker};
use std::task::Waker;

/// A callback that receives the answer, once.
pub(super) type Then = Box<dyn FnOnce(Result<Permit, AcquireError>) + Send>;

/// A place in the queue. Numbers only grow and are never reused: at a billion per second they last
/// 584 years.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(u64);

impl Ticket {
    pub(super) const FIRST: Self = Self(0);

    pub(super) fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// The answer to a waiting request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The requested amount was taken for it.
    Granted,
    /// The budget was closed.
    Closed,
    /// The total was lowered to this amount, and the request wants more.
    AboveTotal(Amount),
}

/// A waiting request.
pub(super) struct Waiter {
    pub(super) ticket: Ticket,
    pub(super) wanted: Amount,
    pub(super) kind: WaiterKind,
}

/// How a request waits.
pub(super) enum WaiterKind {
    Thread(Arc<AnswerCell>, Unparker),
    Future(Arc<AnswerCell>, Waker),
    Callback(Then),
}

/// Where the budget stores the answer to a thread or a future.
#[derive(Debug)]
pub(super) struct AnswerCell {
    answer: AtomicU8,
    /// The amount in [`Answer::AboveTotal`].
    total: AtomicU64,
}

impl AnswerCell {
    const PENDING: u8 = 0;
    const GRANTED: u8 = 1;
    const CLOSED: u8 = 2;
    const ABOVE_TOTAL: u8 = 3;

    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { answer: AtomicU8::new(Self::PENDING), total: AtomicU64::new(0) })
    }

    /// Returns the answer, if there is one.
    pub(super) fn answer(&self) -> Option<Answer> {
        // Acquire: pairs with the Release in `put`. Without it, a waiter that was granted a
        // resource might not see what its previous holder did with it.
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

/// A thread or future to wake after the lock is released.
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
            // The waker is the runtime's code: its panic must not keep other waiters asleep, nor
            // escape from the `drop` of a permit.
            Self::Future(waker) => contain(|| waker.wake()),
        }
    }
}

/// A callback to call after the lock is released, and its answer.
pub(super) struct Delivery {
    pub(super) then: Then,
    pub(super) wanted: Amount,
    pub(super) answer: Answer,
}
