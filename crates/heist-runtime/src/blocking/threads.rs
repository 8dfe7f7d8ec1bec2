//! How calls reach the threads, and how threads start and end.

use super::refuse;
use super::state::{Help, ThreadsState};
use crate::{RuntimeHandle, current};
use heist::__internal::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use heist::__internal::sync::{Arc, Mutex, MutexGuard, Parker, thread};
use heist::__internal::{Attached, PoolId, Runnable, contain, worker_id};
use heist::MetricsSnapshot;
use std::convert::Infallible;
use std::time::Duration;

/// The settings.
#[derive(Clone, Debug)]
pub(crate) struct BlockingConfig {
    /// The maximum number of threads.
    pub(crate) max_threads: usize,
    /// How long a thread waits for its next call before it ends.
    pub(crate) keep_alive: Duration,
    pub(crate) thread_name: String,
    pub(crate) stack_size: Option<usize>,
}

/// The threads for blocking calls of one runtime.
#[derive(Debug)]
pub(crate) struct BlockingThreads {
    state: Mutex<ThreadsState>,
    config: BlockingConfig,
}

impl BlockingThreads {
    /// Starts without threads. Also returns a receiver that disconnects when the last thread has
    /// ended.
    pub(crate) fn new(config: BlockingConfig) -> (Arc<Self>, Receiver<Infallible>) {
        let (running, all_ended) = channel();
        (Arc::new(Self { state: Mutex::new(ThreadsState::new(running)), config }), all_ended)
    }

    /// Queues a call. After a stop it is dropped instead.
    pub(crate) fn push(this: &Arc<Self>, call: Runnable, runtime: &RuntimeHandle) {
        let mut state = this.state.lock();
        if state.is_stopped() {
            drop(state);
            return worker_id::drop_for(runtime.pool(), || drop(call));
        }
        state.queue(call);
        Self::unlock_and_help(this, state, runtime);
    }

    /// Queues calls under one lock.
    pub(crate) fn push_all(this: &Arc<Self>, calls: Vec<Runnable>, runtime: &RuntimeHandle) {
        let mut state = this.state.lock();
        if state.is_stopped() {
            drop(state);
            return worker_id::drop_for(runtime.pool(), || drop(calls));
        }
        state.queue_all(calls);
        Self::unlock_and_help(this, state, runtime);
    }

    fn unlock_and_help(
        this: &Arc<Self>,
        mut state: MutexGuard<'_, ThreadsState>,
        runtime: &RuntimeHandle,
    ) {
        let help = state.help_for_queued(this.config.max_threads);
        // Without the lock, which the woken thread needs: waking it takes microseconds.
        drop(state);
        Self::give(this, help, runtime);
    }

    #[inline]
    fn give<const N: usize>(this: &Arc<Self>, help: [Option<Help>; N], runtime: &RuntimeHandle) {
        for help in help.into_iter().flatten() {
            match help {
                Help::Wake(unparker) => {
                    unparker.unpark();
                }
                Help::Start(id, running) => Self::start(this, id, running, runtime),
            }
        }
    }

    /// Starts a thread that was counted.
    #[cold]
    fn start(this: &Arc<Self>, id: u64, running: Sender<Infallible>, runtime: &RuntimeHandle) {
        let name = format!("{}-blocking-{id}", this.config.thread_name);
        let mut builder = thread::Builder::new().name(name);
        if let Some(bytes) = this.config.stack_size {
            builder = builder.stack_size(bytes);
        }
        let pool = runtime.pool();
        let (threads, runtime) = (Arc::clone(this), runtime.clone());
        let started = builder.spawn(move || {
            worker_id::help(pool);
            let current = current::enter(runtime.clone());
            let before = Self::work(&threads, id, &runtime);
            drop((current, threads, runtime));
            if let Some(before) = before {
                // That thread had left the shared state before this one did. Threads contain every
                // panic.
                let _ = before.join();
            }
            drop(running);
        });
        match started {
            Ok(handle) => {
                let before = this.state.lock().started(id, handle);
                // Dropped, not joined: this may be a worker.
                drop(before);
            }
            Err(source) => {
                let (refused, to_wake) = this.state.lock().refused(id);
                if let Some(unparker) = to_wake {
                    unparker.unpark();
                }
                worker_id::drop_for(pool, || {
                    for call in refused {
                        refuse(call, &source);
                    }
                });
            }
        }
    }

