//! The threads: how calls come to them, how they come and go.

use super::state::{Mailbox, Reserved, State, Thread};
use crate::executor::attached::Attached;
use crate::executor::task::contain;
use crate::future::raw::Runnable;
use crate::metrics::MetricsSnapshot;
use crate::runtime::{RuntimeHandle, current};
use crate::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use crate::sync::{Arc, Mutex, Parker, thread};
use crate::worker_id::{self, PoolId};
use std::convert::Infallible;
use std::io;
use std::ops::Range;
use std::time::Duration;

/// What is set.
#[derive(Clone, Debug)]
pub(crate) struct BlockingConfig {
    /// No more threads than this at a time.
    pub(crate) max_threads: usize,
    /// How long a thread waits for its next call before it leaves.
    pub(crate) keep_alive: Duration,
    pub(crate) thread_name: String,
    pub(crate) stack_size: Option<usize>,
}

/// The threads for blocking calls of one runtime.
#[derive(Debug)]
pub(crate) struct BlockingThreads {
    state: Mutex<State>,
    config: BlockingConfig,
}

/// The system refuses a thread, and there is none.
#[derive(Debug)]
pub(crate) struct NoThread {
    pub(crate) source: io::Error,
    /// Which of the calls were dropped for it, in ascending order.
    pub(crate) calls: Vec<usize>,
}

impl BlockingThreads {
    /// No thread yet; and what disconnects when the last one has ended.
    pub(crate) fn new(config: BlockingConfig) -> (Arc<Self>, Receiver<Infallible>) {
        let (running, all_ended) = channel();
        (Arc::new(Self { state: Mutex::new(State::new(running)), config }), all_ended)
    }

    /// Has a call made. After a stop it is dropped instead.
    ///
    /// # Errors
    /// There is no thread, and the system refuses one. The call is dropped.
    pub(crate) fn push(
        this: &Arc<Self>,
        call: Runnable,
        runtime: &RuntimeHandle,
    ) -> Result<(), NoThread> {
        let mut state = this.state.lock();
        if state.is_stopped() {
            drop(state);
            drop(call);
            return Ok(());
        }
        let number = state.next_number();
        if let Some(mailbox) = state.place(call) {
            // Without the lock: the thread would run into it, and waking it takes microseconds.
            drop(state);
            mailbox.wake();
            return Ok(());
        }
        let reserved = state.reserve(this.config.max_threads);
        drop(state);
        match reserved {
            Some(reserved) => this.start(reserved, number..number + 1, runtime),
            None => Ok(()),
        }
    }

    /// Has calls made, under one lock. It wakes as many threads as are idle, and starts one at most: that one starts the
    /// next, and so on, as long as calls wait.
    ///
    /// # Errors
    /// There is no thread, and the system refuses one. The calls are dropped, but for those that were handed to a
    /// thread that is gone by now.
    pub(crate) fn push_all(
        this: &Arc<Self>,
        calls: Vec<Runnable>,
        runtime: &RuntimeHandle,
    ) -> Result<(), NoThread> {
        let mut state = this.state.lock();
        if state.is_stopped() {
            drop(state);
            drop(calls);
            return Ok(());
        }
        let first = state.next_number();
        let to_wake: Vec<_> = calls.into_iter().filter_map(|call| state.place(call)).collect();
        let numbers = first..state.next_number();
        let reserved = state.reserve(this.config.max_threads);
        drop(state);
        to_wake.iter().for_each(|mailbox| mailbox.wake());
        let Some(reserved) = reserved else { return Ok(()) };
        this.start(reserved, numbers, runtime).map_err(|mut refused| {
            // The first ones went to idle threads.
            refused.calls.iter_mut().for_each(|call| *call += to_wake.len());
            refused
        })
    }

    /// Starts a thread that was counted. If the system refuses it and there is no other, drops the calls with these
    /// numbers, which nobody would make.
    #[cold]
    fn start(
        self: &Arc<Self>,
        reserved: Reserved,
        numbers: Range<u64>,
        runtime: &RuntimeHandle,
    ) -> Result<(), NoThread> {
        let Reserved { id, running } = reserved;
        let name = format!("{}-blocking-{id}", self.config.thread_name);
        let mut builder = thread::Builder::new().name(name);
        if let Some(bytes) = self.config.stack_size {
            builder = builder.stack_size(bytes);
        }
        let (threads, runtime) = (Arc::clone(self), runtime.clone());
        let started = builder.spawn(move || {
            worker_id::help(runtime.pool());
            let current = current::enter(runtime.clone());
            let before = threads.work(id, &runtime);
            drop((current, threads, runtime));
            if let Some(before) = before {
                // It was past its last look when we had ours. The threads contain every panic.
                let _ = before.join();
            }
            drop(running);
        });
        match started {
            Ok(handle) => {
                let before = self.state.lock().started(id, handle);
                // Let go of, not waited for: this may be a worker.
                drop(before);
                Ok(())
            }
            Err(source) => {
                let back = self.state.lock().refused(id, &numbers);
                if back.is_empty() {
                    // Those that are there make them when they have time.
                    return Ok(());
                }
                let calls = back.iter().map(|(number, _call)| (number - numbers.start) as usize);
                let calls = calls.collect();
                drop(back);
                Err(NoThread { source, calls })
            }
        }
    }

