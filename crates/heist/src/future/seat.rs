//! A worker's own end of its queue of futures, kept where its thread finds it.
//!
//! A wake-up comes from anywhere: from the depths of a poll, with no worker in hand. On a thread that is a worker's it
//! goes to that worker's own queue, and the seat is the way there.
//!
//! Invariant: a thread has the seat of the pool whose worker it is, from `enter` until the guard is dropped.

use super::raw::Runnable;
use crate::queue::LocalQueue;
use std::marker::PhantomData;

/// What only the worker's own thread may touch.
#[derive(Debug)]
pub(crate) struct Seat {
    /// First in, first out: a future that gives way goes behind all others.
    pub(crate) queue: LocalQueue<Runnable>,
    /// The LIFO slot, where nobody may steal from it.
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

/// Does something with the calling thread's seat. It must run none of the caller's code, which might come here again.
#[inline]
pub(crate) fn with<R>(act: impl FnOnce(&mut Seat) -> R) -> R {
    SEAT.with(|current| {
        let mut seat = current.take().expect("a worker has a seat");
        let result = act(&mut seat);
        current.set(Some(seat));
        result
    })
}
