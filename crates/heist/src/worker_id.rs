//! Which worker of which pool the current thread is.
//!
//! Code deep inside a task (a buffer pool with one shelf per worker, a log line) calls
//! [`current_worker_id`] and need not pass a number through every call. The crate itself calls
//! `is_thread_of`: an executor that is dropped on one of its own threads must not join itself, and
//! a blocking wait on a worker must be refused, because it would hold up the pool.
//!
//! A pool may also have threads for blocking calls. They are not workers, but they belong to the
//! pool.
//!
//! Invariant: a thread is a worker exactly as long as the `WorkerGuard` of `enter` lives on it. A
//! thread that only submits work, or waits for a pool, is not a worker.
//!
//! Not guaranteed: that the number is unique in the process. Every pool counts from 0. The
//! `PoolId`, which is not public, distinguishes pools.
//!
//! The counter behind `PoolId` is std's atomic and not one from `crate::sync`. It publishes
//! nothing, and any order of ids is fine. As a modelled atomic it would only multiply the
//! interleavings that a model checker has to visit.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};

/// Identifies one pool among all pools that this process has ever had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PoolId(u64);

impl PoolId {
    /// Returns an id that no other pool of this process has or had. 64 bits do not run out: with
    /// one pool per nanosecond they last 584 years.
    pub(crate) fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        // Relaxed: only the atomicity of the increment is needed.
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// The worker that a thread is.
#[derive(Clone, Copy, Debug)]
struct CurrentWorker {
    pool: PoolId,
    worker: usize,
    /// The worker is quiet: it runs no task, and the pool can be found done without it.
    quiet: bool,
}

crate::sync::per_thread! {
    static CURRENT: CurrentWorker;
}

/// Returns the number of the worker that runs the calling code, counted from 0, or `None` on a
/// thread that is not a worker.
///
/// Workers of different pools may have the same number.
///
/// ```
/// assert_eq!(heist::current_worker_id(), None);
/// ```
#[inline]
#[must_use]
pub fn current_worker_id() -> Option<usize> {
    CURRENT.with(|current| current.get().map(|current| current.worker))
}

/// Returns the number of the calling thread as a worker of `pool`.
pub(crate) fn worker_of(pool: PoolId) -> Option<usize> {
    let of_pool = |worker: &CurrentWorker| worker.pool == pool;
    CURRENT.with(|current| current.get().filter(of_pool).map(|current| current.worker))
}

/// Records whether the calling thread's worker is quiet. Does nothing on any other thread.
pub(crate) fn set_quiet(quiet: bool) {
    CURRENT.with(|current| {
        if let Some(worker) = current.get() {
            current.set(Some(CurrentWorker { quiet, ..worker }));
        }
    });
}

/// Returns the number of the calling thread as a worker of `pool`, if that worker is not quiet.
#[inline]
pub(crate) fn busy_worker_of(pool: PoolId) -> Option<usize> {
    let busy = |worker: &CurrentWorker| worker.pool == pool && !worker.quiet;
    CURRENT.with(|current| current.get().filter(busy).map(|current| current.worker))
}

/// Returns `true` if the calling thread is a worker of `pool` that is not quiet.
pub(crate) fn is_busy_worker_of(pool: PoolId) -> bool {
    busy_worker_of(pool).is_some()
}

/// Returns `true` if the calling thread is a worker of `pool`.
pub fn is_worker_of(pool: PoolId) -> bool {
    worker_of(pool).is_some()
}

/// A thread that runs blocking calls for a pool.
#[derive(Clone, Copy, Debug)]
struct BlockingThread {
    pool: PoolId,
    /// A call is running that the pool has counted.
    in_call: bool,
}

crate::sync::per_thread! {
    static BLOCKING_THREAD: BlockingThread;
}

/// Makes the calling thread one that runs blocking calls for `pool`, until it ends.
pub fn help(pool: PoolId) {
    BLOCKING_THREAD.with(|current| current.set(Some(BlockingThread { pool, in_call: false })));
}

crate::sync::per_thread! {
    /// The pool whose calls this thread is dropping.
    static DROPS: PoolId;
}

/// Runs `act`, which drops or ends calls that `pool` has counted, on any thread. The pool cannot
/// end before they are gone, so if one of them owns the pool, dropping it must not wait here.
pub fn drop_for<R>(pool: PoolId, act: impl FnOnce() -> R) -> R {
    /// Restores the previous value, even after a panic.
    struct Restore(Option<PoolId>);
    impl Drop for Restore {
        fn drop(&mut self) {
            DROPS.with(|drops| drops.set(self.0));
        }
    }
    let _restore = Restore(DROPS.with(|drops| drops.replace(Some(pool))));
    act()
}

/// Returns `true` if the calling thread belongs to the pool: if it is a worker, runs blocking calls
/// for the pool, or is dropping such calls. Such a thread cannot wait for the pool to end.
pub fn is_thread_of(pool: PoolId) -> bool {
    is_worker_of(pool)
        || BLOCKING_THREAD.with(|current| current.get().is_some_and(|thread| thread.pool == pool))
        || DROPS.with(|drops| drops.get() == Some(pool))
}

/// Returns `true` if the calling code runs in a blocking call of `pool`, which keeps the pool from
/// ending.
pub(crate) fn is_in_call_of(pool: PoolId) -> bool {
    let in_call = |thread: BlockingThread| thread.pool == pool && thread.in_call;
    BLOCKING_THREAD.with(|current| current.get().is_some_and(in_call))
}

/// Records that a counted call runs on this thread until the guard is dropped. Does nothing on a
/// thread that does not run blocking calls.
#[must_use = "the call is over when the guard is dropped"]
pub fn begin_call() -> InCall {
    set_in_call(true);
    InCall { _this_thread_only: PhantomData }
}

#[inline]
fn set_in_call(in_call: bool) {
    BLOCKING_THREAD.with(|current| {
        if let Some(thread) = current.get() {
            current.set(Some(BlockingThread { in_call, ..thread }));
        }
    });
}

/// The guard that [`begin_call`] returns.
#[derive(Debug)]
pub struct InCall {
    _this_thread_only: PhantomData<*const ()>,
}

impl Drop for InCall {
    #[inline]
    fn drop(&mut self) {
        set_in_call(false);
    }
}

/// Makes the calling thread worker number `worker` of `pool` until the guard is dropped, even by a
/// panic. The guard then restores the previous state, so a worker may serve as another pool's
/// worker for a while. Drop such guards in reverse order, as scopes do.
#[must_use = "the thread stops being a worker when the guard is dropped"]
pub(crate) fn enter(pool: PoolId, worker: usize) -> WorkerGuard {
    let entered = CurrentWorker { pool, worker, quiet: false };
    let before = CURRENT.with(|current| current.replace(Some(entered)));
    WorkerGuard { before, _this_thread_only: PhantomData }
}

/// The guard that [`enter`] returns.
#[derive(Debug)]
pub(crate) struct WorkerGuard {
    before: Option<CurrentWorker>,
    /// Not `Send`: if it were dropped on another thread, it would change that thread's worker.
    _this_thread_only: PhantomData<*const ()>,
}

impl Drop for WorkerGuard {
    fn drop(&mut self) {
        CURRENT.with(|current| current.set(self.before));
    }
}

// Loom's thread-locals work only inside a model.
#[cfg(all(test, not(heist_loom)))]
mod tests {
    use std::collections::HashSet;
    use std::panic;

