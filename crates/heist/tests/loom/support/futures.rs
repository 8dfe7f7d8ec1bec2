//! The parts of models of futures.

use super::{Tally, Threads, start_prepared, work};
use heist::__internal::executor::{PoolShared, Worker, handle_of};
use heist::__internal::sync::{Arc, AtomicBool, Ordering, Parker, Unparker, fence};
use heist::{ExecutorConfig, ExecutorHandle};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::{Context, Poll, Wake, Waker};

/// Starts a pool without typed tasks, and calls `prepare` before its workers start.
pub fn start_futures<P>(
    config: &ExecutorConfig,
    prepare: impl FnOnce(&ExecutorHandle<()>) -> P,
) -> (Arc<PoolShared<()>>, P, Threads) {
    start_prepared(config, prepare, |()| ())
}

/// A worker that a future on another worker starts: until then there is nothing to interleave.
#[derive(Clone)]
pub struct LateWorker(Arc<std::sync::Mutex<Late>>);

enum Late {
    Waiting(Box<Worker<()>>),
    Started(loom::thread::JoinHandle<()>),
    Gone,
}

impl LateWorker {
    fn replace(&self, state: Late) -> Late {
        std::mem::replace(&mut *self.0.lock().unwrap(), state)
    }

    pub fn start(&self) {
        let Late::Waiting(worker) = self.replace(Late::Gone) else { panic!("it starts once") };
        self.replace(Late::Started(start_worker(*worker)));
    }

    fn join(&self) {
        let Late::Started(thread) = self.replace(Late::Gone) else { panic!("it was started") };
        thread.join().unwrap();
    }
}

fn start_worker(mut worker: Worker<()>) -> loom::thread::JoinHandle<()> {
    loom::thread::spawn(move || {
        worker.enter();
        work(&mut worker, &mut |_: &mut Worker<()>, ()| {});
    })
}

/// Runs a pool of two workers to its end. The first one polls what `prepare` spawns, in that order;
/// one of these futures must start the second worker.
pub fn run_with_late_worker(
    config: &ExecutorConfig,
    prepare: impl FnOnce(&ExecutorHandle<()>, LateWorker),
) -> Arc<PoolShared<()>> {
    let (shared, mut workers) = PoolShared::new(config);
    let late = workers.pop().expect("two workers");
    let late = LateWorker(Arc::new(std::sync::Mutex::new(Late::Waiting(Box::new(late)))));
    prepare(&handle_of(Arc::clone(&shared)), late.clone());
    shared.close();
    let first = start_worker(workers.pop().expect("two workers"));
    first.join().unwrap();
    late.join();
    shared
}

struct Unpark(Unparker);

impl Wake for Unpark {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.unpark();
    }
}

/// Polls the future on this thread of the model until it is ready: at first, and then whenever it
/// is woken.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let parker = Parker::new();
    let waker = Waker::from(std::sync::Arc::new(Unpark(parker.unparker())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => parker.park(),
        }
    }
}

/// An event that a future waits for.
///
/// It orders as little as possible: only the wake-up lets the waiting future see what was written
/// before the event. A pair of fences makes sure that the two sides do not miss each other. The
/// waker is not modelled.
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

    /// Sets the event and wakes the future.
    pub fn set(&self) {
        self.0.set.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let waker = self.0.waker.lock().unwrap().take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Completes when the event is set.
    pub async fn wait(&self) {
        Self::wait_for_all(std::slice::from_ref(self)).await;
    }

    /// Completes when all events are set.
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

/// A value that counts its drop.
pub struct DropTally(pub Tally);

impl Drop for DropTally {
    fn drop(&mut self) {
        self.0.add();
    }
}
