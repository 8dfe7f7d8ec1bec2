//! The flags of a gate: is the consumer due, and does it run?
//!
//! One byte, four states, four transitions. Producers `schedule` *after* they have published an item; the consumer
//! `begin`s *before* it looks at the queue. Whoever is told to **announce** must make the consumer run (set a
//! signal's bit, push a task): exactly one such duty exists for every time the gate becomes SCHEDULED and nobody
//! executes.
//!
//! Invariants:
//! - At most one holder is between a `begin` that said yes and its `finish` or `finish_and_schedule`.
//! - Every transition is a read-modify-write with AcqRel. So each one has everything that came before *all* earlier
//!   ones: a producer's item is visible to whoever begins after the producer's `schedule`, whoever else was in
//!   between. A plain store among them would cut that chain.
//! - There is no load-only fast path, not even for "already scheduled". A load hands nothing over, and may be answered
//!   before the item is visible: the consumer that begins just then sees neither the item nor a new SCHEDULED.
//!
//! Not guaranteed: that the duty to announce is done. The flags know neither signals nor executors. Whoever announces
//! must hand the flags over with Release, and whoever answers take them with Acquire, or a `begin` might still see
//! IDLE and drop the duty; every queue and every [`Signal`](super::Signal) does that.

use crate::sync::plant;
use crate::sync::{AtomicU8, Ordering};

/// What the byte says: bit 0 is SCHEDULED, bit 1 EXECUTING, and both may be set.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct State(pub(super) u8);

impl State {
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

/// What [`GateFlags::schedule`] found.
#[must_use = "whoever finds the gate idle must announce it, or its consumer never runs"]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduled {
    /// It was idle: the caller must announce it.
    WasIdle,
    /// It was scheduled and nobody has begun since: whoever scheduled it first announces it, or has.
    WasScheduled,
    /// Somebody executes: its `finish` sees this and announces.
    WasExecuting,
}

impl Scheduled {
    /// Whether the caller must announce the gate.
    #[must_use]
    pub fn must_announce(self) -> bool {
        self == Self::WasIdle
    }
}

