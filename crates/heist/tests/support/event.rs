//! An event that futures wait for, and guards that show what happened to a future.

use super::sync::Mutex;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Poll, Waker};

/// An event that is set once. Futures wait until it is set. Clones share the event.
#[derive(Clone, Default)]
pub(crate) struct Event(Arc<Mutex<(bool, Vec<Waker>)>>);

impl Event {
    /// Sets the event, and wakes all waiting futures on this thread.
    pub(crate) fn set(&self) {
        let waiting = {
            let mut event = self.0.lock().unwrap();
            event.0 = true;
            std::mem::take(&mut event.1)
        };
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Waits until the event is set.
    pub(crate) async fn wait(&self) {
        poll_fn(|cx| {
            let mut event = self.0.lock().unwrap();
            if event.0 {
                return Poll::Ready(());
            }
            // A future that is polled again for another reason registers twice. Tests are short, so
            // this does no harm.
            event.1.push(cx.waker().clone());
            Poll::Pending
        })
        .await;
    }

    /// Returns the number of registered wakers.
    pub(crate) fn waiting(&self) -> usize {
        self.0.lock().unwrap().1.len()
    }
}

/// Counts how many values of its kind are alive.
pub(crate) struct Live(Arc<AtomicUsize>);

impl Live {
    pub(crate) fn new(live: &Arc<AtomicUsize>) -> Self {
        live.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(live))
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

/// Calls a closure when it is dropped.
pub(crate) struct OnDrop<F: FnOnce()>(Option<F>);

impl<F: FnOnce()> OnDrop<F> {
    pub(crate) fn new(act: F) -> Self {
        Self(Some(act))
    }
}

impl<F: FnOnce()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        if let Some(act) = self.0.take() {
            act();
        }
    }
}
