//! [`Entries`]: a walk's entries, as they are found.
//!
//! Each worker's visitor [gathers](super::gatherer) entries and sends them in batches through a bounded channel. A
//! full channel blocks the worker, and so holds the walk back. The walk is joined by a thread of its own, which ends
//! the channel.
//!
//! Invariant: at most [`BATCHES_WAITING`] batches wait in the channel, each worker has one in its hands, and the
//! caller one.
//!
//! Not guaranteed: any order between directories.

use super::found::WalkEntry;
use super::gatherer::{Batch, Gatherer, Item};
use crate::error::WalkError;
use crate::walk::{Running, Walk, WalkStartError};
use heist::CancelToken;
use heist::trace::NoTrace;
use std::iter::FusedIterator;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel, sync_channel};
use std::thread::JoinHandle;

/// Enough that a caller who is as fast as the walk finds something whenever he asks. With batches of 256 entries of
/// some 100 bytes it is 1.6 MB at most.
const BATCHES_WAITING: usize = 64;

impl Walk {
    /// Walks on threads in the background, and gives the entries one by one as they are found.
    ///
    /// A directory comes before what is in it; otherwise there is no order, and it is another one each time (for one
    /// order, see [`Walk::sorted`]). A caller who is slow holds the walk back: about 16,000 entries wait for him at
    /// most, and up to 256 on each thread. One who drops the iterator ends the walk.
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
    /// The system refuses a thread, or a setting cannot be used: [`threads`](Walk::threads) is 0, or a field that
    /// [`executor`](Walk::executor) changed has an impossible value. What goes wrong in the tree comes from the
    /// iterator, and the walk goes on.
    pub fn entries(self) -> Result<Entries, WalkStartError> {
        let (sender, receiver) = sync_channel(BATCHES_WAITING);
        // Before the walk: workers that wait for room could not be ended by whoever finds that there is no thread to
        // join them.
        let (hand_over, running) = channel::<Running<Gatherer>>();
        let join = move || {
            if let Ok(running) = running.recv() {
                // The visitors send what they have left when they are dropped, and the last one ends the channel.
                drop(running.join());
            }
        };
        let joiner = std::thread::Builder::new()
            .name("heist-walk".to_owned())
            .spawn(join)
            .map_err(|source| WalkStartError::Thread { worker: 0, source })?;
        let running = self.start(NoTrace, false, move |_| Gatherer::new(sender.clone()))?;
        let stop = running.stop();
        // It waits for just that.
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

/// A walk's entries, as they are found: see [`Walk::entries`].
///
/// Dropping it ends the walk and waits for its threads.
///
/// # Panics
/// `next` rethrows a panic of the walk.
#[derive(Debug)]
pub struct Entries {
    /// `None` at the end.
    receiver: Option<Receiver<Batch>>,
    batch: std::vec::IntoIter<Item>,
    /// The directory that the batch's next entries are in.
    within: Option<Arc<Path>>,
    min_depth: u32,
    joiner: Option<JoinHandle<()>>,
    stop: CancelToken,
}

impl Entries {
    /// Leaves out entries that are less far below their root: with 1 the roots. Errors come all the same.
    #[must_use]
    pub fn min_depth(mut self, min_depth: usize) -> Self {
        self.min_depth = u32::try_from(min_depth).unwrap_or(u32::MAX);
        self
    }

    /// The walk has ended: waits for the last of its threads.
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
                Some(Item::Within(within)) => self.within = within,
                Some(Item::Found(found)) if found.depth < self.min_depth => {}
                Some(Item::Found(found)) => {
                    return Some(Ok(WalkEntry::new(self.within.clone(), found)));
                }
                Some(Item::Failed(error)) => return Some(Err(error)),
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
        // Wakes whoever waits for room.
        self.receiver = None;
        if let Some(joiner) = self.joiner.take() {
            // Who drops it does not ask how the walk went; and rethrowing here could abort the process.
            let _ = joiner.join();
        }
    }
}
