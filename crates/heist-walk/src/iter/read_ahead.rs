//! [`ReadAhead`]: threads that read directories before the caller reaches them.
//!
//! Requests to read a directory are on a stack, with the one that the caller needs first on top. A
//! reader that has read a directory pushes requests for the directories in it, in reverse order. A
//! thread takes the top request, unless the listings that were read ahead already use all of their
//! memory. Then it sleeps until the caller has taken some of them.
//!
//! No deadlock: the caller waits only for a request that a thread has claimed, and only if it has
//! nothing to read itself meanwhile. A thread that has claimed a request finishes it without
//! waiting for anything here. If no thread has claimed a request, the caller reads the directory
//! itself, even if the memory is full of later listings.
//!
//! Not guaranteed: that the stack is always in the caller's order. Two threads that read at the
//! same time push their requests in the order in which they finish. That makes reading ahead less
//! effective, but never changes what the caller receives.

use super::sorted_listing::{DirectoryReader, ListingRequest, RequestState, SortedListing};
use crate::counters::Progress;
use crate::engine::{Engine, WalkTask};
use crate::error::WalkStartError;
use heist::ExecutorConfig;
use std::any::Any;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Reads directories ahead of the caller on its own threads.
#[derive(Debug)]
pub(super) struct ReadAhead {
    shared: Arc<ReadAheadState>,
    /// The reader of the calling thread.
    reader: DirectoryReader,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug)]
struct ReadAheadState {
    engine: Arc<Engine>,
    /// How much memory listings that were read ahead may use. Each thread may exceed it by the
    /// directory it is reading.
    max_bytes: usize,
    queue: Mutex<ReadAheadQueue>,
    /// Wakes threads: there is a request and memory for it, or the walk is over.
    work: Condvar,
    /// Wakes the caller: a listing is done.
    read: Condvar,
}

#[derive(Debug, Default)]
struct ReadAheadQueue {
    /// The top is the back.
    stack: VecDeque<Arc<ListingRequest>>,
    /// The memory of listings that were read ahead and not yet taken by the caller.
    bytes: usize,
    /// How many threads sleep and have not been woken. Waking is a system call even if no thread
    /// sleeps, so it is avoided. A thread that wakes spuriously is counted twice and then woken
    /// once too often, which does no harm.
    idle: usize,
    /// Whether the caller sleeps.
    caller_waits: bool,
    is_over: bool,
    panic: Option<PanicPayload>,
}

/// What a thread panicked with.
struct PanicPayload(Box<dyn Any + Send>);

impl std::fmt::Debug for PanicPayload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PanicPayload")
    }
}

impl ReadAhead {
    /// Starts the threads. The calling thread is one of `config.threads`.
    pub(super) fn new(
        engine: Engine,
        config: &ExecutorConfig,
        max_bytes: usize,
        progress: &Progress,
    ) -> Result<Self, WalkStartError> {
        let engine = Arc::new(engine);
        let shared = Arc::new(ReadAheadState {
            engine: Arc::clone(&engine),
            max_bytes,
            queue: Mutex::default(),
            work: Condvar::new(),
            read: Condvar::new(),
        });
        let reader = DirectoryReader::new(Arc::clone(&engine), progress.add_worker());
        // If a thread is refused, dropping this value ends the threads that were started.
        let mut ahead = Self { shared, reader, threads: Vec::new() };
        #[cfg(all(test, target_os = "linux", not(heist_portable)))]
        let faults = crate::sys::fault::FaultPlan::current();
        for thread in 1..config.threads {
            let shared = Arc::clone(&ahead.shared);
            let reader = DirectoryReader::new(Arc::clone(&engine), progress.add_worker());
            #[cfg(all(test, target_os = "linux", not(heist_portable)))]
            let faults = faults.clone();
            let mut builder =
                std::thread::Builder::new().name(format!("{}-{thread}", config.thread_name));
            if let Some(bytes) = config.stack_size {
                builder = builder.stack_size(bytes);
            }
            let handle = builder
                .spawn(move || {
                    #[cfg(all(test, target_os = "linux", not(heist_portable)))]
                    crate::sys::fault::FaultPlan::install(faults);
                    shared.work(reader);
                })
                .map_err(|source| WalkStartError::SpawnThread { thread, source })?;
            ahead.threads.push(handle);
        }
        Ok(ahead)
    }

    /// Adds a request that the caller reaches after all others.
    pub(super) fn add_last(&self, request: Arc<ListingRequest>) {
        let mut queue = self.shared.lock();
        queue.stack.push_front(request);
        self.shared.wake_threads(&mut queue, 1);
    }

    pub(super) fn engine(&self) -> &Engine {
        &self.shared.engine
    }

    /// Returns the listing of a request, and reads it if no thread has claimed it.
    pub(super) fn take(&mut self, request: &Arc<ListingRequest>) -> SortedListing {
        let mut queue = self.shared.lock();
        loop {
            match request.claim() {
                RequestState::Done(listing) => {
                    let was_full = queue.bytes >= self.shared.max_bytes;
                    queue.bytes -= listing.bytes;
                    if was_full {
                        let waiting = queue.stack.len();
                        self.shared.wake_threads(&mut queue, waiting);
                    }
                    return listing;
                }
                RequestState::Waiting(task) => {
                    queue.pop_claimed();
                    drop(queue);
                    let listing = self.shared.stop_walk_on_panic(|| self.reader.read(task));
                    // The caller enters the first directory itself. A thread that took it would
                    // only get in its way.
                    self.shared.push(&mut self.shared.lock(), &listing, 1);
                    return listing;
                }
                RequestState::Claimed => {
                    if let Some(PanicPayload(payload)) = queue.panic.take() {
                        drop(queue);
                        return self.shared.stop_walk_on_panic(|| resume_unwind(payload));
                    }
                    // Instead of waiting, the caller reads a later directory.
                    queue = match self.shared.next(&mut queue) {
                        Some((other, task)) => {
                            drop(queue);
                            let read = || self.shared.read_ahead(&other, task, &mut self.reader);
                            self.shared.stop_walk_on_panic(read)
                        }
                        None => {
                            queue.caller_waits = true;
                            self.shared.read.wait(queue).unwrap_or_else(PoisonError::into_inner)
                        }
                    };
                }
            }
        }
    }

