//! A worker's own end of its queue of futures, in a thread-local.
//!
//! A wake-up comes from anywhere, for example from deep inside a poll, where the worker is not at
//! hand. On a worker's thread, the wake-up goes to that worker's own queue; the seat leads there.
//!
//! Invariant: from `enter` until the guard is dropped, a worker's thread has the seat of its own
//! pool.

use super::raw::Runnable;
use crate::queue::LocalQueue;
use std::marker::PhantomData;

/// What only the worker's own thread may touch.
#[derive(Debug)]
pub(crate) struct Seat {
    /// First in, first out: a future that yields goes behind all others.
    pub(crate) queue: LocalQueue<Runnable>,
    /// The LIFO slot, if other workers may not steal from it.
    pub(crate) private_slot: Option<Runnable>,
    /// A batch on its way from the injector to the queue; empty between two calls.
    pub(crate) batch: Vec<Runnable>,
}

impl Seat {
    pub(crate) fn new(queue: LocalQueue<Runnable>) -> Self {
        Self { queue, private_slot: None, batch: Vec::new() }
    }
}

crate::sync::per_thread! {
    static SEAT: Box<Seat>;
}

/// Seats the calling thread's worker until the guard is dropped.
#[must_use = "the thread has no seat when the guard is dropped"]
pub(crate) fn enter(seat: Box<Seat>) -> Guard {
    let before = SEAT.with(|current| current.replace(Some(seat)));
    Guard { before, _this_thread_only: PhantomData }
}

/// See [`enter`].
#[derive(Debug)]
pub(crate) struct Guard {
    before: Option<Box<Seat>>,
    _this_thread_only: PhantomData<*const ()>,
}

impl Drop for Guard {
    fn drop(&mut self) {
        let before = self.before.take();
        // Dropped outside of the cell: futures that are left in it may wake others.
        drop(SEAT.with(|current| current.replace(before)));
    }
}

/// Calls `act` with the calling thread's seat. `act` must not run user code, which might call this
/// again.
#[inline]
pub(crate) fn with<R>(act: impl FnOnce(&mut Seat) -> R) -> R {
    SEAT.with(|current| {
        let mut seat = current.take().expect("a worker has a seat");
        let result = act(&mut seat);
        current.set(Some(seat));
        result
    })
}
