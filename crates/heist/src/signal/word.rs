//! One signal: 64 bits, each says that its queue has something to do.
//!
//! Setting a bit hands over what came before (Release), taking it takes that over (Acquire): whoever takes a gate's
//! bit sees the gate scheduled.
//!
//! Not guaranteed: that anybody looks. A signal that becomes non-empty must be marked in its waker's summary, and one
//! that becomes empty unmarked; [`SignalWaker`](super::SignalWaker) does both.

use super::index::{SignalIndexError, bit_index, nearest_set_bit};
use crate::sync::plant::{self, Plant};
use crate::sync::{AtomicU64, Ordering};

/// What [`Signal::set`] found.
#[must_use = "a signal that was empty must be marked active in its waker, or nobody looks at it"]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetBit {
    /// No bit was set: the caller must mark the signal active.
    WasEmpty,
    /// Others were set: whoever set the first of them marks the signal active.
    WasNotEmpty,
    /// This very bit was set already.
    WasSet,
}

/// What [`Signal::acquire`] found.
#[must_use = "who takes a bit must pass the permit on, or clear the summary"]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AcquiredBit {
    /// It was not set: nothing was taken.
    NotSet,
    /// It was taken, and others are left: the permit must be passed on.
    LeftOthers,
    /// It was taken, and it was the last one: the summary must be cleared.
    WasLast,
}

/// 64 queues' bits, one of the 64 signals of a [`SignalWaker`](super::SignalWaker).
#[derive(Debug)]
pub struct Signal {
    bits: AtomicU64,
    index: u8,
}

impl Signal {
    /// An empty signal.
    pub(super) fn new(index: u8) -> Self {
        Self { bits: AtomicU64::new(0), index }
    }

    /// Which of its waker's signals this is.
    #[must_use]
    pub fn index(&self) -> usize {
        usize::from(self.index)
    }

    /// The bits that are set. As all looks: true of a moment that may be past.
    #[must_use]
    #[inline]
    pub fn bits(&self) -> u64 {
        self.bits.load(Ordering::Acquire)
    }

    /// Whether no bit is set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bits() == 0
    }

    /// Whether a bit is set. One beyond 63 never is.
    #[must_use]
    pub fn is_set(&self, bit: usize) -> bool {
        bit_index(bit).is_ok_and(|bit| self.bits() >> bit & 1 != 0)
    }

    /// The nearest set bit at or after `start`; after 63 comes 0, also in `start`.
    #[must_use]
    pub fn nearest(&self, start: usize) -> Option<usize> {
        let start = start as u32 % u64::BITS;
        nearest_set_bit(self.bits(), start).map(|bit| bit as usize)
    }

    /// Sets a bit. Whoever is told [`SetBit::WasEmpty`] must call
    /// [`SignalWaker::mark_active`](super::SignalWaker::mark_active).
    ///
    /// # Errors
    ///
    /// If there is no such bit.
    pub fn set(&self, bit: usize) -> Result<SetBit, SignalIndexError> {
        Ok(self.set_mask(1 << bit_index(bit)?))
    }

    /// Takes a bit, if it is set. Whoever does so with a permit passes it on (drops it) after
    /// [`AcquiredBit::LeftOthers`], and clears the summary with it
    /// ([`SignalPermit::clear`](super::SignalPermit::clear)) after [`AcquiredBit::WasLast`].
    ///
    /// # Errors
    ///
    /// If there is no such bit.
    pub fn acquire(&self, bit: usize) -> Result<AcquiredBit, SignalIndexError> {
        Ok(self.acquire_mask(1 << bit_index(bit)?))
    }

    #[inline]
    fn order() -> Ordering {
        plant::order(Plant::SignalBitsRelaxed, Ordering::AcqRel)
    }

    #[inline]
    pub(super) fn set_mask(&self, mask: u64) -> SetBit {
        // Release: whoever takes the bit sees the gate scheduled, and does not find it idle and go away.
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