    /// Ends the threads and waits for them.
    pub(super) fn end(&mut self) {
        self.shared.engine.stop.cancel();
        let mut queue = self.shared.lock();
        queue.is_over = true;
        let stack = std::mem::take(&mut queue.stack);
        drop(queue);
        self.shared.work.notify_all();
        for thread in self.threads.drain(..) {
            // A thread catches its own panics.
            let _ = thread.join();
        }
        drop(stack);
    }
}

impl Drop for ReadAhead {
    fn drop(&mut self) {
        self.end();
    }
}

impl ReadAheadQueue {
    /// Pops requests that the caller has taken out of order.
    fn pop_claimed(&mut self) {
        while self.stack.back().is_some_and(|request| request.is_claimed()) {
            self.stack.pop_back();
        }
    }
}

impl ReadAheadState {
    fn lock(&self) -> MutexGuard<'_, ReadAheadQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Pushes requests for the directories of a listing, except the first `left_out`.
    fn push(&self, queue: &mut ReadAheadQueue, listing: &SortedListing, left_out: usize) {
        let before = queue.stack.len();
        queue.stack.extend(listing.requests().map(Arc::clone));
        let added = (queue.stack.len() - before).saturating_sub(left_out);
        queue.stack.truncate(before + added);
        self.wake_threads(queue, added);
    }

    fn wake_threads(&self, queue: &mut ReadAheadQueue, requests: usize) {
        if queue.bytes < self.max_bytes {
            let woken = requests.min(queue.idle);
            queue.idle -= woken;
            for _ in 0..woken {
                self.work.notify_one();
            }
        }
    }

    /// Claims the request that the caller needs first, if there is one and enough memory.
    fn next(
        &self,
        queue: &mut ReadAheadQueue,
    ) -> Option<(Arc<ListingRequest>, WalkTask<(), Infallible>)> {
        while queue.bytes < self.max_bytes {
            let request = queue.stack.pop_back()?;
            if let Some(task) = request.try_claim() {
                return Some((request, task));
            }
        }
        None
    }

    /// Reads a claimed request in advance.
    fn read_ahead(
        &self,
        request: &ListingRequest,
        task: WalkTask<(), Infallible>,
        reader: &mut DirectoryReader,
    ) -> MutexGuard<'_, ReadAheadQueue> {
        let listing = reader.read(task);
        let mut queue = self.lock();
        queue.bytes += listing.bytes;
        self.push(&mut queue, &listing, 0);
        request.set_done(listing);
        if std::mem::take(&mut queue.caller_waits) {
            self.read.notify_one();
        }
        queue
    }

    /// Runs a part of the caller's `next`. If it panics, the walk is over: a request stays claimed
    /// that no reader will finish, and a caller that came back would wait for it forever.
    fn stop_walk_on_panic<R>(&self, run: impl FnOnce() -> R) -> R {
        catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|payload| {
            self.engine.stop.cancel();
            resume_unwind(payload)
        })
    }

    /// The loop of a thread.
    fn work(&self, mut reader: DirectoryReader) {
        let worked = catch_unwind(AssertUnwindSafe(|| {
            let mut queue = self.lock();
            while !queue.is_over {
                queue = match self.next(&mut queue) {
                    Some((request, task)) => {
                        drop(queue);
                        self.read_ahead(&request, task, &mut reader)
                    }
                    None => {
                        queue.idle += 1;
                        self.work.wait(queue).unwrap_or_else(PoisonError::into_inner)
                    }
                };
            }
        }));
        if let Err(payload) = worked {
            let mut queue = self.lock();
            // No reader will finish the request that this thread claimed, so the caller has to
            // learn of the panic.
            queue.panic.get_or_insert(PanicPayload(payload));
            queue.is_over = true;
            drop(queue);
            self.work.notify_all();
            self.read.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Walk;

    /// The caller waits for one request, meanwhile reads a later one, and that panics. No reader
    /// will ever finish the later request, so a caller that reaches it must not wait for it.
    #[test]
    fn a_panic_of_the_caller_while_it_reads_ahead_ends_the_walk() {
        let root = tempfile::tempdir().expect("a directory");
        std::fs::write(root.path().join("panics on purpose"), "").expect("a file");
        let walk = Walk::new(root.path()).threads(Some(1));
        let progress = walk.progress();
        let config = walk.settings.checked_executor().expect("settings");
        let mut ahead = ReadAhead::new(walk.settings.into_engine().0, &config, 1 << 20, &progress)
            .expect("a walk");

        let read_by_another = ListingRequest::root(0);
        assert!(matches!(read_by_another.claim(), RequestState::Waiting(_)));
        ahead.add_last(ListingRequest::root(0));
        let panicked = catch_unwind(AssertUnwindSafe(|| ahead.take(&read_by_another)));
        assert!(panicked.is_err());
        assert!(ahead.engine().stop.is_cancelled(), "a caller that comes back would wait forever");
    }
}
