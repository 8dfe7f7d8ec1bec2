//! The flags of a gate: is a consumer needed, and is one running?
//!
//! The flags are one byte with four states and four transitions. A producer calls `schedule`
//! *after* it has published an item; a consumer calls `begin` *before* it looks at the queue. A
//! transition may ask its caller to **announce** the gate, which means to make a consumer run, for
//! example by setting a bit of a signal or by pushing a task. Each time the gate becomes SCHEDULED
//! while no consumer executes, exactly one caller is asked to announce it.
//!
//! Invariants:
//! - At most one consumer is between a successful `begin` and its `finish` or
//!   `finish_and_schedule`.
//! - Every transition is an AcqRel read-modify-write, so each one sees everything that happened
//!   before *all* earlier ones. A producer's item is visible to every consumer that begins after
//!   the producer's `schedule`, no matter which transitions come in between. A plain store would
//!   break that chain.
//! - There is no load-only fast path, not even for "already scheduled". A load publishes nothing,
//!   and it may complete before the producer's own item is visible; a consumer that begins at that
//!   moment would see neither the item nor a new SCHEDULED.
//!
//! Not guaranteed: that the caller does announce the gate. The flags know neither signals nor
//! executors. The announcement must publish the flags with Release and the consumer must receive it
//! with Acquire, or else its `begin` might still see IDLE and lose the announcement. Every queue
//! and every [`Signal`](super::Signal) does that.

use crate::sync::plant;
use crate::sync::{AtomicU8, Ordering};

/// The value of the byte: bit 0 is SCHEDULED, bit 1 is EXECUTING, and both may be set.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct GateState(pub(super) u8);

impl GateState {
    pub(super) const IDLE: u8 = 0;
    pub(super) const SCHEDULED: u8 = 1;
    pub(super) const EXECUTING: u8 = 2;

    pub(super) fn is_scheduled(self) -> bool {
        self.0 & Self::SCHEDULED != 0
    }

    fn is_executing(self) -> bool {
        self.0 & Self::EXECUTING != 0
    }

    fn name(self) -> &'static str {
        match (self.is_scheduled(), self.is_executing()) {
            (false, false) => "idle",
            (true, false) => "scheduled",
            (false, true) => "executing",
            (true, true) => "executing and scheduled",
        }
    }
}

/// The state of the gate when [`GateFlags::schedule`] was called.
#[must_use = "a caller that finds the gate idle must announce it, or its consumer never runs"]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduled {
    /// The gate was idle. The caller must announce it.
    WasIdle,
    /// The gate was scheduled and no consumer has begun since. The caller that made it scheduled
    /// announces it, or already has.
    WasScheduled,
    /// A consumer executes. Its `finish` sees this and announces the gate.
    WasExecuting,
}

impl Scheduled {
    /// Returns `true` if the caller must announce the gate.
    #[must_use]
    pub fn must_announce(self) -> bool {
        self == Self::WasIdle
    }
}

/// The flags of one gate.
pub struct GateFlags {
    pub(super) byte: AtomicU8,
}

impl Default for GateFlags {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for GateFlags {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "GateFlags({})", self.state().name())
    }
}

impl GateFlags {
    /// Creates flags in the idle state.
    #[must_use]
    pub fn new() -> Self {
        Self { byte: AtomicU8::new(GateState::IDLE) }
    }

    /// Records that a consumer is needed. Call this after publishing the item.
    ///
    /// Release publishes the item to the next `begin`, even if other updates come in between: in a
    /// chain of read-modify-writes, each one passes on what the earlier ones released. Acquire
    /// benefits only the caller, which sees what the previous consumer did.
    #[inline]
    pub fn schedule(&self) -> Scheduled {
        plant::instead!(
            GateTrustsLoads | ScheduleTrustsLoad => self.schedule_after_a_load(),
            OneFlagGate => self.schedule_one_flag(),
        );
        let before = GateState(self.byte.fetch_or(GateState::SCHEDULED, Ordering::AcqRel));
        Self::scheduled_from(before)
    }

    pub(super) fn scheduled_from(before: GateState) -> Scheduled {
        match (before.is_scheduled(), before.is_executing()) {
            (false, false) => Scheduled::WasIdle,
            (true, false) => Scheduled::WasScheduled,
            (_, true) => Scheduled::WasExecuting,
        }
    }

    /// Becomes the consumer if the gate is scheduled and no consumer executes, and returns whether
    /// it did. Call this before the first look at the queue. After `true`, the caller must call
    /// `finish` or `finish_and_schedule`.
    ///
    /// Pairs with [`schedule`](Self::schedule). If a producer's `schedule` came first, this
    /// consumer sees the item. If it comes later it finds EXECUTING, and `finish` sees that.
    #[inline]
    #[must_use = "after a successful `begin` the caller must finish"]
    pub fn begin(&self) -> bool {
        plant::instead!(
            GateTrustsLoads => self.begin_by_a_store(),
            OneFlagGate => self.begin_one_flag(),
        );
        // The failure case needs no ordering because the caller does nothing in response. Either
        // another consumer executes and will announce what came in, or nothing is scheduled.
        self.byte
            .compare_exchange(
                GateState::SCHEDULED,
                GateState::EXECUTING,
                Ordering::AcqRel,
                Ordering::Relaxed,
            )
            .is_ok()
    }

