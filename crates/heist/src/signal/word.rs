//! A signal: 64 bits, each of which says that its queue has work.
//!
//! Setting a bit is a Release and taking it is an Acquire, so a consumer that takes a gate's bit
//! also sees that the gate is scheduled.
//!
//! Not guaranteed: that a consumer looks at the signal. When a signal becomes non-empty it must be
//! marked in the summary of its waker, and when it becomes empty the mark must be cleared;
//! [`SignalWaker`](super::SignalWaker) does both.

use super::index::{SignalIndexError, bit_index, nearest_set_bit};
use crate::sync::plant::{self, Plant};
use crate::sync::{AtomicU64, Ordering};

/// The state of the signal when [`Signal::set`] set a bit.
#[must_use = "a signal that was empty must be marked active in its waker, or no consumer looks at it"]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetBit {
    /// No bit was set. The caller must mark the signal active.
    WasEmpty,
    /// Other bits were set. The producer that set the first of them marks the signal active.
    WasNotEmpty,
    /// This bit was already set.
    WasSet,
}

/// The state of the signal when [`Signal::acquire`] tried to take a bit.
#[must_use = "after taking a bit, pass the permit on or clear the signal's mark in the summary"]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AcquiredBit {
    /// The bit was not set, so nothing was taken.
    NotSet,
    /// The bit was taken and others are still set. The caller must pass its permit on.
    LeftOthers,
    /// The bit was taken and it was the last one. The caller must clear the mark in the summary.
    WasLast,
}

/// The bits of 64 queues: one of the 64 signals of a [`SignalWaker`](super::SignalWaker).
#[derive(Debug)]
pub struct Signal {
    bits: AtomicU64,
    index: u8,
}

impl Signal {
    /// Creates an empty signal.
    pub(super) fn new(index: u8) -> Self {
        Self { bits: AtomicU64::new(0), index }
    }

    /// Returns the index of this signal in its waker.
    #[must_use]
    pub fn index(&self) -> usize {
        usize::from(self.index)
    }

    /// Returns the bits that are set. Other threads may have changed them by the time this returns.
    #[must_use]
    #[inline]
    pub fn bits(&self) -> u64 {
        self.bits.load(Ordering::Acquire)
    }

    /// Returns `true` if no bit is set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bits() == 0
    }

    /// Returns `true` if `bit` is set, and `false` for an index beyond 63.
    #[must_use]
    pub fn is_set(&self, bit: usize) -> bool {
        bit_index(bit).is_ok_and(|bit| self.bits() >> bit & 1 != 0)
    }

    /// Returns the first set bit at or after `start`, wrapping around after 63. A `start` beyond 63
    /// wraps around as well.
    #[must_use]
    pub fn nearest(&self, start: usize) -> Option<usize> {
        let start = start as u32 % u64::BITS;
        nearest_set_bit(self.bits(), start).map(|bit| bit as usize)
    }

    /// Sets a bit. If this returns [`SetBit::WasEmpty`], the caller must call
    /// [`SignalWaker::mark_active`](super::SignalWaker::mark_active).
    ///
    /// # Errors
    ///
    /// Returns an error if `bit` is beyond 63.
    pub fn set(&self, bit: usize) -> Result<SetBit, SignalIndexError> {
        Ok(self.set_mask(1 << bit_index(bit)?))
    }

    /// Takes a bit if it is set.
    ///
    /// A caller that holds a permit drops it after [`AcquiredBit::LeftOthers`], which passes the
    /// permit on. After [`AcquiredBit::WasLast`] it uses the permit to clear the mark in the
    /// summary ([`SignalPermit::clear`](super::SignalPermit::clear)).
    ///
    /// # Errors
    ///
    /// Returns an error if `bit` is beyond 63.
    pub fn acquire(&self, bit: usize) -> Result<AcquiredBit, SignalIndexError> {
        Ok(self.acquire_mask(1 << bit_index(bit)?))
    }

    #[inline]
    fn order() -> Ordering {
        plant::order(Plant::SignalBitsRelaxed, Ordering::AcqRel)
    }

    #[inline]
    pub(super) fn set_mask(&self, mask: u64) -> SetBit {
        // Release: the consumer that takes the bit must see the gate scheduled. If it saw the gate
        // idle it would go away, and the queue would never be consumed.
        let before = self.bits.fetch_or(mask, Self::order());
        if before == 0 {
            SetBit::WasEmpty
        } else if before & mask == 0 {
            SetBit::WasNotEmpty
        } else {
            SetBit::WasSet
        }
    }

    #[inline]
    pub(super) fn acquire_mask(&self, mask: u64) -> AcquiredBit {
        let before = self.bits.fetch_and(!mask, Self::order());
        if before & mask == 0 {
            AcquiredBit::NotSet
        } else if before == mask {
            AcquiredBit::WasLast
        } else {
            AcquiredBit::LeftOthers
        }
    }
}

#[cfg(all(test, not(heist_loom)))]
mod tests {
    use super::super::index::SignalIndexKind;
    use super::*;

    #[test]
    fn bits_are_set_and_taken_one_by_one() {
        let signal = Signal::new(7);
        assert_eq!(signal.index(), 7);
        assert!(signal.is_empty());
        assert_eq!(signal.set(63), Ok(SetBit::WasEmpty));
        assert_eq!(signal.set(63), Ok(SetBit::WasSet));
        assert_eq!(signal.set(0), Ok(SetBit::WasNotEmpty));
        assert_eq!(signal.bits(), 1 << 63 | 1);
        assert!(signal.is_set(63) && signal.is_set(0) && !signal.is_set(1) && !signal.is_set(64));
        assert_eq!(signal.nearest(1), Some(63));
        assert_eq!(signal.nearest(64), Some(0), "as from 0");
        assert_eq!(signal.acquire(5), Ok(AcquiredBit::NotSet));
        assert_eq!(signal.acquire(63), Ok(AcquiredBit::LeftOthers));
        assert_eq!(signal.nearest(1), Some(0));
        assert_eq!(signal.acquire(0), Ok(AcquiredBit::WasLast));
        assert_eq!(signal.acquire(0), Ok(AcquiredBit::NotSet));
        assert_eq!(signal.nearest(0), None);
    }

    #[test]
    fn a_bit_beyond_63_is_an_error() {
        let signal = Signal::new(0);
        let error = SignalIndexError { kind: SignalIndexKind::Bit, index: 64 };
        assert_eq!(signal.set(64), Err(error));
        assert_eq!(signal.acquire(64), Err(error));
        assert!(signal.is_empty());
    }
}
