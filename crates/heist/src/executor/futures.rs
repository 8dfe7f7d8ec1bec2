//! Spawning, waking and ending futures on a pool.
//!
//! Invariants:
//! - A future is counted before any other thread can see it.
//! - A wake-up is never refused: the pool cannot be done while the future lives.

use super::error::{SpawnError, SpawnErrorKind, TaskPanic};
use super::shared::PoolShared;
use super::waiting::StopWhenCancelled;
use crate::future::counted::{Counted, Ended};
use crate::future::live::LivePlace;
use crate::future::queues::Lifo;
use crate::future::raw::{self, Runnable, Task};
use crate::future::seat;
use crate::sync::Arc;
use crate::sync::plant::{self, Plant, planted};
use crate::worker_id;
use std::any::Any;
use std::future::Future;
use std::task::Context;

/// The number of futures that a queue holds without growing. Passing half of the queue on to the
/// injector is cheaper than growing and shrinking it with each burst, and other workers see the
/// futures there at once.
const SPAWNED_MAX: usize = 64;

/// A future that is about to be polled for the first time, and the task that awaits it.
type Made<T> = (Runnable, Task<Ended<T>>);

/// A future's view of its pool, whatever the pool's task type is.
pub(crate) trait FuturePool: Send + Sync + 'static {
    /// The future has returned `Pending` for the first time: registers its waker, so that a stop
    /// can reach it.
    fn enter_live_set(&self, cx: &mut Context<'_>) -> Option<LivePlace>;

    /// The future, which was registered before, has returned `Pending` again.
    fn goes_on_waiting(&self, cx: &mut Context<'_>);

    /// The future, which is registered, has ended.
    fn leave_live_set(&self, place: LivePlace);

    /// The future has panicked.
    fn future_panicked(&self, payload: &(dyn Any + Send));

    /// The future was dropped or has completed.
    fn future_ended(&self);
}

impl<T: Send + 'static> FuturePool for Arc<PoolShared<T>> {
    fn enter_live_set(&self, cx: &mut Context<'_>) -> Option<LivePlace> {
        // Only workers poll futures that wait. On a thread for blocking calls, a future never
        // waits.
        let worker = worker_id::worker_of(self.pool())?;
        PoolShared::hear_of_cancellation(self);
        let place = self.futures.live.add(worker, cx.waker().clone());
        if place.is_none() {
            // The pool is stopped: the worker that would poll it next drops it.
            cx.waker().wake_by_ref();
        }
        place
    }

    fn goes_on_waiting(&self, cx: &mut Context<'_>) {
        // A stop that found the future queued could not queue it again, and its worker may already
        // have decided to poll it, not to drop it. The stop's wake-up and the beginning of this
        // poll are read-modify-writes of one word, so this poll sees the stop.
        if self.drops_what_is_queued() && !planted(Plant::StopMissesQueued) {
            cx.waker().wake_by_ref();
        }
    }

    fn leave_live_set(&self, place: LivePlace) {
        self.futures.live.remove(place);
    }

    fn future_panicked(&self, payload: &(dyn Any + Send)) {
        self.metrics.add_panic_outside();
        self.keep_report(TaskPanic::new(worker_id::worker_of(self.pool()), payload));
    }

    fn future_ended(&self) {
        if let Some(worker) = worker_id::busy_worker_of(self.pool()) {
            self.metrics.worker(worker).futures_ended.add(1);
            return self.termination.end_future_on(worker);
        }
        self.metrics.add_future_ended_outside();
        plant::instead!(DropOutsideUncounted);
        self.finish_if(self.termination.consume_outside(&self.intake));
    }
}

