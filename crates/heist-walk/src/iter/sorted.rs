//! [`Sorted`]: the entries of a walk, in the order of a serial walk over sorted directories.
//!
//! The calling thread goes through the tree in order, with a stack of the directories that it is
//! in. The listings come from [`ReadAhead`], which has them already or reads them now. What the
//! caller receives depends only on the tree, not on which thread read what.
//!
//! Invariant: a directory with nothing left is popped before the next one is pushed, and a
//! directory with a long path does not keep the path. So a deep chain of directories takes memory
//! in proportion to its depth, not to its depth times the length of its paths.

use super::read_ahead::ReadAhead;
use super::sorted_listing::{ListedEntry, ListingRequest, SortedListing};
use super::walk_entry::WalkEntry;
use crate::disks::cores;
use crate::error::{WalkError, WalkStartError};
use crate::walk::Walk;
use std::collections::VecDeque;
use std::iter::FusedIterator;
use std::path::Path;
use std::sync::Arc;

/// How much memory listings that were read ahead may use: about 100,000 entries.
const BYTES_AHEAD: usize = 16 << 20;

/// The default number of threads: enough to keep a disk busy, and few enough that on a warm cache
/// they do not cost more than they save.
const THREADS_IN_ORDER: usize = 8;

/// A path longer than most systems allow is built again rather than kept.
const LONGEST_PATH_KEPT: usize = 4096;

impl<T> Walk<T> {
    /// Returns the entries in the order of a serial walk, which is the same for any number of
    /// threads.
    ///
    /// The roots come in the order given. A directory comes before its contents, its entries are
    /// sorted by the bytes of their names, and everything below one entry comes before the next. An
    /// error comes in place of its entry. If the error is about a directory that was entered, it
    /// follows the directory's entry.
    ///
    /// Background threads read directories ahead of the caller, up to 16 MiB of entries (each
    /// thread may exceed this by the directory it is reading). The calling thread counts as one of
    /// the walk's [`threads`](Walk::threads), and itself reads what no other thread has read in
    /// time. With one thread there are no background threads. Dropping the iterator ends the walk.
    ///
    /// ```
    /// use heist_walk::Walk;
    ///
    /// let mut names = Vec::new();
    /// for entry in Walk::new("src/sys").sorted()? {
    ///     let entry = entry.expect("everything here is readable");
    ///     names.push(entry.path().display().to_string());
    /// }
    /// assert!(names.is_sorted());
    /// # Ok::<(), heist_walk::WalkStartError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error under the same conditions as [`Walk::run`]. Problems in the tree do not end
    /// the walk: the iterator returns them as errors.
    pub fn sorted(self) -> Result<Sorted, WalkStartError> {
        self.sorted_within(BYTES_AHEAD)
    }

    /// Like [`Self::sorted`], with `bytes_ahead` as the limit on memory for reading ahead.
    pub(super) fn sorted_within(self, bytes_ahead: usize) -> Result<Sorted, WalkStartError> {
        let settings = self.settings;
        let config = settings.checked_executor()?;
        let progress = settings.progress.clone();
        let asked_for = settings.threads.is_some();
        let (engine, threads) = settings.into_engine();
        // The fixed order keeps many threads from being useful.
        let threads = if asked_for { threads } else { threads.min(cores().max(THREADS_IN_ORDER)) };
        let config = config.threads(threads);
        let roots = engine.roots.len();
        let sorted = Sorted {
            ahead: ReadAhead::new(engine, &config, bytes_ahead, &progress)?,
            stack: Vec::new(),
            next_root: Some(ListingRequest::root(0)).filter(|_| roots > 0),
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

/// The entries of a walk in a fixed order. Created by [`Walk::sorted`].
///
/// Dropping it ends the walk and waits for its threads.
///
/// # Panics
///
/// `next` rethrows a panic of the walk.
#[derive(Debug)]
pub struct Sorted {
    ahead: ReadAhead,
    /// The directories that the caller is in, the innermost last. Each has entries left.
    stack: Vec<SortedListing>,
    next_root: Option<Arc<ListingRequest>>,
    roots_begun: usize,
    /// Errors to return before anything else.
    errors: VecDeque<WalkError>,
    min_depth: usize,
}

impl Sorted {
    /// Leaves out entries at a lower depth, for example the roots with 1. Errors are returned at
    /// any depth.
    #[must_use]
    pub fn min_depth(mut self, min_depth: usize) -> Self {
        self.min_depth = min_depth;
        self
    }

    /// Enters a directory or a root. Returns its own entry, if it has one.
    fn enter(
        &mut self,
        within: Option<Arc<Path>>,
        request: &Arc<ListingRequest>,
    ) -> Option<WalkEntry> {
        let mut listing = self.ahead.take(request);
        self.errors.extend(listing.errors.drain(..));
        let own = listing.own.take();
        if !listing.contents.is_empty() {
            self.stack.push(listing);
        }
        own.map(|data| WalkEntry::new(within, data))
    }

    fn enter_root(&mut self, root: &Arc<ListingRequest>) -> Option<WalkEntry> {
        let entry = self.enter(None, root);
        // The next root is requested only now, because a problem that several roots share (with
        // rules above them) has to be reported with the first one.
        self.roots_begun += 1;
        if self.roots_begun < self.ahead.engine().roots.len() {
            let next = ListingRequest::root(self.roots_begun);
            self.ahead.add_last(Arc::clone(&next));
            self.next_root = Some(next);
        }
        entry
    }

    /// Takes the next step in the innermost directory. Returns `None` if the stack is empty.
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
            Some(ListedEntry::File(data)) => Step::Show(Ok(WalkEntry::new(within, data))),
            Some(ListedEntry::Failed(error)) => Step::Show(Err(error)),
            Some(ListedEntry::Directory(_, request)) => {
                if let Some(outer) = self.stack.last_mut() {
                    outer.path.take_if(|path| path.as_os_str().len() > LONGEST_PATH_KEPT);
                }
                Step::Enter(within, request)
            }
            None => Step::Nothing,
        })
    }
}

enum Step {
    Show(Result<WalkEntry, WalkError>),
    Enter(Option<Arc<Path>>, Arc<ListingRequest>),
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
                Some(Step::Enter(within, request)) => self.enter(within, &request),
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
