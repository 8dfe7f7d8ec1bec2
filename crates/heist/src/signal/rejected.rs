//! What the source of the idea did, and other ways not to do it, to be planted ([`Plant`](crate::sync::plant::Plant)).
//! `PROTOCOL.md` says what each one loses.

use super::flags::{GateFlags, GateState, Scheduled};
use super::index::Position;
use super::waker::SignalWaker;
use crate::sync::Ordering;

impl GateFlags {
    /// "Already scheduled" on the strength of a load. The load may be answered before the producer's own item is
    /// visible, and a consumer that begins just then sees neither.
    pub(super) fn schedule_unless_a_load_says_so(&self) -> Scheduled {
        if GateState(self.byte.load(Ordering::Acquire)).is_scheduled() {
            return Scheduled::WasScheduled;
        }
        Self::scheduled_from(GateState(self.byte.fetch_or(GateState::SCHEDULED, Ordering::Release)))
    }

    /// Begins unasked and without taking over what producers published: the other half of the same race.
    pub(super) fn begin_by_a_store(&self) -> bool {
        self.byte.store(GateState::EXECUTING, Ordering::Release);
        true
    }

    /// Overwrites a producer's update, and with it the only way to the item that it published.
    pub(super) fn finish_and_schedule_by_a_store(&self) {
        self.byte.store(GateState::SCHEDULED, Ordering::Release);
    }

    /// With one flag: what is scheduled while somebody executes is announced at once.
    pub(super) fn schedule_one_flag(&self) -> Scheduled {
        let before = GateState(self.byte.fetch_or(GateState::SCHEDULED, Ordering::AcqRel));
        if before.is_scheduled() { Scheduled::WasScheduled } else { Scheduled::WasIdle }
    }

    /// With one flag: whoever comes for what was announced begins, beside whoever executes.
    pub(super) fn begin_one_flag(&self) -> bool {
        GateState(self.byte.fetch_and(!GateState::SCHEDULED, Ordering::AcqRel)).is_scheduled()
    }

    /// With one flag there is nothing to give back.
    pub(super) fn finish_and_schedule_one_flag(&self) {
        self.byte.fetch_or(GateState::SCHEDULED, Ordering::AcqRel);
    }
}

impl SignalWaker {
    /// Sets the bit of a queue and tells nobody.
    pub(super) fn announce_to_the_signal_alone(&self, queue: Position) {
        let _ = self.signal_at(queue).set_mask(queue.mask());
    }

    /// Looks whether a signal is empty and clears its mark, in this order; says whether it was set.
    pub(super) fn clear_after_a_look(&self, signal: Position) -> bool {
        self.signal_at(signal).is_empty() && self.clear_mark(signal)
    }
}