impl<T: Send + 'static> PoolShared<T> {
    /// Spawns a future onto the pool. A running task or future of this pool is never refused.
    pub(crate) fn spawn_future<F>(
        this: &Arc<Self>,
        future: F,
    ) -> Result<Task<Ended<F::Output>>, SpawnError<F>>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        match this.accept_future() {
            Ok(()) => Ok(Self::spawn_accepted(this, future)),
            Err(kind) => Err(SpawnError::new(kind, future)),
        }
    }

    /// Does what [`PoolShared::spawn_future`] does, for a large future, which the error gives back
    /// without moving it.
    pub(crate) fn spawn_boxed<F>(
        this: &Arc<Self>,
        future: Box<F>,
    ) -> Result<Task<Ended<F::Output>>, SpawnError<F>>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        match this.accept_future() {
            Ok(()) => Ok(Self::spawn_accepted(this, Box::into_pin(future))),
            Err(kind) => Err(SpawnError::of_boxed(kind, future)),
        }
    }

    fn accept_future(&self) -> Result<(), SpawnErrorKind> {
        self.count_futures(1)?;
        self.futures.use_them();
        Ok(())
    }

    fn spawn_accepted<F>(this: &Arc<Self>, future: F) -> Task<Ended<F::Output>>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let shared = Arc::clone(this);
        let schedule = move |runnable, yielded| shared.schedule(runnable, yielded);
        let (runnable, task) = Self::make_counted(this, future, schedule);
        this.queue(runnable, Self::push_spawned);
        task
    }

    /// Makes a future that counts as the pool's, but which `schedule` has polled elsewhere. The
    /// caller must schedule the first poll.
    ///
    /// # Errors
    /// Gives the future back if the pool is closed.
    pub fn make_future<F>(
        this: &Arc<Self>,
        future: F,
        schedule: impl Fn(Runnable, bool) + Send + Sync + 'static,
    ) -> Result<Made<F::Output>, SpawnError<F>>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        match this.accept_future() {
            Ok(()) => Ok(Self::make_counted(this, future, schedule)),
            Err(kind) => Err(SpawnError::new(kind, future)),
        }
    }

    /// Makes a raw task from a future that was counted as spawned.
    pub(crate) fn make_counted<F>(
        this: &Arc<Self>,
        future: F,
        schedule: impl Fn(Runnable, bool) + Send + Sync + 'static,
    ) -> (Runnable, Task<Ended<F::Output>>)
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        raw::spawn(Counted::new(future, Arc::clone(this)), schedule)
    }

    /// Counts futures as spawned: all of them, or none.
    pub(crate) fn count_futures(&self, count: u64) -> Result<(), SpawnErrorKind> {
        if let Some(worker) = self.running_worker() {
            self.termination.spawn_futures_on(worker, count);
            self.metrics.worker(worker).futures_spawned.add(count);
            return Ok(());
        }
        if self.is_inside() {
            self.termination.produce_inside(count);
        } else if !self.accept(count) {
            return Err(self.refusal());
        }
        self.metrics.add_futures_spawned_outside(count);
        Ok(())
    }

    /// Makes the pool watch its cancel token from now on: while all workers sleep, none of them
    /// checks it.
    #[inline]
    pub(crate) fn hear_of_cancellation(this: &Arc<Self>) {
        if this.futures.live.is_first() {
            this.watch_for_cancellation(&StopWhenCancelled::of(this));
        }
    }

    /// Returns the worker whose thread this is, if it is not quiet. Until it goes quiet, the pool
    /// cannot be found done.
    #[inline]
    fn running_worker(&self) -> Option<usize> {
        worker_id::busy_worker_of(self.pool()).filter(|_| !self.termination.is_done())
    }

    /// Queues a future that was woken: while it ran, or while it waited.
    fn schedule(&self, runnable: Runnable, while_it_ran: bool) {
        plant::instead!(
            WakeRefusedAfterClose | WakeWhileRunningLost | GivingWayUnannounced | GivingWayIsNext =>
                self.schedule_wrongly(runnable, while_it_ran)
        );
        // A future that was woken while it ran yields.
        let push = if while_it_ran { Self::push_behind } else { Self::push_next };
        self.queue(runnable, push);
    }

    /// Queues a future for its next poll: on the calling thread's own worker, with `push`, or in
    /// the injector.
    #[inline]
    pub(super) fn queue(&self, runnable: Runnable, push: impl FnOnce(&Self, usize, Runnable)) {
        // A quiet worker may be about to park, and would not check its own queue again. A worker of
        // a pool that is done has left its seat.
        match self.running_worker() {
            Some(worker) => push(self, worker, runnable),
            None => {
                self.futures.injector.push(runnable, || self.clock.now_ns());
                if !planted(Plant::WakeUnannounced) {
                    self.announce_pushed(1);
                }
            }
        }
    }

    /// Queues a future as the worker's next one: the data that has woken it is still in the cache.
    pub(super) fn push_next(&self, worker: usize, runnable: Runnable) {
        let displaced = match self.futures.lifo {
            Lifo::Off => Some(runnable),
            Lifo::Private => seat::with(|seat| seat.private_slot.replace(runnable)),
            Lifo::Stealable => self.futures.slots[worker].fill(runnable),
        };
        match displaced {
            Some(displaced) => plant::pick!(
                DisplacedUnannounced => self.push_without_notify(worker, displaced),
                _ => self.push_behind(worker, displaced),
            ),
            None if self.futures.lifo == Lifo::Private => {}
            // Filling an empty slot is a push: if this worker stays busy, another one must take the
            // future.
            None if planted(Plant::SlotFillUnannounced) => {}
            None => self.announce_to_thieves(1),
        }
    }

    /// Queues a future behind those in the worker's queue.
    pub(super) fn push_behind(&self, worker: usize, runnable: Runnable) {
        self.push_without_notify(worker, runnable);
        self.announce_to_thieves(1);
    }

    #[inline]
    pub(super) fn push_without_notify(&self, _worker: usize, runnable: Runnable) {
        seat::with(|seat| seat.queue.push(runnable));
    }

    /// Queues a new future. A worker that spawns many shares them: when its queue is full, half of
    /// it goes to the injector.
    fn push_spawned(&self, worker: usize, runnable: Runnable) {
        if seat::with(|seat| seat.queue.len()) >= SPAWNED_MAX {
            self.share_queue();
        }
        self.push_behind(worker, runnable);
    }

    #[cold]
    fn share_queue(&self) {
        let moved = seat::with(|seat| {
            let half = std::iter::from_fn(|| seat.queue.pop()).take(SPAWNED_MAX / 2);
            seat.batch.extend(half);
            let moved = seat.batch.len();
            self.futures.injector.push_batch(&mut seat.batch, || self.clock.now_ns());
            moved
        });
        self.idle.notify_pushed(moved);
    }

    /// Applies the push rule to futures that only thieves can take. Without stealing, it wakes no
    /// worker.
    #[inline]
    fn announce_to_thieves(&self, pushed: usize) {
        if self.steal_rounds > 0 {
            self.idle.notify_pushed(pushed);
        }
    }
}

impl<T> PoolShared<T> {
    /// Wakes every future that waits, so that the workers drop it.
    pub(super) fn release_futures(&self) {
        plant::instead!(StopForgetsFutures);
        for waker in self.futures.live.take_all_for_good() {
            waker.wake();
        }
    }
}
