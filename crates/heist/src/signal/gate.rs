//! The gate of one queue: many producers, one consumer at a time, and no wake-up too many.
//!
//! The flags say whether the consumer is due; the gate announces it to its waker when, and only when, it becomes due
//! and nobody executes.
//!
//! Not guaranteed: that there is an item. The consumer may have taken it before its producer said so; and a gate that
//! was given up by a panic is announced again, whatever is left. A consumer that finds nothing finishes.

use super::flags::GateFlags;
use super::index::{Position, SignalIndexError, bit_index, signal_index};
use super::waker::SignalWaker;
use crate::sync::Arc;
use crate::sync::plant;

/// Guards one queue: producers say that there is something in it, and one consumer at a time empties it.
///
/// A producer publishes its item first and calls [`schedule`](Self::schedule) after. A consumer that was given this
/// queue by the waker calls [`begin`](Self::begin) first and looks into the queue after. Then no item is left behind:
/// either the consumer sees it, or the gate is announced again.
///
/// Each queue has one gate. Two gates with one queue's index share its bit, and whoever takes it must look at both.
///
/// ```
/// use heist::signal::{SignalGate, SignalWaker};
///
/// let waker = SignalWaker::new();
/// let gate = SignalGate::new(waker.clone(), 5)?;
/// // A producer, after it has pushed to queue 5:
/// assert!(gate.schedule(), "this one announces it");
/// assert!(!gate.schedule(), "the next one need not");
/// // A consumer:
/// assert_eq!(waker.take_ready(), Some(5));
/// let guard = gate.begin().expect("it is due, and nobody else has it");
/// // ... empty the queue ...
/// assert!(!guard.finish(), "nothing came in meanwhile");
/// # Ok::<(), heist::signal::SignalIndexError>(())
/// ```
#[derive(Debug)]
pub struct SignalGate {
    flags: GateFlags,
    queue: Position,
    waker: Arc<SignalWaker>,
}

impl SignalGate {
    /// The gate of a queue, 0 to 4,095. It is idle.
    ///
    /// # Errors
    ///
    /// If the queue is beyond 4,095: more need a second waker.
    pub fn new(waker: Arc<SignalWaker>, queue: usize) -> Result<Self, SignalIndexError> {
        Ok(Self { flags: GateFlags::new(), queue: Position::of_queue(queue)?, waker })
    }

    /// The gate of the queue that is bit `bit` of signal `signal`: queue `64 * signal + bit`.
    ///
    /// # Errors
    ///
    /// If there is no such signal, or no such bit.
    pub fn at(
        waker: Arc<SignalWaker>,
        signal: usize,
        bit: usize,
    ) -> Result<Self, SignalIndexError> {
        let queue = Position::new(signal_index(signal)?, bit_index(bit)?);
        Ok(Self { flags: GateFlags::new(), queue, waker })
    }

    /// Which queue this is the gate of.
    #[must_use]
    pub fn queue(&self) -> usize {
        self.queue.queue()
    }

    /// The waker that it announces its queue to.
    #[must_use]
    pub fn waker(&self) -> &Arc<SignalWaker> {
        &self.waker
    }

    /// Says that there is something in the queue; to be called after the item was published. Returns whether the
    /// gate was idle, so that it was announced. Otherwise that is done, or will be.
    #[inline]
    pub fn schedule(&self) -> bool {
        let must_announce = self.flags.schedule().must_announce();
        if must_announce {
            self.waker.announce_at(self.queue);
        }
        must_announce
    }

    /// Takes the consumption, if it is due and nobody has it; to be called before the first look into the queue.
    ///
    /// `None` is nothing to care about: somebody else executes, and announces the gate again if anything came in.
    #[inline]
    pub fn begin(&self) -> Option<GateGuard<'_>> {
        // Lazily: a guard that is made is a guard that is dropped.
        self.flags.begin().then(|| GateGuard { gate: self })
    }

    /// Whether nothing is due and nobody executes. As all looks: true of a moment that may be past.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.flags.is_idle()
    }

    /// Whether a consumer is due, or due again.
    #[must_use]
    pub fn is_scheduled(&self) -> bool {
        self.flags.is_scheduled()
    }

    /// Whether somebody consumes.
    #[must_use]
    pub fn is_executing(&self) -> bool {
        self.flags.is_executing()
    }

    fn finish(&self) -> bool {
        let must_announce = self.flags.finish();
        if must_announce {
            plant::instead!(FinishForgetsSummary => self.waker.set_signal_alone(self.queue));
            self.waker.announce_at(self.queue);
        }
        must_announce
    }

    fn finish_and_schedule(&self) {
        self.flags.finish_and_schedule();
        self.waker.announce_at(self.queue);
    }
}

