//! The inside of a gated queue: its items, the gate's flags, and how it gets its consumer to run.
//!
//! The consumer's *turn* is a task of the executor, and the executor counts turns. A turn is
//! counted before the first item goes in, and the next turn is counted before a turn that leaves
//! items behind ends. So a counted turn covers every item from its push until it is processed, at
//! the cost of one count per turn instead of one per item.
//!
//! Invariant, whenever the lock is free: if there are items, then either the gate is not idle, or
//! its consumer has yet to finish and will see them. `../PROTOCOL.md` proves it.

use super::ring::ConsumerRing;
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

/// How the turn of a queue gets onto its executor.
pub(crate) trait Scheduler<T>: Send + Sync {
    /// Returns the executor.
    fn executor(&self) -> &dyn AnyExecutor;

    /// Spawns a turn that the executor has already counted.
    fn spawn_turn(&self, turn: QueueTurn<T>);

    /// Tells the scheduler that the queue stays empty, so a turn that waits for something else
    /// should stop waiting.
    fn recall_turn(&self) {}
}

/// Why a push was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    Closed,
    Executor(SpawnErrorKind),
}

/// Whether the queue accepts items, and what happens to the items that it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Door {
    Open,
    /// The queue accepts no items.
    Closed,
    /// The queue accepts no items and drops those that wait.
    ClosedAndEmptied,
}

/// The items, in two rings. The consumer takes a whole ring, so no item ever moves between rings.
struct Items<T> {
    /// The older items: what the last turn left of its ring. Empty while a consumer holds the ring.
    older: VecDeque<T>,
    /// The newer items.
    newer: VecDeque<T>,
    door: Door,
    consumed: u64,
    dropped: u64,
    /// The number of dropped items that are still in the consumer's ring.
    dropped_in_ring: usize,
    turns: u64,
}

/// When the queue runs empty it frees rings that have grown beyond this, so that one burst does not
/// hold its memory for the lifetime of the queue.
const KEPT_CAPACITY: usize = 64 * 1024;

impl<T> Items<T> {
    fn give_back_outgrown_rings(&mut self) -> Vec<VecDeque<T>> {
        let rings = [&mut self.older, &mut self.newer].into_iter();
        rings.filter(|ring| ring.capacity() > KEPT_CAPACITY).map(std::mem::take).collect()
    }
}

pub(crate) struct QueueCore<T> {
    /// On their own cache lines, because the other fields that every push reads hardly ever change.
    items: CachePadded<Mutex<Items<T>>>,
    flags: CachePadded<GateFlags>,
    /// Items in the consumer's ring that no thread has claimed yet. The consumer claims a batch of
    /// them at a time. A thread that empties the queue claims all of them, and the consumer then
    /// drops them.
    in_ring: AtomicUsize,
    /// Items that the consumer has taken or may take now, since it last updated the statistics.
    in_batch: AtomicUsize,
    /// One unit for each item that waits or is being consumed; `None` in an unbounded queue.
    pub(super) capacity: Option<CountBudget>,
    pub(super) batch: usize,
    scheduler: Box<dyn Scheduler<T>>,
    /// The executor's intake. Every push reads it, and going through the scheduler would cost two
    /// calls.
    intake: Arc<Intake>,
    cancel: CancelToken,
    /// `true` while the caller's closure makes a task out of the turn. If the turn is dropped
    /// meanwhile, that closure has panicked. Only the holder of the one turn writes this.
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

