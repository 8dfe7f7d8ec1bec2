//! [`Sorted`]: a walk's entries, in the order of a serial walk over sorted directories.
//!
//! The caller's thread goes through the tree in order, with a stack of the directories that it is in. Directories
//! come from [`Ahead`], which has read them already or is told to read them now. What the caller gets depends on the
//! tree alone, not on who read what.
//!
//! Invariant: a directory that has nothing left is taken off the stack before the next one goes on, and one with a
//! long path does not keep it; so a deep chain of directories takes memory by its depth, and not by its depth times
//! its path.

use super::ahead::Ahead;
use super::found::WalkEntry;
use super::listing::{Content, Listing, Place};
use crate::disks::cores;
use crate::error::WalkError;
use crate::walk::{Walk, WalkStartError};
use heist::ExecutorConfig;
use std::collections::VecDeque;
use std::iter::FusedIterator;
use std::path::Path;
use std::sync::Arc;

/// What may be read ahead, in memory: some 100,000 entries.
const BYTES_AHEAD: usize = 16 << 20;

/// How many threads read ahead if nobody says: enough to keep a disk busy, and few enough that on a warm cache they
/// do not cost more than they read.
const THREADS_IN_ORDER: usize = 8;

/// A path that is longer than most systems allow is put together again rather than kept.
const LONGEST_PATH_KEPT: usize = 4096;

impl Walk {
    /// Gives the entries one by one, in the order of a serial walk: the roots as they were given; a directory before
    /// what is in it, that by the bytes of the names, and everything below one entry before the next. The order is
    /// the same each time, with any number of threads.
    ///
    /// An error comes where its entry would; one that is about a directory that was entered comes right after it.
    ///
    /// Threads in the background read directories ahead of the caller, up to 16 MiB of entries (and each the
    /// directory at hand). The caller's thread is one of the walk's [`threads`](Walk::threads) and reads what has not
    /// been read when it comes there; with one thread there is nothing in the background. Dropping the iterator ends
    /// the walk.
    ///
    /// ```
    /// use heist_walk::Walk;
    ///
    /// let mut names = Vec::new();
    /// for entry in Walk::new("src/sys").sorted()? {
    ///     let entry = entry.expect("nothing here is unreadable");
    ///     names.push(entry.path().display().to_string());
    /// }
    /// assert!(names.is_sorted());
    /// # Ok::<(), heist_walk::WalkStartError>(())
    /// ```
    ///
    /// # Errors
    /// The system refuses a thread, or a setting cannot be used: [`threads`](Walk::threads) is 0, or a field that
    /// [`executor`](Walk::executor) changed has an impossible value. What goes wrong in the tree comes from the
    /// iterator, and the walk goes on.
    pub fn sorted(self) -> Result<Sorted, WalkStartError> {
        self.sorted_within(BYTES_AHEAD)
    }

    /// The same, with `bytes_ahead` for what is read ahead.
    pub(super) fn sorted_within(self, bytes_ahead: usize) -> Result<Sorted, WalkStartError> {
        let config = self.checked_executor()?;
        let progress = self.progress();
        let asked_for = self.threads.is_some();
        let (engine, threads) = self.into_engine();
        // Order keeps many threads from being of use.
        let threads = if asked_for { threads } else { threads.min(cores().max(THREADS_IN_ORDER)) };
        let config = ExecutorConfig { workers: threads, ..config };
        let roots = engine.roots.len();
        let sorted = Sorted {
            ahead: Ahead::new(engine, &config, bytes_ahead, &progress)?,
            stack: Vec::new(),
            next_root: Some(Place::root(0)).filter(|_| roots > 0),
            roots_begun: 0,
            errors: VecDeque::new(),
            min_depth: 0,
        };
        if let Some(root) = &sorted.next_root {
            sorted.ahead.add_last(Arc::clone(root));
        }
        Ok(sorted)
    }
}

