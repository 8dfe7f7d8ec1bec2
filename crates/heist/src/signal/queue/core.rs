//! A gated queue's inside: the items, the gate's flags, and who is told when there is something to do.
//!
//! The consumer's *turn* is a task of the executor, and the turn is what the executor counts: it is counted before the
//! first item goes in, and before a turn that has left something behind ends. So every item is covered from push to
//! processed, at the price of one count per turn instead of one per item.
//!
//! Invariant, whenever the lock is free: if there are items, the gate is not idle, or its consumer has yet to finish
//! and will see them. `PROTOCOL.md` beside the flags says why.

use super::hand::Hand;
use super::stats::QueueStats;
use super::turn::QueueTurn;
use crate::budget::{AcquireError, Amount, CountBudget, CountPermit};
use crate::cancel::CancelToken;
use crate::executor::SpawnErrorKind;
use crate::executor::any::AnyExecutor;
use crate::executor::task::contain;
use crate::intake::Intake;
use crate::signal::flags::{GateFlags, Scheduled};
use crate::sync::plant::{self, Plant, planted};
use crate::sync::{Arc, AtomicBool, AtomicUsize, CachePadded, Mutex, Ordering};
use std::collections::VecDeque;

/// How a queue's turn gets onto its executor.
pub(crate) trait Scheduler<T>: Send + Sync {
    /// The executor.
    fn executor(&self) -> &dyn AnyExecutor;

    /// Spawns a turn that was counted.
    fn spawn_turn(&self, turn: QueueTurn<T>);

    /// The queue is empty for good: a turn that waits for something else need not wait any longer.
    fn recall_turn(&self) {}
}

/// Why an item was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    Closed,
    Executor(SpawnErrorKind),
}

/// Whether items come in, and what becomes of those that are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Door {
    Open,
    /// Nothing comes in.
    Closed,
    /// Nothing comes in, and what waits is dropped.
    ClosedAndEmptied,
}

/// The items, in two rings: the consumer takes a whole ring, so that no item is ever moved from one place to another.
struct Items<T> {
    /// The older ones: what the consumer's last turn has left of its ring. Empty while it has it in hand.
    older: VecDeque<T>,
    /// The newer ones.
    newer: VecDeque<T>,
    door: Door,
    consumed: u64,
    dropped: u64,
    /// Those of the dropped ones that are still in the consumer's ring.
    dropped_in_ring: usize,
    turns: u64,
}

/// Rings that have grown beyond this are given back when the queue runs empty, so that one burst does not hold its
/// memory for the life of the queue.
const KEPT_CAPACITY: usize = 64 * 1024;

impl<T> Items<T> {
    fn give_back_outgrown_rings(&mut self) -> Vec<VecDeque<T>> {
        let rings = [&mut self.older, &mut self.newer].into_iter();
        rings.filter(|ring| ring.capacity() > KEPT_CAPACITY).map(std::mem::take).collect()
    }
}

pub(crate) struct QueueCore<T> {
    /// On lines of their own: what every push reads beside them hardly ever changes.
    items: CachePadded<Mutex<Items<T>>>,
    flags: CachePadded<GateFlags>,
    /// Items in the consumer's ring that are nobody's yet. The consumer claims a batch of them; whoever empties the
    /// queue claims all, for the consumer to drop.
    in_ring: AtomicUsize,
    /// Items that the consumer has taken or may take now, since it last told the statistics.
    in_batch: AtomicUsize,
    /// One unit for each item that waits or is being consumed; none in an unbounded queue.
    pub(super) capacity: Option<CountBudget>,
    pub(super) batch: usize,
    scheduler: Box<dyn Scheduler<T>>,
    /// The executor's, which every push looks at: not through the scheduler, which would be two calls.
    intake: Arc<Intake>,
    cancel: CancelToken,
    /// A task is being made of the turn. If the turn is dropped now, the making has panicked. Written only by whoever
    /// holds the one turn.
    making: AtomicBool,
}

impl<T> QueueCore<T> {
    pub(crate) fn new(
        scheduler: Box<dyn Scheduler<T>>,
        capacity: Option<CountBudget>,
        batch: usize,
    ) -> Self {
        let items = Items {
            older: VecDeque::new(),
            newer: VecDeque::new(),
            door: Door::Open,
            consumed: 0,
            dropped: 0,
            dropped_in_ring: 0,
            turns: 0,
        };
        let (intake, cancel) = scheduler.executor().doors();
        Self {
            items: CachePadded::new(Mutex::new(items)),
            flags: CachePadded::new(GateFlags::new()),
            in_ring: AtomicUsize::new(0),
            in_batch: AtomicUsize::new(0),
            capacity,
            batch,
            scheduler,
            intake,
            cancel,
            making: AtomicBool::new(false),
        }
    }

