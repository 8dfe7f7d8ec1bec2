//! Runs a future on the calling thread.

use heist::__internal::sync::{Parker, Unparker, show_to_sanitizer, spin_loop};
use heist::__internal::{coop, is_large};
use heist::current_worker_id;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

/// A waker that wakes a thread.
struct WakeThread(Unparker);

impl Wake for WakeThread {
    fn wake(self: std::sync::Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &std::sync::Arc<Self>) {
        self.0.unpark();
        show_to_sanitizer();
    }
}

impl Drop for WakeThread {
    fn drop(&mut self) {
        show_to_sanitizer();
    }
}

/// Polls a future on the calling thread until it completes, and sleeps in between.
///
/// It does not need a runtime. If the future spawns others, use [`crate::Runtime::block_on`].
///
/// ```
/// assert_eq!(heist_runtime::block_on(async { 6 * 7 }), 42);
/// ```
///
/// # Panics
/// The caller is a worker of an executor or runtime. The call would block that worker, which may be
/// the one that has to complete what the future waits for, and would then never return. Await the
/// future, spawn it, or call this inside `spawn_blocking`. (A worker may wait for the futures of
/// *another* runtime, with that runtime's [`Runtime::block_on`](crate::Runtime::block_on).)
#[track_caller]
pub fn block_on<F: Future>(future: F) -> F::Output {
    assert!(
        current_worker_id().is_none(),
        "heist_runtime::block_on was called on a worker, which it would block, perhaps forever; \
         await the future, spawn it, or call this inside `spawn_blocking`"
    );
    if const { is_large::<F>() } {
        block_on_small(Box::pin(future))
    } else {
        block_on_small(future)
    }
}

/// [`block_on`] for a future that fits on the stack, without the check of the caller.
pub(super) fn block_on_small<F: Future>(future: F) -> F::Output {
    let parker = Parker::new();
    let waker = Waker::from(std::sync::Arc::new(WakeThread(parker.unparker())));
    let mut cx = Context::from_waker(&waker);
    let mut future = pin!(future);
    coop::without_budget(|| {
        loop {
            if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
                return output;
            }
            wait(&parker);
        }
    })
}

/// Waits to be woken: spins for a few microseconds, then sleeps. The awaited work often ends soon,
/// and a thread that sleeps at once would be woken once for each of a thousand futures instead of
/// once for all.
fn wait(parker: &Parker) {
    // Each spin is twice as long as the last: about 5 us in all. (Spinning does nothing in a
    // model.)
    let looks = if cfg!(any(heist_loom, heist_shuttle, heist_sim)) { 0 } else { 8 };
    for look in 0..looks {
        for _ in 0..1 << look {
            spin_loop();
        }
        if parker.park_timeout(Duration::ZERO) {
            return;
        }
    }
    parker.park();
}
