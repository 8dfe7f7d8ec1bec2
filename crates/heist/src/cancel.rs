//! Telling running work that its result is no longer wanted.
//!
//! One [`CancelToken`] serves Ctrl-C, a closed pipe, a deadline and a caller that has seen enough.
//! Tasks check [`CancelToken::is_cancelled`] where they can stop, futures await
//! [`CancelToken::cancelled`]. Nothing is interrupted.
//!
//! Tokens form trees: a child is cancelled when it or any ancestor is, and cancelling a child
//! leaves its parent and its siblings alone. A check looks at the ancestors; a cancellation is not
//! pushed down to the children. So a parent does not know its children, and a million short-lived
//! children need no list, no lock and no clean-up.
//!
//! *Watchers* are the exception: executors in which tasks wait for permits, and futures that await
//! a cancellation. They sleep and check nothing, so they register with their token and with all of
//! its ancestors, and `cancel` notifies them.
//!
//! Invariants:
//! - A cancellation is forever: no flag is ever cleared.
//! - What a thread did before `cancel` is visible to a thread that has seen the cancellation,
//!   through whichever token of the tree it saw it.
//! - A watcher that registers while the token is being cancelled is notified, or sees the flag
//!   itself: each side writes, passes a `SeqCst` fence, and then reads what the other side wrote.
//!
//! Not guaranteed:
//! - promptness: running work notices when it checks;
//! - cheap checks in deep trees: checking a token that is *not* cancelled reads one flag per
//!   ancestor, and a watcher registers with each of them. Keep trees shallow;
//! - that `cancel` is safe in a signal handler: it may take locks and run the callers' closures.

mod cancelled;

pub use cancelled::Cancelled;

use std::fmt;

use crate::sync::plant::{Plant, planted};
use crate::sync::{Arc, AtomicBool, Mutex, Ordering, fence};
use slab::Slab;

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
    node: Arc<TokenNode>,
}

struct TokenNode {
    cancelled: AtomicBool,
    parent: Option<Arc<TokenNode>>,
    /// Set when the first watcher registers, and never cleared.
    watched: AtomicBool,
    watchers: Mutex<Watchers>,
}

/// The watchers of one node.
#[derive(Default)]
struct Watchers {
    registered: Slab<Box<dyn Watcher>>,
    /// `cancel` has notified the watchers. Those that come later see the flag.
    notified: bool,
}

/// Sleeps until it is notified of a cancellation.
pub(crate) trait Watcher: Send + Sync {
    /// Returns `false` if the watcher need not be notified any more.
    fn is_alive(&self) -> bool;

    /// The token was cancelled. Called at least once, and perhaps several times.
    fn cancelled(&self);
}

/// With fewer watchers than this, looking for dead ones is not worth the time.
const WATCHERS_BEFORE_PRUNING: usize = 8;

impl TokenNode {
    /// Registers a watcher and returns its key; `None` if the watchers were notified already.
    /// Removes dead watchers now and then: a token may outlive many pools.
    fn watch(&self, watcher: Box<dyn Watcher>) -> Option<usize> {
        let mut watchers = self.watchers.lock();
        if watchers.notified {
            return None;
        }
        let registered = &mut watchers.registered;
        if registered.len() >= WATCHERS_BEFORE_PRUNING && registered.len() == registered.capacity()
        {
            registered.retain(|_key, watcher| watcher.is_alive());
        }
        let key = registered.insert(watcher);
        self.watched.store(true, Ordering::Relaxed);
        Some(key)
    }

    /// Removes the watcher that `watch` has registered under `key`.
    fn unwatch(&self, key: usize) {
        let removed = {
            let mut watchers = self.watchers.lock();
            // Once they are notified, the watchers are gone.
            if watchers.notified { None } else { watchers.registered.try_remove(key) }
        };
        drop(removed);
    }

    #[cold]
    fn notify_watchers(&self) {
        let registered = {
            let mut watchers = self.watchers.lock();
            watchers.notified = true;
            std::mem::take(&mut watchers.registered)
        };
        // Without the lock: a watcher may run the caller's code, or register elsewhere.
        for (_key, watcher) in registered {
            watcher.cancelled();
        }
    }
}

impl CancelToken {
    /// Creates a token without a parent, not cancelled.
    #[must_use]
    pub fn new() -> Self {
        Self::with_parent(None)
    }

    /// Creates a token that is cancelled with this one, and can be cancelled without it.
    ///
    /// It keeps its ancestors' flags alive. A child of a cancelled token is cancelled from the
    /// start.
    #[must_use]
    pub fn child(&self) -> Self {
        Self::with_parent(Some(Arc::clone(&self.node)))
    }

