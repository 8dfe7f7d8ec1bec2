//! A gated queue's inside: the items, the gate's flags, and who is told when there is something to do.
//!
//! The consumer's *turn* is a task of the executor, and the turn is what the executor counts: it is counted before the
//! first item goes in, and before a turn that has left something behind ends. So every item is covered from push to
//! processed, at the price of one count per turn instead of one per item.
//!
//! Invariant, whenever the lock is free: if there are items, the gate is not idle, or its consumer has yet to finish and
//! will see them. `PROTOCOL.md` beside the flags says why.

use super::turn::QueueTurn;
use crate::budget::CountBudget;
use crate::executor::SpawnErrorKind;
use crate::executor::task::contain;
use crate::executor::waiting::AnyExecutor;
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

struct Items<T> {
    waiting: VecDeque<T>,
    /// An empty ring, kept for its memory: the consumer takes a whole ring and leaves this one.
    spare: VecDeque<T>,
    closed: bool,
    stats: QueueStats,
}

/// What a consumer has taken.
pub(super) struct Batch<T> {
    pub(super) items: VecDeque<T>,
    pub(super) taken: usize,
}

pub(crate) struct QueueCore<T> {
    items: Mutex<Items<T>>,
    flags: GateFlags,
    /// One unit for each item that waits or is being consumed; none in an unbounded queue.
    pub(super) capacity: Option<CountBudget>,
    pub(super) batch: usize,
    scheduler: Box<dyn Scheduler<T>>,
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
            waiting: VecDeque::new(),
            spare: VecDeque::new(),
            closed: false,
            stats: QueueStats::default(),
        };
        Self {
            items: Mutex::new(items),
            flags: GateFlags::new(),
            capacity,
            batch,
            scheduler,
            making: AtomicBool::new(false),
        }
    }

    /// The executor that the consumer runs on.
    pub(crate) fn executor(&self) -> &dyn AnyExecutor {
        self.scheduler.executor()
    }

    pub(crate) fn len(&self) -> usize {
        self.items.lock().waiting.len()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.items.lock().closed
    }

    pub(crate) fn stats(&self) -> QueueStats {
        self.items.lock().stats
    }

    /// Puts an item at the back. Its share of the capacity was taken before; when refused, the caller gives it back.
    /// `inside`: a task of the executor waits for this push, wherever it is made.
    pub(crate) fn push(this: &Arc<Self>, item: T, inside: bool) -> Result<(), (Refused, T)> {
        // Outside of the lock: taking notice of a cancellation drops things, which may be anything.
        let accepting = inside || this.executor().is_accepting();
        let inside = inside || (!accepting && this.executor().is_inside());
        if !accepting && !inside {
            return Err((Refused::Executor(this.executor().refusal()), item));
        }
        let mut items = this.items.lock();
        if items.closed {
            return Err((Refused::Closed, item));
        }
        // With an item before this one, whoever pushed that has scheduled the consumer.
        let must_spawn = if items.waiting.is_empty() {
            match this.schedule(inside) {
                Ok(must_spawn) => must_spawn,
                Err(kind) => return Err((Refused::Executor(kind), item)),
            }
        } else {
            false
        };
        items.waiting.push_back(item);
        items.stats.pushed += 1;
        drop(items);
        if must_spawn {
            Self::spawn_turn(this);
        }
        Ok(())
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

    /// The consumer's turn begins: takes a batch of at most `most` items.
    pub(super) fn begin_turn(&self, most: usize) -> Batch<T> {
        let begun = self.flags.begin();
        assert!(begun, "a queue's turn was begun that nobody had scheduled");
        let mut items = self.items.lock();
        items.stats.turns += 1;
        let mut batch = std::mem::take(&mut items.spare);
        if items.waiting.len() <= most {
            std::mem::swap(&mut batch, &mut items.waiting);
        } else {
            batch.extend(items.waiting.drain(..most));
        }
        Batch { taken: batch.len(), items: batch }
    }

    /// The consumer's turn ends. What is left of its batch goes back to the front.
    pub(super) fn end_turn(this: &Arc<Self>, batch: &mut Batch<T>) {
        let consumed = batch.taken - batch.items.len();
        let more = {
            let mut items = this.items.lock();
            while let Some(item) = batch.items.pop_back() {
                items.waiting.push_front(item);
            }
            items.spare = std::mem::take(&mut batch.items);
            items.stats.consumed += consumed as u64;
            !items.waiting.is_empty()
        };
        this.give_capacity_back(consumed);
        let more = (more && !planted(Plant::BatchLeftBehind)) || planted(Plant::SlotBeforeQueue);
        Self::finish(this, more);
    }

    /// Gives the consumption back, and spawns the next turn if there is a reason for one.
    fn finish(this: &Arc<Self>, more: bool) {
        let due = if more {
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
        this.drop_waiting(false);
        // Somebody has pushed meanwhile: in a stopped executor, a task that still runs.
        Self::finish(this, false);
    }

    /// Drops what waits and says how much that was.
    fn drop_waiting(&self, close: bool) -> usize {
        let dropped = {
            let mut items = self.items.lock();
            items.closed |= close;
            let dropped = std::mem::take(&mut items.waiting);
            items.stats.dropped += dropped.len() as u64;
            dropped
        };
        let count = dropped.len();
        self.give_capacity_back(count);
        // Items are the caller's, and this may be the middle of an unwinding. One by one: of two that panic in one
        // `drop` of their ring, the second would end the process.
        for item in dropped {
            contain(|| drop(item));
        }
        count
    }

    /// Takes no more items; drops those that wait, if told to, and says how many.
    pub(crate) fn close(&self, drop_waiting: bool) -> usize {
        let dropped = if drop_waiting {
            self.drop_waiting(true)
        } else {
            self.items.lock().closed = true;
            0
        };
        // After the flag: a producer that gets a share of the capacity now finds the queue closed.
        if let Some(capacity) = &self.capacity {
            capacity.close();
        }
        dropped
    }

    fn give_capacity_back(&self, count: usize) {
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
