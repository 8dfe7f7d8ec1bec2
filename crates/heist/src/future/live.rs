//! The futures that wait for something, so that a stop can reach them.
//!
//! A future that waits is not in any queue: only its wakers know it, wherever they are. A stopped
//! pool must drop it all the same. So a future leaves a waker here when it first returns `Pending`.
//! (Many futures complete in their first poll and never do.) A stop wakes all of them, and the
//! workers then drop them.
//!
//! Invariant: after [`LiveSet::take_all_for_good`] no future is added. A future that is refused
//! must be polled again.

use crate::sync::plant::{Plant, planted};
use crate::sync::{AtomicBool, CachePadded, Mutex, Ordering};
use slab::Slab;
use std::task::Waker;

#[derive(Debug, Default)]
struct Shard {
    wakers: Slab<Waker>,
    closed: bool,
}

/// A future's place in the set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LivePlace {
    shard: u32,
    index: u32,
}

/// The futures of one pool that have waited, one shard per worker: each adds to its own.
#[derive(Debug)]
pub(crate) struct LiveSet {
    shards: Box<[CachePadded<Mutex<Shard>>]>,
    /// `true` once a future was about to be added.
    used: AtomicBool,
}

impl LiveSet {
    pub(crate) fn new(workers: usize) -> Self {
        let shards = (0..workers).map(|_| CachePadded::new(Mutex::new(Shard::default()))).collect();
        Self { shards, used: AtomicBool::new(false) }
    }

    /// Returns `true` at the first call only: from then on there is something to stop.
    pub(crate) fn is_first(&self) -> bool {
        // Relaxed: it only selects one caller, which registers with the cancel token before its
        // future waits. Another future that comes meanwhile is in the set by the time the token is
        // cancelled.
        !self.used.load(Ordering::Relaxed) && !self.used.swap(true, Ordering::Relaxed)
    }

    /// Adds a future that worker `shard` has polled. Returns `None` if the pool was stopped: the
    /// future must then be polled again.
    pub(crate) fn add(&self, shard: usize, waker: Waker) -> Option<LivePlace> {
        let mut set = self.shards[shard].lock();
        if set.closed && !planted(Plant::LiveSetTakesAfterStop) {
            return None;
        }
        let index = set.wakers.insert(waker);
        // 2^32 futures would not fit into memory.
        Some(LivePlace { shard: shard as u32, index: index as u32 })
    }

    /// Removes a future that has ended.
    pub(crate) fn remove(&self, place: LivePlace) {
        let waker =
            self.shards[place.shard as usize].lock().wakers.try_remove(place.index as usize);
        // Outside of the lock: a waker's drop may be the end of its task.
        drop(waker);
    }

    /// Empties the set and closes it.
    pub(crate) fn take_all_for_good(&self) -> Vec<Waker> {
        let take = |shard: &CachePadded<Mutex<Shard>>| {
            let mut shard = shard.lock();
            shard.closed = true;
            std::mem::take(&mut shard.wakers)
        };
        self.shards.iter().flat_map(take).map(|(_index, waker)| waker).collect()
    }
}

#[cfg(all(test, not(heist_loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_stop_takes_the_futures_that_have_not_left() {
        let set = LiveSet::new(2);
        let waker = || Waker::noop().clone();
        let first = set.add(0, waker()).unwrap();
        let _second = set.add(1, waker()).unwrap();
        set.remove(first);
        assert_eq!(set.take_all_for_good().len(), 1);
        assert!(set.add(0, waker()).is_none(), "closed for good");
        set.remove(first);
        assert!(set.take_all_for_good().is_empty());
    }
}
