//! A future that waits for a wake-up, and the bell that wakes it.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread::{self, Thread};

use crate::clock::now_ns;

/// Wakes one [`Waiter`] and learns when the runtime polls it.
#[derive(Debug)]
pub(super) struct WakeBell {
    waker: Mutex<Option<Waker>>,
    rung: AtomicBool,
    /// 0: not polled since the last ring.
    answered_ns: AtomicU64,
    /// The thread that waits for the answer.
    owner: Thread,
}

impl WakeBell {
    /// Creates a bell whose answers the calling thread waits for.
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            waker: Mutex::new(None),
            rung: AtomicBool::new(false),
            answered_ns: AtomicU64::new(0),
            owner: thread::current(),
        })
    }

    /// Blocks the owner until the future waits.
    pub(super) fn wait_for_waiter(&self) {
        while self.waker().is_none() {
            thread::park();
        }
    }

    /// Wakes the future, which must be waiting, and returns the time just before the wake-up.
    pub(super) fn ring(&self) -> u64 {
        self.answered_ns.store(0, Ordering::Relaxed);
        // Pairs with the load in `poll`; the runtime's own synchronization orders the two.
        self.rung.store(true, Ordering::Release);
        let waker = self.waker().take().expect("the future waits");
        let rung_ns = now_ns();
        waker.wake();
        rung_ns
    }

    /// Blocks the owner until the future has been polled since the last ring, and returns when that
    /// poll began.
    pub(super) fn wait_for_answer(&self) -> u64 {
        loop {
            match self.answered_ns.load(Ordering::Acquire) {
                0 => thread::park(),
                answered_ns => return answered_ns,
            }
        }
    }

    fn waker(&self) -> std::sync::MutexGuard<'_, Option<Waker>> {
        self.waker.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for its bell, answers, and repeats, for a given number of answers.
#[derive(Debug)]
pub(super) struct Waiter {
    pub(super) bell: Arc<WakeBell>,
    /// The future completes with its last answer.
    pub(super) answers_left: usize,
}

impl Future for Waiter {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let polled_ns = now_ns();
        let answers = self.bell.rung.swap(false, Ordering::Acquire);
        self.answers_left -= usize::from(answers);
        let ends = self.answers_left == 0;
        if !ends {
            // The waker must be stored before the owner is notified, because the owner may ring at
            // once.
            *self.bell.waker() = Some(context.waker().clone());
        }
        if answers {
            self.bell.answered_ns.store(polled_ns, Ordering::Release);
        }
        self.bell.owner.unpark();
        if ends { Poll::Ready(()) } else { Poll::Pending }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_waiter_answers_every_ring_and_ends_with_the_last() {
        let bell = WakeBell::new();
        let waiter = Waiter { bell: Arc::clone(&bell), answers_left: 3 };
        let polling = thread::spawn(|| futures_lite::future::block_on(waiter));
        for _ in 0..3 {
            bell.wait_for_waiter();
            let rung_ns = bell.ring();
            assert!(bell.wait_for_answer() >= rung_ns);
        }
        polling.join().expect("the waiter does not panic");
    }
}
