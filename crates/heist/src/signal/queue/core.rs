//! A gated queue's inside: the items, the gate's flags, and who is told when there is something to do.
//!
//! The consumer's *turn* is a task of the executor, and the turn is what the executor counts: it is counted before the
//! first item goes in, and before a turn that has left something behind ends. So every item is covered from push to
//! processed, at the price of one count per turn instead of one per item.
//!
//! Invariant, whenever the lock is free: if there are items, the gate is not idle, or its consumer has yet to finish
//! and will see them. `PROTOCOL.md` beside the flags says why.

use super::turn::QueueTurn;
use crate::budget::{AcquireError, Amount, CountBudget, CountPermit};
use crate::cancel::CancelToken;
use crate::executor::SpawnErrorKind;
use crate::executor::task::contain;
use crate::executor::waiting::AnyExecutor;
use crate::intake::Intake;
use crate::signal::flags::{GateFlags, Scheduled};
use crate::sync::plant::{Plant, planted};
use crate::sync::{Arc, AtomicBool, Mutex, Ordering};
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

/// What a queue has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueueStats {
    /// Items that were taken in.
    pub pushed: u64,
    /// Items that a consumer has taken out.
    pub consumed: u64,
    /// Items that were dropped: by closing the queue, or because the executor was stopped.
    pub dropped: u64,
    /// Times a consumer was run.
    pub turns: u64,
}

impl std::ops::Add for QueueStats {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            pushed: self.pushed + other.pushed,
            consumed: self.consumed + other.consumed,
            dropped: self.dropped + other.dropped,
            turns: self.turns + other.turns,
        }
    }
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
    /// Items in the consumer's ring beyond what it may take in this turn: they wait like the others.
    in_ring: usize,
    door: Door,
    stats: QueueStats,
}

impl<T> Items<T> {
    fn len(&self) -> usize {
        self.older.len() + self.in_ring + self.newer.len()
    }
}

/// What a consumer has in hand during its turn.
pub(super) struct Hand<T> {
    pub(super) ring: VecDeque<T>,
    /// How many of them this turn may take.
    pub(super) allowed: usize,
    /// How many it has taken.
    pub(super) taken: usize,
    /// Items of turns before that are gone, and whose room was not given back yet.
    room_owed: usize,
}

