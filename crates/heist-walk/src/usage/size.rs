//! [`Size`]: how much space something takes, counted in three ways.
//!
//! Sums saturate: whatever sizes a file system claims, a sum never wraps around to a small number.

use crate::metadata::Metadata;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

/// How much space something takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Size {
    /// The length in bytes, including holes. A directory's is the length of its list of names.
    pub len: u64,
    /// The bytes allocated on the disk.
    pub allocated: u64,
    /// The number of files and directories.
    pub inodes: u64,
}

impl Size {
    /// Creates a size from its three figures.
    #[must_use]
    pub const fn new(len: u64, allocated: u64, inodes: u64) -> Self {
        Self { len, allocated, inodes }
    }

    /// Returns the size of one entry.
    #[must_use]
    pub const fn of(metadata: &Metadata) -> Self {
        Self { len: metadata.len, allocated: metadata.allocated, inodes: 1 }
    }

    /// Subtracts `other`, saturating at zero.
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
    fn sums_saturate() {
        let huge = Size { len: u64::MAX, allocated: u64::MAX - 1, inodes: 1 };
        let sum: Size = [huge, huge].into_iter().sum();
        assert_eq!(sum, Size { len: u64::MAX, allocated: u64::MAX, inodes: 2 });
        assert_eq!(Size::default().without(huge), Size::default());
        let one = Size { len: 1, allocated: 2, inodes: 3 };
        assert_eq!((one + one).without(one), one);
    }
}