    /// What a thread does. Returns the handle of the thread that left before this one.
    fn work(self: &Arc<Self>, id: u64, runtime: &RuntimeHandle) -> Option<thread::JoinHandle<()>> {
        let parker = Parker::new();
        let mailbox = Arc::new(Mailbox::new(parker.unparker()));
        let mut is_first_look = true;
        loop {
            let mut state = self.state.lock();
            if std::mem::take(&mut is_first_look) {
                state.looks(id);
            }
            if let Some(call) = state.take() {
                let reserved = state.reserve(self.config.max_threads);
                drop(state);
                if let Some(reserved) = reserved {
                    // Refused: then those that are there have to do, and one is here.
                    let _ = self.start(reserved, 0..0, runtime);
                }
                make(call);
                continue;
            }
            if state.is_done() {
                return state.leave(id);
            }
            state.idle.push(Arc::clone(&mailbox));
            drop(state);
            if !parker.park_timeout(self.config.keep_alive) {
                let mut state = self.state.lock();
                if state.leave_idle(&mailbox) {
                    return state.leave(id);
                }
                drop(state);
                // Somebody has taken us off the list: the token is on its way.
                parker.park();
            }
            if let Some(call) = mailbox.take() {
                make(call);
            }
        }
    }

    /// Waits until every thread has ended, for at most `timeout`; says whether they have. The pool must be done.
    pub(super) fn wait(&self, all_ended: &Receiver<Infallible>, timeout: Duration) -> bool {
        match all_ended.recv_timeout(timeout) {
            Ok(never) => match never {},
            Err(RecvTimeoutError::Timeout) => return false,
            Err(RecvTimeoutError::Disconnected) => {}
        }
        // Past their last line; what is left of them is the system's.
        let (threads, retired) = {
            let mut state = self.state.lock();
            (std::mem::take(&mut state.threads), state.retired.take())
        };
        let handles = threads.into_values().filter_map(|thread| match thread {
            Thread::Running(handle) => Some(handle),
            Thread::Starting | Thread::Unclaimed | Thread::Left => None,
        });
        let myself = thread::current().id();
        for handle in handles.chain(retired).filter(|handle| handle.thread().id() != myself) {
            let _ = handle.join();
        }
        true
    }
}

/// Makes a call, or drops it if it was aborted.
fn make(call: Runnable) {
    // The call's own panic is contained further in; this one is of what its output drops, or of whom its end wakes.
    contain(|| {
        call.run();
    });
}

/// What the pool knows of its threads for blocking calls.
#[derive(Debug)]
pub(crate) struct AttachedThreads(pub(crate) Arc<BlockingThreads>);

impl Attached for AttachedThreads {
    fn pool_stopped(&self) {
        let dropped = self.0.state.lock().stop();
        // One by one: of two that panic in one `drop` of the vector, the second would end the process.
        for call in dropped {
            contain(|| drop(call));
        }
    }

    fn pool_done(&self) {
        let to_wake = self.0.state.lock().end();
        to_wake.iter().for_each(|mailbox| mailbox.wake());
    }

    fn add_to(&self, snapshot: &mut MetricsSnapshot) {
        let state = self.0.state.lock();
        snapshot.blocking_threads = state.threads.len() as u64;
        snapshot.blocking_threads_idle = state.idle.len() as u64;
        snapshot.blocking_queue_depth = state.queued() as u64;
    }
}

/// The owner's end of the threads: dropped, it waits for them.
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

    /// Waits for the threads for at most `timeout`; says whether they have ended. The pool must be done.
    pub(crate) fn wait_timeout(&self, timeout: Duration) -> bool {
        self.threads.wait(&self.all_ended.lock(), timeout)
    }

    /// Leaves the threads to themselves: they end when their calls do.
    pub(crate) fn leave_behind(mut self) {
        self.waits = false;
    }
}

impl Drop for BlockingOwner {
    fn drop(&mut self) {
        // One of the pool's own threads does not wait for itself: they end when the pool is done.
        if self.waits && !worker_id::is_thread_of(self.pool) {
            self.wait_timeout(Duration::MAX);
        }
    }
}
