//! The set of parked workers: one bit for each worker.

use crate::sync::{AtomicU64, Ordering};

/// The position of a worker's bit.
#[derive(Clone, Copy)]
struct BitPosition {
    word: usize,
    mask: u64,
}

impl BitPosition {
    fn of(worker: usize) -> Self {
        let bits = u64::BITS as usize;
        Self { word: worker / bits, mask: 1 << (worker % bits) }
    }
}

/// A concurrent set of worker ids.
#[derive(Debug)]
pub(crate) struct ParkedSet {
    // Not padded word by word: a pusher reads all words, and 512 workers fit into one cache line.
    words: Box<[AtomicU64]>,
}

impl ParkedSet {
    /// Creates an empty set with room for `workers` workers.
    pub(crate) fn new(workers: usize) -> Self {
        let words = workers.div_ceil(u64::BITS as usize);
        Self { words: (0..words).map(|_| AtomicU64::new(0)).collect() }
    }

    /// Adds a worker.
    pub(crate) fn insert(&self, worker: usize) {
        let bit = BitPosition::of(worker);
        self.words[bit.word].fetch_or(bit.mask, Ordering::AcqRel);
    }

    /// Removes a worker. Returns `true` if it was in the set.
    pub(crate) fn remove(&self, worker: usize) -> bool {
        let bit = BitPosition::of(worker);
        self.words[bit.word].fetch_and(!bit.mask, Ordering::AcqRel) & bit.mask != 0
    }

    /// Removes and returns the worker with the lowest id. Always taking the lowest keeps the same
    /// few workers warm, and finding it takes one instruction per word.
    pub(crate) fn take_lowest(&self) -> Option<usize> {
        for (index, word) in self.words.iter().enumerate() {
            let mut seen = word.load(Ordering::Relaxed);
            while seen != 0 {
                let bit = seen.trailing_zeros();
                let mask = 1 << bit;
                seen = word.fetch_and(!mask, Ordering::AcqRel);
                if seen & mask != 0 {
                    return Some(index * u64::BITS as usize + bit as usize);
                }
            }
        }
        None
    }

    /// Returns a worker that looks parked. It may leave the set before the caller acts on it.
    #[cfg(any(test, heist_plant))]
    pub(crate) fn peek(&self) -> Option<usize> {
        self.words.iter().enumerate().find_map(|(index, word)| {
            let seen = word.load(Ordering::Relaxed);
            (seen != 0).then(|| index * u64::BITS as usize + seen.trailing_zeros() as usize)
        })
    }

    /// Returns `true` if no worker looks parked.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.words.iter().all(|word| word.load(Ordering::Relaxed) == 0)
    }
}

#[cfg(all(test, not(heist_loom)))]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn behaves_like_an_ordered_set_beyond_64_workers() {
        let workers = 200;
        let parked = ParkedSet::new(workers);
        let mut expected = BTreeSet::new();
        for worker in (0..workers).filter(|worker| worker % 3 != 1) {
            parked.insert(worker);
            expected.insert(worker);
        }
        for worker in (0..workers).step_by(5) {
            assert_eq!(parked.remove(worker), expected.remove(&worker), "worker {worker}");
        }
        for worker in expected {
            assert!(!parked.is_empty());
            assert_eq!(parked.peek(), Some(worker));
            assert_eq!(parked.take_lowest(), Some(worker));
        }
        assert_eq!(parked.take_lowest(), None);
        assert!(parked.is_empty());
    }
}