    /// The executor that the consumer runs on.
    pub(crate) fn executor(&self) -> &dyn AnyExecutor {
        self.scheduler.executor()
    }

    pub(crate) fn len(&self) -> usize {
        self.len_of(&self.items.lock())
    }

    fn len_of(&self, items: &Items<T>) -> usize {
        items.older.len() + self.in_ring.load(Ordering::Relaxed) + items.newer.len()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.items.lock().door != Door::Open
    }

    pub(crate) fn stats(&self) -> QueueStats {
        let items = self.items.lock();
        let here = self.len_of(&items) + self.in_batch.load(Ordering::Relaxed);
        QueueStats {
            // Not counted at each push, which has little enough to do to feel it.
            pushed: items.consumed + items.dropped + here as u64,
            consumed: items.consumed,
            dropped: items.dropped,
            turns: items.turns,
        }
    }

    /// Puts an item at the back. Its share of the capacity was taken before; when refused, the caller gives it back.
    /// `inside`: a task of the executor waits for this push, wherever it is made.
    #[inline]
    pub(crate) fn push(this: &Arc<Self>, item: T, inside: bool) -> Result<(), (Refused, T)> {
        let accepting = inside || this.is_accepting();
        let inside = inside || (!accepting && this.executor().is_inside());
        if !accepting && !inside {
            return Err((Refused::Executor(this.executor().refusal()), item));
        }
        let mut items = this.items.lock();
        if items.door != Door::Open {
            return Err((Refused::Closed, item));
        }
        // With a newer item there, whoever pushed that has scheduled the consumer since it last took a ring.
        let must_spawn = if items.newer.is_empty() {
            match this.schedule(inside) {
                Ok(must_spawn) => must_spawn,
                Err(kind) => return Err((Refused::Executor(kind), item)),
            }
        } else {
            false
        };
        items.newer.push_back(item);
        drop(items);
        if must_spawn {
            Self::spawn_turn(this);
        }
        Ok(())
    }

    /// Whether the executor takes anything from outside.
    #[inline]
    fn is_accepting(&self) -> bool {
        self.intake.is_accepting() && !self.cancel.is_cancelled()
    }

    /// Schedules the consumer, and counts its turn if there is none; says whether it must be spawned. Under the lock.
    fn schedule(&self, inside: bool) -> Result<bool, SpawnErrorKind> {
        match self.flags.schedule() {
            // The turn that is there is counted, and ends only after it has looked again.
            Scheduled::WasScheduled | Scheduled::WasExecuting => Ok(false),
            Scheduled::WasIdle => {
                let counted = self.executor().count_later(inside || self.executor().is_inside());
                if counted.is_err() {
                    // Nobody else has seen it scheduled: those who look hold the lock, or have a turn.
                    let back_to_idle = self.flags.begin() && !self.flags.finish();
                    assert!(back_to_idle, "a gate without a turn was scheduled twice");
                }
                counted.map(|()| true)
            }
        }
    }

    fn spawn_turn(this: &Arc<Self>) {
        this.scheduler.spawn_turn(QueueTurn::new(this));
    }

    /// The consumer's turn begins: it may take `most` items.
    pub(super) fn begin_turn(&self, most: usize) -> Hand<T> {
        let begun = self.flags.begin();
        assert!(begun, "a queue's turn was begun that nobody had scheduled");
        let mut items = self.items.lock();
        items.turns += 1;
        let mut ring = std::mem::take(&mut items.older);
        if ring.is_empty() {
            // The empty ring stays behind, for its memory.
            std::mem::swap(&mut ring, &mut items.newer);
        }
        self.in_ring.store(ring.len(), Ordering::Relaxed);
        let mut hand = Hand::new(ring);
        self.claim_batch(&mut hand, most);
        hand
    }

