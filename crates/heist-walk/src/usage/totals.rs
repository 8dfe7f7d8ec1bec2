//! [`TotalsVisitor`]: a sum for each root, and nothing kept for a directory or a file.
//!
//! Only a file with several names goes to a set that all workers share, and belongs to the first root that has a name
//! of it. So the sums are the same whatever the order in which the workers come to things.
//!
//! A worker has sums only for the roots that it came to: there may be a million roots, and many workers.

use super::inodes::{Claim, SharedInodes};
use super::overlap::RootIdentities;
use super::{OnError, Size};
use crate::entry::Entry;
use crate::error::WalkError;
use crate::metadata::{FileIdentity, Metadata};
use crate::visitor::{Enter, Flow, Visitor};
use std::collections::HashMap;
use std::sync::Arc;

/// What all workers share.
#[derive(Debug)]
pub(super) struct SharedTotals {
    /// Files that were counted; `None` if everything counts each time.
    pub(super) counted: Option<SharedInodes>,
    /// Whether files with one name, and directories, may be met again: links to them are followed.
    pub(super) all_may_repeat: bool,
    /// Directories that are counted as roots, and so nowhere else.
    pub(super) roots: RootIdentities,
}

/// One root's sums, on one worker.
#[derive(Clone, Copy, Debug, Default)]
struct RootSums {
    counted: Size,
    /// What was counted here, perhaps by another worker, until an earlier root turned out to have it.
    given_up: Size,
}

/// See the module's documentation.
pub(super) struct TotalsVisitor<E> {
    shared: Arc<SharedTotals>,
    /// The root at hand, and its sums: a worker mostly stays below one.
    root: usize,
    here: RootSums,
    /// The sums of other roots.
    elsewhere: HashMap<usize, RootSums>,
    /// Links that lead back to where they are.
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

    /// The sums of all workers; `None` for a root that has nothing of its own.
    pub(super) fn merge(roots: usize, visitors: &[Self]) -> Vec<Option<Size>> {
        let mut all = vec![RootSums::default(); roots];
        for visitor in visitors {
            let elsewhere = visitor.elsewhere.iter().map(|(root, sums)| (*root, sums));
            for (root, sums) in elsewhere.chain([(visitor.root, &visitor.here)]) {
                // (In a walk without any roots there is none at hand either.)
                if let Some(sum) = all.get_mut(root) {
                    sum.counted += sums.counted;
                    sum.given_up += sums.given_up;
                }
            }
        }
        let sizes = all.into_iter().map(|sums| sums.counted.without(sums.given_up));
        sizes.map(|size| (size.inodes > 0).then_some(size)).collect()
    }

    /// The sums of a root.
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

    /// Whether this is the first time that the walk comes to a file.
    #[cold]
    fn claim(&mut self, root: usize, file: FileIdentity, size: Size) -> bool {
        let Some(counted) = &self.shared.counted else { return true };
        // There are no more roots than that in a walk that is only summed up.
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

    /// Adds an entry to its root; `false` if it is counted elsewhere.
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
