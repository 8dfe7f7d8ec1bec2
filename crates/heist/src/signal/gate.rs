//! The gate of one queue: many producers, one consumer at a time, and no superfluous wake-up.
//!
//! The flags record whether a consumer is needed. The gate announces its queue to the waker exactly
//! when the queue becomes scheduled and no consumer executes.
//!
//! Not guaranteed: that a consumer finds an item. An earlier consumer may have taken the item
//! before its producer called `schedule`, and the gate of a consumer that panicked is announced
//! again even if its queue is empty. A consumer that finds no item simply finishes.

use super::flags::GateFlags;
use super::index::{Position, SignalIndexError, bit_index, signal_index};
use super::waker::SignalWaker;
use crate::sync::Arc;
use crate::sync::plant;

/// Guards one queue: producers announce that it has items, and one consumer at a time empties it.
///
/// A producer publishes its item first and then calls [`schedule`](Self::schedule). A consumer that
/// receives this queue from the waker calls [`begin`](Self::begin) first and then looks into the
/// queue. In this order no item is left behind: either the consumer sees it, or the gate announces
/// the queue again.
///
/// Each queue has one gate. If two gates share the index of a queue they share its bit as well, and
/// a consumer that takes the bit must look at both.
///
/// ```
/// use heist::signal::{SignalGate, SignalWaker};
///
/// let waker = SignalWaker::new();
/// let gate = SignalGate::new(waker.clone(), 5)?;
/// // A producer, after it has pushed to queue 5:
/// assert!(gate.schedule(), "the first producer announces the queue");
/// assert!(!gate.schedule(), "the second producer does not have to");
/// // A consumer:
/// assert_eq!(waker.take_ready(), Some(5));
/// let guard = gate.begin().expect("the gate is scheduled and no other consumer has begun");
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
    /// Creates the idle gate of a queue, 0 to 4,095.
    ///
    /// # Errors
    ///
    /// Returns an error if `queue` is beyond 4,095. Create a second waker for more queues.
    pub fn new(waker: Arc<SignalWaker>, queue: usize) -> Result<Self, SignalIndexError> {
        Ok(Self { flags: GateFlags::new(), queue: Position::of_queue(queue)?, waker })
    }

    /// Creates the gate of the queue at bit `bit` of signal `signal`: queue `64 * signal + bit`.
    ///
    /// # Errors
    ///
    /// Returns an error if `signal` or `bit` is beyond 63.
    pub fn at(
        waker: Arc<SignalWaker>,
        signal: usize,
        bit: usize,
    ) -> Result<Self, SignalIndexError> {
        let queue = Position::new(signal_index(signal)?, bit_index(bit)?);
        Ok(Self { flags: GateFlags::new(), queue, waker })
    }

    /// Returns the number of this gate's queue.
    #[must_use]
    pub fn queue(&self) -> usize {
        self.queue.queue()
    }

    /// Returns the waker to which this gate announces its queue.
    #[must_use]
    pub fn waker(&self) -> &Arc<SignalWaker> {
        &self.waker
    }

    /// Announces that the queue has an item. Call this after publishing the item.
    ///
    /// Returns `true` if the gate was idle, so that this call announced the queue. Otherwise
    /// another thread has announced it or will do so.
    #[inline]
    pub fn schedule(&self) -> bool {
        let must_announce = self.flags.schedule().must_announce();
        if must_announce {
            self.waker.announce_at(self.queue);
        }
        must_announce
    }

    /// Becomes the consumer if the gate is scheduled and no other consumer executes. Call this
    /// before the first look into the queue.
    ///
    /// The caller can ignore `None`: another consumer executes, and its guard announces the queue
    /// again if anything came in.
    #[inline]
    pub fn begin(&self) -> Option<GateGuard<'_>> {
        // `then`, not `then_some`: an unused guard would be dropped, and so finish the gate.
        self.flags.begin().then(|| GateGuard { gate: self })
    }

    /// Returns `true` if the gate is neither scheduled nor executing. Other threads may have
    /// changed that by the time this returns; the same is true of the next two methods.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.flags.is_idle()
    }

    /// Returns `true` if a consumer is needed, or needed again.
    #[must_use]
    pub fn is_scheduled(&self) -> bool {
        self.flags.is_scheduled()
    }

    /// Returns `true` if a consumer executes.
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

/// The right to empty the queue of a gate. Only one guard exists at a time.
///
/// If the guard is dropped without [`finish`](Self::finish), for example by a panic, it calls
/// [`finish_and_schedule`](Self::finish_and_schedule), so that the rest of the queue is not
/// stranded.
#[must_use = "a guard that is dropped unfinished announces the gate again"]
#[derive(Debug)]
pub struct GateGuard<'a> {
    gate: &'a SignalGate,
}

impl<'a> GateGuard<'a> {
    /// Finishes after the queue looked empty. If the gate was scheduled in the meantime, this
    /// announces it again and returns `true`.
    ///
    /// If the queue is *not* empty, call [`finish_and_schedule`](Self::finish_and_schedule)
    /// instead: no one else announces items that were scheduled before
    /// [`begin`](SignalGate::begin).
    #[inline]
    pub fn finish(self) -> bool {
        self.disarm().finish()
    }

    /// Finishes although the queue has more items, and announces the gate again, so that other
    /// queues can be served first.
    #[inline]
    pub fn finish_and_schedule(self) {
        self.disarm().finish_and_schedule();
    }

    /// Returns the gate without running the guard's `drop`.
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
        assert!(gate.begin().is_none(), "the gate is not scheduled");
        assert!(gate.schedule());
        assert!(!gate.schedule());
        assert!(gate.is_scheduled());
        assert_eq!(gate.waker().permits(), 1);
        assert_eq!(gate.waker().take_ready(), Some(4_095));
        assert_eq!(gate.waker().take_ready(), None);
    }

    #[test]
    fn items_that_arrive_while_a_consumer_executes_are_announced_when_it_finishes() {
        let gate = gate(0);
        assert!(gate.schedule());
        assert_eq!(gate.waker().take_ready(), Some(0));
        let guard = gate.begin().unwrap();
        assert!(gate.is_executing());
        assert!(gate.begin().is_none());
        assert!(!gate.schedule(), "the consumer will announce it");
        assert_eq!(gate.waker().take_ready(), None);
        assert!(guard.finish());
        assert_eq!(gate.waker().take_ready(), Some(0));
        assert!(!gate.begin().unwrap().finish());
        assert!(gate.is_idle());
    }

    #[test]
    fn a_dropped_guard_announces_the_gate_again() {
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
    fn a_queue_number_is_a_signal_and_a_bit_of_it() {
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