    /// Claims the next batch of the consumer's ring. It is empty if somebody has emptied the queue.
    fn claim_batch(&self, hand: &mut Hand<T>, most: usize) -> bool {
        // Relaxed: who claims what is decided by this word alone. Whoever empties the queue does so under the lock,
        // which the consumer takes before it drops anything.
        let before = self.in_ring.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |in_ring| {
            Some(in_ring - in_ring.min(most))
        });
        hand.begin_batch(before.unwrap_or(0).min(most));
        self.in_batch.store(hand.count(), Ordering::Relaxed);
        hand.allowed() > 0
    }

    /// The consumer has used up its batch. Gives it another one, unless something else waits for this worker or there
    /// is nothing more: so nobody is kept waiting by a busy queue, and no other worker is woken for it.
    pub(super) fn next_batch(&self, hand: &mut Hand<T>) -> bool {
        hand.end_batch();
        plant::instead!(BatchLeftBehind | FinishIgnoresSchedule => false);
        if !self.executor().has_nothing_else() {
            return false;
        }
        if hand.ring.is_empty() && !self.take_next_ring(hand) {
            return false;
        }
        // Producers that wait for room are woken for a good part of it, not for every batch: waking costs more.
        let owed = hand.room_owed as u64;
        if self.capacity.as_ref().is_some_and(|capacity| owed >= capacity.total() / 2) {
            self.give_room_back(std::mem::take(&mut hand.room_owed));
        }
        self.claim_batch(hand, self.batch)
    }

    /// Ends the turn and begins the next, in one step under the lock; not if there is nothing for it.
    fn take_next_ring(&self, hand: &mut Hand<T>) -> bool {
        let mut items = self.items.lock();
        if items.newer.is_empty() {
            return false;
        }
        self.flags.finish_and_schedule();
        let begun = self.flags.begin();
        assert!(begun, "a queue has two consumers");
        items.consumed += hand.take_count();
        self.in_batch.store(0, Ordering::Relaxed);
        items.turns += 1;
        std::mem::swap(&mut hand.ring, &mut items.newer);
        self.in_ring.store(hand.ring.len(), Ordering::Relaxed);
        true
    }

    /// The consumer's turn ends. What is left of its ring stays in front of the newer items.
    pub(super) fn end_turn(this: &Arc<Self>, hand: &mut Hand<T>) {
        hand.end_batch();
        let outgrown;
        let (more, dropped) = {
            let mut items = this.items.lock();
            items.consumed += hand.take_count();
            let mut ring = std::mem::take(&mut hand.ring);
            let mut dropped = VecDeque::new();
            if items.door == Door::ClosedAndEmptied {
                std::mem::swap(&mut ring, &mut dropped);
                items.dropped += (dropped.len() - items.dropped_in_ring) as u64;
                items.dropped_in_ring = 0;
            }
            if planted(Plant::LeftoversGoBehind) {
                items.newer.append(&mut ring);
            }
            items.older = ring;
            this.in_ring.store(0, Ordering::Relaxed);
            this.in_batch.store(0, Ordering::Relaxed);
            let more = this.len_of(&items) > 0;
            outgrown = if more { Vec::new() } else { items.give_back_outgrown_rings() };
            (more, dropped)
        };
        // Freed outside the lock: unmapping a large ring takes its time.
        drop(outgrown);
        this.give_room_back(hand.room_owed + dropped.len());
        drop_contained(dropped);
        let due = if plant::pick!(BatchLeftBehind => false, SlotBeforeQueue => true, _ => more) {
            this.flags.finish_and_schedule();
            true
        } else {
            this.flags.finish() && !planted(Plant::FinishIgnoresSchedule)
        };
        if due {
            Self::spawn_next_turn(this);
        }
    }

    /// Spawns a turn for a gate that is scheduled and has none, or drops what nobody will consume.
    fn spawn_next_turn(this: &Arc<Self>) {
        // Usually on a worker that runs the turn before, whose count covers this one.
        if planted(Plant::TurnUncounted) || this.count_next_turn().is_ok() {
            Self::spawn_turn(this);
        } else {
            Self::drop_everything(this, None);
        }
    }

    fn count_next_turn(&self) -> Result<(), SpawnErrorKind> {
        self.executor().count_later(self.executor().is_inside())
    }

    /// A turn was dropped without being run: by a stopped executor, by a panic on its way, or by a task that ignores
    /// it.
    pub(super) fn turn_dropped(this: &Arc<Self>) {
        if this.making.load(Ordering::Relaxed) {
            this.making.store(false, Ordering::Relaxed);
            // Closed as well: else each producer that waits for room would push now, and come to this in its turn, all
            // of them inside the first one's unwinding.
            Self::drop_everything(this, Some(Door::ClosedAndEmptied));
            return this.close_room();
        }
        if this.executor().is_stopped() {
            return Self::drop_everything(this, None);
        }
        // At the price of an item. Otherwise a task that always drops its turn would get it again for ever.
        let mut hand = this.begin_turn(1);
        let first = hand.pop();
        if first.is_some() {
            hand.end_batch();
            let mut items = this.items.lock();
            items.dropped += hand.take_count();
            this.in_batch.store(0, Ordering::Relaxed);
        }
        contain(|| drop(first));
        Self::end_turn(this, &mut hand);
    }

    /// Drops what waits, with the gate scheduled and no turn there; and closes the door, if told to.
    fn drop_everything(this: &Arc<Self>, door: Option<Door>) {
        loop {
            let begun = this.flags.begin();
            assert!(begun, "a queue was to be emptied that nobody had scheduled");
            this.drop_waiting(door);
            if !this.flags.finish() {
                return;
            }
            // Somebody has pushed meanwhile: in a stopped executor, a task that still runs.
            if door.is_none() && this.count_next_turn().is_ok() {
                return Self::spawn_turn(this);
            }
        }
    }

    /// Drops what waits and says how much that is, with what the consumer has in hand and will drop for it.
    fn drop_waiting(&self, door: Option<Door>) -> usize {
        let (older, newer, in_ring) = {
            let mut items = self.items.lock();
            items.door = door.unwrap_or(items.door);
            let older = std::mem::take(&mut items.older);
            let newer = std::mem::take(&mut items.newer);
            let in_ring = self.in_ring.swap(0, Ordering::Relaxed);
            items.dropped_in_ring += in_ring;
            items.dropped += (older.len() + newer.len() + in_ring) as u64;
            (older, newer, in_ring)
        };
        let count = older.len() + newer.len();
        self.give_room_back(count);
        drop_contained(older);
        drop_contained(newer);
        count + in_ring
    }

    /// Takes no more items; drops those that wait, if told to, and says how many. What the consumer has in hand beyond
    /// its turn is dropped at the end of that.
    pub(crate) fn close(&self, drop_waiting: bool) -> usize {
        let dropped = if drop_waiting {
            let dropped = self.drop_waiting(Some(Door::ClosedAndEmptied));
            self.scheduler.recall_turn();
            dropped
        } else {
            let mut items = self.items.lock();
            if items.door == Door::Open {
                items.door = Door::Closed;
            }
            0
        };
        self.close_room();
        dropped
    }

    /// Refuses those who wait for room. After the door: a producer that gets room now finds that closed.
    fn close_room(&self) {
        if let Some(capacity) = &self.capacity {
            capacity.close();
        }
    }

    /// Takes room for one item, if there is some and nobody waits for it. Not as a permit, which would count one more
    /// reference to the budget for each item.
    #[inline]
    pub(super) fn try_take_room(&self) -> Result<(), AcquireError> {
        match &self.capacity {
            None => Ok(()),
            Some(capacity) => capacity.core().try_take(Amount::ONE),
        }
    }

    /// Waits for room for one item.
    #[cold]
    pub(super) fn wait_for_room(&self) -> Result<(), AcquireError> {
        match &self.capacity {
            None => Ok(()),
            Some(capacity) => capacity.acquire(1).map(CountPermit::into_item),
        }
    }

    pub(super) fn give_room_back(&self, count: usize) {
        if let Some(capacity) = &self.capacity
            && count > 0
        {
            capacity.give_back(count as u64);
        }
    }

    /// Makes a task out of a turn. If the caller's `make` panics, the turn that is dropped then knows it by the flag,
    /// and does not try again.
    pub(crate) fn making<R>(this: &Arc<Self>, make: impl FnOnce() -> R) -> R {
        // Relaxed: there is one turn, and its next holder gets it through a lock.
        this.making.store(true, Ordering::Relaxed);
        let made = make();
        this.making.store(false, Ordering::Relaxed);
        made
    }
}

