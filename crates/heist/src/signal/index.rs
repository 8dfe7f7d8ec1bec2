//! Which queue is which bit of which signal.

use std::fmt;

/// How many bits a signal has, and how many signals a waker: one word of each.
pub(super) const BITS: usize = u64::BITS as usize;

/// How many queues one [`SignalWaker`](super::SignalWaker) has: 64 signals of 64 bits.
pub const QUEUES_MAX: usize = BITS * BITS;

/// What an index counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SignalIndexKind {
    /// The queues of a waker.
    Queue,
    /// The signals of a waker.
    Signal,
    /// The bits of a signal.
    Bit,
}

impl SignalIndexKind {
    /// How many there are; the largest index is one less.
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

/// An index beyond what there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignalIndexError {
    /// Of what.
    pub kind: SignalIndexKind,
    /// What was asked for.
    pub index: usize,
}

impl fmt::Display for SignalIndexError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, index } = self;
        write!(f, "{kind} {index} is beyond the last one, {}", kind.limit() - 1)?;
        if *kind == SignalIndexKind::Queue {
            write!(f, "; one waker has {QUEUES_MAX} queues, use a second one for more")?;
        }
        Ok(())
    }
}

impl std::error::Error for SignalIndexError {}

/// The index of a bit of a signal, if it is one.
pub(super) fn bit_index(index: usize) -> Result<u32, SignalIndexError> {
    checked(SignalIndexKind::Bit, index)
}

/// The index of a signal of a waker, if it is one.
pub(super) fn signal_index(index: usize) -> Result<u32, SignalIndexError> {
    checked(SignalIndexKind::Signal, index)
}

#[inline]
fn checked(kind: SignalIndexKind, index: usize) -> Result<u32, SignalIndexError> {
    if index < kind.limit() { Ok(index as u32) } else { Err(SignalIndexError { kind, index }) }
}

/// The nearest set bit at or after `start`, which is below 64; after the last one come those before it.
pub(super) fn nearest_set_bit(bits: u64, start: u32) -> Option<u32> {
    let distance = bits.rotate_right(start).trailing_zeros();
    (bits != 0).then_some((start + distance) % u64::BITS)
}

/// A queue's place: a bit of a signal. Always within bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position(u16);

impl Position {
    /// The place of a queue.
    pub(super) fn of_queue(queue: usize) -> Result<Self, SignalIndexError> {
        checked(SignalIndexKind::Queue, queue).map(|queue| Self(queue as u16))
    }

    /// The place of a queue, counted round and round.
    pub(super) fn wrapping(queue: u64) -> Self {
        Self((queue % QUEUES_MAX as u64) as u16)
    }

    /// A bit of a signal.
    pub(super) fn new(signal: u32, bit: u32) -> Self {
        debug_assert!(signal < u64::BITS && bit < u64::BITS, "signal {signal}, bit {bit}");
        Self((signal * u64::BITS + bit) as u16)
    }

    pub(super) fn queue(self) -> usize {
        usize::from(self.0)
    }

    /// Which signal.
    pub(super) fn signal(self) -> usize {
        self.queue() / BITS
    }

    /// Which bit of the signal.
    pub(super) fn bit(self) -> u32 {
        u32::from(self.0) % u64::BITS
    }

    /// That bit.
    pub(super) fn mask(self) -> u64 {
        1 << self.bit()
    }

    /// The signal's bit in the summary.
    pub(super) fn mark(self) -> u64 {
        1 << self.signal()
    }

    /// How far it is from here to there, going up and round.
    pub(super) fn distance_to(self, there: Self) -> u64 {
        ((there.queue() + QUEUES_MAX - self.queue()) % QUEUES_MAX) as u64
    }
}

#[cfg(all(test, not(heist_loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_bit_is_the_first_one_going_up_and_round() {
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
    fn every_queue_has_a_place_of_its_own() {
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
    fn an_index_beyond_the_last_is_an_error_that_says_what_to_do() {
        let error = Position::of_queue(4096).unwrap_err();
        assert_eq!(error, SignalIndexError { kind: SignalIndexKind::Queue, index: 4096 });
        assert_eq!(
            error.to_string(),
            "queue 4096 is beyond the last one, 4095; one waker has 4096 queues, use a second one for more"
        );
        assert_eq!(bit_index(63), Ok(63));
        let error = bit_index(64).unwrap_err();
        assert_eq!(error.to_string(), "bit 64 is beyond the last one, 63");
        let error = signal_index(64).unwrap_err();
        assert_eq!(error.to_string(), "signal 64 is beyond the last one, 63");
    }
}
