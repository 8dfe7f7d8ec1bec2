//! Telling running work that its result is no longer wanted.
//!
//! One [`CancelToken`] serves Ctrl-C, a closed pipe, a deadline and a caller that has seen enough.
//! Work asks ([`CancelToken::is_cancelled`]) at points where it can stop; nothing is interrupted.
//!
//! Tokens form trees: a child is cancelled when it or any ancestor is, and cancelling a child
//! leaves its parent and its siblings alone. It is the child that looks up, not the parent that
//! pushes down: a parent knows no children, so a million short-lived children need no list, no lock
//! and no clean-up. The one exception are executors in which tasks wait for permits: nobody asks there,
//! so they *watch* their token and its ancestors, and `cancel` tells them.
//!
//! Invariants:
//! - cancelled is for ever: no flag is ever cleared;
//! - what a thread did before `cancel` is visible to a thread that has seen the cancellation, by
//!   whichever token of the tree it saw it.
//!
//! Not guaranteed: promptness (running work notices when it asks), and cheap checks deep down: a check of a
//! token that is *not* cancelled reads one flag per ancestor. Keep trees shallow.
//!
//! Nor is `cancel` safe in a signal handler: it may take locks, and run the callers' closures.

use std::fmt;

use crate::sync::plant::{Plant, planted};
use crate::sync::{Arc, AtomicBool, Mutex, Ordering, fence};

/// A flag that says "stop", with children. Clones are the same token.
///
/// ```
/// use heist::CancelToken;
///
/// let run = CancelToken::new();
/// let one_archive = run.child();
///
/// one_archive.cancel();
/// assert!(one_archive.is_cancelled());
/// assert!(!run.is_cancelled());
///
/// let another_archive = run.child();
/// run.cancel();
/// assert!(another_archive.is_cancelled());
/// ```
#[derive(Clone)]
pub struct CancelToken {
    node: Arc<Node>,
}

struct Node {
    cancelled: AtomicBool,
    parent: Option<Arc<Node>>,
    /// Whether there ever was a watcher.
    watched: AtomicBool,
    watchers: Mutex<Vec<Box<dyn Watcher>>>,
}

/// Somebody who is told of a cancellation, because he does not ask.
pub(crate) trait Watcher: Send + Sync {
    /// Whether he still wants to know.
    fn is_alive(&self) -> bool;

    /// The token was cancelled. Called at least once, and perhaps several times.
    fn cancelled(&self);
}

/// Fewer watchers than this are not worth looking through for dead ones.
const WATCHERS_BEFORE_PRUNING: usize = 8;

impl Node {
    /// Adds a watcher, and removes dead ones now and then: a token may outlive many pools.
    fn watch(&self, watcher: Box<dyn Watcher>) {
        let mut watchers = self.watchers.lock();
        if watchers.len() >= WATCHERS_BEFORE_PRUNING && watchers.len() == watchers.capacity() {
            watchers.retain(|watcher| watcher.is_alive());
        }
        watchers.push(watcher);
        self.watched.store(true, Ordering::Relaxed);
    }

    #[cold]
    fn tell_watchers(&self) {
        // Told without the lock: what they do is their own.
        let watchers = std::mem::take(&mut *self.watchers.lock());
        for watcher in watchers {
            watcher.cancelled();
        }
    }
}

impl CancelToken {
    /// A token without a parent, not cancelled.
    #[must_use]
    pub fn new() -> Self {
        Self::with_parent(None)
    }

    /// A token that is cancelled with this one, and can be cancelled without it.
    ///
    /// It keeps its ancestors' flags alive; a child of a cancelled token is cancelled from the
    /// start.
    #[must_use]
    pub fn child(&self) -> Self {
        Self::with_parent(Some(Arc::clone(&self.node)))
    }

    fn with_parent(parent: Option<Arc<Node>>) -> Self {
        let node = Node {
            cancelled: AtomicBool::new(false),
            parent,
            watched: AtomicBool::new(false),
            watchers: Mutex::new(Vec::new()),
        };
        Self { node: Arc::new(node) }
    }

