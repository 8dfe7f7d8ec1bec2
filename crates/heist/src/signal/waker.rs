//! The second level: which signals have a bit set, and which consumers to wake for them.
//!
//! A summary word has a *mark* for every signal that may have bits set, and there is one permit for
//! every mark.
//!
//! Invariants:
//! - A signal with a bit set is marked, or a thread is about to mark it.
//! - There are at least as many permits (available, held by a consumer, or about to be released) as
//!   marks. Setting a mark creates a permit and clearing the mark uses up a permit. So a consumer
//!   that holds a permit finds a mark, and while a signal is marked not all consumers sleep.
//!
//! Marks and bits are in different words, and there is no fence between them. Every access that
//! matters is a read-modify-write of the *summary*, so producers and consumers agree on one order
//! there. `PROTOCOL.md` proves that this is enough.
//!
//! Not guaranteed: that a marked signal has a bit set. A producer may set the mark late, after a
//! consumer has already taken the bit. A consumer that finds such a signal clears its mark.

use super::index::{BITS, Position, SignalIndexError, signal_index};
use super::permit::Permits;
use super::word::{SetBit, Signal};
use crate::sync::plant;
use crate::sync::{Arc, AtomicU64, CachePadded, Ordering};
use std::fmt;

/// Records which of 4,096 queues have work, and wakes consumers for them.
///
/// A waker consists of 64 [`Signal`]s, a summary of them, and permits for which consumers wait.
/// Producers announce a queue, usually through a [`SignalGate`](super::SignalGate). Consumers wait
/// for a permit ([`acquire`](Self::acquire) and its variants) and take a ready queue with it, or
/// they poll without ever waiting ([`take_ready`](Self::take_ready)).
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
    /// Where the next consumer starts to look. It counts on past 4,095 and only grows, so that a
    /// slow consumer cannot move it back and starve the queues that come next.
    cursor: CachePadded<AtomicU64>,
    pub(super) permits: Permits,
    // Each signal has its own cache line, so that producers of different signals do not contend.
    signals: [CachePadded<Signal>; BITS],
}

