//! The second level: which signals have a bit set, and whom to wake for them.
//!
//! A summary word has a *mark* for every signal that may have bits set, and there is one permit for every mark.
//!
//! Invariants:
//! - A signal with a bit set is marked, or somebody is about to mark it.
//! - There are at least as many permits (available, held by a consumer, or about to be released) as marks. A mark that
//!   is set brings a permit with it, and the permit goes with the mark. So whoever holds a permit finds a mark, and no
//!   marked signal is left to sleepers.
//!
//! Marks and bits are two words, and no fence stands between them: every access that counts is a read-modify-write of
//! the *summary*, so producer and consumer meet there in one order. `PROTOCOL.md` has the argument.
//!
//! Not guaranteed: that a marked signal has a bit set. A mark may come late, when the bit is taken already; whoever
//! finds such a signal clears its mark.

use super::index::{BITS, Position, SignalIndexError, signal_index};
use super::permit::Permits;
use super::word::{SetBit, Signal};
use crate::sync::plant;
use crate::sync::{Arc, AtomicU64, CachePadded, Ordering};
use std::fmt;

/// Which of 4,096 queues have something to do: 64 [`Signal`]s, a summary of them, and permits for those who come to
/// do it.
///
/// Producers announce a queue, usually through a [`SignalGate`](super::SignalGate). Consumers wait for a permit
/// ([`acquire`](Self::acquire) and its kin), and take a ready queue with it; or they never wait and poll
/// ([`take_ready`](Self::take_ready)).
///
/// ```
/// use heist::signal::SignalWaker;
///
/// let waker = SignalWaker::new();
/// waker.announce(70)?;
/// waker.announce(4_000)?;
/// assert_eq!(waker.take_ready(), Some(70));
/// assert_eq!(waker.take_ready(), Some(4_000));
/// assert_eq!(waker.take_ready(), None);
/// # Ok::<(), heist::signal::SignalIndexError>(())
/// ```
pub struct SignalWaker {
    summary: CachePadded<AtomicU64>,
    /// Where the next one starts to look, counted on and on; it only grows, so that a slow consumer cannot turn it
    /// back and starve those that come next.
    turn: CachePadded<AtomicU64>,
    pub(super) permits: Permits,
    // A line each: producers of different signals do not meet.
    signals: [CachePadded<Signal>; BITS],
}

/// What there is to take.
pub(super) enum Nearest {
    /// This queue.
    Queue(Position),
    /// No queue, but this signal is marked and empty.
    EmptySignal(Position),
    /// Nothing is marked.
    Nothing,
}

impl fmt::Debug for SignalWaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SignalWaker")
            .field("summary", &format_args!("{:#018x}", self.summary()))
            .field("permits", &self.permits())
            .finish_non_exhaustive()
    }
}