    /// Returns the executor on which the consumer runs.
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
            // Derived here, because a counter would noticeably slow down each push.
            pushed: items.consumed + items.dropped + here as u64,
            consumed: items.consumed,
            dropped: items.dropped,
            turns: items.turns,
        }
    }

    /// Puts an item at the back. The caller has already taken the item's share of the capacity, and
    /// gives it back if the push is refused. `inside` says that a task of the executor waits for
    /// this push, on whichever thread it happens.
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
        // If there is a newer item, then its producer has scheduled the consumer since the consumer
        // last took a ring.
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

    /// Returns `true` if the executor accepts work from outside.
    #[inline]
    fn is_accepting(&self) -> bool {
        self.intake.is_accepting() && !self.cancel.is_cancelled()
    }

    /// Schedules the consumer, and counts a turn if there is none. Returns `true` if the caller
    /// must spawn that turn. The caller holds the lock.
    fn schedule(&self, inside: bool) -> Result<bool, SpawnErrorKind> {
        match self.flags.schedule() {
            // The existing turn is counted, and it looks at the queue again before it ends.
            Scheduled::WasScheduled | Scheduled::WasExecuting => Ok(false),
            Scheduled::WasIdle => {
                let counted = self.executor().count_later(inside || self.executor().is_inside());
                if counted.is_err() {
                    // No other thread has seen the gate scheduled: producers need the lock, and
                    // there is no consumer because there is no turn.
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

    /// Begins a turn of at most `most` items.
    pub(super) fn begin_turn(&self, most: usize) -> ConsumerRing<T> {
        let begun = self.flags.begin();
        assert!(begun, "a queue began a turn that was not scheduled");
        let mut items = self.items.lock();
        items.turns += 1;
        let mut ring = std::mem::take(&mut items.older);
        if ring.is_empty() {
            // The empty ring stays behind, so that its memory is reused.
            std::mem::swap(&mut ring, &mut items.newer);
        }
        self.in_ring.store(ring.len(), Ordering::Relaxed);
        let mut held = ConsumerRing::new(ring);
        self.claim_batch(&mut held, most);
        held
    }

    /// Claims the next batch of the consumer's ring. Returns `false` if the batch is empty because
    /// another thread has emptied the queue.
    fn claim_batch(&self, held: &mut ConsumerRing<T>, most: usize) -> bool {
        // Relaxed: this word alone decides which thread claims which items. A thread that empties
        // the queue does so under the lock, and the consumer takes the lock before it drops
        // anything.
        let before = self.in_ring.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |in_ring| {
            Some(in_ring - in_ring.min(most))
        });
        held.begin_batch(before.unwrap_or(0).min(most));
        self.in_batch.store(held.count(), Ordering::Relaxed);
        held.allowed() > 0
    }

    /// Gives the consumer another batch after it has used up its own, unless the queue is empty or
    /// other work waits for this worker. So a busy queue delays no other work, and no other worker
    /// is woken for it.
    pub(super) fn next_batch(&self, held: &mut ConsumerRing<T>) -> bool {
        held.end_batch();
        plant::instead!(BatchLeftBehind | FinishIgnoresSchedule => false);
        if !self.executor().has_nothing_else() {
            return false;
        }
        if held.ring.is_empty() && !self.take_next_ring(held) {
            return false;
        }
        // Waking producers is expensive, so room goes back in large portions and not after every
        // batch.
        let owed = held.room_owed as u64;
        if self.capacity.as_ref().is_some_and(|capacity| owed >= capacity.total() / 2) {
            self.give_room_back(std::mem::take(&mut held.room_owed));
        }
        self.claim_batch(held, self.batch)
    }

    /// Ends the turn and begins the next one in a single step under the lock. Returns `false`, and
    /// changes nothing, if there are no newer items.
    fn take_next_ring(&self, held: &mut ConsumerRing<T>) -> bool {
        let mut items = self.items.lock();
        if items.newer.is_empty() {
            return false;
        }
        self.flags.finish_and_schedule();
        let begun = self.flags.begin();
        assert!(begun, "a queue has two consumers");
        items.consumed += held.take_count();
        self.in_batch.store(0, Ordering::Relaxed);
        items.turns += 1;
        std::mem::swap(&mut held.ring, &mut items.newer);
        self.in_ring.store(held.ring.len(), Ordering::Relaxed);
        true
    }

    /// Ends the consumer's turn. The rest of its ring stays in front of the newer items.
    pub(super) fn end_turn(this: &Arc<Self>, held: &mut ConsumerRing<T>) {
        held.end_batch();
        let outgrown;
        let (more, dropped) = {
            let mut items = this.items.lock();
            items.consumed += held.take_count();
            let mut ring = std::mem::take(&mut held.ring);
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
        // Freed outside the lock, because unmapping a large ring takes time.
        drop(outgrown);
        this.give_room_back(held.room_owed + dropped.len());
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

    /// Spawns a turn for a gate that is scheduled but has none. If the executor refuses the turn,
    /// this drops the items, because no consumer will come for them.
    fn spawn_next_turn(this: &Arc<Self>) {
        // Usually this runs on a worker inside the previous turn, whose count covers this one.
        if planted(Plant::TurnUncounted) || this.count_next_turn().is_ok() {
            Self::spawn_turn(this);
        } else {
            Self::drop_everything(this, None);
        }
    }

    fn count_next_turn(&self) -> Result<(), SpawnErrorKind> {
        self.executor().count_later(self.executor().is_inside())
    }

    /// Handles a turn that was dropped without being run: by a stopped executor, by a panic before
    /// it began, or by a task that ignores it.
    pub(super) fn turn_dropped(this: &Arc<Self>) {
        if this.making.load(Ordering::Relaxed) {
            this.making.store(false, Ordering::Relaxed);
            // Close the queue as well. Otherwise each producer that waits for room would push now
            // and end up here too, all of them inside the unwinding of the first.
            Self::drop_everything(this, Some(Door::ClosedAndEmptied));
            return this.close_room();
        }
        if this.executor().is_stopped() {
            return Self::drop_everything(this, None);
        }
        // Drop one item. Otherwise a task that always drops its turn would get it again forever.
        let mut held = this.begin_turn(1);
        let first = held.pop();
        if first.is_some() {
            held.end_batch();
            let mut items = this.items.lock();
            items.dropped += held.take_count();
            this.in_batch.store(0, Ordering::Relaxed);
        }
        contain(|| drop(first));
        Self::end_turn(this, &mut held);
    }

    /// Drops the waiting items, when the gate is scheduled but has no turn. Also changes `Door`, if
    /// one is passed.
    fn drop_everything(this: &Arc<Self>, door: Option<Door>) {
        loop {
            let begun = this.flags.begin();
            assert!(begun, "a queue was emptied while its gate was not scheduled");
            this.drop_waiting(door);
            if !this.flags.finish() {
                return;
            }
            // An item was pushed meanwhile. In a stopped executor, a task that still runs did that.
            if door.is_none() && this.count_next_turn().is_ok() {
                return Self::spawn_turn(this);
            }
        }
    }

    /// Drops the waiting items and returns their number, including those in the consumer's ring,
    /// which the consumer drops at the end of its turn.
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

    /// Closes the queue. If `drop_waiting` is set, this also drops the waiting items and returns
    /// their number. Items in the consumer's ring beyond its current batch are dropped when its
    /// turn ends.
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

    /// Refuses the producers that wait for room. Call this after closing the door, so that a
    /// producer that gets room now finds the door closed.
    fn close_room(&self) {
        if let Some(capacity) = &self.capacity {
            capacity.close();
        }
    }

    /// Takes room for one item, if there is some and no producer waits for it. This does not create
    /// a permit, which would add a reference to the budget for each item.
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

    /// Makes a task out of a turn by calling `make`. The flag is set meanwhile: if `make` panics,
    /// the dropped turn sees it and does not try again.
    pub(crate) fn making<R>(this: &Arc<Self>, make: impl FnOnce() -> R) -> R {
        // Relaxed: there is only one turn, and it reaches its next holder through a lock.
        this.making.store(true, Ordering::Relaxed);
        let made = make();
        this.making.store(false, Ordering::Relaxed);
        made
    }
}

/// Drops items one by one and contains their panics. The caller's `drop` may panic, and this may
/// already run during unwinding. If two items panicked in one `drop` of their ring, the second
/// panic would abort the process.
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
    fn a_burst_does_not_hold_its_memory_forever() {
        let executor = Executor::builder()
            .threads(1)
            .build(|_worker| (), |turn: QueueTurn<u32>, _ctx| drop(turn.begin()))
            .unwrap();
        let queue = GatedQueue::unbounded(&executor.handle(), |turn| turn);
        let core = Arc::clone(&queue.core);
        // Pretend to be a consumer that does not get to run, so that both rings grow.
        assert!(core.flags.schedule().must_announce());
        for _ in 0..2 {
            (0..200_000).for_each(|item| queue.push(item).unwrap());
            let mut held = core.begin_turn(usize::MAX);
            while held.pop().is_some() {}
            QueueCore::end_turn(&core, &mut held);
            assert!(core.flags.schedule().must_announce());
        }
        let items = core.items.lock();
        assert!(items.older.capacity().max(items.newer.capacity()) <= KEPT_CAPACITY);
    }
}
