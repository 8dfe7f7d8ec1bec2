//! [`Names`]: the names of directories that wait to be opened, packed: a byte of flags, the name, and its zero.
//!
//! A pending directory costs the length of its name and two bytes, not a path and not an allocation.

use super::Name;
use std::ffi::CStr;

/// Set if the name is that of a symbolic link to follow.
const FOLLOW: u8 = 1;

/// Names, first in, first out.
#[derive(Debug, Default)]
pub(crate) struct Names {
    packed: Vec<u8>,
    /// Where the next name begins.
    next_at: usize,
    /// Where the last one that was taken begins.
    taken_at: usize,
    left: usize,
}

impl Names {
    /// Adds a name at the end.
    pub(crate) fn push(&mut self, name: &Name, follow: bool) {
        self.packed.push(if follow { FOLLOW } else { 0 });
        self.packed.extend_from_slice(name.to_bytes_with_nul());
        self.left += 1;
    }

    /// Takes the first name: with whether to follow it.
    pub(crate) fn next(&mut self) -> Option<(&Name, bool)> {
        let (&flags, rest) = self.packed.get(self.next_at..)?.split_first()?;
        let name = CStr::from_bytes_until_nul(rest).expect("every name was pushed with its zero");
        self.taken_at = self.next_at;
        self.next_at += 1 + name.count_bytes() + 1;
        self.left -= 1;
        Some((name, flags & FOLLOW != 0))
    }

    /// Puts the last name that was taken back: it is the first again. To be called once after [`Self::next`].
    pub(crate) fn put_back(&mut self) {
        debug_assert!(self.taken_at < self.next_at, "a name was taken");
        self.next_at = self.taken_at;
        self.left += 1;
    }

    /// Takes them all out, into an allocation of just their size; this one keeps its own, for the next ones.
    pub(crate) fn take(&mut self) -> Self {
        let packed = self.packed[self.next_at..].to_vec();
        let taken = Self { packed, next_at: 0, taken_at: 0, left: self.left };
        self.clear();
        taken
    }

    /// Forgets them.
    pub(crate) fn clear(&mut self) {
        self.packed.clear();
        (self.next_at, self.taken_at, self.left) = (0, 0, 0);
    }

    /// How many there are.
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
    fn names_come_out_as_they_went_in() {
        let mut names = Names::default();
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

        let mut reused = Names::default();
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
