//! The deltas of a pack as a forest: who is based on whom, what everything is, and in which order
//! few buffers are enough.

use crate::object::ObjectKind;

/// Marks an entry without a base in the same pack.
pub(super) const NO_BASE: u32 = u32::MAX;

/// Marks an entry whose kind is not known, because its base cannot be found or read.
pub(super) const NO_KIND: u8 = u8::MAX;

/// The forest of a pack. Entries are numbered by their place in the pack.
#[derive(Debug)]
pub(super) struct Forest {
    /// The base of each entry.
    bases: Vec<u32>,
    /// Where the children of each entry begin in `children`; one more than entries.
    starts: Vec<u32>,
    children: Vec<u32>,
    /// The kind of each entry by its place in [`ObjectKind::ALL`].
    kinds: Vec<u8>,
    /// How many buffers are needed at a time to decode all that is based on an entry. 0 if its
    /// chain of deltas has no end.
    registers: Vec<u8>,
}

impl Forest {
    /// Builds the forest. `bases` has the base of each entry, and `kinds` the kinds of those
    /// without one; the kinds of the others are overwritten.
    pub(super) fn new(bases: Vec<u32>, kinds: Vec<u8>) -> Self {
        let (starts, children) = group_by_base(&bases);
        let registers = vec![0; bases.len()];
        let mut forest = Self { bases, starts, children, kinds, registers };
        let order = forest.set_kinds();
        forest.set_registers(&order);
        forest
    }

    /// Spreads the kinds from the roots. Returns the entries that have one, bases first.
    fn set_kinds(&mut self) -> Vec<u32> {
        let len = self.bases.len();
        let mut order = Vec::with_capacity(len);
        for entry in 0..len {
            match self.bases[entry] {
                NO_BASE => order.push(entry as u32),
                _ => self.kinds[entry] = NO_KIND,
            }
        }
        let mut next = 0;
        while let Some(&entry) = order.get(next) {
            next += 1;
            for child in self.child_range(entry) {
                let child = self.children[child as usize];
                self.kinds[child as usize] = self.kinds[entry as usize];
                order.push(child);
            }
        }
        order
    }

    /// Counts the buffers that each subtree needs, and sorts children so that the neediest is last:
    /// then nothing but that subtree is left, and the base's own buffer is free.
    fn set_registers(&mut self, order: &[u32]) {
        for &entry in order.iter().rev() {
            let range = self.child_range(entry);
            let registers = &mut self.registers;
            registers[entry as usize] = 1;
            let children = &mut self.children[range.start as usize..range.end as usize];
            if children.len() > 1 {
                // Equals stay in the order of the pack, which is that of the disk.
                children.sort_by_key(|child| registers[*child as usize]);
            }
            let Some((&last, others)) = children.split_last() else { continue };
            let others = others.last().map_or(0, |child| registers[*child as usize] + 1);
            registers[entry as usize] = registers[last as usize].max(others).max(2);
        }
    }

    /// Returns the number of entries.
    pub(super) fn len(&self) -> usize {
        self.bases.len()
    }

    /// Returns the base of an entry in this pack.
    pub(super) fn base(&self, entry: u32) -> Option<u32> {
        Some(self.bases[entry as usize]).filter(|base| *base != NO_BASE)
    }

    /// Returns the places of an entry's children.
    pub(super) fn child_range(&self, entry: u32) -> std::ops::Range<u32> {
        self.starts[entry as usize]..self.starts[entry as usize + 1]
    }

    /// Returns `true` if other entries are based on this one.
    pub(super) fn has_children(&self, entry: u32) -> bool {
        !self.child_range(entry).is_empty()
    }

    /// Returns the child at a place of a range.
    pub(super) fn child(&self, place: u32) -> u32 {
        self.children[place as usize]
    }

    /// Returns the kind of an entry, if it is known.
    pub(super) fn kind(&self, entry: u32) -> Option<ObjectKind> {
        ObjectKind::ALL.get(usize::from(self.kinds[entry as usize])).copied()
    }

    /// Returns `true` if the entry is a delta against itself, directly or through others, or
    /// against such an entry.
    pub(super) fn is_endless(&self, entry: u32) -> bool {
        self.registers[entry as usize] == 0
    }

    /// Returns how many buffers the entry and all that is based on it need at a time.
    pub(super) fn registers(&self, entry: u32) -> u8 {
        self.registers[entry as usize]
    }
}

/// Returns the children of all entries in one array, and where those of each entry begin.
fn group_by_base(bases: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let len = bases.len();
    let mut starts = vec![0_u32; len + 1];
    let with_base = |base: &&u32| **base != NO_BASE;
    for &base in bases.iter().filter(with_base) {
        starts[base as usize + 1] += 1;
    }
    for entry in 0..len {
        starts[entry + 1] += starts[entry];
    }
    let mut children = vec![0; starts[len] as usize];
    // Each start moves to the end of its range, and back by one range at the end.
    for (entry, &base) in bases.iter().enumerate() {
        if base != NO_BASE {
            let place = &mut starts[base as usize];
            children[*place as usize] = entry as u32;
            *place += 1;
        }
    }
    starts.copy_within(0..len, 1);
    starts[0] = 0;
    (starts, children)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn children(forest: &Forest, entry: u32) -> Vec<u32> {
        forest.child_range(entry).map(|place| forest.child(place)).collect()
    }

    #[test]
    fn the_neediest_child_is_last() {
        // 0 has 1, 2 and 5; 2 has 3 and 4; 3 has 6 and 7.
        let bases = vec![NO_BASE, 0, 0, 2, 2, 0, 3, 3, NO_BASE];
        let forest = Forest::new(bases, vec![2, 9, 9, 9, 9, 9, 9, 9, 0]);
        assert_eq!(children(&forest, 0), [1, 5, 2]);
        assert_eq!(children(&forest, 2), [4, 3]);
        assert_eq!(children(&forest, 3), [6, 7]);
        assert_eq!(forest.kind(7), Some(ObjectKind::Blob));
        assert_eq!(forest.kind(8), Some(ObjectKind::Commit));
        // A chain needs two buffers, however long; two equal subtrees need one more.
        assert_eq!([7, 3, 2, 0].map(|entry| forest.registers(entry)), [1, 2, 2, 2]);
        let two_chains = Forest::new(vec![NO_BASE, 0, 1, 0, 3], vec![2; 5]);
        assert_eq!(two_chains.registers(0), 3);
    }

    #[test]
    fn a_cycle_has_no_kind() {
        let forest = Forest::new(vec![1, 2, 0, NO_BASE, 4, 2], vec![2; 6]);
        let endless: Vec<_> = (0..6).map(|entry| forest.is_endless(entry)).collect();
        assert_eq!(endless, [true, true, true, false, true, true]);
        assert_eq!((forest.kind(0), forest.kind(3)), (None, Some(ObjectKind::Blob)));
    }

    #[test]
    fn a_long_chain_needs_no_stack() {
        let bases = (0..1_000_000).map(|entry: u32| entry.wrapping_sub(1)).collect();
        let forest = Forest::new(bases, vec![1; 1_000_000]);
        assert_eq!(forest.registers(0), 2);
        assert_eq!(forest.kind(999_999), Some(ObjectKind::Tree));
    }
}