    fn with_parent(parent: Option<Arc<TokenNode>>) -> Self {
        let node = TokenNode {
            cancelled: AtomicBool::new(false),
            parent,
            watched: AtomicBool::new(false),
            watchers: Mutex::new(Watchers::default()),
        };
        Self { node: Arc::new(node) }
    }

    /// Cancels this token and with it every descendant. Further calls change nothing.
    ///
    /// Futures that await [`CancelToken::cancelled`] are woken. Tasks that wait for a permit in an
    /// executor with this token, or with a descendant of it, give up their places and are dropped.
    /// This thread does both, and it runs the closures that would have made those tasks.
    ///
    /// **Do not call it in a signal handler**: it may take locks, and it runs those closures. Let
    /// the handler wake a thread that cancels, by a flag that is polled or a byte through a pipe.
    pub fn cancel(&self) {
        // Release: pairs with the Acquire in `is_cancelled`. Without it, a task that sees the flag
        // might not see what was written before, such as the reason for the cancellation.
        self.node.cancelled.store(true, Ordering::Release);
        // Pairs with the fence of `watch`: this thread sees the watcher, or the watcher the flag.
        fence(Ordering::SeqCst);
        if self.node.watched.load(Ordering::Relaxed) && !planted(Plant::CancelSkipsWatchers) {
            self.node.notify_watchers();
        }
    }

    /// Returns a future that completes when this token or an ancestor is cancelled; at once if that
    /// has happened already.
    ///
    /// The future sleeps until `cancel` wakes it. It is cancel-safe: dropping it removes its
    /// registration, and a later call waits for the same cancellation.
    ///
    /// # Examples
    ///
    /// ```
    /// use futures_lite::future::block_on; // or that of any runtime
    ///
    /// let executor = heist::Executor::builder().build(|_worker| (), |_task: (), _ctx| ())?;
    /// let token = heist::CancelToken::new();
    /// let stopped = token.cancelled();
    /// let waiting = executor.handle().spawn_future(async move {
    ///     stopped.await;
    ///     "stopped"
    /// })?;
    /// token.cancel();
    /// assert_eq!(block_on(waiting)?, "stopped");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cancelled(&self) -> Cancelled {
        Cancelled::new(self.clone())
    }

    /// Has `watcher` notified when this token or an ancestor is cancelled: at once, if one is.
    pub(crate) fn watch<W: Watcher + Clone + 'static>(&self, watcher: &W) {
        self.register(watcher);
        if self.is_cancelled() {
            watcher.cancelled();
        }
    }

    /// Registers `watcher` with this token and all of its ancestors, and returns its keys in that
    /// order. The caller must check [`CancelToken::is_cancelled`] afterwards.
    fn register<W: Watcher + Clone + 'static>(&self, watcher: &W) -> Vec<Option<usize>> {
        let keys =
            self.nodes().map(|node| node.watch(Box::new(watcher.clone()))).collect::<Vec<_>>();
        // Pairs with the fence of `cancel`.
        fence(Ordering::SeqCst);
        keys
    }

    /// The nodes of this token and of all ancestors.
    fn nodes(&self) -> impl Iterator<Item = &TokenNode> {
        std::iter::successors(Some(&*self.node), |node| node.parent.as_deref())
    }

    /// Returns `true` if this token or an ancestor has been cancelled.
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

    fn inherit_from(&self, parent: &Arc<TokenNode>) -> bool {
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

impl Drop for TokenNode {
    /// Takes a chain of ancestors apart in a loop. The compiler's code would drop a long chain by
    /// recursion, and overflow the stack.
    fn drop(&mut self) {
        let mut ancestor = self.parent.take();
        while let Some(node) = ancestor {
            // A node with other owners stays, and with it all that is above it.
            ancestor = into_sole_owner(node).and_then(|mut last| last.parent.take());
        }
    }
}

/// Returns the node itself if `node` was the last reference to it. Of several threads that give up
/// their references at the same time, exactly one gets the node. With `Arc::try_unwrap` all of them
/// might fail, and the last one's `drop` would recurse, one level deeper at each such meeting.
fn into_sole_owner(node: Arc<TokenNode>) -> Option<TokenNode> {
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
    fn a_child_remembers_the_cancellation_of_an_ancestor() {
        let root = CancelToken::new();
        let token = chain(&root, 3);
        root.cancel();
        assert!(!token.node.cancelled.load(Ordering::Relaxed));
        assert!(token.is_cancelled());
        assert!(token.node.cancelled.load(Ordering::Relaxed));
    }

    #[test]
    fn a_deep_chain_does_not_overflow_the_stack() {
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
    fn a_deep_chain_is_freed_except_for_what_is_still_held() {
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
            assert_eq!(Arc::strong_count(&root.node), 1, "one of the threads took the trunk apart");
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