/// The flags of one gate. Starts idle.
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
    /// Idle flags.
    #[must_use]
    pub fn new() -> Self {
        Self { byte: AtomicU8::new(State::IDLE) }
    }

    /// Says that the consumer is due. To be called after the item was published.
    ///
    /// Release hands the item to the next `begin`, also if other updates come in between: a chain of
    /// read-modify-writes passes on what each of them released. Acquire is for the caller alone, who sees what the
    /// consumer before has done.
    #[inline]
    pub fn schedule(&self) -> Scheduled {
        plant::instead!(
            GateTrustsLoads | ScheduleTrustsLoad => self.schedule_after_a_load(),
            OneFlagGate => self.schedule_one_flag(),
        );
        let before = State(self.byte.fetch_or(State::SCHEDULED, Ordering::AcqRel));
        Self::scheduled_from(before)
    }

    pub(super) fn scheduled_from(before: State) -> Scheduled {
        match (before.is_scheduled(), before.is_executing()) {
            (false, false) => Scheduled::WasIdle,
            (true, false) => Scheduled::WasScheduled,
            (_, true) => Scheduled::WasExecuting,
        }
    }

    /// Takes the consumption, if it is scheduled and nobody has it; says whether it did. To be called before the
    /// first look at the queue. Whoever is told `true` must `finish` or `finish_and_schedule`.
    ///
    /// Pairs with [`schedule`](Self::schedule): a producer whose `schedule` came before is seen with its item; one
    /// whose `schedule` comes after finds EXECUTING, and `finish` sees it.
    #[inline]
    #[must_use = "whoever has begun must finish"]
    pub fn begin(&self) -> bool {
        plant::instead!(
            GateTrustsLoads => self.begin_by_a_store(),
            OneFlagGate => self.begin_one_flag(),
        );
        // Failing needs no order: nothing is done on the strength of it. Somebody else executes and will announce
        // what came in meanwhile, or nothing is due.
        self.byte
            .compare_exchange(
                State::SCHEDULED,
                State::EXECUTING,
                Ordering::AcqRel,
                Ordering::Relaxed,
            )
            .is_ok()
    }

    /// Gives the consumption back; says whether it was scheduled meanwhile, so that the caller must announce it.
    ///
    /// # Panics
    ///
    /// If nobody has begun: two consumers might be at work.
    #[inline]
    #[must_use = "a gate that was scheduled meanwhile must be announced, or its consumer never runs again"]
    pub fn finish(&self) -> bool {
        plant::instead!(OneFlagGate => false);
        // A subtraction, because it is one instruction where clearing a bit and telling the rest is a loop. The
        // bit is set: only the one who has begun gets here.
        let before = State(self.byte.fetch_sub(State::EXECUTING, Self::hand_over()));
        assert!(before.is_executing(), "a gate was finished that nobody had begun");
        before.is_scheduled()
    }

    /// Gives the consumption back and schedules it again, in one step. The caller must always announce it: nobody
    /// who found EXECUTING has.
    ///
    /// A swap, not a store: the next `begin` reads our update alone, and it must bring along what producers
    /// published before theirs. A store would cut them off.
    ///
    /// # Panics
    ///
    /// If nobody has begun: two consumers might be at work.
    #[inline]
    pub fn finish_and_schedule(&self) {
        plant::instead!(
            FinishAndScheduleStores => self.finish_and_schedule_by_a_store(),
            OneFlagGate => self.finish_and_schedule_one_flag(),
        );
        let before = State(self.byte.swap(State::SCHEDULED, Self::hand_over()));
        assert!(before.is_executing(), "a gate was finished that nobody had begun");
    }

    /// Release: the next consumer sees what this one did to its side of the queue. Acquire: this one sees what those
    /// did who scheduled it meanwhile.
    #[inline]
    fn hand_over() -> Ordering {
        plant::pick!(FinishHandsNothingOver => Ordering::Acquire, _ => Ordering::AcqRel)
    }

    /// Whether nothing is due and nobody executes. As all looks: true of a moment that may be past.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.state().0 == State::IDLE
    }

    /// Whether the consumer is due, or due again.
    #[must_use]
    pub fn is_scheduled(&self) -> bool {
        self.state().is_scheduled()
    }

    /// Whether somebody consumes.
    #[must_use]
    pub fn is_executing(&self) -> bool {
        self.state().is_executing()
    }

    fn state(&self) -> State {
        State(self.byte.load(Ordering::Acquire))
    }
}

#[cfg(all(test, not(heist_loom)))]
mod tests {
    use super::*;

    #[test]
    fn one_round_through_all_states() {
        let flags = GateFlags::new();
        assert!(flags.is_idle());
        assert!(!flags.begin(), "nothing is due");
        assert_eq!(flags.schedule(), Scheduled::WasIdle);
        assert!(flags.is_scheduled() && !flags.is_executing());
        assert_eq!(flags.schedule(), Scheduled::WasScheduled);
        assert!(flags.begin());
        assert!(flags.is_executing() && !flags.is_scheduled());
        assert!(!flags.begin(), "somebody executes");
        assert!(!flags.finish(), "nothing came in");
        assert!(flags.is_idle());
    }

    #[test]
    fn what_is_scheduled_while_executing_is_seen_by_finish() {
        let flags = GateFlags::new();
        assert!(flags.schedule().must_announce());
        assert!(flags.begin());
        assert_eq!(flags.schedule(), Scheduled::WasExecuting);
        assert_eq!(flags.schedule(), Scheduled::WasExecuting);
        assert!(flags.is_executing() && flags.is_scheduled());
        assert!(!flags.begin(), "somebody executes, though it is due again");
        assert!(flags.finish(), "and must be announced");
        assert!(flags.is_scheduled() && !flags.is_executing());
        assert!(flags.begin());
    }

    #[test]
    fn finish_and_schedule_leaves_it_scheduled_whatever_came_in() {
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
    #[should_panic(expected = "nobody had begun")]
    fn a_finish_without_a_begin_is_a_fault() {
        let _ = GateFlags::new().finish();
    }

    #[test]
    #[should_panic(expected = "nobody had begun")]
    fn a_finish_and_schedule_without_a_begin_is_a_fault() {
        GateFlags::new().finish_and_schedule();
    }

    #[test]
    fn they_show_their_state() {
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
