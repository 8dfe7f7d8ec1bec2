//! [`Ahead`]: reading directories before the caller comes to them.
//!
//! Places that wait are on a stack with the one that the caller needs first on top: whoever has read a directory puts the
//! directories in it there, the first of them last. A worker takes the top, unless what was read ahead already takes as much
//! memory as it may; then it sleeps until the caller has taken some of it.
//!
//! Why nobody waits for ever: the caller waits only for a place that somebody else has claimed, and who has claimed a place
//! reads it to its end without waiting for anything here. A place that nobody has claimed the caller reads himself, however
//! full of later directories the memory is.
//!
//! Not guaranteed: that the stack is in the caller's order throughout. Two workers that read at the same time put their
//! directories there in the order in which they are done. That costs read-ahead, and never changes what the caller gets.

use super::listing::{Listing, Place, Reader, State};
use crate::counters::Progress;
use crate::engine::Engine;
use crate::walk::{STACK_BYTES, WalkStartError};
use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Reads ahead, on threads of its own.
#[derive(Debug)]
pub(super) struct Ahead {
    shared: Arc<Shared>,
    /// The caller's own hands.
    reader: Reader,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    engine: Arc<Engine>,
    /// What may be read ahead, in memory. Each worker may exceed it by the directory at hand.
    most_bytes: usize,
    queue: Mutex<Queue>,
    /// For workers: there is something to read, and room for it; or the end.
    work: Condvar,
    /// For the caller: something was read.
    read: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    /// The top is the back.
    stack: VecDeque<Arc<Place>>,
    /// What was read ahead, and the caller has not taken yet.
    bytes: usize,
    /// Workers that sleep.
    idle: usize,
    is_over: bool,
    panic: Option<Payload>,
}

/// What somebody panicked with.
struct Payload(Box<dyn Any + Send>);

impl std::fmt::Debug for Payload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Payload")
    }
}

impl Ahead {
    /// Begins. The caller is one of `threads`.
    pub(super) fn new(
        engine: Engine,
        threads: usize,
        most_bytes: usize,
        progress: &Progress,
    ) -> Result<Self, WalkStartError> {
        let engine = Arc::new(engine);
        let shared = Arc::new(Shared {
            engine: Arc::clone(&engine),
            most_bytes,
            queue: Mutex::default(),
            work: Condvar::new(),
            read: Condvar::new(),
        });
        let reader = Reader::new(Arc::clone(&engine), progress.add_worker());
        // Should a thread be refused, those that were started are ended when this is dropped.
        let mut ahead = Self { shared, reader, threads: Vec::new() };
        #[cfg(all(test, target_os = "linux", not(heist_portable)))]
        let faults = crate::sys::fault::Plan::current();
        for worker in 1..threads {
            let shared = Arc::clone(&ahead.shared);
            let reader = Reader::new(Arc::clone(&engine), progress.add_worker());
            #[cfg(all(test, target_os = "linux", not(heist_portable)))]
            let faults = faults.clone();
            let thread = std::thread::Builder::new()
                .name("heist-walk".to_owned())
                .stack_size(STACK_BYTES)
                .spawn(move || {
                    #[cfg(all(test, target_os = "linux", not(heist_portable)))]
                    crate::sys::fault::Plan::install(faults);
                    shared.work(reader);
                })
                .map_err(|source| WalkStartError::Thread { worker, source })?;
            ahead.threads.push(thread);
        }
        Ok(ahead)
    }

    /// Something that the caller will come to after everything else.
    pub(super) fn add_last(&self, place: Arc<Place>) {
        let mut queue = self.shared.lock();
        queue.stack.push_front(place);
        self.shared.wake_workers(&queue, 1);
    }

    pub(super) fn engine(&self) -> &Engine {
        &self.shared.engine
    }

    /// What is in a place: read by whoever is first.
    pub(super) fn take(&mut self, place: &Arc<Place>) -> Listing {
        let mut queue = self.shared.lock();
        loop {
            match place.claim() {
                State::Read(listing) => {
                    let was_full = queue.bytes >= self.shared.most_bytes;
                    queue.bytes -= listing.bytes;
                    if was_full {
                        self.shared.wake_workers(&queue, queue.stack.len());
                    }
                    return listing;
                }
                State::Waiting(task) => {
                    queue.forget_claimed();
                    drop(queue);
                    let listing = self.reader.read(task);
                    let mut queue = self.shared.lock();
                    self.shared.push(&mut queue, &listing);
                    return listing;
                }
                State::Claimed => {
                    if let Some(Payload(payload)) = queue.panic.take() {
                        drop(queue);
                        // Should the caller ask again, this was the end.
                        self.shared.engine.stop.cancel();
                        resume_unwind(payload);
                    }
                    queue = self.shared.read.wait(queue).unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }

    /// Ends the threads, and waits for them.
    pub(super) fn end(&mut self) {
        self.shared.engine.stop.cancel();
        let mut queue = self.shared.lock();
        queue.is_over = true;
        let stack = std::mem::take(&mut queue.stack);
        drop(queue);
        self.shared.work.notify_all();
        for thread in self.threads.drain(..) {
            // It contains its panics.
            let _ = thread.join();
        }
        drop(stack);
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.end();
    }
}

impl Queue {
    /// Drops what the caller has taken out of order, as far as it is on top.
    fn forget_claimed(&mut self) {
        while self.stack.back().is_some_and(|place| place.is_claimed()) {
            self.stack.pop_back();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts the directories of a listing on top.
    fn push(&self, queue: &mut Queue, listing: &Listing) {
        let before = queue.stack.len();
        queue.stack.extend(listing.places().map(Arc::clone));
        let added = queue.stack.len() - before;
        self.wake_workers(queue, added);
    }

    fn wake_workers(&self, queue: &Queue, places: usize) {
        if queue.bytes < self.most_bytes {
            for _ in 0..places.min(queue.idle) {
                self.work.notify_one();
            }
        }
    }

    /// A worker's life.
    fn work(&self, mut reader: Reader) {
        let worked = catch_unwind(AssertUnwindSafe(|| {
            let mut queue = self.lock();
            while !queue.is_over {
                let next =
                    if queue.bytes < self.most_bytes { queue.stack.pop_back() } else { None };
                let Some(place) = next else {
                    queue.idle += 1;
                    queue = self.work.wait(queue).unwrap_or_else(PoisonError::into_inner);
                    queue.idle -= 1;
                    continue;
                };
                let Some(task) = place.try_claim() else { continue };
                drop(queue);
                let listing = reader.read(task);
                queue = self.lock();
                queue.bytes += listing.bytes;
                self.push(&mut queue, &listing);
                place.set_read(listing);
                self.read.notify_one();
            }
        }));
        if let Err(payload) = worked {
            let mut queue = self.lock();
            // Its claim will never be read: whoever waits for that is told.
            queue.panic.get_or_insert(Payload(payload));
            queue.is_over = true;
            drop(queue);
            self.work.notify_all();
            self.read.notify_all();
        }
    }
}