    /// The loop of a thread. Returns the handle of the thread that ended before this one.
    fn work(this: &Arc<Self>, id: u64, runtime: &RuntimeHandle) -> Option<thread::JoinHandle<()>> {
        let parker = Parker::new();
        let mut was_on_its_way = true;
        loop {
            let mut state = this.state.lock();
            let sees_to_others = std::mem::take(&mut was_on_its_way);
            if sees_to_others {
                state.looks(id);
            }
            if let Some(call) = state.take() {
                if sees_to_others {
                    let help = state.help_for_rest(this.config.max_threads);
                    drop(state);
                    Self::give(this, help, runtime);
                } else {
                    drop(state);
                }
                make(call);
                continue;
            }
            if state.is_done() {
                return state.leave(id);
            }
            state.go_idle(id, parker.unparker());
            drop(state);
            if !parker.park_timeout(this.config.keep_alive) {
                let mut state = this.state.lock();
                if state.leave_idle(id) {
                    if state.queued() > 0 {
                        // Another thread is on its way to the call, but this one is here.
                        continue;
                    }
                    return state.leave(id);
                }
                drop(state);
                // Another thread has taken this one off the list: its token is on its way.
                parker.park();
            }
            was_on_its_way = true;
        }
    }

    /// Waits until every thread has ended, for at most `timeout`, and returns whether they have.
    /// The pool must be done.
    pub(super) fn wait(&self, all_ended: &Receiver<Infallible>, timeout: Duration) -> bool {
        match all_ended.recv_timeout(timeout) {
            Ok(never) => match never {},
            Err(RecvTimeoutError::Timeout) => return false,
            Err(RecvTimeoutError::Disconnected) => {}
        }
        // The threads are past their last line; only the system has to clean them up.
        let handles = self.state.lock().take_handles();
        let myself = thread::current().id();
        for handle in handles.into_iter().filter(|handle| handle.thread().id() != myself) {
            let _ = handle.join();
        }
        true
    }
}

/// Makes a call, or drops it if it was aborted.
fn make(call: Runnable) {
    // The task contains the call's panic, and that of dropping its output. (A waker's panic aborts
    // the process.)
    contain(|| {
        call.run();
    });
}

/// What the pool knows about its threads for blocking calls.
#[derive(Debug)]
pub(crate) struct AttachedThreads(pub(crate) Arc<BlockingThreads>);

impl Attached for AttachedThreads {
    fn pool_stopped(&self) {
        let dropped = self.0.state.lock().stop();
        // One by one: if two calls panicked in one `drop` of the vector, the second would abort the
        // process.
        for call in dropped {
            contain(|| drop(call));
        }
    }

    fn pool_done(&self) {
        let to_wake = self.0.state.lock().end();
        for unparker in to_wake {
            unparker.unpark();
        }
    }

    fn add_to(&self, snapshot: &mut MetricsSnapshot) {
        let state = self.0.state.lock();
        let (threads, idle) = state.threads();
        snapshot.blocking_threads = threads as u64;
        snapshot.blocking_threads_idle = idle as u64;
        snapshot.blocking_queue_depth = state.queued() as u64;
    }
}

/// The owner of the threads. Dropping it waits for them.
#[derive(Debug)]
pub(crate) struct BlockingOwner {
    threads: Arc<BlockingThreads>,
    all_ended: Mutex<Receiver<Infallible>>,
    pool: PoolId,
    waits: bool,
}

impl BlockingOwner {
    pub(crate) fn new(
        threads: Arc<BlockingThreads>,
        all_ended: Receiver<Infallible>,
        pool: PoolId,
    ) -> Self {
        Self { threads, all_ended: Mutex::new(all_ended), pool, waits: true }
    }

    /// Waits for the threads for at most `timeout`, and returns whether they have ended. The pool
    /// must be done.
    pub(crate) fn wait_timeout(&self, timeout: Duration) -> bool {
        self.threads.wait(&self.all_ended.lock(), timeout)
    }

    /// Does not wait for the threads: they end when their calls do.
    pub(crate) fn leave_behind(mut self) {
        self.waits = false;
    }
}

impl Drop for BlockingOwner {
    fn drop(&mut self) {
        // One of the pool's own threads must not wait for itself: the threads end when the pool is
        // done.
        if self.waits && !worker_id::is_thread_of(self.pool) {
            self.wait_timeout(Duration::MAX);
        }
    }
}
