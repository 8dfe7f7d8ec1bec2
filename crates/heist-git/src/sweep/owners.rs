//! Which pack an object is visited in, if several have it: the first one.

use crate::pack::index::PackIndex;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;

/// A set of positions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Positions {
    words: Vec<u64>,
}

impl Positions {
    pub(crate) fn insert(&mut self, position: u32) {
        let word = position as usize / 64;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (position % 64);
    }

    pub(crate) fn contains(&self, position: u32) -> bool {
        self.words.get(position as usize / 64).is_some_and(|word| word >> (position % 64) & 1 == 1)
    }

    pub(crate) fn len(&self) -> u64 {
        self.words.iter().map(|word| u64::from(word.count_ones())).sum()
    }
}

/// Returns, for each pack, the positions in its index of the objects that an earlier pack has. All
/// indexes are sorted, so this merges them.
pub(super) fn duplicates(indexes: &[&PackIndex]) -> io::Result<Vec<Positions>> {
    let mut duplicates: Vec<_> = indexes.iter().map(|_| Positions::default()).collect();
    if indexes.len() < 2 {
        return Ok(duplicates);
    }
    let mut next: BinaryHeap<_> = BinaryHeap::with_capacity(indexes.len());
    for (pack, index) in indexes.iter().enumerate() {
        if index.count() > 0 {
            next.push(Reverse((index.id_at(0)?, pack, 0_u32)));
        }
    }
    let mut last = None;
    while let Some(Reverse((id, pack, position))) = next.pop() {
        if last == Some(id) {
            duplicates[pack].insert(position);
        }
        last = Some(id);
        let position = position + 1;
        if u64::from(position) < indexes[pack].count() {
            next.push(Reverse((indexes[pack].id_at(position)?, pack, position)));
        }
    }
    Ok(duplicates)
}
