//! Sets of files that are already counted.
//!
//! Only files with several names are in them. But there may be millions of these, because some
//! backups consist of hard links, so a file costs at most 16 bytes: 8 for its inode number and 2
//! for its owner, in tables that are at least 9/14 full once they have grown.
//!
//! | type | purpose |
//! |---|---|
//! | [`InodeTable`] | the inode numbers of one device (open addressing, no removal) |
//! | [`InodeSet`] | one table for each device |
//! | [`SharedInodes`] | 64 sets with a lock each, shared by the workers |
//!
//! Not guaranteed: fast lookups if someone chooses inode numbers that collide. File systems do not
//! let their users choose.

use crate::metadata::FileIdentity;
use crossbeam_utils::CachePadded;
use std::sync::{Mutex, PoisonError};

/// Marks a free cell. No file has this number, because the walk treats 0 as unknown.
const FREE: u64 = 0;

/// The first size of a table.
const INITIAL_CELLS: usize = 16;

/// The result of claiming a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claim {
    /// The file had no owner.
    First,
    /// The file belongs to this owner or to an earlier one.
    Taken,
    /// The file belonged to this later owner, and now belongs to the claiming one.
    From(u16),
}

/// The inode numbers of one device, each with an owner. See the module's documentation.
#[derive(Debug, Default)]
struct InodeTable {
    inodes: Box<[u64]>,
    /// As long as `inodes`, or empty if the table has no owners.
    owners: Box<[u16]>,
    len: usize,
}

/// Spreads numbers that are close together, or multiples of some number, over all 64 bits.
#[inline]
fn spread(inode: u64) -> u64 {
    // The factor is 2^64 divided by the golden ratio, rounded to an odd number, so neighbours end
    // up far apart. The upper half of the product depends on all bits of the number, the lower half
    // on its low bits.
    let product = u128::from(inode) * 0x9e37_79b9_7f4a_7c15;
    #[expect(clippy::cast_possible_truncation, reason = "both halves are taken")]
    let (low, high) = (product as u64, (product >> 64) as u64);
    low ^ high.rotate_left(32)
}

impl InodeTable {
    /// Returns the cell to look at first. The number of cells does not have to be a power of two,
    /// so a table can grow by less than a factor of 2.
    #[inline]
    fn cell_of(inode: u64, cells: usize) -> usize {
        // The bits that selected the shard are equal for all numbers in this table.
        let within = u128::from(spread(inode) << SHARD_BITS);
        #[expect(clippy::cast_possible_truncation, reason = "less than `cells`")]
        let cell = ((within * cells as u128) >> 64) as usize;
        cell
    }

    /// Returns the cell of a number, or the free cell where it belongs. The table must have a free
    /// cell.
    #[inline]
    fn find(inodes: &[u64], inode: u64) -> usize {
        let mut cell = Self::cell_of(inode, inodes.len());
        while inodes[cell] != inode && inodes[cell] != FREE {
            cell += 1;
            if cell == inodes.len() {
                cell = 0;
            }
        }
        cell
    }

    fn claim(&mut self, inode: u64, owner: u16, with_owners: bool) -> Claim {
        // At most 0.9 full: there is always a free cell, and searches stay short.
        if self.len * 10 >= self.inodes.len() * 9 {
            self.grow(with_owners);
        }
        let cell = Self::find(&self.inodes, inode);
        if self.inodes[cell] == FREE {
            self.inodes[cell] = inode;
            self.len += 1;
            if let Some(place) = self.owners.get_mut(cell) {
                *place = owner;
            }
            return Claim::First;
        }
        match self.owners.get_mut(cell) {
            Some(place) if *place > owner => Claim::From(std::mem::replace(place, owner)),
            _ => Claim::Taken,
        }
    }

    /// Grows the table by 1.4. A smaller factor would move everything too often, a larger one leave
    /// too much memory unused.
    fn grow(&mut self, with_owners: bool) {
        let cells = (self.inodes.len() * 7 / 5).max(INITIAL_CELLS);
        let mut inodes = vec![FREE; cells].into_boxed_slice();
        let mut owners = vec![0; if with_owners { cells } else { 0 }].into_boxed_slice();
        for (old, &inode) in self.inodes.iter().enumerate() {
            if inode != FREE {
                let cell = Self::find(&inodes, inode);
                inodes[cell] = inode;
                if let (Some(place), Some(&owner)) = (owners.get_mut(cell), self.owners.get(old)) {
                    *place = owner;
                }
            }
        }
        (self.inodes, self.owners) = (inodes, owners);
    }
}

/// A set of files. Each belongs to the owner with the lowest number among those that claim it.
#[derive(Debug)]
pub(super) struct InodeSet {
    /// A list, because nearly all walks have a single device.
    devices: Vec<(u64, InodeTable)>,
    with_owners: bool,
}

impl InodeSet {
    pub(super) fn new(with_owners: bool) -> Self {
        Self { devices: Vec::new(), with_owners }
    }

