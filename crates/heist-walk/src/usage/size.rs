//! [`Size`]: how much room something takes, counted in the three ways that people ask for.
//!
//! Sums stop at the largest number: a file system may claim what it likes, and no claim makes a sum small.

use crate::metadata::Metadata;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

/// How much room something takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Size {
    /// Bytes, as a reader of the contents sees them: holes included. A directory's are those of its list of names.
    pub len: u64,
    /// Bytes on the disk.
    pub allocated: u64,
    /// Files and directories.
    pub inodes: u64,
}

impl Size {
    /// The size of one entry.
    #[must_use]
    pub const fn of(metadata: &Metadata) -> Self {
        Self { len: metadata.len, allocated: metadata.allocated, inodes: 1 }
    }

    /// What is left without `other`; nothing, if that is larger.
    pub(super) const fn without(self, other: Self) -> Self {
        Self {
            len: self.len.saturating_sub(other.len),
            allocated: self.allocated.saturating_sub(other.allocated),
            inodes: self.inodes.saturating_sub(other.inodes),
        }
    }
}

impl Add for Size {
    type Output = Self;

    #[inline]
    fn add(self, other: Self) -> Self {
        Self {
            len: self.len.saturating_add(other.len),
            allocated: self.allocated.saturating_add(other.allocated),
            inodes: self.inodes.saturating_add(other.inodes),
        }
    }
}

impl AddAssign for Size {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Size {
    fn sum<I: Iterator<Item = Self>>(sizes: I) -> Self {
        sizes.fold(Self::default(), Add::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_stop_at_the_largest_number() {
        let huge = Size { len: u64::MAX, allocated: u64::MAX - 1, inodes: 1 };
        let sum: Size = [huge, huge].into_iter().sum();
        assert_eq!(sum, Size { len: u64::MAX, allocated: u64::MAX, inodes: 2 });
        assert_eq!(Size::default().without(huge), Size::default());
        let one = Size { len: 1, allocated: 2, inodes: 3 };
        assert_eq!((one + one).without(one), one);
    }
}
