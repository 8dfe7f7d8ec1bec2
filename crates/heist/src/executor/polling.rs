//! How a worker finds the next future, and polls it.

use super::worker::Worker;
use crate::future::coop;
use crate::future::queues::Lifo;
use crate::future::raw::Runnable;
use crate::future::seat;
use crate::queue::{Order, Steal};
use crate::sync::plant::{self, Plant, planted};
use crate::sync::spin_loop;
use crate::worker_id;

/// Futures that wake each other as fast as they are polled all pass through the LIFO slot. After
/// this many in a row, the worker takes one from its queue. (tokio uses the same number.)
const SLOT_RUN_MAX: u32 = 3;

/// A thief takes from a LIFO slot that has not changed for this long. The owner takes its future at
/// the end of its poll, and most polls have ended by then. Stealing earlier would move futures away
/// from the cache that has their data.
const SLOT_UNCHANGED_NS: u64 = 5_000;

/// The largest number of futures that a lap takes from the injector, so that the worker returns to
/// its own queue.
const LAP_INJECTED_MAX: usize = 512;

/// How many futures of the worker's own queue and of the injector remain in this lap.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lap {
    own: usize,
    injected: usize,
    /// `true` if the injector was checked since the lap's own futures were polled.
    looked: bool,
}

/// What a thief remembers about a LIFO slot that it waits for.
#[derive(Clone, Copy, Debug)]
pub(super) struct WatchedSlot {
    victim: usize,
    version: usize,
    since_ns: u64,
}

impl<T> Worker<T> {
    /// Seats this worker on the calling thread until the guard is dropped.
    pub(super) fn sit_down(&mut self) -> seat::Guard {
        seat::enter(Box::new(self.seat.take().expect("a worker sits down once")))
    }

    /// Marks the calling thread as this worker's until it ends: for the threads of a model, which
    /// the pool has not started. (Removing the mark would touch loom's thread-local after a failed
    /// model has destroyed it.)
    pub fn enter(&mut self) {
        std::mem::forget(worker_id::enter(self.shared.pool(), self.id));
        std::mem::forget(self.sit_down());
    }

    fn take_from_own_slot(&self) -> Option<Runnable> {
        match self.shared.futures.lifo {
            Lifo::Off => None,
            Lifo::Private => seat::with(|seat| seat.private_slot.take()),
            Lifo::Stealable => self.shared.futures.slots[self.id].take(),
        }
    }

    #[inline]
    pub(super) fn pop_own_future(&mut self) -> Option<Runnable> {
        let slot_first = self.slot_run < SLOT_RUN_MAX || planted(Plant::SlotRunUnbounded);
        if slot_first && let Some(next) = self.take_from_own_slot() {
            self.slot_run += 1;
            return Some(next);
        }
        self.slot_run = 0;
        self.pop_queued_future().or_else(|| self.take_from_own_slot())
    }

    /// Takes the oldest future of this worker's queue, or of the injector if it is the injector's
    /// turn.
    ///
    /// A lap begins with the futures that are in this worker's queue now; each is polled once. Then
    /// comes this worker's share of the futures that are in the injector by then. So a worker that
    /// is never idle is fair to futures from outside, and a future that is queued during a lap,
    /// because it yields, is polled after them. The share stays in the injector until it is polled:
    /// this worker may be busy for long, and then another worker can take it.
    #[inline]
    fn pop_queued_future(&mut self) -> Option<Runnable> {
        if self.lap.own == 0 {
            let own = seat::with(|seat| seat.queue.len());
            if own > 0 && !self.lap.looked {
                // Now, and not before the last poll: that poll may have moved its queue there, and
                // yielded.
                self.lap.injected = self.injected_share_of_lap();
                self.lap.looked = true;
            }
            if let Some(injected) = self.pop_injected_in_lap() {
                return Some(injected);
            }
            self.lap = Lap { own, injected: 0, looked: false };
        }
        self.lap.own = self.lap.own.saturating_sub(1);
        if self.lap.own == 0 {
            self.lap.injected = self.injected_share_of_lap();
        }
        let popped = seat::with(|seat| seat.queue.pop());
        if popped.is_none() {
            // Thieves took the others.
            self.lap.own = 0;
        }
        popped
    }

    fn injected_share_of_lap(&self) -> usize {
        match self.shared.futures.injector.len() {
            0 => 0,
            queued => (queued / self.shared.stealers.len()).clamp(1, LAP_INJECTED_MAX),
        }
    }

    fn pop_injected_in_lap(&mut self) -> Option<Runnable> {
        self.lap.injected = self.lap.injected.checked_sub(1)?;
        let injected = self.shared.futures.injector.take_one();
        if injected.is_none() {
            self.lap.injected = 0;
        }
        injected
    }

