//! [`Ahead`]: reading directories before the caller comes to them.
//!
//! Places that wait are on a stack with the one that the caller needs first on top: whoever has read a directory puts
//! the directories in it there, the first of them last. A worker takes the top, unless what was read ahead already
//! takes as much memory as it may; then it sleeps until the caller has taken some of it.
//!
//! Why nobody waits for ever: the caller waits only for a place that somebody else has claimed (and only if there is
//! nothing that he could read meanwhile), and who has claimed a place reads it to its end without waiting for
//! anything here. A place that nobody has claimed the caller reads himself, however full of later directories the
//! memory is.
//!
//! Not guaranteed: that the stack is in the caller's order throughout. Two workers that read at the same time put
//! their directories there in the order in which they are done. That costs read-ahead, and never changes what the
//! caller gets.

use super::listing::{Listing, Place, Reader, State};
use crate::counters::Progress;
use crate::engine::{Engine, WalkTask};
use crate::walk::WalkStartError;
use heist::ExecutorConfig;
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
    /// Workers that sleep and that nobody has woken. (To wake is a system call, whether somebody sleeps or not. One
    /// that wakes for no reason is counted twice when it sleeps again, and then woken once too often.)
    idle: usize,
    /// Whether the caller sleeps.
    caller_waits: bool,
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
    /// Begins. The caller is one of `config.workers`.
    pub(super) fn new(
        engine: Engine,
        config: &ExecutorConfig,
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
        for worker in 1..config.workers {
            let shared = Arc::clone(&ahead.shared);
            let reader = Reader::new(Arc::clone(&engine), progress.add_worker());
            #[cfg(all(test, target_os = "linux", not(heist_portable)))]
            let faults = faults.clone();
            let mut builder =
                std::thread::Builder::new().name(format!("{}-{worker}", config.thread_name));
            if let Some(bytes) = config.stack_size {
                builder = builder.stack_size(bytes);
            }
            let thread = builder
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
        self.shared.wake_workers(&mut queue, 1);
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
                        let waiting = queue.stack.len();
                        self.shared.wake_workers(&mut queue, waiting);
                    }
                    return listing;
                }
                State::Waiting(task) => {
                    queue.forget_claimed();
                    drop(queue);
                    let listing = self.shared.end_if_it_panics(|| self.reader.read(task));
                    // He goes into the first directory himself. Told of it, a worker would just be in his way.
                    self.shared.push(&mut self.shared.lock(), &listing, 1);
                    return listing;
                }
                State::Claimed => {
                    if let Some(Payload(payload)) = queue.panic.take() {
                        drop(queue);
                        return self.shared.end_if_it_panics(|| resume_unwind(payload));
                    }
                    // Rather than wait, the caller reads what comes after it.
                    queue = match self.shared.next(&mut queue) {
                        Some((other, task)) => {
                            drop(queue);
                            let read = || self.shared.read_ahead(&other, task, &mut self.reader);
                            self.shared.end_if_it_panics(read)
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

    /// Puts the directories of a listing on top, without the first `left_out`.
    fn push(&self, queue: &mut Queue, listing: &Listing, left_out: usize) {
        let before = queue.stack.len();
        queue.stack.extend(listing.places().map(Arc::clone));
        let added = (queue.stack.len() - before).saturating_sub(left_out);
        queue.stack.truncate(before + added);
        self.wake_workers(queue, added);
    }

    fn wake_workers(&self, queue: &mut Queue, places: usize) {
        if queue.bytes < self.most_bytes {
            let woken = places.min(queue.idle);
            queue.idle -= woken;
            for _ in 0..woken {
                self.work.notify_one();
            }
        }
    }

    /// Claims the place that the caller needs first, if there is one, and room for it.
    fn next(&self, queue: &mut Queue) -> Option<(Arc<Place>, WalkTask<()>)> {
        while queue.bytes < self.most_bytes {
            let place = queue.stack.pop_back()?;
            if let Some(task) = place.try_claim() {
                return Some((place, task));
            }
        }
        None
    }

    /// Reads a place that was claimed, for when the caller comes there.
    fn read_ahead(
        &self,
        place: &Place,
        task: WalkTask<()>,
        reader: &mut Reader,
    ) -> MutexGuard<'_, Queue> {
        let listing = reader.read(task);
        let mut queue = self.lock();
        queue.bytes += listing.bytes;
        self.push(&mut queue, &listing, 0);
        place.set_read(listing);
        if std::mem::take(&mut queue.caller_waits) {
            self.read.notify_one();
        }
        queue
    }

    /// Runs what the caller does in `next`. If that panics, the walk is over: a place stays claimed that no reader will
    /// ever finish, and a caller that came back would wait for it forever.
    fn end_if_it_panics<R>(&self, run: impl FnOnce() -> R) -> R {
        catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|payload| {
            self.engine.stop.cancel();
            resume_unwind(payload)
        })
    }

    /// A worker's life.
    fn work(&self, mut reader: Reader) {
        let worked = catch_unwind(AssertUnwindSafe(|| {
            let mut queue = self.lock();
            while !queue.is_over {
                queue = match self.next(&mut queue) {
                    Some((place, task)) => {
                        drop(queue);
                        self.read_ahead(&place, task, &mut reader)
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
            // Its claim will never be read: whoever waits for that is told.
            queue.panic.get_or_insert(Payload(payload));
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

    /// The caller waits for one place and meanwhile reads a later one, which panics. No reader will ever finish that
    /// place: a caller that comes to it afterwards must not wait for it.
    #[test]
    fn a_panic_of_the_caller_while_it_reads_ahead_ends_the_walk() {
        let root = tempfile::tempdir().expect("a directory");
        std::fs::write(root.path().join("panics on purpose"), "").expect("a file");
        let walk = Walk::new(root.path()).threads(Some(1));
        let progress = walk.progress();
        let config = walk.checked_executor().expect("settings");
        let mut ahead =
            Ahead::new(walk.into_engine().0, &config, 1 << 20, &progress).expect("a walk");

        let read_by_another = Place::root(0);
        assert!(matches!(read_by_another.claim(), State::Waiting(_)));
        ahead.add_last(Place::root(0));
        let panicked = catch_unwind(AssertUnwindSafe(|| ahead.take(&read_by_another)));
        assert!(panicked.is_err());
        assert!(ahead.engine().stop.is_cancelled(), "the caller would come back and wait forever");
    }
}
