//! The gate that heist's replaces, kept to show what its soundness costs.
//!
//! **It loses wake-ups. Use it for nothing else.** `schedule` trusts a plain load of SCHEDULED while `begin` is a plain
//! store: a producer may see the old flag, and the consumer, not yet the item; then the item is stranded, on x86 too.
//! `finish_and_schedule` is a plain store, which cuts the next consumer off from what a producer released by its own
//! update. Both make single operations cheaper, and that is what is measured here.
//!
//! Flags only, as heist's `GateFlags`: signals and wakers are left out on both sides.

use std::sync::atomic::{AtomicU8, Ordering};

const IDLE: u8 = 0;
const SCHEDULED: u8 = 1;
const EXECUTING: u8 = 2;

/// The unsound flags of one gate. Starts idle.
#[derive(Debug)]
pub(crate) struct UnsoundGate {
    flags: AtomicU8,
}

impl UnsoundGate {
    pub(crate) fn new() -> Self {
        Self { flags: AtomicU8::new(IDLE) }
    }

    /// Says that the consumer is due; returns whether the caller must announce it.
    #[inline]
    pub(crate) fn schedule(&self) -> bool {
        if self.flags.load(Ordering::Acquire) & SCHEDULED != 0 {
            return false;
        }
        self.flags.fetch_or(SCHEDULED, Ordering::Release) == IDLE
    }

    #[inline]
    pub(crate) fn begin(&self) {
        self.flags.store(EXECUTING, Ordering::Release);
    }

    /// Returns whether the gate was scheduled meanwhile.
    #[inline]
    pub(crate) fn finish(&self) -> bool {
        self.flags.fetch_sub(EXECUTING, Ordering::AcqRel) & SCHEDULED != 0
    }

    #[inline]
    pub(crate) fn finish_and_schedule(&self) {
        self.flags.store(SCHEDULED, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alone_it_goes_through_the_states_of_a_gate() {
        let gate = UnsoundGate::new();
        assert!(gate.schedule());
        assert!(!gate.schedule(), "scheduled already");
        gate.begin();
        assert!(!gate.schedule(), "left to finish");
        assert!(gate.finish());
        gate.begin();
        gate.finish_and_schedule();
        gate.begin();
        assert!(!gate.finish());
        assert!(gate.schedule());
    }
}
