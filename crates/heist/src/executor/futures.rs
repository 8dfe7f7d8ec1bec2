//! Spawning, waking and ending futures on a pool.
//!
//! Invariants: a future is counted before anybody can see it. A wake-up is never refused: the pool cannot be done
//! while the future lives.

use super::error::{SpawnError, SpawnErrorKind, TaskPanic};
use super::shared::Shared;
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

/// As many as a queue holds without growing. A queue that grows and shrinks with each burst costs more than to hand
/// half of it over, and others see it there at once.
const SPAWNED_MAX: usize = 64;

/// A future that is to be polled for the first time, and the end that awaits it.
type Made<T> = (Runnable, Task<Ended<T>>);

/// What a future asks of its pool, whatever the type of the pool's tasks.
pub(crate) trait Pool: Send + Sync + 'static {
    /// The future has returned `Pending` for the first time: notes how a stop can reach it.
    fn enter_live_set(&self, cx: &mut Context<'_>) -> Option<LivePlace>;

    /// The future, which is in the set or was, has returned `Pending` again.
    fn goes_on_waiting(&self, cx: &mut Context<'_>);

    /// The future, which is in the set, has ended.
    fn leave_live_set(&self, place: LivePlace);

    /// The future has panicked.
    fn future_panicked(&self, payload: &(dyn Any + Send));

    /// The future is gone.
    fn future_ended(&self);
}

impl<T: Send + 'static> Pool for Arc<Shared<T>> {
    fn enter_live_set(&self, cx: &mut Context<'_>) -> Option<LivePlace> {
        // Nobody but workers polls; elsewhere (a thread for blocking calls) a future never waits.
        let worker = worker_id::worker_of(self.pool())?;
        Shared::hear_of_cancellation(self);
        let place = self.futures.live.add(worker, cx.waker().clone());
        if place.is_none() {
            // Stopped: whoever polls it next drops it.
            cx.waker().wake_by_ref();
        }
        place
    }

    fn goes_on_waiting(&self, cx: &mut Context<'_>) {
        // A stop that found it queued has woken nobody; its worker may have been about to poll it then, and not to drop
        // it. That wake-up and the beginning of this poll are read-modify-writes of one word, so the stop shows here.
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

impl<T: Send + 'static> Shared<T> {
    /// Spawns a future onto the pool. From a running task or future of this pool it is never refused.
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

    /// [`Shared::spawn_future`] for a large one, which the error gives back without moving it.
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

    /// Makes a future that counts as the pool's, but is polled where `schedule` says. The caller is to have it polled
    /// for the first time.
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

    /// Makes a task of a future that was counted as spawned.
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

    /// Counts futures as spawned, all of them or none.
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

    /// Has the pool told of a cancellation from now on: with everybody asleep nobody would ask the token.
    #[inline]
    pub(crate) fn hear_of_cancellation(this: &Arc<Self>) {
        if this.futures.live.is_first() {
            this.watch_for_cancellation(&StopWhenCancelled::of(this));
        }
    }

    /// The worker whose thread this is, if it is at work: nobody can find the pool done before it goes quiet.
    #[inline]
    fn running_worker(&self) -> Option<usize> {
        worker_id::busy_worker_of(self.pool()).filter(|_| !self.termination.is_done())
    }

    /// A future was woken: while it ran, or while it waited.
    fn schedule(&self, runnable: Runnable, while_it_ran: bool) {
        plant::instead!(
            WakeRefusedAfterClose | WakeWhileRunningLost | GivingWayUnannounced | GivingWayIsNext =>
                self.schedule_wrongly(runnable, while_it_ran)
        );
        // Who was woken while it ran gives way.
        let push = if while_it_ran { Self::push_behind } else { Self::push_next };
        self.queue(runnable, push);
    }

    /// Queues a future that is to be polled: with the calling thread's own worker, by `push`, or in the injector.
    #[inline]
    pub(super) fn queue(&self, runnable: Runnable, push: impl FnOnce(&Self, usize, Runnable)) {
        // A quiet worker may be about to park, and would not look at its own queue again; one of a pool that is done
        // has left its seat.
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

    /// Queues a future of a worker's own as its next: what has just woken it is still in the cache.
    pub(super) fn push_next(&self, worker: usize, runnable: Runnable) {
        let displaced = match self.futures.lifo {
            Lifo::Off => Some(runnable),
            Lifo::Private => seat::with(|seat| seat.private_slot.replace(runnable)),
            Lifo::Stealable => self.futures.slots[worker].fill(runnable),
        };
        match displaced {
            Some(displaced) => plant::pick!(
                DisplacedUnannounced => self.push_telling_nobody(worker, displaced),
                _ => self.push_behind(worker, displaced),
            ),
            None if self.futures.lifo == Lifo::Private => {}
            // Filling an empty slot is a push: if this worker goes on for long, another one must be there to take it.
            None if planted(Plant::SlotFillUnannounced) => {}
            None => self.announce_to_thieves(1),
        }
    }

    /// Queues a future behind those that the worker has.
    pub(super) fn push_behind(&self, worker: usize, runnable: Runnable) {
        self.push_telling_nobody(worker, runnable);
        self.announce_to_thieves(1);
    }

    #[inline]
    pub(super) fn push_telling_nobody(&self, _worker: usize, runnable: Runnable) {
        seat::with(|seat| seat.queue.push(runnable));
    }

    /// Queues a new future. Who spawns many shares them: when the queue is full, half of it goes to the injector.
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

    /// The push rule, for what lies where only thieves can take it. Without stealing there is nobody to tell.
    #[inline]
    fn announce_to_thieves(&self, pushed: usize) {
        if self.steal_rounds > 0 {
            self.idle.notify_pushed(pushed);
        }
    }
}

impl<T> Shared<T> {
    /// Has every future that waits polled once more: to be dropped by the workers.
    pub(super) fn release_futures(&self) {
        plant::instead!(StopForgetsFutures);
        for waker in self.futures.live.take_all_for_good() {
            waker.wake();
        }
    }
}
