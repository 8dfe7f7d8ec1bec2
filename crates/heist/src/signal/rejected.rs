//! Rejected transitions of gates and signals, to be planted ([`Plant`](crate::sync::plant::Plant)).
//! `PROTOCOL.md` says what each one loses.

use super::flags::{GateFlags, GateState, Scheduled};
use super::index::Position;
use super::waker::SignalWaker;
use crate::sync::Ordering;

impl GateFlags {
    /// Trusts a load that says "already scheduled". The load may be answered before the producer's
    /// own item is visible, and a consumer that begins just then sees neither.
    pub(super) fn schedule_after_a_load(&self) -> Scheduled {
        if GateState(self.byte.load(Ordering::Acquire)).is_scheduled() {
            return Scheduled::WasScheduled;
        }
        Self::scheduled_from(GateState(self.byte.fetch_or(GateState::SCHEDULED, Ordering::Release)))
    }

    /// Begins without a check, and without acquiring what producers published: the other half of
    /// the same race.
    pub(super) fn begin_by_a_store(&self) -> bool {
        self.byte.store(GateState::EXECUTING, Ordering::Release);
        true
    }

    /// Overwrites a producer's update, and with it the only path to the item that it published.
    pub(super) fn finish_and_schedule_by_a_store(&self) {
        self.byte.store(GateState::SCHEDULED, Ordering::Release);
    }

    /// With one flag, a gate that is scheduled while a consumer executes is announced at once.
    pub(super) fn schedule_one_flag(&self) -> Scheduled {
        let before = GateState(self.byte.fetch_or(GateState::SCHEDULED, Ordering::AcqRel));
        if before.is_scheduled() { Scheduled::WasScheduled } else { Scheduled::WasIdle }
    }

    /// With one flag, the consumer that answers the announcement begins beside the one that
    /// executes.
    pub(super) fn begin_one_flag(&self) -> bool {
        GateState(self.byte.fetch_and(!GateState::SCHEDULED, Ordering::AcqRel)).is_scheduled()
    }

    /// With one flag, there is nothing to give back.
    pub(super) fn finish_and_schedule_one_flag(&self) {
        self.byte.fetch_or(GateState::SCHEDULED, Ordering::AcqRel);
    }
}

impl SignalWaker {
    /// Sets the bit of a queue, but neither marks its signal nor releases a permit. Returns `true`,
    /// as if it had announced the queue.
    pub(super) fn set_signal_alone(&self, queue: Position) -> bool {
        let _ = self.signal_at(queue).set_mask(queue.mask());
        true
    }

    /// Looks whether a signal is empty before it clears the mark, instead of after. Returns the
    /// number of permits that the caller holds then.
    pub(super) fn clear_after_a_look(&self, signal: Position, held: u64) -> u64 {
        let cleared = self.signal_at(signal).is_empty() && self.clear_mark(signal);
        held - u64::from(cleared).min(held)
    }
}