/// What a consumer can take.
pub(super) enum Nearest {
    /// This queue is ready.
    Queue(Position),
    /// No queue is ready, but this signal is marked although it is empty.
    EmptySignal(Position),
    /// No signal is marked.
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
    /// Creates a waker without ready queues. Gates and consumers share it.
    #[must_use]
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            summary: CachePadded::new(AtomicU64::new(0)),
            cursor: CachePadded::new(AtomicU64::new(0)),
            permits: Permits::new(),
            signals: std::array::from_fn(|index| CachePadded::new(Signal::new(index as u8))),
        })
    }

    /// Returns one of the 64 signals.
    ///
    /// # Errors
    ///
    /// Returns an error if `index` is beyond 63.
    pub fn signal(&self, index: usize) -> Result<&Signal, SignalIndexError> {
        signal_index(index).map(|index| &*self.signals[index as usize])
    }

    /// Returns the marks: which signals may have bits set. Other threads may have changed them by
    /// the time this returns.
    #[must_use]
    pub fn summary(&self) -> u64 {
        self.summary.load(Ordering::Acquire)
    }

    /// Announces that a queue has work: sets its bit, marks its signal, and releases a permit,
    /// except for the steps that are already done. Returns `true` if the bit was clear.
    ///
    /// # Errors
    ///
    /// Returns an error if `queue` is beyond 4,095.
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

    /// Marks a signal in the summary. If the signal was not marked, this releases a permit and
    /// returns `true`. Call this after setting the first bit of a signal.
    ///
    /// # Errors
    ///
    /// Returns an error if `signal` is beyond 63.
    pub fn mark_active(&self, signal: usize) -> Result<bool, SignalIndexError> {
        let was_clear = self.set_mark(Position::new(signal_index(signal)?, 0));
        if was_clear {
            self.permits.release(1);
        }
        Ok(was_clear)
    }

    /// Clears the mark of a signal unless the signal has a bit set, and returns `true` if the mark
    /// is clear now. Call this after taking the last bit of a signal without a permit.
    ///
    /// With a permit, call [`SignalPermit::clear`](super::SignalPermit::clear) instead. Without
    /// one, the permit that came with the mark may remain, and then wakes a consumer that finds
    /// nothing.
    ///
    /// # Errors
    ///
    /// Returns an error if `signal` is beyond 63.
    pub fn clear_if_empty(&self, signal: usize) -> Result<bool, SignalIndexError> {
        let signal = Position::new(signal_index(signal)?, 0);
        // The permit that belongs to the mark, unless a consumer holds it.
        let held = u64::from(self.permits.try_acquire());
        let spare = self.settle(signal, held);
        self.permits.release(spare);
        Ok(self.summary() & signal.mark() == 0)
    }

    /// Returns the first ready queue at or after `start`, wrapping around after 4,095. A `start`
    /// beyond 4,095 wraps around as well. This takes nothing, so another consumer may take the
    /// queue first.
    #[must_use]
    pub fn select(&self, start: usize) -> Option<usize> {
        match self.nearest(Position::wrapping(start as u64)) {
            Nearest::Queue(queue) => Some(queue.queue()),
            Nearest::EmptySignal(_) | Nearest::Nothing => None,
        }
    }

    /// Takes a ready queue, if there is one for which no other consumer holds the permit.
    ///
    /// Ready queues are taken in rotation: each search starts one past the queue that was taken
    /// last. With one consumer, no queue is taken twice before every other queue that was ready has
    /// been taken once.
    ///
    /// This is for consumers that poll. A consumer that waits acquires a permit first and takes the
    /// queue with [`SignalPermit::take_ready`](super::SignalPermit::take_ready).
    #[must_use = "the queue's bit is taken, so no other consumer will look at the queue"]
    pub fn take_ready(&self) -> Option<usize> {
        self.try_acquire()?.take_ready()
    }

    pub(super) fn signal_at(&self, place: Position) -> &Signal {
        &self.signals[place.signal()]
    }

    /// Finds the first ready queue from `start` on. Work comes before tidying: this reports an
    /// empty signal only if no queue is ready.
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
        // The signal of `start` is searched twice: first from `start` on, and last of all the bits
        // before it.
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
        // All bits, not only those before `start`: if the signal is marked but had no bit in either
        // part, the caller would give its permit up although a bit has been set meanwhile.
        if marks & start.mark() != 0
            && let Some(queue) = look(first, u64::MAX)
        {
            return Nearest::Queue(queue);
        }
        empty.map_or(Nearest::Nothing, Nearest::EmptySignal)
    }

    /// Clears the mark of a signal, *then* reads the signal, and sets the mark again if the signal
    /// is not empty. This makes up for marks and bits being in two different words. `held` is the
    /// number of permits that the caller holds, and the result is the number that it holds
    /// afterwards: clearing a mark uses up a permit, and setting a mark creates one.
    ///
    /// Pairs with `announce_at`, which sets the bit and then the mark. Both sides change the mark
    /// by an AcqRel read-modify-write of one word. If the producer comes first, clearing the mark
    /// acquires its bit, and the read sees it. If the producer comes second, it finds the mark
    /// clear and releases a permit. If this function read the signal before clearing the mark, it
    /// could miss both.
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

    /// Sets the mark of a signal and returns `true` if it was clear.
    fn set_mark(&self, signal: Position) -> bool {
        self.summary.fetch_or(signal.mark(), Ordering::AcqRel) & signal.mark() == 0
    }

    /// Clears the mark of a signal and returns `true` if it was set.
    pub(super) fn clear_mark(&self, signal: Position) -> bool {
        self.summary.fetch_and(!signal.mark(), Ordering::AcqRel) & signal.mark() != 0
    }

    /// Returns where a consumer should start to look.
    pub(super) fn cursor(&self) -> u64 {
        // Relaxed: only fairness depends on it.
        self.cursor.load(Ordering::Relaxed)
    }

    /// Moves the cursor one past `taken`, which a consumer found when it looked from `cursor` on.
    pub(super) fn move_cursor_past(&self, taken: Position, cursor: u64) {
        let next = cursor + Position::wrapping(cursor).distance_to(taken) + 1;
        self.cursor.fetch_max(next, Ordering::Relaxed);
    }
}
