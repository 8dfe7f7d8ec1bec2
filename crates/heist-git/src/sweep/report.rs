//! What a sweep has done: every object is in exactly one of the counts.

use crate::object::ObjectKind;
use crate::problem::FileError;
use heist::MetricsSnapshot;

/// The counts of a sweep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SweepCounts {
    /// Objects that were visited, by kind, in the order of [`ObjectKind::ALL`].
    pub visited: [u64; 4],
    /// Objects of kinds that no visitor wants. They were not read.
    pub unwanted: u64,
    /// Objects that could not be read.
    pub unreadable: u64,
    /// Further copies of objects: in other packs, or loose and in a pack. Each object is visited
    /// once.
    pub duplicates: u64,
    /// The bytes of the visited objects.
    pub visited_bytes: u64,
    /// The bytes that were decoded, including bases that were decoded again for lack of memory.
    pub decoded_bytes: u64,
    /// Subtrees of deltas that were put off because memory was short.
    pub put_off: u64,
}

impl SweepCounts {
    /// Returns the number of visited objects of one kind.
    #[must_use]
    pub const fn of(&self, kind: ObjectKind) -> u64 {
        self.visited[kind as usize]
    }

    /// Returns the number of objects that have an outcome.
    #[must_use]
    pub fn accounted(&self) -> u64 {
        self.visited.iter().sum::<u64>() + self.unwanted + self.unreadable
    }

    pub(super) fn add(&mut self, other: &Self) {
        for (sum, count) in self.visited.iter_mut().zip(other.visited) {
            *sum += count;
        }
        self.unwanted += other.unwanted;
        self.unreadable += other.unreadable;
        self.duplicates += other.duplicates;
        self.visited_bytes += other.visited_bytes;
        self.decoded_bytes += other.decoded_bytes;
        self.put_off += other.put_off;
    }
}

/// The result of a sweep.
#[derive(Debug)]
#[non_exhaustive]
pub struct SweepReport<V> {
    /// The visitors of all workers.
    pub visitors: Vec<V>,
    /// What became of the objects.
    pub counts: SweepCounts,
    /// The number of objects that have no outcome, because the sweep was cancelled or reached its
    /// limit of decoded bytes. 0 after a complete sweep.
    pub cut: u64,
    /// Files of the store that could not be read, including those that
    /// [`ObjectStore::problems`](crate::ObjectStore::problems) has.
    pub problems: Vec<FileError>,
    /// The most bytes that large buffers took at a time.
    pub buffers_high_water: u64,
    /// The executor's metrics.
    pub metrics: MetricsSnapshot,
}
