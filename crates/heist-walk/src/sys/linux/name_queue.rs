//! [`NameQueue`]: names that wait to be opened, packed into one buffer. Each takes a byte of flags,
//! the name and its terminating zero.
//!
//! So a pending directory costs the length of its name and two bytes, instead of a path and an
//! allocation.

use super::Name;
use std::ffi::CStr;

/// Set if the name is that of a symbolic link to follow.
const FOLLOW: u8 = 1;

/// Names of directories or files that wait to be opened, first in, first out.
#[derive(Debug, Default)]
pub(crate) struct NameQueue {
    packed: Vec<u8>,
    /// Where the next name begins.
    next_at: usize,
    /// Where the name that was taken last begins.
    taken_at: usize,
    left: usize,
}

impl NameQueue {
    /// Adds a name at the end.
    pub(crate) fn push(&mut self, name: &Name, follow: bool) {
        self.packed.push(if follow { FOLLOW } else { 0 });
        self.packed.extend_from_slice(name.to_bytes_with_nul());
        self.left += 1;
    }

    /// Takes the first name, and whether to follow it.
    pub(crate) fn next(&mut self) -> Option<(&Name, bool)> {
        let (&flags, rest) = self.packed.get(self.next_at..)?.split_first()?;
        let name = CStr::from_bytes_until_nul(rest).expect("every name ends in a zero");
        self.taken_at = self.next_at;
        self.next_at += 1 + name.count_bytes() + 1;
        self.left -= 1;
        Some((name, flags & FOLLOW != 0))
    }

    /// Puts the name that was taken last back to the front. Call it at most once after
    /// [`Self::next`].
    pub(crate) fn put_back(&mut self) {
        debug_assert!(self.taken_at < self.next_at, "no name was taken");
        self.next_at = self.taken_at;
        self.left += 1;
    }

    /// Takes all names out, into an allocation of exactly their size. This queue keeps its own
    /// allocation for the next names.
    pub(crate) fn take(&mut self) -> Self {
        let packed = self.packed[self.next_at..].to_vec();
        let taken = Self { packed, next_at: 0, taken_at: 0, left: self.left };
        self.clear();
        taken
    }

    /// Removes all names.
    pub(crate) fn clear(&mut self) {
        self.packed.clear();
        (self.next_at, self.taken_at, self.left) = (0, 0, 0);
    }

    /// Returns the number of names.
    pub(crate) fn len(&self) -> usize {
        self.left
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.left == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_out_in_the_order_they_went_in() {
        let mut names = NameQueue::default();
        assert!(names.next().is_none());
        let all = [(c"a", false), (c"\n\xff ", true), (c"", false)];
        for (name, follow) in all {
            names.push(name, follow);
        }
        assert_eq!(names.len(), 3);
        for expected in all {
            assert_eq!(names.next(), Some(expected));
        }
        assert!(names.next().is_none() && names.is_empty());

        let mut reused = NameQueue::default();
        for (name, follow) in all {
            reused.push(name, follow);
        }
        reused.next();
        let mut taken = reused.take();
        assert!(reused.is_empty() && reused.next().is_none());
        assert_eq!(taken.len(), 2);
        assert_eq!(taken.next(), Some(all[1]));
        taken.put_back();
        assert_eq!(taken.len(), 2);
        assert_eq!(taken.next(), Some(all[1]));
        assert_eq!(taken.next(), Some(all[2]));
        taken.put_back();
        assert_eq!(taken.take().next(), Some(all[2]));
    }
}
