//! Permits: how consumers wait for a ready queue.
//!
//! There is one for every marked signal, so as many consumers are woken as there are signals to look at, and each one
//! finds something. A permit ends in one of three ways: it is passed on when bits are left in the signal, it goes with
//! the mark when the signal is empty, or nothing is marked at all, and then it came from
//! [`SignalWaker::release`] and nobody misses it.

use super::index::{Position, SignalIndexError, bit_index};
use super::waker::{Nearest, SignalWaker};
use super::word::AcquiredBit;
use crate::sync::plant::{Plant, planted};
use crate::sync::{AtomicU64, Ordering};

/// The permits that nobody holds.
#[derive(Debug)]
pub(super) struct Permits {
    available: AtomicU64,
}

impl Permits {
    pub(super) fn new() -> Self {
        Self { available: AtomicU64::new(0) }
    }

    pub(super) fn try_acquire(&self) -> bool {
        self.available
            .fetch_update(Ordering::AcqRel, Ordering::Relaxed, |available| available.checked_sub(1))
            .is_ok()
    }

    pub(super) fn release(&self, count: u64) {
        if count > 0 {
            self.available.fetch_add(count, Ordering::AcqRel);
        }
    }
}

impl SignalWaker {
    /// Takes a permit, if one is available and nobody waits for it.
    pub fn try_acquire(&self) -> Option<SignalPermit<'_>> {
        // Lazily: a permit that is made is a permit that is dropped.
        self.permits.try_acquire().then(|| SignalPermit { waker: self })
    }

    /// Adds permits that stand for no queue: each wakes a consumer, which finds nothing. For the end of the work,
    /// when consumers are to look at something else, too.
    pub fn release(&self, count: u64) {
        self.permits.release(count);
    }

    /// How many permits are available. As all looks: true of a moment that may be past.
    #[must_use]
    pub fn permits(&self) -> u64 {
        self.permits.available.load(Ordering::Acquire)
    }
}

/// The right to come for one ready queue. Dropped unused, it is passed on to the next consumer.
#[must_use = "dropped unused, it is passed on to the next consumer"]
#[derive(Debug)]
pub struct SignalPermit<'a> {
    waker: &'a SignalWaker,
}

impl<'a> SignalPermit<'a> {
    /// Takes a ready queue; all that are ready get their turn. The permit is passed on if its signal has other bits
    /// set, and goes with the summary's mark otherwise.
    ///
    /// `None` if there is nothing: somebody released permits that stand for no queue, or a queue was taken before its
    /// producer had told everybody. The consumer waits for the next permit.
    #[must_use = "the queue's bit is taken: nobody else will look at it"]
    pub fn take_ready(self) -> Option<usize> {
        let waker = self.disarm();
        let turn = waker.turn();
        loop {
            match waker.nearest(Position::wrapping(turn)) {
                Nearest::Queue(queue) => {
                    let spare = match waker.signal_at(queue).acquire_mask(queue.mask()) {
                        // Another was faster. It may have left the next bit of the same signal.
                        AcquiredBit::NotSet => continue,
                        AcquiredBit::LeftOthers => u64::from(!planted(Plant::PermitNotPassedOn)),
                        AcquiredBit::WasLast => waker.settle(queue, 1),
                    };
                    waker.move_turn_beyond(queue, turn);
                    waker.permits.release(spare);
                    return Some(queue.queue());
                }
                // Another has taken its last bit and is about to clear the mark, or the mark came late. Left marked
                // and without a permit, the signal's next producer would wake nobody.
                Nearest::EmptySignal(_) if planted(Plant::EmptySignalLeftMarked) => return None,
                Nearest::EmptySignal(signal) => match waker.settle(signal, 1) {
                    0 if waker.permits.try_acquire() => {}
                    0 => return None,
                    held => waker.permits.release(held - 1),
                },
                Nearest::Nothing => return None,
            }
        }
    }

    /// Clears a signal's mark, unless the signal has a bit set, and gives the permit up with the mark. To be called by
    /// whoever took the last bit of a signal by itself ([`Signal::acquire`](super::Signal::acquire)); who left others
    /// drops the permit instead, which passes it on.
    ///
    /// # Errors
    ///
    /// If there is no such signal; the permit is passed on.
    pub fn clear(self, signal: usize) -> Result<(), SignalIndexError> {
        let signal = Position::new(bit_index(signal)?, 0);
        let waker = self.disarm();
        waker.permits.release(waker.settle(signal, 1));
        Ok(())
    }

    /// The waker, and no drop.
    fn disarm(self) -> &'a SignalWaker {
        let waker = self.waker;
        std::mem::forget(self);
        waker
    }
}

impl Drop for SignalPermit<'_> {
    fn drop(&mut self) {
        self.waker.permits.release(1);
    }
}
