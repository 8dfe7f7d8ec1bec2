//! Sets of files: which ones have been counted already.
//!
//! Only files with several names come here, but there may be millions of them (backups are made of hard links), so a
//! file costs 16 bytes at most, counting what is free: 8 for its number and 2 for its owner in tables that are at
//! least 9/14 full once they have grown.
//!
//! | type | idea |
//! |---|---|
//! | [`InodeTable`] | the numbers of one device's files: open addressing, nothing is ever removed |
//! | [`InodeSet`] | one table for each device |
//! | [`SharedInodes`] | sets for many workers, a lock for each of 64 |
//!
//! Not guaranteed: bounds against somebody who chooses inode numbers so that they collide. A file system does not let
//! its users choose.

use crate::metadata::FileIdentity;
use crossbeam_utils::CachePadded;
use std::sync::{Mutex, PoisonError};

/// No file has this number (a walk has no identity for one that seems to).
const FREE: u64 = 0;

/// A table's first size.
const SLOTS_AT_FIRST: usize = 16;

/// How a number was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claim {
    /// Nobody had it.
    First,
    /// It belongs to this owner, or one before.
    Taken,
    /// It belonged to a later owner, and now to this one.
    From(u16),
}

/// The numbers of files on one device, each with an owner. See the module's documentation.
#[derive(Debug, Default)]
struct InodeTable {
    inodes: Box<[u64]>,
    /// As long as `inodes`; empty in a table in which everything has the one owner 0.
    owners: Box<[u16]>,
    len: usize,
}

/// Spreads numbers that are close together, or multiples of something, over all 64 bits.
#[inline]
fn spread(inode: u64) -> u64 {
    // 2^64 divided by the golden ratio, odd: neighbours end up far apart. The upper half of the product depends on all
    // bits of the number, and the lower half on its low ones.
    let product = u128::from(inode) * 0x9e37_79b9_7f4a_7c15;
    #[expect(clippy::cast_possible_truncation, reason = "both halves are taken")]
    let (low, high) = (product as u64, (product >> 64) as u64);
    low ^ high.rotate_left(32)
}

impl InodeTable {
    /// Where to look first. Any number of slots, not only powers of two: so that a table need not double.
    #[inline]
    fn slot_of(inode: u64, slots: usize) -> usize {
        // The bits that chose the shard are the same for all here.
        let within = u128::from(spread(inode) << SHARD_BITS);
        #[expect(clippy::cast_possible_truncation, reason = "less than `slots`")]
        let slot = ((within * slots as u128) >> 64) as usize;
        slot
    }

    /// Where it is, or the free slot where it would be. There has to be a free one.
    #[inline]
    fn find(inodes: &[u64], inode: u64) -> usize {
        let mut slot = Self::slot_of(inode, inodes.len());
        while inodes[slot] != inode && inodes[slot] != FREE {
            slot += 1;
            if slot == inodes.len() {
                slot = 0;
            }
        }
        slot
    }

    fn claim(&mut self, inode: u64, owner: u16, with_owners: bool) -> Claim {
        // 0.9 at most: there is always a free slot, and searches stay short.
        if self.len * 10 >= self.inodes.len() * 9 {
            self.grow(with_owners);
        }
        let slot = Self::find(&self.inodes, inode);
        if self.inodes[slot] == FREE {
            self.inodes[slot] = inode;
            self.len += 1;
            if let Some(place) = self.owners.get_mut(slot) {
                *place = owner;
            }
            return Claim::First;
        }
        match self.owners.get_mut(slot) {
            Some(place) if *place > owner => Claim::From(std::mem::replace(place, owner)),
            _ => Claim::Taken,
        }
    }

    /// By 1.4: less than that moves everything too often, more leaves too much free.
    fn grow(&mut self, with_owners: bool) {
        let slots = (self.inodes.len() * 7 / 5).max(SLOTS_AT_FIRST);
        let mut inodes = vec![FREE; slots].into_boxed_slice();
        let mut owners = vec![0; if with_owners { slots } else { 0 }].into_boxed_slice();
        for (old, &inode) in self.inodes.iter().enumerate() {
            if inode != FREE {
                let slot = Self::find(&inodes, inode);
                inodes[slot] = inode;
                if let (Some(place), Some(&owner)) = (owners.get_mut(slot), self.owners.get(old)) {
                    *place = owner;
                }
            }
        }
        (self.inodes, self.owners) = (inodes, owners);
    }
}