    /// Takes futures from the injector. Returns the oldest; the others go to this worker's queue.
    pub(super) fn take_injected_future(&mut self, most: usize) -> Option<Runnable> {
        let shared = &*self.shared;
        if shared.futures.injector.is_empty() {
            return None;
        }
        let (oldest, moved, pushed_at_ns) = seat::with(|seat| {
            let batch_size = |queued| shared.injector_share(queued).min(most);
            let pushed_at_ns =
                shared.futures.injector.take(Order::All, batch_size, &mut seat.batch);
            let mut batch = seat.batch.drain(..);
            let oldest = batch.next();
            let moved = batch.len();
            batch.for_each(|runnable| seat.queue.push(runnable));
            (oldest, moved, pushed_at_ns)
        });
        if let Some(pushed_at_ns) = pushed_at_ns {
            let waited_ns = shared.clock.now_ns().saturating_sub(pushed_at_ns);
            self.metrics().queue_time_ns.record(waited_ns);
        }
        if !planted(Plant::MoveWithoutNotify) {
            self.announce_moved(moved);
        }
        oldest
    }

    pub(super) fn steal_futures(&mut self, victim: usize) -> Steal<Runnable> {
        let stealer = &self.shared.futures.stealers[victim];
        if stealer.is_empty() {
            return Steal::Empty;
        }
        let limit = self.shared.steal_batch;
        let (stolen, moved) =
            seat::with(|seat| (stealer.steal_half(&seat.queue, limit), seat.queue.len()));
        self.metrics().steals_tried.add(1);
        if stolen.is_success() {
            self.metrics().steals_won.add(1);
            self.metrics().tasks_moved.add(1 + moved as u64);
            if !planted(Plant::StealWithoutNotify) {
                self.announce_moved(moved);
            }
        }
        stolen
    }

    /// Watches an occupied LIFO slot over several calls, and takes from it once it has not changed
    /// for a while.
    pub(super) fn steal_from_unchanged_slot(&mut self) -> Option<(Runnable, usize)> {
        if self.shared.futures.lifo != Lifo::Stealable {
            return None;
        }
        let stolen = self.look_at_slots();
        if self.watched_slot.is_some() {
            // Looking without a pause would take the slot's cache line from its owner again and
            // again.
            spin_loop();
        }
        stolen
    }

    fn look_at_slots(&mut self) -> Option<(Runnable, usize)> {
        let slots = &self.shared.futures.slots;
        let watched = self.watched_slot.take();
        if let Some(watched) = watched
            && slots[watched.victim].occupied() == Some(watched.version)
        {
            let watched_ns = self.shared.clock.now_ns().saturating_sub(watched.since_ns);
            // Loom's clock does not advance.
            if watched_ns < SLOT_UNCHANGED_NS && !cfg!(heist_loom) {
                self.watched_slot = Some(watched);
                return None;
            }
            self.metrics().steals_tried.add(1);
            let Some(stolen) = slots[watched.victim].steal() else {
                // The owner or another thief is between the count and the exchange: let it go on.
                crate::sync::spin_loop();
                return None;
            };
            self.metrics().steals_won.add(1);
            self.metrics().tasks_moved.add(1);
            return Some((stolen, watched.victim));
        }
        // The next slot, so that this worker does not watch one slot forever while another one
        // waits.
        let first = watched.map_or(0, |watched| watched.victim + 1);
        let victims = (0..slots.len()).map(|offset| (first + offset) % slots.len());
        self.watched_slot = victims.filter(|&victim| victim != self.id).find_map(|victim| {
            let version = slots[victim].occupied()?;
            Some(WatchedSlot { victim, version, since_ns: self.shared.clock.now_ns() })
        });
        None
    }

    /// Polls a future, or drops it if the pool was stopped.
    #[inline]
    pub(super) fn poll_or_drop(&mut self, runnable: Runnable) {
        if self.shared.must_drop() {
            return self.drop_future(runnable);
        }
        // The ignored result tells whether it was woken meanwhile. It is queued again by then.
        coop::with_budget(|| runnable.run());
        self.metrics().polls.add(1);
    }

    #[cold]
    fn drop_future(&self, runnable: Runnable) {
        plant::instead!(DropsForgotten => std::mem::forget(runnable));
        // The future contains the panics of its drop.
        drop(runnable);
    }

    /// Takes one future from anywhere, without following the protocols: only after the engine has
    /// failed.
    pub(super) fn salvage_future(&mut self) -> Option<Runnable> {
        let futures = &self.shared.futures;
        let own = seat::with(|seat| {
            seat.private_slot.take().or_else(|| seat.queue.pop()).or_else(|| {
                futures.injector.take(Order::All, |_queued| 1, &mut seat.batch);
                seat.batch.pop()
            })
        });
        own.or_else(|| futures.slots.iter().find_map(|slot| slot.steal())).or_else(|| {
            let steal = |stealer: &crate::queue::Stealer<Runnable>| loop {
                match seat::with(|seat| stealer.steal_half(&seat.queue, 1)) {
                    Steal::Success(runnable) => return Some(runnable),
                    Steal::Empty => return None,
                    Steal::Retry => {}
                }
            };
            futures.stealers.iter().find_map(steal)
        })
    }

    #[inline]
    pub(super) fn begin_polling(&mut self) {
        self.watched_slot = None;
        self.leave_search_and_quiet();
        self.pace.begin_task(|| self.shared.clock.now_ns());
    }
}