/// The right to empty a gate's queue: there is one at a time.
///
/// Dropped without [`finish`](Self::finish), as in a panic, it does [`finish_and_schedule`](Self::finish_and_schedule):
/// what is left in the queue is not stranded.
#[must_use = "dropped unfinished, it has the gate announced again"]
#[derive(Debug)]
pub struct GateGuard<'a> {
    gate: &'a SignalGate,
}

impl<'a> GateGuard<'a> {
    /// The queue looked empty: gives the consumption back. If anything was scheduled meanwhile the gate is announced
    /// again, and the answer is `true`.
    ///
    /// A queue that is *not* empty needs [`finish_and_schedule`](Self::finish_and_schedule): what was scheduled before
    /// [`begin`](SignalGate::begin) is nobody else's duty any more.
    #[inline]
    pub fn finish(self) -> bool {
        self.disarm().finish()
    }

    /// There is more in the queue, and others are to have their turn first: gives the consumption back and has the
    /// gate announced again.
    #[inline]
    pub fn finish_and_schedule(self) {
        self.disarm().finish_and_schedule();
    }

    /// The gate, and no drop.
    fn disarm(self) -> &'a SignalGate {
        let gate = self.gate;
        std::mem::forget(self);
        gate
    }
}

impl Drop for GateGuard<'_> {
    fn drop(&mut self) {
        plant::instead!(GuardDropForgets => {
            self.gate.finish();
        });
        self.gate.finish_and_schedule();
    }
}

#[cfg(all(test, not(heist_loom)))]
mod tests {
    use super::super::index::SignalIndexKind;
    use super::*;

    fn gate(queue: usize) -> SignalGate {
        SignalGate::new(SignalWaker::new(), queue).unwrap()
    }

    #[test]
    fn only_the_first_producer_announces() {
        let gate = gate(4_095);
        assert!(gate.is_idle());
        assert!(gate.begin().is_none(), "nothing is due");
        assert!(gate.schedule());
        assert!(!gate.schedule());
        assert!(gate.is_scheduled());
        assert_eq!(gate.waker().permits(), 1);
        assert_eq!(gate.waker().take_ready(), Some(4_095));
        assert_eq!(gate.waker().take_ready(), None);
    }

    #[test]
    fn one_consumer_at_a_time_and_what_comes_in_meanwhile_is_announced_at_the_end() {
        let gate = gate(0);
        assert!(gate.schedule());
        assert_eq!(gate.waker().take_ready(), Some(0));
        let guard = gate.begin().unwrap();
        assert!(gate.is_executing());
        assert!(gate.begin().is_none());
        assert!(!gate.schedule(), "left to the consumer");
        assert_eq!(gate.waker().take_ready(), None);
        assert!(guard.finish());
        assert_eq!(gate.waker().take_ready(), Some(0));
        assert!(!gate.begin().unwrap().finish());
        assert!(gate.is_idle());
    }

    #[test]
    fn a_guard_that_is_dropped_has_the_gate_announced_again() {
        let gate = gate(64);
        assert!(gate.schedule());
        assert_eq!(gate.waker().take_ready(), Some(64));
        drop(gate.begin());
        assert_eq!(gate.waker().take_ready(), Some(64));
        gate.begin().unwrap().finish_and_schedule();
        assert_eq!(gate.waker().take_ready(), Some(64));
        assert!(!gate.begin().unwrap().finish());
        assert_eq!(gate.waker().take_ready(), None);
    }

    #[test]
    fn a_place_is_a_signal_and_a_bit_of_it() {
        let waker = SignalWaker::new();
        let at = |signal, bit| SignalGate::at(Arc::clone(&waker), signal, bit);
        assert_eq!(at(63, 63).unwrap().queue(), 4_095);
        assert_eq!(at(1, 0).unwrap().queue(), 64);
        assert_eq!(
            at(64, 0).unwrap_err(),
            SignalIndexError { kind: SignalIndexKind::Signal, index: 64 }
        );
        assert_eq!(
            at(0, 64).unwrap_err(),
            SignalIndexError { kind: SignalIndexKind::Bit, index: 64 }
        );
        let beyond = SignalGate::new(Arc::clone(&waker), 4_096).unwrap_err();
        assert_eq!(beyond, SignalIndexError { kind: SignalIndexKind::Queue, index: 4_096 });
    }
}
