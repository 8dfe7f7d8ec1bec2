//! Maps the number of a queue to a signal and a bit of that signal.

use std::fmt;

/// The number of bits in a signal, and of signals in a waker: both fit one word.
pub(super) const BITS: usize = u64::BITS as usize;

/// The number of queues that one [`SignalWaker`](super::SignalWaker) serves: 64 signals of 64 bits.
pub const QUEUES_MAX: usize = BITS * BITS;

/// The kind of thing that an index refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SignalIndexKind {
    /// A queue of a waker.
    Queue,
    /// A signal of a waker.
    Signal,
    /// A bit of a signal.
    Bit,
}

impl SignalIndexKind {
    /// Returns the number of valid indices; the largest valid index is one less.
    #[must_use]
    pub const fn limit(self) -> usize {
        match self {
            Self::Queue => QUEUES_MAX,
            Self::Signal | Self::Bit => BITS,
        }
    }
}

impl fmt::Display for SignalIndexKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Queue => "queue",
            Self::Signal => "signal",
            Self::Bit => "bit",
        })
    }
}

/// The error for an index that is out of range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SignalIndexError {
    /// The kind of thing that the index refers to.
    pub kind: SignalIndexKind,
    /// The index that the caller passed.
    pub index: usize,
}

impl fmt::Display for SignalIndexError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, index } = self;
        write!(f, "{kind} {index} is out of range: the last {kind} is {}", kind.limit() - 1)?;
        if *kind == SignalIndexKind::Queue {
            write!(f, " (a waker serves {QUEUES_MAX} queues; create a second waker for more)")?;
        }
        Ok(())
    }
}

impl std::error::Error for SignalIndexError {}

/// Checks the index of a bit within a signal.
pub(super) fn bit_index(index: usize) -> Result<u32, SignalIndexError> {
    checked(SignalIndexKind::Bit, index)
}

/// Checks the index of a signal within a waker.
pub(super) fn signal_index(index: usize) -> Result<u32, SignalIndexError> {
    checked(SignalIndexKind::Signal, index)
}

#[inline]
fn checked(kind: SignalIndexKind, index: usize) -> Result<u32, SignalIndexError> {
    if index < kind.limit() { Ok(index as u32) } else { Err(SignalIndexError { kind, index }) }
}

/// Returns the first set bit at or after `start` (which must be below 64), wrapping around after
/// 63.
pub(super) fn nearest_set_bit(bits: u64, start: u32) -> Option<u32> {
    let distance = bits.rotate_right(start).trailing_zeros();
    (bits != 0).then_some((start + distance) % u64::BITS)
}

/// The position of a queue: one bit of one signal. Always within bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position(u16);

impl Position {
    /// Returns the position of a queue.
    pub(super) fn of_queue(queue: usize) -> Result<Self, SignalIndexError> {
        checked(SignalIndexKind::Queue, queue).map(|queue| Self(queue as u16))
    }

    /// Returns the position of a queue whose number wraps around at [`QUEUES_MAX`].
    pub(super) fn wrapping(queue: u64) -> Self {
        Self((queue % QUEUES_MAX as u64) as u16)
    }

    /// Returns the position of a bit of a signal.
    pub(super) fn new(signal: u32, bit: u32) -> Self {
        debug_assert!(signal < u64::BITS && bit < u64::BITS, "signal {signal}, bit {bit}");
        Self((signal * u64::BITS + bit) as u16)
    }

    pub(super) fn queue(self) -> usize {
        usize::from(self.0)
    }

    /// Returns the index of the signal.
    pub(super) fn signal(self) -> usize {
        self.queue() / BITS
    }

    /// Returns the index of the bit within the signal.
    pub(super) fn bit(self) -> u32 {
        u32::from(self.0) % u64::BITS
    }

    /// Returns a word in which only this bit of the signal is set.
    pub(super) fn mask(self) -> u64 {
        1 << self.bit()
    }

    /// Returns a word in which only the signal's mark in the summary is set.
    pub(super) fn mark(self) -> u64 {
        1 << self.signal()
    }

    /// Returns the number of steps from here to `there`, going up and wrapping around.
    pub(super) fn distance_to(self, there: Self) -> u64 {
        ((there.queue() + QUEUES_MAX - self.queue()) % QUEUES_MAX) as u64
    }
}

#[cfg(all(test, not(heist_loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_set_bit_is_the_first_one_going_up_and_wrapping_around() {
        for start in 0..64 {
            assert_eq!(nearest_set_bit(0, start), None);
            for bit in 0..64 {
                assert_eq!(nearest_set_bit(1 << bit, start), Some(bit), "{bit} from {start}");
            }
            assert_eq!(nearest_set_bit(u64::MAX, start), Some(start));
            assert_eq!(nearest_set_bit(!(1 << start), start), Some((start + 1) % 64));
        }
        assert_eq!(nearest_set_bit(0b1001, 1), Some(3));
        assert_eq!(nearest_set_bit(0b1001, 4), Some(0));
    }

    #[test]
    fn every_queue_has_its_own_position() {
        for queue in 0..QUEUES_MAX {
            let place = Position::of_queue(queue).unwrap();
            assert_eq!(place.queue(), queue);
            assert_eq!(Position::new(place.signal() as u32, place.bit()), place);
            assert_eq!((place.mask().count_ones(), place.mark().count_ones()), (1, 1));
            assert_eq!(Position::wrapping((queue + 3 * QUEUES_MAX) as u64), place);
            assert_eq!(place.distance_to(place), 0);
        }
        let (low, high) = (Position::of_queue(3).unwrap(), Position::of_queue(4095).unwrap());
        assert_eq!((low.distance_to(high), high.distance_to(low)), (4092, 4));
    }

    #[test]
    fn an_index_out_of_range_is_an_error_that_says_what_to_do() {
        let error = Position::of_queue(4096).unwrap_err();
        assert_eq!(error, SignalIndexError { kind: SignalIndexKind::Queue, index: 4096 });
        assert_eq!(
            error.to_string(),
            "queue 4096 is out of range: the last queue is 4095 \
             (a waker serves 4096 queues; create a second waker for more)"
        );
        assert_eq!(bit_index(63), Ok(63));
        let error = bit_index(64).unwrap_err();
        assert_eq!(error.to_string(), "bit 64 is out of range: the last bit is 63");
        let error = signal_index(64).unwrap_err();
        assert_eq!(error.to_string(), "signal 64 is out of range: the last signal is 63");
    }
}