pub(crate) struct QueueCore<T> {
    items: Mutex<Items<T>>,
    flags: GateFlags,
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
            in_ring: 0,
            door: Door::Open,
            stats: QueueStats::default(),
        };
        let (intake, cancel) = scheduler.executor().doors();
        Self {
            items: Mutex::new(items),
            flags: GateFlags::new(),
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
        self.items.lock().len()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.items.lock().door != Door::Open
    }

    pub(crate) fn stats(&self) -> QueueStats {
        self.items.lock().stats
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
        items.stats.pushed += 1;
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
    pub(super) fn begin_turn(&self, most: usize, room_owed: usize) -> Hand<T> {
        let begun = self.flags.begin();
        assert!(begun, "a queue's turn was begun that nobody had scheduled");
        let mut items = self.items.lock();
        items.stats.turns += 1;
        let mut ring = std::mem::take(&mut items.older);
        if ring.is_empty() {
            // The empty ring stays behind, for its memory.
            std::mem::swap(&mut ring, &mut items.newer);
        }
        let allowed = ring.len().min(most);
        items.in_ring = ring.len() - allowed;
        Hand { ring, allowed, taken: 0, room_owed }
    }

    /// The consumer's turn ends. What is left of its ring stays in front of the newer items.
    pub(super) fn end_turn(this: &Arc<Self>, hand: &mut Hand<T>) {
        let due = this.give_back(hand);
        this.give_room_back(std::mem::take(&mut hand.room_owed));
        if due {
            Self::spawn_next_turn(this);
        }
    }

    /// The consumer's turn ends, and if another one is due it begins at once, unless something else waits for this
    /// worker: so nobody is kept waiting by it, and no other worker is woken for it. Says whether it has begun.
    pub(super) fn end_turn_and_go_on(this: &Arc<Self>, hand: &mut Hand<T>) -> bool {
        let due = this.give_back(hand);
        let goes_on = due && this.executor().has_nothing_else();
        // Producers that wait for room are woken for a good part of it, not for every batch: waking costs more than a
        // batch.
        let owed = hand.room_owed as u64;
        let owes_little =
            || this.capacity.as_ref().is_none_or(|capacity| owed < capacity.total() / 4);
        if !(goes_on && owes_little()) {
            this.give_room_back(std::mem::take(&mut hand.room_owed));
        }
        if goes_on {
            *hand = this.begin_turn(this.batch, hand.room_owed);
        } else if due {
            Self::spawn_next_turn(this);
        }
        goes_on
    }

    /// Puts the consumer's ring back and gives the consumption back; says whether another turn is due.
    fn give_back(&self, hand: &mut Hand<T>) -> bool {
        let (more, dropped) = {
            let mut items = self.items.lock();
            items.in_ring = 0;
            items.stats.consumed += hand.taken as u64;
            let mut ring = std::mem::take(&mut hand.ring);
            let mut dropped = VecDeque::new();
            if items.door == Door::ClosedAndEmptied {
                std::mem::swap(&mut ring, &mut dropped);
                items.stats.dropped += dropped.len() as u64;
            }
            if planted(Plant::LeftoversGoBehind) {
                items.newer.append(&mut ring);
            }
            items.older = ring;
            (items.len() > 0, dropped)
        };
        hand.room_owed += hand.taken + dropped.len();
        drop_contained(dropped);
        let more = (more && !planted(Plant::BatchLeftBehind)) || planted(Plant::SlotBeforeQueue);
        if more {
            self.flags.finish_and_schedule();
            true
        } else {
            self.flags.finish() && !planted(Plant::FinishIgnoresSchedule)
        }
    }

    /// Spawns a turn for a gate that is scheduled and has none, or drops what nobody will consume.
    fn spawn_next_turn(this: &Arc<Self>) {
        // Usually on a worker that runs the turn before, whose count covers this one.
        if planted(Plant::TurnUncounted) || this.count_next_turn().is_ok() {
            Self::spawn_turn(this);
        } else {
            Self::drop_everything(this);
        }
    }

    fn count_next_turn(&self) -> Result<(), SpawnErrorKind> {
        self.executor().count_later(self.executor().is_inside())
    }

    /// A turn was dropped without being run: by a stopped executor, or by a panic on its way.
    pub(super) fn turn_dropped(this: &Arc<Self>) {
        if this.making.load(Ordering::Relaxed) || this.executor().is_stopped() {
            this.making.store(false, Ordering::Relaxed);
            Self::drop_everything(this);
        } else {
            Self::spawn_next_turn(this);
        }
    }

    /// Drops what waits, with the gate scheduled and no turn there.
    fn drop_everything(this: &Arc<Self>) {
        let begun = this.flags.begin();
        assert!(begun, "a queue was to be emptied that nobody had scheduled");
        this.drop_waiting(None);
        // Somebody has pushed meanwhile: in a stopped executor, a task that still runs.
        if this.flags.finish() {
            Self::spawn_next_turn(this);
        }
    }

    /// Drops what waits and says how much that is, with what the consumer has in hand and will drop for it.
    fn drop_waiting(&self, door: Option<Door>) -> usize {
        let (older, newer, in_ring) = {
            let mut items = self.items.lock();
            let door = door.unwrap_or(items.door);
            // Said once, by whoever empties it.
            let in_ring = if door == items.door { 0 } else { items.in_ring };
            items.door = door;
            let older = std::mem::take(&mut items.older);
            let newer = std::mem::take(&mut items.newer);
            items.stats.dropped += (older.len() + newer.len()) as u64;
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
        // After the door: a producer that gets a share of the capacity now finds it closed.
        if let Some(capacity) = &self.capacity {
            capacity.close();
        }
        dropped
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