    /// Claims a file. Without owners the first claim wins.
    pub(super) fn claim(&mut self, file: FileIdentity, owner: u16) -> Claim {
        let known = self.devices.iter().position(|(device, _)| *device == file.device);
        let place = known.unwrap_or_else(|| {
            self.devices.push((file.device, InodeTable::default()));
            self.devices.len() - 1
        });
        let (_, table) = &mut self.devices[place];
        table.claim(file.inode, owner, self.with_owners)
    }

    /// Returns `true` if the file was not in the set.
    pub(super) fn insert(&mut self, file: FileIdentity) -> bool {
        self.claim(file, 0) == Claim::First
    }
}

/// 64 locks, so two workers rarely want the same one.
const SHARD_BITS: u32 = 6;

/// A set of files that the workers share.
#[derive(Debug)]
pub(super) struct SharedInodes {
    shards: Box<[CachePadded<Mutex<InodeSet>>]>,
}

impl SharedInodes {
    pub(super) fn new(with_owners: bool) -> Self {
        let shard = |_| CachePadded::new(Mutex::new(InodeSet::new(with_owners)));
        Self { shards: (0..1 << SHARD_BITS).map(shard).collect() }
    }

    /// See [`InodeSet::claim`].
    pub(super) fn claim(&self, file: FileIdentity, owner: u16) -> Claim {
        let shard = (spread(file.inode) >> (u64::BITS - SHARD_BITS)) as usize;
        // A poisoned set is still valid, because each call completes its change before anything can
        // panic.
        let mut set = self.shards[shard].lock().unwrap_or_else(PoisonError::into_inner);
        set.claim(file, owner)
    }

    /// See [`InodeSet::insert`].
    pub(super) fn insert(&self, file: FileIdentity) -> bool {
        self.claim(file, 0) == Claim::First
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{HashMap, HashSet};

    fn file(device: u64, inode: u64) -> FileIdentity {
        FileIdentity { device, inode }
    }

    /// Numbers that are close together, far apart, or multiples of a large power of two.
    fn inodes() -> impl Strategy<Value = u64> {
        prop_oneof![
            1..300_u64,
            any::<u64>().prop_map(|n| n.max(1)),
            (1..300_u64).prop_map(|n| n << 40)
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn inode_sets_behave_like_hash_sets(
            files in prop::collection::vec((0..3_u64, inodes()), 0..2_000),
        ) {
            let (mut set, shared) = (InodeSet::new(false), SharedInodes::new(false));
            let mut expected = HashSet::new();
            for (device, inode) in files {
                let is_new = expected.insert((device, inode));
                prop_assert_eq!(set.insert(file(device, inode)), is_new);
                prop_assert_eq!(shared.insert(file(device, inode)), is_new);
            }
        }

        #[test]
        fn a_file_belongs_to_the_owner_with_the_lowest_number(
            claims in prop::collection::vec((0..2_u64, 1..300_u64, any::<u16>()), 0..2_000)
        ) {
            let shared = SharedInodes::new(true);
            let mut owners = HashMap::new();
            for (device, inode, owner) in claims {
                let expected = match owners.get(&(device, inode)).copied() {
                    None => Claim::First,
                    Some(before) if before > owner => Claim::From(before),
                    Some(_) => Claim::Taken,
                };
                if expected != Claim::Taken {
                    owners.insert((device, inode), owner);
                }
                prop_assert_eq!(shared.claim(file(device, inode), owner), expected);
            }
        }
    }

    #[test]
    fn a_file_costs_at_most_16_bytes() {
        let mut table = InodeTable::default();
        for inode in 1..=200_000_u64 {
            table.claim(inode * 3, 0, true);
            let bytes = size_of_val(&*table.inodes) + size_of_val(&*table.owners);
            // A table starts with some cells, so the first few files may cost more.
            assert!(table.len < 16 || bytes <= 16 * table.len, "{bytes} bytes for {}", table.len);
        }
    }

    #[test]
    fn searches_are_short_for_numbers_with_any_common_factor() {
        for step in [1, 2, 16, 64, 1 << 20, 1 << 32, 1 << 48, 12_345_678_901] {
            let mut table = InodeTable::default();
            for place in 1..=20_000_u64 {
                table.claim(place.wrapping_mul(step).max(1), 0, false);
            }
            let cells = table.inodes.len();
            let way = |(cell, &inode): (usize, &u64)| {
                let first = InodeTable::cell_of(inode, cells);
                if inode == FREE { 0 } else { (cell + cells - first) % cells }
            };
            let sum: usize = table.inodes.iter().enumerate().map(way).sum();
            assert!(sum < 10 * table.len, "step {step}: {sum} steps for {}", table.len);
        }
    }

    #[test]
    fn only_one_of_many_workers_claims_a_file_first() {
        let shared = SharedInodes::new(false);
        let firsts: usize = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..4)
                .map(|worker| {
                    let shared = &shared;
                    scope.spawn(move || {
                        let mine =
                            (1..=20_000_u64).map(|n| if worker % 2 == 0 { n } else { 20_001 - n });
                        mine.filter(|&inode| shared.insert(file(inode % 2, inode))).count()
                    })
                })
                .collect();
            workers.into_iter().map(|worker| worker.join().unwrap()).sum()
        });
        assert_eq!(firsts, 20_000);
    }
}
