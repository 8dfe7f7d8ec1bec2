//! The future that completes when a token is cancelled.
//!
//! Invariant: a future that has returned `Pending` is registered with its token and all ancestors,
//! until it completes or is dropped.

use super::{CancelToken, Watcher};
use crate::sync::{Arc, Mutex};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// The waker of a future that awaits a cancellation.
#[derive(Clone)]
struct WakeWhenCancelled(Arc<Mutex<Option<Waker>>>);

impl WakeWhenCancelled {
    /// Has `waker` woken instead of the one before.
    fn set(&self, waker: &Waker) {
        let before = {
            let mut current = self.0.lock();
            if current.as_ref().is_some_and(|current| current.will_wake(waker)) {
                return;
            }
            current.replace(waker.clone())
        };
        // Without the lock: a waker's drop may be the end of its future.
        drop(before);
    }
}

impl Watcher for WakeWhenCancelled {
    fn is_alive(&self) -> bool {
        // The future removes its registration itself.
        true
    }

    fn cancelled(&self) {
        let waker = self.0.lock().take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// Completes when a token is cancelled. See [`CancelToken::cancelled`].
#[must_use = "a future does nothing unless it is awaited"]
pub struct Cancelled {
    token: CancelToken,
    registration: Option<Registration>,
}

/// A future's registration with its token and all of its ancestors.
struct Registration {
    watcher: WakeWhenCancelled,
    keys: Vec<Option<usize>>,
}

impl Cancelled {
    pub(super) fn new(token: CancelToken) -> Self {
        Self { token, registration: None }
    }

    fn unregister(&mut self) {
        if let Some(Registration { keys, .. }) = self.registration.take() {
            for (node, key) in self.token.nodes().zip(keys) {
                if let Some(key) = key {
                    node.unwatch(key);
                }
            }
        }
    }
}

impl Future for Cancelled {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if !self.token.is_cancelled() {
            match &self.registration {
                Some(registration) => registration.watcher.set(cx.waker()),
                None => {
                    let waker = Arc::new(Mutex::new(Some(cx.waker().clone())));
                    let watcher = WakeWhenCancelled(waker);
                    let keys = self.token.register(&watcher);
                    self.registration = Some(Registration { watcher, keys });
                }
            }
            // `cancel` may have come before the waker was in place, and have woken the one before.
            if !self.token.is_cancelled() {
                return Poll::Pending;
            }
        }
        self.unregister();
        Poll::Ready(())
    }
}

impl Drop for Cancelled {
    fn drop(&mut self) {
        self.unregister();
    }
}

impl fmt::Debug for Cancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cancelled").field("token", &self.token).finish_non_exhaustive()
    }
}

// Loom's atomics work only inside a model.
#[cfg(all(test, not(heist_loom)))]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::task::Wake;
    use std::thread;

    fn poll_once(future: &mut Cancelled, waker: &Waker) -> Poll<()> {
        Pin::new(future).poll(&mut Context::from_waker(waker))
    }

    /// Counts how often it is woken.
    #[derive(Default)]
    struct Wakes(AtomicU64);

    impl Wake for Wakes {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn registered(token: &CancelToken) -> usize {
        token.node.watchers.lock().registered.len()
    }

    #[test]
    fn a_future_completes_when_its_token_or_an_ancestor_is_cancelled() {
        for depth in [0, 1, 3] {
            let root = CancelToken::new();
            let wakes = std::sync::Arc::new(Wakes::default());
            let waker = Waker::from(std::sync::Arc::clone(&wakes));
            let mut future = (0..depth).fold(root.clone(), |token, _| token.child()).cancelled();
            assert!(poll_once(&mut future, &waker).is_pending());
            assert!(poll_once(&mut future, &waker).is_pending());
            root.cancel();
            assert_eq!(wakes.0.load(Ordering::Relaxed), 1);
            assert!(poll_once(&mut future, &waker).is_ready());
            assert!(poll_once(&mut root.child().cancelled(), &waker).is_ready());
            assert_eq!(wakes.0.load(Ordering::Relaxed), 1);
        }
    }

    #[test]
    fn a_future_wakes_the_waker_of_its_last_poll() {
        let token = CancelToken::new();
        let wakes = [(); 2].map(|()| std::sync::Arc::new(Wakes::default()));
        let mut future = token.cancelled();
        for counter in &wakes {
            let waker = Waker::from(std::sync::Arc::clone(counter));
            assert!(poll_once(&mut future, &waker).is_pending());
        }
        token.cancel();
        assert_eq!(wakes.map(|wakes| wakes.0.load(Ordering::Relaxed)), [0, 1]);
    }

    #[test]
    fn a_dropped_future_leaves_no_registration_behind() {
        let root = CancelToken::new();
        let child = root.child();
        let mut futures: Vec<_> = (0..10).map(|_| child.cancelled()).collect();
        for future in &mut futures {
            assert!(poll_once(future, Waker::noop()).is_pending());
        }
        assert_eq!((registered(&child), registered(&root)), (10, 10));
        drop(futures.split_off(4));
        assert_eq!((registered(&child), registered(&root)), (4, 4));
        child.cancel();
        assert_eq!((registered(&child), registered(&root)), (0, 4));
        for future in &mut futures {
            assert!(poll_once(future, Waker::noop()).is_ready());
        }
        assert_eq!(registered(&root), 0, "a future that has completed is not registered");
    }

    #[test]
    fn a_future_that_registers_during_a_cancellation_is_woken_or_completes() {
        for _ in 0..if cfg!(miri) { 10 } else { 1_000 } {
            let token = CancelToken::new();
            thread::scope(|scope| {
                let waiting = scope.spawn(|| {
                    let wakes = std::sync::Arc::new(Wakes::default());
                    let waker = Waker::from(std::sync::Arc::clone(&wakes));
                    let mut future = token.child().cancelled();
                    while poll_once(&mut future, &waker).is_pending() {
                        while wakes.0.swap(0, Ordering::Relaxed) == 0 {
                            thread::yield_now();
                        }
                    }
                });
                token.cancel();
                waiting.join().unwrap();
            });
        }
    }
}