/// A set of files. Each belongs to the first of those who claim it, in the order of the owners' numbers.
#[derive(Debug)]
pub(super) struct InodeSet {
    /// One device for nearly everybody, so no map.
    devices: Vec<(u64, InodeTable)>,
    with_owners: bool,
}

impl InodeSet {
    pub(super) fn new(with_owners: bool) -> Self {
        Self { devices: Vec::new(), with_owners }
    }

    /// Claims a file. Without owners whoever comes first has it.
    pub(super) fn claim(&mut self, file: FileIdentity, owner: u16) -> Claim {
        let known = self.devices.iter().position(|(device, _)| *device == file.device);
        let place = known.unwrap_or_else(|| {
            self.devices.push((file.device, InodeTable::default()));
            self.devices.len() - 1
        });
        let (_, table) = &mut self.devices[place];
        table.claim(file.inode, owner, self.with_owners)
    }

    /// Whether the file was not there before.
    pub(super) fn insert(&mut self, file: FileIdentity) -> bool {
        self.claim(file, 0) == Claim::First
    }
}

/// 64 locks: two workers seldom want the same one.
const SHARD_BITS: u32 = 6;

/// A set of files for many workers.
#[derive(Debug)]
pub(super) struct SharedInodes {
    shards: Box<[CachePadded<Mutex<InodeSet>>]>,
}

impl SharedInodes {
    pub(super) fn new(with_owners: bool) -> Self {
        let shard = |_| CachePadded::new(Mutex::new(InodeSet::new(with_owners)));
        Self { shards: (0..1 << SHARD_BITS).map(shard).collect() }
    }

    /// As [`InodeSet::claim`].
    pub(super) fn claim(&self, file: FileIdentity, owner: u16) -> Claim {
        let shard = (spread(file.inode) >> (u64::BITS - SHARD_BITS)) as usize;
        // A set is whole between any two calls, so one that somebody left by a panic is as good as others.
        let mut set = self.shards[shard].lock().unwrap_or_else(PoisonError::into_inner);
        set.claim(file, owner)
    }

    /// As [`InodeSet::insert`].
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
        fn a_set_is_a_set(files in prop::collection::vec((0..3_u64, inodes()), 0..2_000)) {
            let (mut set, shared) = (InodeSet::new(false), SharedInodes::new(false));
            let mut expected = HashSet::new();
            for (device, inode) in files {
                let is_new = expected.insert((device, inode));
                prop_assert_eq!(set.insert(file(device, inode)), is_new);
                prop_assert_eq!(shared.insert(file(device, inode)), is_new);
            }
        }

        #[test]
        fn the_first_owner_has_a_file(
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
    fn a_file_costs_16_bytes_at_most() {
        let mut table = InodeTable::default();
        for inode in 1..=200_000_u64 {
            table.claim(inode * 3, 0, true);
            let bytes = size_of_val(&*table.inodes) + size_of_val(&*table.owners);
            // A few of them may have more: a table does not start at nothing.
            assert!(table.len < 16 || bytes <= 16 * table.len, "{bytes} bytes for {}", table.len);
        }
    }

    #[test]
    fn searches_are_short_whatever_the_numbers_have_in_common() {
        for step in [1, 2, 16, 64, 1 << 20, 1 << 32, 1 << 48, 12_345_678_901] {
            let mut table = InodeTable::default();
            for place in 1..=20_000_u64 {
                table.claim(place.wrapping_mul(step).max(1), 0, false);
            }
            let slots = table.inodes.len();
            let way = |(slot, &inode): (usize, &u64)| {
                let first = InodeTable::slot_of(inode, slots);
                if inode == FREE { 0 } else { (slot + slots - first) % slots }
            };
            let sum: usize = table.inodes.iter().enumerate().map(way).sum();
            assert!(sum < 10 * table.len, "step {step}: {sum} steps for {}", table.len);
        }
    }

    #[test]
    fn of_many_workers_one_is_first() {
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
