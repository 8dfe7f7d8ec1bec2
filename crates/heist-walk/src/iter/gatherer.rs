//! [`Gatherer`]: a worker's visitor that sends what it sees in batches.
//!
//! A batch is sent when it is full, when it has waited for [`LONGEST_WAIT`] and the next directory is entered, and
//! when the worker has nothing to do.
//!
//! Invariant: a directory's entry is sent before anything that is in it. A worker's own entries are sent in the order
//! in which it sees them. One that sees an entry in a directory which another worker has entered (it was stolen, or
//! is a part of a large one) first sees to it that the directory's batch is sent, by sending it itself if need be. So
//! batches are in [`Outbox`]es that others can reach, and are sent with the outbox locked: whoever finds that a batch
//! is gone can be sure that it is in the channel. Nobody locks two outboxes, and the caller who empties the channel
//! locks none: there is no circle to wait in.

use super::found::Found;
use crate::entry::{Entry, Surroundings};
use crate::error::WalkError;
use crate::visitor::{Enter, Flow, Visitor};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A quarter of a block of entries: enough that the channel's own cost is lost in that of the entries.
const ENTRIES_PER_BATCH: usize = 256;

/// Less than people notice, and long enough that on a fast disk every batch is full.
const LONGEST_WAIT: Duration = Duration::from_millis(10);

pub(super) type Batch = Vec<Item>;

/// A part of a batch.
#[derive(Debug)]
pub(super) enum Item {
    /// What follows is in here; in no directory if it is a root. Each batch begins with one, before its first entry.
    Within(Option<Arc<Path>>),
    Found(Found),
    Failed(WalkError),
}

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Gatherer {
    outbox: Arc<Outbox>,
    /// The directory of the last entry.
    within: Option<Arc<Path>>,
}

#[derive(Debug)]
struct Outbox {
    out: Mutex<Out>,
}

#[derive(Debug)]
struct Out {
    batch: Batch,
    /// How many batches were sent before this one.
    number: u64,
    /// Whether the batch says which directory its next entry is in.
    says_where: bool,
    last_sent: Instant,
    sender: SyncSender<Batch>,
}

/// In which batch a directory's own entry is.
#[derive(Debug)]
pub(super) struct SentWith {
    outbox: Arc<Outbox>,
    number: u64,
    /// Set by whoever has found out that it is sent, so that others need not ask.
    is_sent: AtomicBool,
}

impl Outbox {
    fn lock(&self) -> MutexGuard<'_, Out> {
        self.out.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Out {
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
            // Nobody listens any more: then there is nobody to walk for.
            Err(_) => Flow::Quit,
        }
    }

    fn send_if_full(&mut self) -> Flow {
        if self.batch.len() < ENTRIES_PER_BATCH { Flow::Continue } else { self.send() }
    }
}

impl Gatherer {
    pub(super) fn new(sender: SyncSender<Batch>) -> Self {
        let out = Out {
            batch: Vec::new(),
            number: 0,
            says_where: false,
            last_sent: Instant::now(),
            sender,
        };
        Self { outbox: Arc::new(Outbox { out: Mutex::new(out) }), within: None }
    }

    /// Sees to it that the entry of the directory `parent` is sent before anything that is added from now on.
    fn after(&self, parent: Option<&SentWith>) -> Flow {
        match parent {
            // Acquire: pairs with the Release below. Without it, what is sent next might not come after it.
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

    fn add(&mut self, entry: &Entry<'_>) -> MutexGuard<'_, Out> {
        let path = entry.within.map(Surroundings::path);
        // Compared byte by byte: to compare paths would be to take them apart.
        let same = self.within.as_deref().map(Path::as_os_str) == path.map(Path::as_os_str);
        if !same {
            self.within = path.map(Arc::from);
        }
        let found = Found::new(entry);
        let mut out = self.outbox.lock();
        if !same || !out.says_where {
            out.batch.push(Item::Within(self.within.clone()));
            out.says_where = true;
        }
        out.batch.push(Item::Found(found));
        out
    }
}

impl Visitor for Gatherer {
    type Dir = SentWith;

    fn enter_dir(&mut self, dir: &Entry<'_>, parent: Option<&SentWith>) -> Enter<SentWith> {
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
            _ => Enter::Into(SentWith {
                outbox: Arc::clone(&self.outbox),
                number,
                is_sent: AtomicBool::new(false),
            }),
        }
    }

    fn file(&mut self, file: &Entry<'_>, parent: Option<&SentWith>) -> Flow {
        match self.after(parent) {
            Flow::Quit => Flow::Quit,
            _ => self.add(file).send_if_full(),
        }
    }

    fn before_sleep(&mut self) {
        // If nobody listens any more, the next entry will tell.
        let _ = self.outbox.lock().send();
    }

    fn error(&mut self, error: WalkError, parent: Option<&SentWith>) -> Flow {
        match self.after(parent) {
            Flow::Quit => Flow::Quit,
            _ => {
                let mut out = self.outbox.lock();
                out.batch.push(Item::Failed(error));
                out.send_if_full()
            }
        }
    }
}

/// What is left at the end of the walk.
impl Drop for Gatherer {
    fn drop(&mut self) {
        let _ = self.outbox.lock().send();
    }
}