/// Items are the caller's, and their `drop` may panic; and this may be the middle of an unwinding. One by one: of two
/// that panic in one `drop` of their ring, the second would end the process.
fn drop_contained<T>(items: VecDeque<T>) {
    for item in items {
        contain(|| drop(item));
    }
}

#[cfg(all(test, not(any(heist_loom, heist_shuttle, heist_sim))))]
mod tests {
    use super::*;
    use crate::{Executor, GatedQueue};

    #[test]
    fn a_burst_does_not_hold_its_memory_for_ever() {
        let executor = Executor::builder()
            .workers(1)
            .build(|_worker| (), |turn: QueueTurn<u32>, _ctx| drop(turn.begin()))
            .unwrap();
        let queue = GatedQueue::unbounded(&executor.handle(), |turn| turn);
        let core = Arc::clone(&queue.core);
        // As a consumer that others keep from running: both rings grow.
        assert!(core.flags.schedule().must_announce());
        for _ in 0..2 {
            (0..200_000).for_each(|item| queue.push(item).unwrap());
            let mut hand = core.begin_turn(usize::MAX);
            while hand.pop().is_some() {}
            QueueCore::end_turn(&core, &mut hand);
            assert!(core.flags.schedule().must_announce());
        }
        let items = core.items.lock();
        assert!(items.older.capacity().max(items.newer.capacity()) <= KEPT_CAPACITY);
    }
}
