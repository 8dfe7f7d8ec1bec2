//! What models of futures are made of.

use super::{Tally, Threads, start_prepared, start_workers, work};
use heist::executor::shared::Shared;
use heist::executor::worker::Worker;
use heist::sync::{Arc, AtomicBool, Ordering, fence};
use heist::{ExecutorConfig, ExecutorHandle};
use std::future::poll_fn;
use std::task::{Poll, Waker};

/// A pool that has no typed tasks, with something done before its workers start.
pub fn start_futures<P>(
    config: &ExecutorConfig,
    prepare: impl FnOnce(&ExecutorHandle<()>) -> P,
) -> (Arc<Shared<()>>, P, Threads) {
    start_prepared(config, prepare, |()| ())
}

/// [`start_futures`], with the intake closed before the first worker runs: nothing but the workers themselves is left
/// to interleave.
pub fn start_futures_closed(
    config: &ExecutorConfig,
    prepare: impl FnOnce(&ExecutorHandle<()>),
) -> (Arc<Shared<()>>, Threads) {
    let (shared, workers) = Shared::new(config);
    prepare(&ExecutorHandle::new(Arc::clone(&shared)));
    shared.close();
    let run = |_: &mut Worker<()>, ()| {};
    (shared, start_workers(workers, move |worker| work(worker, &mut { run })))
}

/// Something that a future waits for.
///
/// It orders as little as it can: what the waiting future sees after it was woken, it sees by the wake-up alone. Only
/// that the two sides do not miss each other is its own doing, by a pair of fences. The waker is not modelled.
#[derive(Clone)]
pub struct Event(Arc<EventState>);

struct EventState {
    set: AtomicBool,
    waker: std::sync::Mutex<Option<Waker>>,
}

impl Event {
    pub fn new() -> Self {
        let state = EventState { set: AtomicBool::new(false), waker: std::sync::Mutex::new(None) };
        Self(Arc::new(state))
    }

    /// Lets the future go on.
    pub fn set(&self) {
        self.0.set.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let waker = self.0.waker.lock().unwrap().take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Completes when it is set.
    pub async fn wait(&self) {
        Self::wait_for_all(std::slice::from_ref(self)).await;
    }

    /// Completes when all are set.
    pub async fn wait_for_all(events: &[Self]) {
        poll_fn(|cx| {
            for Self(event) in events {
                let before = event.waker.lock().unwrap().replace(cx.waker().clone());
                drop(before);
            }
            fence(Ordering::SeqCst);
            let are_set = events.iter().all(|Self(event)| event.set.load(Ordering::Relaxed));
            if are_set { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}

/// Says when it is dropped.
pub struct DropTally(pub Tally);

impl Drop for DropTally {
    fn drop(&mut self) {
        self.0.add();
    }
}
