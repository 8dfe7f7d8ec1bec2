//! [`TotalsVisitor`]: adds up a sum for each root and keeps nothing for directories and files.
//!
//! Only files with several names go into a set that all workers share. Each belongs to the first
//! root that contains one of its names, so the sums do not depend on the order in which the workers
//! visit things.
//!
//! A worker keeps sums only for the roots that it has visited, because there may be a million roots
//! and many workers.

use super::inodes::{Claim, SharedInodes};
use super::overlap::RootIdentities;
use super::{OnError, Size};
use crate::entry::Entry;
use crate::error::WalkError;
use crate::metadata::{FileIdentity, Metadata};
use crate::visitor::{Enter, Flow, Visitor};
use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;

/// What all workers of the measurement share.
#[derive(Debug)]
pub(super) struct SharedTotals {
    /// The files counted so far, or `None` if everything counts each time.
    pub(super) counted: Option<SharedInodes>,
    /// Whether the walk may reach files with one name, and directories, several times, because it
    /// follows links to them.
    pub(super) all_may_repeat: bool,
    /// Directories that count as roots and nowhere else.
    pub(super) roots: RootIdentities,
}

/// The sums of one root on one worker.
#[derive(Clone, Copy, Debug, Default)]
struct RootSums {
    counted: Size,
    /// What was counted here, possibly by another worker, before it turned out to belong to an
    /// earlier root.
    given_up: Size,
}

/// Adds up a sum for each root. See the module's documentation.
pub(super) struct TotalsVisitor<E> {
    shared: Arc<SharedTotals>,
    /// The current root and its sums. A worker usually stays below one root for long.
    root: usize,
    here: RootSums,
    /// The sums of the other roots.
    elsewhere: HashMap<usize, RootSums>,
    /// The number of links that lead back to a directory containing them.
    loops: u64,
    on_error: Arc<E>,
}

impl<E> TotalsVisitor<E> {
    pub(super) fn new(shared: Arc<SharedTotals>, on_error: Arc<E>) -> Self {
        let (here, elsewhere) = (RootSums::default(), HashMap::new());
        Self { shared, root: 0, here, elsewhere, loops: 0, on_error }
    }

    pub(super) fn loops(&self) -> u64 {
        self.loops
    }

    /// Adds up the sums of all workers. A root for which nothing counts gets `None`.
    pub(super) fn merge(roots: usize, visitors: &[Self]) -> Vec<Option<Size>> {
        let mut all = vec![RootSums::default(); roots];
        for visitor in visitors {
            let elsewhere = visitor.elsewhere.iter().map(|(root, sums)| (*root, sums));
            for (root, sums) in elsewhere.chain([(visitor.root, &visitor.here)]) {
                // Without any roots, there is no current root either.
                if let Some(sum) = all.get_mut(root) {
                    sum.counted += sums.counted;
                    sum.given_up += sums.given_up;
                }
            }
        }
        let sizes = all.into_iter().map(|sums| sums.counted.without(sums.given_up));
        sizes.map(|size| (size.inodes > 0).then_some(size)).collect()
    }

    /// Returns the sums of a root.
    #[inline]
    fn sums_of(&mut self, root: usize) -> &mut RootSums {
        if root != self.root {
            self.go_to(root);
        }
        &mut self.here
    }

    #[cold]
    fn go_to(&mut self, root: usize) {
        let there = self.elsewhere.remove(&root).unwrap_or_default();
        let left = std::mem::replace(&mut self.here, there);
        self.elsewhere.insert(std::mem::replace(&mut self.root, root), left);
    }

    /// Returns `true` if a file counts for this root.
    #[cold]
    fn claim(&mut self, root: usize, file: FileIdentity, size: Size) -> bool {
        let Some(counted) = &self.shared.counted else { return true };
        // With more roots than this, the measurement builds a tree instead.
        let owner = u16::try_from(root).unwrap_or(u16::MAX);
        match counted.claim(file, owner) {
            Claim::First => true,
            Claim::Taken => false,
            Claim::From(later) => {
                self.sums_of(usize::from(later)).given_up += size;
                true
            }
        }
    }

    /// Adds an entry to its root. Returns `false` if it counts elsewhere.
    #[inline]
    fn count(&mut self, entry: &Entry<'_>, metadata: &Metadata, may_repeat: bool) -> bool {
        let size = Size::of(metadata);
        if may_repeat
            && let Some(file) = metadata.identity()
            && !self.claim(entry.root(), file, size)
        {
            return false;
        }
        self.sums_of(entry.root()).counted += size;
        true
    }
}

impl<E: OnError> Visitor for TotalsVisitor<E> {
    type Dir = ();
    type Task = Infallible;

    fn enter_dir(&mut self, dir: &Entry<'_>, parent: Option<&()>) -> Enter<()> {
        let Some(metadata) = dir.metadata() else { return Enter::Into(()) };
        let is_root = parent.is_none();
        if !is_root && self.shared.roots.contain_directory(metadata) {
            return Enter::Skip;
        }
        if self.count(dir, metadata, self.shared.all_may_repeat) {
            Enter::Into(())
        } else {
            Enter::Skip
        }
    }

    fn file(&mut self, file: &Entry<'_>, _parent: Option<&()>) -> Flow {
        if let Some(metadata) = file.metadata() {
            self.count(file, metadata, metadata.links > 1 || self.shared.all_may_repeat);
        }
        Flow::Continue
    }

    fn error(&mut self, error: WalkError, _parent: Option<&()>) -> Flow {
        if error.is_loop() {
            self.loops += 1;
            return Flow::Continue;
        }
        (self.on_error)(&error);
        Flow::Continue
    }
}