/// A walk's entries, in order: see [`Walk::sorted`].
///
/// Dropping it ends the walk and waits for its threads.
///
/// # Panics
/// `next` rethrows a panic of the walk.
#[derive(Debug)]
pub struct Sorted {
    ahead: Ahead,
    /// The directories that the caller is in, the innermost last. Each has something left.
    stack: Vec<Listing>,
    next_root: Option<Arc<Place>>,
    roots_begun: usize,
    /// What comes before anything else.
    errors: VecDeque<WalkError>,
    min_depth: usize,
}

impl Sorted {
    /// Leaves out entries that are less far below their root: with 1 the roots. Errors come all the same.
    #[must_use]
    pub fn min_depth(mut self, min_depth: usize) -> Self {
        self.min_depth = min_depth;
        self
    }

    /// Goes into a place: its own entry, if it has one, and then what is in it.
    fn enter(&mut self, within: Option<Arc<Path>>, place: &Arc<Place>) -> Option<WalkEntry> {
        let mut listing = self.ahead.take(place);
        self.errors.extend(listing.errors.drain(..));
        let own = listing.own.take();
        if !listing.contents.is_empty() {
            self.stack.push(listing);
        }
        own.map(|found| WalkEntry::new(within, found))
    }

    fn enter_root(&mut self, root: &Arc<Place>) -> Option<WalkEntry> {
        let entry = self.enter(None, root);
        // Not before this one has been read: what several roots have in common (rules above them) is reported with the
        // first of them.
        self.roots_begun += 1;
        if self.roots_begun < self.ahead.engine().roots.len() {
            let next = Place::root(self.roots_begun);
            self.ahead.add_last(Arc::clone(&next));
            self.next_root = Some(next);
        }
        entry
    }

    /// The next thing in the innermost directory; `None` if there are no directories on the stack.
    fn step(&mut self) -> Option<Step> {
        let innermost = self.stack.last_mut()?;
        let content = innermost.contents.pop();
        let within = match (&innermost.path, &innermost.node) {
            (Some(path), _) => Some(Arc::clone(path)),
            (None, Some(node)) => Some(Arc::from(node.path(&self.ahead.engine().roots))),
            (None, None) => None,
        };
        if innermost.contents.is_empty() {
            self.stack.pop();
        } else {
            innermost.path.clone_from(&within);
        }
        Some(match content {
            Some(Content::File(found)) => Step::Show(Ok(WalkEntry::new(within, found))),
            Some(Content::Failed(error)) => Step::Show(Err(error)),
            Some(Content::Directory(_, place)) => {
                if let Some(outer) = self.stack.last_mut() {
                    outer.path.take_if(|path| path.as_os_str().len() > LONGEST_PATH_KEPT);
                }
                Step::Enter(within, place)
            }
            None => Step::Nothing,
        })
    }
}

enum Step {
    Show(Result<WalkEntry, WalkError>),
    Enter(Option<Arc<Path>>, Arc<Place>),
    Nothing,
}

impl Iterator for Sorted {
    type Item = Result<WalkEntry, WalkError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(error) = self.errors.pop_front() {
                return Some(Err(error));
            }
            if self.ahead.engine().stop.is_cancelled() {
                self.stack.clear();
                self.next_root = None;
            }
            let entry = match self.step() {
                Some(Step::Show(Err(error))) => return Some(Err(error)),
                Some(Step::Show(Ok(entry))) => Some(entry),
                Some(Step::Enter(within, place)) => self.enter(within, &place),
                Some(Step::Nothing) => None,
                None => match self.next_root.take() {
                    Some(root) => self.enter_root(&root),
                    None => {
                        self.ahead.end();
                        return None;
                    }
                },
            };
            if let Some(entry) = entry
                && entry.depth() >= self.min_depth
            {
                return Some(Ok(entry));
            }
        }
    }
}

impl FusedIterator for Sorted {}