    /// Cancels this token and with it every descendant. Further calls change nothing.
    ///
    /// Tasks that wait for a permit in an executor with this token, or with a descendant of it, are released: they give
    /// up their places and are dropped. This is done on this thread, and runs the closures that were to make them.
    ///
    /// **Not from a signal handler.** It may take locks, and run those closures. Let the handler wake a thread that
    /// cancels: by a flag that is polled, or a byte through a pipe.
    pub fn cancel(&self) {
        // Release: pairs with the Acquire in `is_cancelled`. Without it, a task that sees the flag
        // might not see what was written before, such as the reason for the cancellation.
        self.node.cancelled.store(true, Ordering::Release);
        // Pairs with the fence of `watch`: either we see that somebody watches, or he sees the flag.
        fence(Ordering::SeqCst);
        if self.node.watched.load(Ordering::Relaxed) && !planted(Plant::CancelSkipsWatchers) {
            self.node.tell_watchers();
        }
    }

    /// Has `watcher` told when this token or an ancestor is cancelled: at once, if it is already.
    pub(crate) fn watch<W: Watcher + Clone + 'static>(&self, watcher: &W) {
        let mut next = Some(&self.node);
        while let Some(node) = next {
            node.watch(Box::new(watcher.clone()));
            next = node.parent.as_ref();
        }
        // Pairs with the fence of `cancel`.
        fence(Ordering::SeqCst);
        if self.is_cancelled() {
            watcher.cancelled();
        }
    }

    /// Whether this token or an ancestor has been cancelled.
    #[must_use]
    #[inline]
    pub fn is_cancelled(&self) -> bool {
        // Acquire: pairs with the Release in `cancel`, and with the one below if the flag is a
        // copy.
        if self.node.cancelled.load(Ordering::Acquire) {
            return true;
        }
        self.node.parent.as_ref().is_some_and(|parent| self.inherit_from(parent))
    }

    fn inherit_from(&self, parent: &Arc<Node>) -> bool {
        let mut ancestor = Some(parent);
        while let Some(node) = ancestor {
            if node.cancelled.load(Ordering::Acquire) {
                // Remember it here, so that the next check is one load. Release: another thread may
                // see this copy only, and must still see what came before the original; our Acquire
                // above and this Release hand it on.
                self.node.cancelled.store(true, Ordering::Release);
                return true;
            }
            ancestor = node.parent.as_ref();
        }
        false
    }
}

impl Default for CancelToken {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for CancelToken {
    /// Not derived: that would print, and recurse through, all ancestors.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancelToken")
            .field("cancelled", &self.is_cancelled())
            .finish_non_exhaustive()
    }
}

impl Drop for Node {
    /// Takes a chain of ancestors apart in a loop. Left to the compiler, the last owner of a long
    /// chain would drop it by recursion, and overflow the stack.
    fn drop(&mut self) {
        let mut ancestor = self.parent.take();
        while let Some(node) = ancestor {
            // A node with other owners stays, and with it all that is above it.
            ancestor = into_sole_owner(node).and_then(|mut last| last.parent.take());
        }
    }
}

/// The node itself if `node` was the last reference to it. Of several threads that give up theirs
/// at the same time, exactly one gets it; with `Arc::try_unwrap`, all might fail, and the chain
/// would be dropped from inside the last one's `drop` after all, one level deeper at each such
/// meeting.
fn into_sole_owner(node: Arc<Node>) -> Option<Node> {
    Arc::into_inner(node)
}

// Loom's atomics work only inside a model.
#[cfg(all(test, not(heist_loom)))]
mod tests {
    use std::sync::atomic::AtomicU64;
    use std::thread;

    use super::*;

    /// Far more than any stack holds as nested calls: 100,000 frames of `drop` need several MiB,
    /// threads of tests have 2.
    const DEEP: usize = 100_000;

