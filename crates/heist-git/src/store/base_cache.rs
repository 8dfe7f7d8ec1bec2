//! Bases of deltas that the next object may need as well.

use crate::object::ObjectKind;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// Where a base is: the pack and the offset.
pub(crate) type BaseKey = (usize, u64);

/// A base, whose content several may hold.
#[derive(Clone, Debug)]
pub(crate) struct Base {
    pub kind: ObjectKind,
    pub content: Arc<Vec<u8>>,
}

/// Keeps the bases that were decoded last, up to a number of bytes.
#[derive(Debug)]
pub(crate) struct BaseCache {
    bases: HashMap<BaseKey, Base>,
    /// The oldest first.
    order: VecDeque<BaseKey>,
    bytes: usize,
    bytes_max: usize,
}

impl BaseCache {
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self { bases: HashMap::new(), order: VecDeque::new(), bytes: 0, bytes_max }
    }

    pub(crate) fn get(&self, key: &BaseKey) -> Option<Base> {
        self.bases.get(key).cloned()
    }

    /// Keeps a base, and drops the oldest ones for it. A base that would take more than half of the
    /// cache is not kept.
    pub(crate) fn insert(&mut self, key: BaseKey, base: &Base) {
        let size = base.content.len();
        if size > self.bytes_max / 2 || self.bases.contains_key(&key) {
            return;
        }
        while self.bytes + size > self.bytes_max
            && let Some(oldest) = self.order.pop_front()
        {
            let dropped = self.bases.remove(&oldest);
            self.bytes -= dropped.map_or(0, |base| base.content.len());
        }
        self.bytes += size;
        self.bases.insert(key, base.clone());
        self.order.push_back(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_bases_make_room() {
        let base = |len| Base { kind: ObjectKind::Blob, content: Arc::new(vec![0; len]) };
        let mut cache = BaseCache::new(100);
        for key in 0..10 {
            cache.insert((0, key), &base(30));
            cache.insert((0, key), &base(30));
        }
        cache.insert((1, 0), &base(60));
        let kept: Vec<_> = (0..10).filter(|key| cache.get(&(0, *key)).is_some()).collect();
        assert_eq!((kept, cache.bytes), (vec![7, 8, 9], 90));
        assert!(cache.get(&(1, 0)).is_none());
    }
}