    use super::*;

    #[test]
    fn a_thread_is_a_worker_while_the_guard_lives() {
        let pool = PoolId::next();
        assert_eq!(current_worker_id(), None);
        assert!(!is_worker_of(pool));
        let guard = enter(pool, 3);
        assert_eq!(current_worker_id(), Some(3));
        assert!(is_worker_of(pool));
        assert!(!is_worker_of(PoolId::next()));
        drop(guard);
        assert_eq!(current_worker_id(), None);
        assert!(!is_worker_of(pool));
    }

    #[test]
    fn nested_workers_are_restored() {
        let (outer, inner) = (PoolId::next(), PoolId::next());
        let _outer = enter(outer, 1);
        {
            let _inner = enter(inner, 0);
            assert_eq!(current_worker_id(), Some(0));
            assert!(is_worker_of(inner));
            assert!(!is_worker_of(outer));
        }
        assert_eq!(current_worker_id(), Some(1));
        assert!(is_worker_of(outer));
    }

    #[test]
    fn a_panic_restores_the_previous_worker() {
        let unwound = panic::catch_unwind(|| {
            let _guard = enter(PoolId::next(), 5);
            // Not `panic!`, which would print a message.
            panic::resume_unwind(Box::new(()));
        });
        assert!(unwound.is_err());
        assert_eq!(current_worker_id(), None);
    }

    #[test]
    fn other_threads_are_not_affected() {
        let pool = PoolId::next();
        let _guard = enter(pool, 0);
        let seen = std::thread::spawn(move || (current_worker_id(), is_worker_of(pool)));
        assert_eq!(seen.join().unwrap(), (None, false));
    }

    #[test]
    fn a_thread_for_blocking_calls_belongs_to_the_pool_but_is_not_a_worker() {
        let seen = std::thread::spawn(|| {
            let (pool, other) = (PoolId::next(), PoolId::next());
            assert!(!is_thread_of(pool));
            help(pool);
            assert!(is_thread_of(pool) && !is_thread_of(other));
            assert!(!is_worker_of(pool) && !is_in_call_of(pool));
            let call = begin_call();
            assert!(is_in_call_of(pool) && !is_in_call_of(other));
            drop(call);
            assert!(!is_in_call_of(pool) && is_thread_of(pool));
        });
        seen.join().unwrap();
    }

    #[test]
    fn pool_ids_are_unique_across_threads() {
        const IDS_PER_THREAD: usize = 1000;
        let threads: Vec<_> = (0..4)
            .map(|_| std::thread::spawn(|| (0..IDS_PER_THREAD).map(|_| PoolId::next()).collect()))
            .collect();
        let ids: Vec<Vec<PoolId>> = threads.into_iter().map(|t| t.join().unwrap()).collect();
        let unique: HashSet<PoolId> = ids.concat().into_iter().collect();
        assert_eq!(unique.len(), 4 * IDS_PER_THREAD);
    }
}
