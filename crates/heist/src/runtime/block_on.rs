//! A future on the calling thread.

use crate::sync::{Parker, Unparker};
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Wake, Waker};

/// A waker that wakes a thread.
struct WakeThread(Unparker);

impl Wake for WakeThread {
    fn wake(self: std::sync::Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &std::sync::Arc<Self>) {
        self.0.unpark();
    }
}

/// Polls a future on the calling thread until it completes, and sleeps in between.
///
/// It needs no runtime. What the future spawns needs one: see [`crate::Runtime::block_on`].
///
/// ```
/// assert_eq!(heist::block_on(async { 6 * 7 }), 42);
/// ```
pub fn block_on<F: Future>(future: F) -> F::Output {
    let parker = Parker::new();
    let waker = Waker::from(std::sync::Arc::new(WakeThread(parker.unparker())));
    let mut cx = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
            return output;
        }
        parker.park();
    }
}
