//! An unsound predecessor of heist's gate, kept to show what soundness costs.
//!
//! **It loses wake-ups. Do not use it for anything else.** `schedule` trusts a plain load of
//! SCHEDULED while `begin` is a plain store: the producer may see the old flag while the consumer
//! does not yet see the item, and then the item is stranded, even on x86. `finish_and_schedule` is
//! a plain store, so the next consumer does not synchronize with what a producer released by its
//! own update. Both shortcuts make single operations cheaper, and that difference is measured here.
//!
//! Like heist's `GateFlags`, it has only the flags; signals and wakers are left out on both sides.

use std::sync::atomic::{AtomicU8, Ordering};

const IDLE: u8 = 0;
const SCHEDULED: u8 = 1;
const EXECUTING: u8 = 2;

/// The unsound flags of one gate, initially idle.
#[derive(Debug)]
pub(crate) struct UnsoundGate {
    flags: AtomicU8,
}

impl UnsoundGate {
    pub(crate) fn new() -> Self {
        Self { flags: AtomicU8::new(IDLE) }
    }

    /// Marks the consumer as due. Returns `true` if the caller must announce it.
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

    /// Returns `true` if the gate was scheduled meanwhile.
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
    fn on_one_thread_it_has_the_states_of_a_gate() {
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
