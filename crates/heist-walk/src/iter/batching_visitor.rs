//! [`BatchingVisitor`]: the visitor that sends entries to the caller in batches.
//!
//! A visitor sends its batch when the batch is full, when it enters a directory and the last send
//! was [`LONGEST_WAIT`] ago, and when its worker runs out of work.
//!
//! Invariant: a directory's entry is sent before anything inside the directory. A worker sends its
//! own entries in the order in which it sees them. But a worker may also see entries of a directory
//! that another worker has entered, because it stole them or reads a part of a large directory.
//! Then it first makes sure that the batch with the directory's entry is sent, and if necessary
//! sends it itself. For this reason batches are in [`Outbox`]es that other workers can reach, and
//! an outbox stays locked while its batch is sent: a worker that finds a batch gone knows that it
//! is in the channel.
//!
//! No deadlock: a worker never locks two outboxes, and the caller that empties the channel locks
//! none.

use super::walk_entry::EntryData;
use crate::entry::{Entry, ParentPath};
use crate::error::WalkError;
use crate::visitor::{Enter, Flow, Visitor};
use std::convert::Infallible;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A quarter of a block of entries. Enough to make the cost of the channel small against that of
/// the entries.
const ENTRIES_PER_BATCH: usize = 256;

/// Too short for people to notice, and long enough that on a fast disk every batch is full.
const LONGEST_WAIT: Duration = Duration::from_millis(10);

pub(super) type Batch = Vec<BatchItem>;

/// An element of a batch.
#[derive(Debug)]
pub(super) enum BatchItem {
    /// The directory of the entries that follow, or `None` for roots. Each batch has one before its
    /// first entry.
    Directory(Option<Arc<Path>>),
    Entry(EntryData),
    Error(WalkError),
}

/// Sends entries in batches. See the module's documentation.
#[derive(Debug)]
pub(super) struct BatchingVisitor {
    outbox: Arc<Outbox>,
    /// The directory of the last entry.
    within: Option<Arc<Path>>,
}

#[derive(Debug)]
struct Outbox {
    out: Mutex<OutboxState>,
}

#[derive(Debug)]
struct OutboxState {
    batch: Batch,
    /// How many batches were sent before this one.
    number: u64,
    /// Whether the batch already names the directory of its next entry.
    says_where: bool,
    last_sent: Instant,
    sender: SyncSender<Batch>,
}

/// The batch that contains a directory's own entry.
#[derive(Debug)]
pub(super) struct DirectoryBatch {
    outbox: Arc<Outbox>,
    number: u64,
    /// Set by the first worker that finds the batch sent, so that others do not have to lock the
    /// outbox.
    is_sent: AtomicBool,
}

impl Outbox {
    fn lock(&self) -> MutexGuard<'_, OutboxState> {
        self.out.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OutboxState {
    fn send(&mut self) -> Flow {
        if self.batch.is_empty() {
            return Flow::Continue;
        }
        self.number += 1;
        self.says_where = false;
        let batch = std::mem::replace(&mut self.batch, Vec::with_capacity(ENTRIES_PER_BATCH));
        match self.sender.send(batch) {
            Ok(()) => {
                self.last_sent = Instant::now();
                Flow::Continue
            }
            // The caller has dropped the iterator, so the walk has no purpose any more.
            Err(_) => Flow::Quit,
        }
    }

    fn send_if_full(&mut self) -> Flow {
        if self.batch.len() < ENTRIES_PER_BATCH { Flow::Continue } else { self.send() }
    }
}

impl BatchingVisitor {
    pub(super) fn new(sender: SyncSender<Batch>) -> Self {
        let out = OutboxState {
            batch: Vec::new(),
            number: 0,
            says_where: false,
            last_sent: Instant::now(),
            sender,
        };
        Self { outbox: Arc::new(Outbox { out: Mutex::new(out) }), within: None }
    }

    /// Makes sure that the entry of the directory `parent` is sent before anything that is added
    /// from now on.
    fn after(&self, parent: Option<&DirectoryBatch>) -> Flow {
        match parent {
            // Acquire: pairs with the Release below. Without it, what is sent next might overtake
            // the directory's entry.
            Some(parent)
                if !Arc::ptr_eq(&parent.outbox, &self.outbox)
                    && !parent.is_sent.load(Ordering::Acquire) =>
            {
                let mut out = parent.outbox.lock();
                let flow = if out.number == parent.number { out.send() } else { Flow::Continue };
                parent.is_sent.store(true, Ordering::Release);
                flow
            }
            _ => Flow::Continue,
        }
    }

    fn add(&mut self, entry: &Entry<'_>) -> MutexGuard<'_, OutboxState> {
        let path = entry.within.map(ParentPath::path);
        // Compares bytes, because comparing paths would parse them.
        let same = self.within.as_deref().map(Path::as_os_str) == path.map(Path::as_os_str);
        if !same {
            self.within = path.map(Arc::from);
        }
        let data = EntryData::new(entry);
        let mut out = self.outbox.lock();
        if !same || !out.says_where {
            out.batch.push(BatchItem::Directory(self.within.clone()));
            out.says_where = true;
        }
        out.batch.push(BatchItem::Entry(data));
        out
    }
}

impl Visitor for BatchingVisitor {
    type Dir = DirectoryBatch;
    type Task = Infallible;

    fn enter_dir(
        &mut self,
        dir: &Entry<'_>,
        parent: Option<&DirectoryBatch>,
    ) -> Enter<DirectoryBatch> {
        if self.after(parent) == Flow::Quit {
            return Enter::Quit;
        }
        let mut out = self.add(dir);
        let number = out.number;
        let waited = out.last_sent.elapsed() >= LONGEST_WAIT;
        let flow = if waited { out.send() } else { out.send_if_full() };
        drop(out);
        match flow {
            Flow::Quit => Enter::Quit,
            _ => Enter::Into(DirectoryBatch {
                outbox: Arc::clone(&self.outbox),
                number,
                is_sent: AtomicBool::new(false),
            }),
        }
    }

    fn file(&mut self, file: &Entry<'_>, parent: Option<&DirectoryBatch>) -> Flow {
        match self.after(parent) {
            Flow::Quit => Flow::Quit,
            _ => self.add(file).send_if_full(),
        }
    }

    fn before_sleep(&mut self) {
        // If the caller has dropped the iterator, the next entry will notice.
        let _ = self.outbox.lock().send();
    }

    fn error(&mut self, error: WalkError, parent: Option<&DirectoryBatch>) -> Flow {
        match self.after(parent) {
            Flow::Quit => Flow::Quit,
            _ => {
                let mut out = self.outbox.lock();
                out.batch.push(BatchItem::Error(error));
                out.send_if_full()
            }
        }
    }
}

/// Sends what is left at the end of the walk.
impl Drop for BatchingVisitor {
    fn drop(&mut self) {
        let _ = self.outbox.lock().send();
    }
}