    /// Stops being the consumer. Returns `true` if the gate was scheduled in the meantime; the
    /// caller must then announce it.
    ///
    /// # Panics
    ///
    /// Panics if there was no `begin`, because two consumers might then be running.
    #[inline]
    #[must_use = "a gate that was scheduled meanwhile must be announced, or its consumer never runs again"]
    pub fn finish(&self) -> bool {
        plant::instead!(OneFlagGate => false);
        // A subtraction is one instruction on x86; clearing a bit and returning the old value is a
        // compare-exchange loop. The bit is set because only a consumer that has begun gets here.
        let before = GateState(self.byte.fetch_sub(GateState::EXECUTING, Self::hand_over()));
        assert!(before.is_executing(), "a gate was finished without a `begin`");
        before.is_scheduled()
    }

    /// Stops being the consumer and schedules the gate again, in one step. The caller must always
    /// announce it, because a producer that found EXECUTING has not.
    ///
    /// This is a swap and not a store. The next `begin` reads only this update, so this update must
    /// pass on what producers published before theirs. A store would cut them off.
    ///
    /// # Panics
    ///
    /// Panics if there was no `begin`, because two consumers might then be running.
    #[inline]
    pub fn finish_and_schedule(&self) {
        plant::instead!(
            FinishAndScheduleStores => self.finish_and_schedule_by_a_store(),
            OneFlagGate => self.finish_and_schedule_one_flag(),
        );
        let before = GateState(self.byte.swap(GateState::SCHEDULED, Self::hand_over()));
        assert!(before.is_executing(), "a gate was finished without a `begin`");
    }

    /// Release: the next consumer sees what this one did to its side of the queue. Acquire: this
    /// consumer sees what the producers did that scheduled the gate in the meantime.
    #[inline]
    fn hand_over() -> Ordering {
        plant::pick!(FinishHandsNothingOver => Ordering::Acquire, _ => Ordering::AcqRel)
    }

    /// Returns `true` if the gate is neither scheduled nor executing. Other threads may have
    /// changed that by the time this returns; the same is true of the next two methods.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.state().0 == GateState::IDLE
    }

    /// Returns `true` if a consumer is needed, or needed again.
    #[must_use]
    pub fn is_scheduled(&self) -> bool {
        self.state().is_scheduled()
    }

    /// Returns `true` if a consumer executes.
    #[must_use]
    pub fn is_executing(&self) -> bool {
        self.state().is_executing()
    }

    fn state(&self) -> GateState {
        GateState(self.byte.load(Ordering::Acquire))
    }
}

#[cfg(all(test, not(heist_loom)))]
mod tests {
    use super::*;

    #[test]
    fn one_round_through_all_states() {
        let flags = GateFlags::new();
        assert!(flags.is_idle());
        assert!(!flags.begin(), "the gate is not scheduled");
        assert_eq!(flags.schedule(), Scheduled::WasIdle);
        assert!(flags.is_scheduled() && !flags.is_executing());
        assert_eq!(flags.schedule(), Scheduled::WasScheduled);
        assert!(flags.begin());
        assert!(flags.is_executing() && !flags.is_scheduled());
        assert!(!flags.begin(), "a consumer executes");
        assert!(!flags.finish(), "nothing came in");
        assert!(flags.is_idle());
    }

    #[test]
    fn finish_sees_a_schedule_that_came_while_the_consumer_executed() {
        let flags = GateFlags::new();
        assert!(flags.schedule().must_announce());
        assert!(flags.begin());
        assert_eq!(flags.schedule(), Scheduled::WasExecuting);
        assert_eq!(flags.schedule(), Scheduled::WasExecuting);
        assert!(flags.is_executing() && flags.is_scheduled());
        assert!(!flags.begin(), "a consumer still executes, although another is needed");
        assert!(flags.finish(), "the gate must be announced");
        assert!(flags.is_scheduled() && !flags.is_executing());
        assert!(flags.begin());
    }

    #[test]
    fn finish_and_schedule_always_leaves_the_gate_scheduled() {
        for came_in in [false, true] {
            let flags = GateFlags::new();
            assert!(flags.schedule().must_announce());
            assert!(flags.begin());
            if came_in {
                assert_eq!(flags.schedule(), Scheduled::WasExecuting);
            }
            flags.finish_and_schedule();
            assert!(flags.is_scheduled() && !flags.is_executing());
            assert_eq!(flags.schedule(), Scheduled::WasScheduled);
            assert!(flags.begin());
            assert!(!flags.finish());
        }
    }

    #[test]
    #[should_panic(expected = "without a `begin`")]
    fn finish_without_begin_panics() {
        let _ = GateFlags::new().finish();
    }

    #[test]
    #[should_panic(expected = "without a `begin`")]
    fn finish_and_schedule_without_begin_panics() {
        GateFlags::new().finish_and_schedule();
    }

    #[test]
    fn debug_output_names_the_state() {
        let flags = GateFlags::new();
        assert_eq!(format!("{flags:?}"), "GateFlags(idle)");
        assert!(flags.schedule().must_announce());
        assert_eq!(format!("{flags:?}"), "GateFlags(scheduled)");
        assert!(flags.begin());
        assert_eq!(format!("{flags:?}"), "GateFlags(executing)");
        assert_eq!(flags.schedule(), Scheduled::WasExecuting);
        assert_eq!(format!("{flags:?}"), "GateFlags(executing and scheduled)");
    }
}