    fn chain(root: &CancelToken, depth: usize) -> CancelToken {
        (0..depth).fold(root.clone(), |token, _| token.child())
    }

    #[test]
    fn a_new_token_is_not_cancelled() {
        assert!(!CancelToken::new().is_cancelled());
        assert!(!CancelToken::default().is_cancelled());
    }

    #[test]
    fn clones_are_one_token() {
        let token = CancelToken::new();
        let clone = token.clone();
        clone.cancel();
        clone.cancel();
        assert!(token.is_cancelled());
    }

    #[test]
    fn cancelling_goes_down_only() {
        let root = CancelToken::new();
        let (left, right) = (root.child(), root.child());
        let below_left = left.child();

        left.cancel();
        assert!(left.is_cancelled());
        assert!(below_left.is_cancelled());
        assert!(!root.is_cancelled());
        assert!(!right.is_cancelled());

        root.cancel();
        assert!(right.is_cancelled());
    }

    #[test]
    fn children_of_a_cancelled_token_are_born_cancelled() {
        let root = CancelToken::new();
        root.cancel();
        assert!(root.child().child().is_cancelled());
    }

    #[test]
    fn a_child_outlives_its_parents_token() {
        let root = CancelToken::new();
        let grandchild = root.child().child();
        root.cancel();
        drop(root);
        assert!(grandchild.is_cancelled());
    }

    #[test]
    fn a_found_cancellation_is_remembered() {
        let root = CancelToken::new();
        let token = chain(&root, 3);
        root.cancel();
        assert!(!token.node.cancelled.load(Ordering::Relaxed));
        assert!(token.is_cancelled());
        assert!(token.node.cancelled.load(Ordering::Relaxed));
    }

    #[test]
    fn a_deep_chain_overflows_no_stack() {
        let root = CancelToken::new();
        let deepest = chain(&root, DEEP);
        assert!(!deepest.is_cancelled());
        root.cancel();
        assert!(deepest.is_cancelled());
        assert_eq!(format!("{deepest:?}"), "CancelToken { cancelled: true, .. }");
        drop(root);
        drop(deepest);
    }

    #[test]
    fn a_deep_chain_is_freed_but_for_what_is_still_held() {
        let root = CancelToken::new();
        let middle = chain(&root, 10);
        let deepest = chain(&middle, DEEP);
        assert_eq!(Arc::strong_count(&root.node), 2);
        assert_eq!(Arc::strong_count(&middle.node), 2);
        drop(deepest);
        assert_eq!(Arc::strong_count(&middle.node), 1, "everything below it is gone");
        assert_eq!(Arc::strong_count(&root.node), 2, "what is above it is not");
        drop(middle);
        assert_eq!(Arc::strong_count(&root.node), 1);
    }

    #[test]
    fn two_threads_drop_one_deep_chain_at_once() {
        for _ in 0..20 {
            let root = CancelToken::new();
            let trunk = chain(&root, DEEP / 10);
            let branches = [trunk.child(), trunk.child()];
            drop(trunk);
            let threads = branches.map(|branch| thread::spawn(move || drop(branch)));
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            assert_eq!(Arc::strong_count(&root.node), 1, "somebody took the trunk apart");
        }
    }

    #[test]
    fn what_came_before_cancel_is_visible_after_it() {
        let root = CancelToken::new();
        // Two threads share the child, so that one may see the other's copy of the flag.
        let child = root.child();
        // Relaxed: only the token's orderings can make the value visible. A strongly ordered CPU
        // shows it anyway; Miri, which delays stores, does not.
        let reason = AtomicU64::new(0);
        thread::scope(|scope| {
            let threads = [(); 2].map(|()| {
                scope.spawn(|| {
                    while !child.is_cancelled() {
                        thread::yield_now();
                    }
                    assert_eq!(reason.load(Ordering::Relaxed), 42);
                })
            });
            reason.store(42, Ordering::Relaxed);
            root.cancel();
            // Not left to the scope, whose waiting ThreadSanitizer does not see.
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        });
    }
}
