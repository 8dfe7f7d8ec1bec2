//! [`Entries`]: the entries of a walk, as it finds them.
//!
//! Each worker's visitor [collects](super::batching_visitor) entries and sends them in batches
//! through a bounded channel. If the channel is full, the worker blocks, so a slow caller slows the
//! walk down. A separate thread joins the walk; the channel ends with the walk's last visitor.
//!
//! Invariant: at most [`BATCHES_WAITING`] batches wait in the channel. In addition each worker
//! holds one batch, and the caller one.
//!
//! Not guaranteed: any order between directories.

use super::batching_visitor::{Batch, BatchItem, BatchingVisitor};
use super::walk_entry::WalkEntry;
use crate::error::{WalkError, WalkStartError};
use crate::walk::{RunningWalk, Walk};
use heist::CancelToken;
use heist::trace::Tracer;
use std::iter::FusedIterator;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel, sync_channel};
use std::thread::JoinHandle;

/// Enough that a caller as fast as the walk rarely waits. With batches of 256 entries of about 100
/// bytes this is at most 1.6 MB.
const BATCHES_WAITING: usize = 64;

impl<T: Tracer> Walk<T> {
    /// Walks on background threads and returns the entries as they are found.
    ///
    /// A directory comes before its contents. Otherwise there is no fixed order; use
    /// [`Walk::sorted`] if you need one. A slow caller slows the walk down: at most about 16,000
    /// entries wait for it, and up to 256 more on each thread. Dropping the iterator ends the walk.
    ///
    /// ```
    /// use heist_walk::Walk;
    ///
    /// for entry in Walk::new("src").entries()? {
    ///     match entry {
    ///         Ok(entry) => println!("{}", entry.path().display()),
    ///         Err(error) => eprintln!("{error}"),
    ///     }
    /// }
    /// # Ok::<(), heist_walk::WalkStartError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error under the same conditions as [`Walk::run`]. Problems in the tree do not end
    /// the walk: the iterator returns them as errors.
    pub fn entries(self) -> Result<Entries, WalkStartError> {
        let (sender, receiver) = sync_channel(BATCHES_WAITING);
        // Started before the walk: if this thread were refused later, workers blocked on the full
        // channel could not be joined.
        let (hand_over, running) = channel::<RunningWalk<BatchingVisitor>>();
        let join = move || {
            if let Ok(running) = running.recv() {
                // The visitors send their last batches when they are dropped, and the last one ends
                // the channel.
                drop(running.join());
            }
        };
        let joiner = std::thread::Builder::new()
            .name("heist-walk".to_owned())
            .spawn(join)
            .map_err(|source| WalkStartError::SpawnThread { thread: 0, source })?;
        let running = self.start(false, move |_| BatchingVisitor::new(sender.clone()))?;
        let stop = running.stop();
        // The thread is waiting to receive it.
        let _ = hand_over.send(running);
        Ok(Entries {
            receiver: Some(receiver),
            batch: Vec::new().into_iter(),
            within: None,
            min_depth: 0,
            joiner: Some(joiner),
            stop,
        })
    }
}

/// The entries of a walk, as it finds them. Created by [`Walk::entries`].
///
/// Dropping it ends the walk and waits for its threads.
///
/// # Panics
///
/// `next` rethrows a panic of the walk.
#[derive(Debug)]
pub struct Entries {
    /// `None` at the end.
    receiver: Option<Receiver<Batch>>,
    batch: std::vec::IntoIter<BatchItem>,
    /// The directory of the next entries in the batch.
    within: Option<Arc<Path>>,
    min_depth: u32,
    joiner: Option<JoinHandle<()>>,
    stop: CancelToken,
}

impl Entries {
    /// Leaves out entries at a lower depth, for example the roots with 1. Errors are returned at
    /// any depth.
    #[must_use]
    pub fn min_depth(mut self, min_depth: usize) -> Self {
        self.min_depth = u32::try_from(min_depth).unwrap_or(u32::MAX);
        self
    }

    /// Waits for the last thread of a walk that has ended.
    fn end(&mut self) {
        self.receiver = None;
        if let Some(joiner) = self.joiner.take()
            && let Err(payload) = joiner.join()
        {
            resume_unwind(payload);
        }
    }
}

impl Iterator for Entries {
    type Item = Result<WalkEntry, WalkError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.batch.next() {
                Some(BatchItem::Directory(within)) => self.within = within,
                Some(BatchItem::Entry(data)) if data.depth < self.min_depth => {}
                Some(BatchItem::Entry(data)) => {
                    return Some(Ok(WalkEntry::new(self.within.clone(), data)));
                }
                Some(BatchItem::Error(error)) => return Some(Err(error)),
                None => match self.receiver.as_ref()?.recv() {
                    Ok(batch) => self.batch = batch.into_iter(),
                    Err(_) => {
                        self.end();
                        return None;
                    }
                },
            }
        }
    }
}

impl FusedIterator for Entries {}

impl Drop for Entries {
    fn drop(&mut self) {
        self.stop.cancel();
        // Wakes workers that wait for room in the channel.
        self.receiver = None;
        if let Some(joiner) = self.joiner.take() {
            // A caller that drops the iterator does not need the panic, and rethrowing it here
            // could abort the process.
            let _ = joiner.join();
        }
    }
}
