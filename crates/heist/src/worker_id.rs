//! Which worker of which pool the current thread is.
//!
//! Code deep inside a task (a buffer pool with one shelf per worker, a log line) asks
//! [`current_worker_id`] instead of having a number handed through every call. The crate itself
//! asks `is_thread_of`: an executor dropped on one of its own threads must not join itself; and a
//! blocking wait on a worker must be refused, because it would hold up the pool.
//!
//! A pool may also have threads for blocking calls. They are no workers, but its own all the same.
//!
//! Invariant: a thread is a worker exactly as long as a `Guard` of `enter` lives on it; a thread
//! that merely hands work in is none, also while it waits for a pool.
//!
//! Not guaranteed: that the number is unique in the process. Every pool counts from 0; what is told
//! apart across pools is the `PoolId`, which is not public.
//!
//! The counter behind `PoolId` is std's atomic, not one from `crate::sync`: handing out ids is no
//! protocol. Nothing is published by it, any order of ids is right, and as a modelled atomic it
//! would only multiply the interleavings that a model checker has to visit.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};

/// Names one pool, among all pools that this process has ever had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PoolId(u64);

impl PoolId {
    /// An id that no other pool of this process has or had: 64 bits do not run out (at a pool per
    /// nanosecond they last 584 years).
    pub(crate) fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        // Relaxed: only the atomicity of the increment is needed.
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// A thread's place as a worker.
#[derive(Clone, Copy, Debug)]
struct Place {
    pool: PoolId,
    worker: usize,
    /// The worker is quiet: it runs no task, and the pool may be found done without it.
    quiet: bool,
}

crate::sync::per_thread! {
    static CURRENT: Place;
}

/// The number of the worker that runs the calling code, from 0 on; `None` on any thread that is not
/// a worker.
///
/// Workers of different pools may have the same number.
///
/// ```
/// assert_eq!(heist::current_worker_id(), None);
/// ```
#[inline]
#[must_use]
pub fn current_worker_id() -> Option<usize> {
    CURRENT.with(|current| current.get().map(|place| place.worker))
}

/// Which worker of `pool` the calling thread is.
#[inline]
pub(crate) fn worker_of(pool: PoolId) -> Option<usize> {
    CURRENT
        .with(|current| current.get().filter(|place| place.pool == pool).map(|place| place.worker))
}

/// Notes that the calling thread's worker has gone quiet, or is no longer. Nothing, on any other thread.
pub(crate) fn set_quiet(quiet: bool) {
    CURRENT.with(|current| {
        if let Some(place) = current.get() {
            current.set(Some(Place { quiet, ..place }));
        }
    });
}

/// Which worker of `pool` the calling thread is, if that one is not quiet.
#[inline]
pub(crate) fn busy_worker_of(pool: PoolId) -> Option<usize> {
    let busy = |place: &Place| place.pool == pool && !place.quiet;
    CURRENT.with(|current| current.get().filter(busy).map(|place| place.worker))
}

/// Whether the calling thread is a worker of `pool` that is not quiet.
pub(crate) fn is_busy_worker_of(pool: PoolId) -> bool {
    busy_worker_of(pool).is_some()
}

/// Whether the calling thread is a worker of `pool`.
#[inline]
pub fn is_worker_of(pool: PoolId) -> bool {
    worker_of(pool).is_some()
}

/// A thread that does blocking calls for a pool.
#[derive(Clone, Copy, Debug)]
struct Helper {
    pool: PoolId,
    /// A call is running, which the pool has counted.
    in_call: bool,
}

crate::sync::per_thread! {
    static HELPS: Helper;
}

/// Makes the calling thread one that does blocking calls for `pool`, for as long as it lives.
pub fn help(pool: PoolId) {
    HELPS.with(|helps| helps.set(Some(Helper { pool, in_call: false })));
}

crate::sync::per_thread! {
    /// The pool whose calls this thread drops.
    static DROPS: PoolId;
}

/// Drops, or ends, calls that `pool` has counted, on whatever thread this is. The pool cannot end before they are gone:
/// if one of them holds the pool's owner, that must not wait here.
pub fn drop_for<R>(pool: PoolId, act: impl FnOnce() -> R) -> R {
    /// Restores also after a panic.
    struct Restore(Option<PoolId>);
    impl Drop for Restore {
        fn drop(&mut self) {
            DROPS.with(|drops| drops.set(self.0));
        }
    }
    let _restore = Restore(DROPS.with(|drops| drops.replace(Some(pool))));
    act()
}

/// Whether the calling thread is one of the pool's: a worker, one that does blocking calls for it, or one that is just
/// dropping such calls. Such a thread cannot wait for the pool's end.
pub fn is_thread_of(pool: PoolId) -> bool {
    is_worker_of(pool)
        || HELPS.with(|helps| helps.get().is_some_and(|helper| helper.pool == pool))
        || DROPS.with(|drops| drops.get() == Some(pool))
}

/// Whether the calling code is a blocking call of `pool`, which cannot end meanwhile.
pub(crate) fn is_in_call_of(pool: PoolId) -> bool {
    let in_call = |helper: Helper| helper.pool == pool && helper.in_call;
    HELPS.with(|helps| helps.get().is_some_and(in_call))
}

/// Notes that a counted call runs on this thread until the guard is dropped. Nothing, on a thread that is not for that.
#[inline]
#[must_use = "the call is over when the guard is dropped"]
pub fn begin_call() -> InCall {
    set_in_call(true);
    InCall { _this_thread_only: PhantomData }
}

#[inline]
fn set_in_call(in_call: bool) {
    HELPS.with(|helps| {
        if let Some(helper) = helps.get() {
            helps.set(Some(Helper { in_call, ..helper }));
        }
    });
}

/// See [`begin_call`].
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

/// Makes the calling thread worker number `worker` of `pool` until the guard is dropped, also by a
/// panic. What it was before is then restored, so a worker may serve as another pool's worker for a
/// while; such guards are to be dropped in reverse order, as scopes do.
#[must_use = "the thread stops being a worker when the guard is dropped"]
pub(crate) fn enter(pool: PoolId, worker: usize) -> Guard {
    let before =
        CURRENT.with(|current| current.replace(Some(Place { pool, worker, quiet: false })));
    Guard { before, _this_thread_only: PhantomData }
}

/// See [`enter`].
#[derive(Debug)]
pub(crate) struct Guard {
    before: Option<Place>,
    /// Not `Send`: dropped elsewhere it would restore into another thread's place.
    _this_thread_only: PhantomData<*const ()>,
}

impl Drop for Guard {
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
    fn nested_places_are_restored() {
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
    fn a_panic_restores_too() {
        let unwound = panic::catch_unwind(|| {
            let _guard = enter(PoolId::next(), 5);
            // Not `panic!`: this one stays silent in the test's output.
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
    fn a_thread_for_blocking_calls_is_the_pools_but_no_worker() {
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