impl SignalWaker {
    /// A waker with nothing to do. It is shared by the gates and the consumers.
    #[must_use]
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            summary: CachePadded::new(AtomicU64::new(0)),
            turn: CachePadded::new(AtomicU64::new(0)),
            permits: Permits::new(),
            signals: std::array::from_fn(|index| CachePadded::new(Signal::new(index as u8))),
        })
    }

    /// One of the 64 signals.
    ///
    /// # Errors
    ///
    /// If there is no such signal.
    pub fn signal(&self, index: usize) -> Result<&Signal, SignalIndexError> {
        signal_index(index).map(|index| &*self.signals[index as usize])
    }

    /// The marks: which signals may have bits set. As all looks: true of a moment that may be past.
    #[must_use]
    pub fn summary(&self) -> u64 {
        self.summary.load(Ordering::Acquire)
    }

    /// Says that a queue has something to do: sets its bit, marks its signal, and releases a permit, as far as that
    /// is not done already. Returns whether the bit was clear.
    ///
    /// # Errors
    ///
    /// If the queue is beyond 4,095.
    pub fn announce(&self, queue: usize) -> Result<bool, SignalIndexError> {
        Ok(self.announce_at(Position::of_queue(queue)?))
    }

    #[inline]
    pub(super) fn announce_at(&self, queue: Position) -> bool {
        let found = self.signal_at(queue).set_mask(queue.mask());
        if found == SetBit::WasEmpty && self.set_mark(queue) {
            self.permits.release(1);
        }
        found != SetBit::WasSet
    }

    /// Marks a signal in the summary, and releases a permit if it was not marked; says whether it was not. To be
    /// called by whoever sets the first bit of a signal, after it did.
    ///
    /// # Errors
    ///
    /// If there is no such signal.
    pub fn mark_active(&self, signal: usize) -> Result<bool, SignalIndexError> {
        let was_clear = self.set_mark(Position::new(signal_index(signal)?, 0));
        if was_clear {
            self.permits.release(1);
        }
        Ok(was_clear)
    }

    /// Clears a signal's mark, unless the signal has a bit set; says whether it is clear now. To be called by whoever
    /// took the last bit of a signal without a permit. With one, [`SignalPermit::clear`](super::SignalPermit::clear)
    /// does it; without, the permit that came with the mark may be left over, and wakes somebody in vain.
    ///
    /// # Errors
    ///
    /// If there is no such signal.
    pub fn clear_if_empty(&self, signal: usize) -> Result<bool, SignalIndexError> {
        let signal = Position::new(signal_index(signal)?, 0);
        // The permit that goes with the mark, if nobody has it.
        let held = u64::from(self.permits.try_acquire());
        let spare = self.settle(signal, held);
        self.permits.release(spare);
        Ok(self.summary() & signal.mark() == 0)
    }

    /// Which queue is ready: the nearest at or after `start`; after 4,095 comes 0, also in `start`. Takes nothing, so
    /// another may take it first.
    #[must_use]
    pub fn select(&self, start: usize) -> Option<usize> {
        match self.nearest(Position::wrapping(start as u64)) {
            Nearest::Queue(queue) => Some(queue.queue()),
            Nearest::EmptySignal(_) | Nearest::Nothing => None,
        }
    }

    /// Takes a ready queue, if there is one that nobody else came for. All ready queues get their turn: each start is
    /// one beyond the queue that was taken last, so with one consumer none is taken twice before every other that was
    /// ready has been taken once.
    ///
    /// For those who poll. Those who wait get a permit first and take the queue with it:
    /// [`SignalPermit::take_ready`](super::SignalPermit::take_ready).
    #[must_use = "the queue's bit is taken: nobody else will look at it"]
    pub fn take_ready(&self) -> Option<usize> {
        self.try_acquire()?.take_ready()
    }

    pub(super) fn signal_at(&self, place: Position) -> &Signal {
        &self.signals[place.signal()]
    }

    /// The nearest queue from `start` on. Work comes before tidying: an empty signal is told of only if there is
    /// nothing else.
    pub(super) fn nearest(&self, start: Position) -> Nearest {
        let marks = self.summary();
        let mut empty = None;
        let mut look = |signal: u32, part: u64| {
            let bits = self.signals[signal as usize].bits();
            if bits == 0 {
                empty.get_or_insert(Position::new(signal, 0));
            }
            let bits = bits & part;
            (bits != 0).then(|| Position::new(signal, bits.trailing_zeros()))
        };
        // The start's own signal has its turn twice: from the start on, and, after all others, before it.
        let first = start.signal() as u32;
        let from_start = u64::MAX << start.bit();
        let mut left = marks.rotate_right(first);
        while left != 0 {
            let distance = left.trailing_zeros();
            left &= left - 1;
            let part = if distance == 0 { from_start } else { u64::MAX };
            if let Some(queue) = look((first + distance) % u64::BITS, part) {
                return Nearest::Queue(queue);
            }
        }
        // Whatever is set by now: with nothing to tell of a marked signal, a permit would be given up for nothing.
        if marks & start.mark() != 0
            && let Some(queue) = look(first, u64::MAX)
        {
            return Nearest::Queue(queue);
        }
        empty.map_or(Nearest::Nothing, Nearest::EmptySignal)
    }

    /// The remedy for marks and bits being two words: clears the mark, *then* looks at the signal, and marks it again
    /// if it is not empty. Told how many permits the caller holds, says how many it holds after: one goes with a mark
    /// that was set, one comes with a mark that was clear.
    ///
    /// Pairs with `announce_at`, which sets the bit and then marks. Both marks are changed by AcqRel
    /// read-modify-writes of one word. If the producer's comes first, clearing takes over its bit, and the look sees
    /// it; if it comes second, it finds the mark clear and brings a permit. The look alone, before clearing, would see
    /// neither.
    pub(super) fn settle(&self, signal: Position, mut held: u64) -> u64 {
        plant::instead!(SummaryClearRaces => self.clear_after_a_look(signal, held));
        if self.clear_mark(signal) {
            held = held.saturating_sub(1);
        }
        if !self.signal_at(signal).is_empty() && self.set_mark(signal) {
            held += 1;
        }
        held
    }

    /// Marks a signal; says whether it was not marked.
    fn set_mark(&self, signal: Position) -> bool {
        self.summary.fetch_or(signal.mark(), Ordering::AcqRel) & signal.mark() == 0
    }

    /// Unmarks a signal; says whether it was marked.
    pub(super) fn clear_mark(&self, signal: Position) -> bool {
        self.summary.fetch_and(!signal.mark(), Ordering::AcqRel) & signal.mark() != 0
    }

    /// Where to start to look now.
    pub(super) fn turn(&self) -> u64 {
        // Relaxed: nothing but fairness depends on it.
        self.turn.load(Ordering::Relaxed)
    }

    /// The next one starts beyond `taken`, which was found from `turn` on.
    pub(super) fn move_turn_beyond(&self, taken: Position, turn: u64) {
        let next = turn + Position::wrapping(turn).distance_to(taken) + 1;
        self.turn.fetch_max(next, Ordering::Relaxed);
    }
}
