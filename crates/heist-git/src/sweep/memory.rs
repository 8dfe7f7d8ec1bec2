//! How much memory the contents of objects take.
//!
//! Two budgets, because a task that holds memory must never wait for memory:
//!
//! - `trees`: before the first object of a tree of deltas is decoded, the tree takes what it is
//!   likely to need. A tree that does not get it waits as a task and holds nothing.
//! - `buffers`: every buffer above [`SMALL`] is taken from here, without waiting. A task that gets
//!   none puts its subtree off: it gives up all that it holds, and the subtree waits as a task for
//!   *all* of `trees`, so that it then has all of `buffers` for itself. It starts from the whole
//!   object at the root of its chain, which takes two objects and a delta at a time; `buffers` has
//!   room for that.
//!
//! So holders never wait and waiters never hold, and each wait ends with at least one more object
//! visited: there is no deadlock.
//!
//! Smaller buffers are not counted. A worker descends into the subtree that needs most buffers
//! last, so on its way down it holds at most one buffer for each doubling of the number of objects:
//! about 20, or 1.3 MB.

use heist::budget::BudgetError;
use heist::{ByteBudget, BytePermit};

/// Buffers up to this size are not taken from a budget.
pub(super) const SMALL: usize = 64 << 10;

/// Returned buffers that a worker keeps for the next object.
const KEPT: usize = 4;

/// Larger buffers are not kept.
const KEPT_BYTES_MAX: usize = 2 << 20;

/// The budgets of a sweep.
#[derive(Debug)]
pub(super) struct Memory {
    pub trees: ByteBudget,
    buffers: ByteBudget,
}

/// A permit for a buffer; small ones need none.
pub(super) type Reserved = Option<BytePermit>;

/// There is not enough memory now.
#[derive(Debug)]
pub(super) struct Short;

impl Memory {
    /// Creates the budgets. `bytes` is raised to what one chain of deltas needs.
    pub(super) fn new(
        bytes: u64,
        object_bytes: u64,
        delta_bytes: u64,
    ) -> Result<Self, BudgetError> {
        let one_chain = 2 * (object_bytes + SMALL as u64) + delta_bytes;
        let bytes = bytes.max(one_chain);
        Ok(Self { trees: ByteBudget::new((bytes / 2).max(1))?, buffers: ByteBudget::new(bytes)? })
    }

    /// Takes `size` bytes, unless they are few.
    pub(super) fn reserve(&self, size: usize) -> Result<Reserved, Short> {
        if size <= SMALL {
            return Ok(None);
        }
        match self.buffers.try_acquire(size as u64) {
            Ok(permit) => Ok(Some(permit)),
            Err(_) => Err(Short),
        }
    }

    /// Returns what a tree of deltas takes: at most all that there is for trees.
    pub(super) fn of_tree(&self, root_size: usize, registers: u8) -> u64 {
        // The objects of a tree are versions of the same file, so they are about as large. The
        // fourth part is for those that are larger, and for deltas.
        let size = root_size as u64 + root_size as u64 / 4 + 4096;
        (size * u64::from(registers)).min(self.trees.total())
    }

    pub(super) fn high_water(&self) -> u64 {
        self.buffers.high_water()
    }
}

/// Buffers of one worker that are used again. Contents that are at least half as large as a kept
/// buffer get that one.
#[derive(Debug, Default)]
pub(super) struct Pool {
    kept: Vec<Vec<u8>>,
}

impl Pool {
    /// Returns a buffer with room for `size` bytes, and with any content.
    pub(super) fn take(&mut self, size: usize) -> Vec<u8> {
        if size > SMALL {
            let fits = |buffer: &Vec<u8>| (size..=2 * size).contains(&buffer.capacity());
            if let Some(at) = self.kept.iter().position(fits) {
                return self.kept.swap_remove(at);
            }
        }
        Vec::with_capacity(size)
    }

    /// Takes a buffer back.
    pub(super) fn give(&mut self, buffer: Vec<u8>) {
        if (SMALL..=KEPT_BYTES_MAX).contains(&buffer.capacity()) {
            if self.kept.len() == KEPT {
                self.kept.remove(0);
            }
            self.kept.push(buffer);
        }
    }
}

/// Makes `buffer` exactly `size` bytes long, and writes zeros only where it has never been used.
pub(super) fn set_len(buffer: &mut Vec<u8>, size: usize) {
    buffer.resize(size, 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_chain_always_fits() {
        let memory = Memory::new(0, 1 << 20, 1 << 19).unwrap();
        let first = memory.reserve(1 << 20).unwrap();
        let second = memory.reserve(1 << 20).unwrap();
        let delta = memory.reserve(1 << 19).unwrap();
        assert!(first.is_some() && second.is_some() && delta.is_some());
        assert!(memory.reserve(1 << 20).is_err());
        assert!(memory.reserve(SMALL).is_ok_and(|permit| permit.is_none()));
        drop((first, second));
        assert!(memory.reserve(1 << 20).is_ok());
    }

    #[test]
    fn kept_buffers_are_used_for_contents_of_their_size() {
        let mut pool = Pool::default();
        let buffer = Vec::with_capacity(1 << 20);
        pool.give(buffer);
        assert_eq!(pool.take(SMALL + 1).capacity(), SMALL + 1);
        assert_eq!((pool.kept.len(), pool.take(600 << 10).capacity()), (1, 1 << 20));
        for _ in 0..100 {
            pool.give(Vec::with_capacity(1 << 20));
        }
        pool.give(Vec::with_capacity(100 << 20));
        assert_eq!(pool.kept.len(), KEPT);
    }
}
