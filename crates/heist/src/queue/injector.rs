//! The queue that all workers share: tasks from outside, tasks spawned globally, and tasks that
//! yielded.
//!
//! It is a ring buffer under a lock, because batches matter most here: a producer pushes 64 tasks,
//! and a worker takes up to 64, under one lock each. A lock-free queue pays an atomic operation for
//! each task and an allocation for each block. The length is readable without the lock, so an idle
//! look costs one load.
//!
//! Yielded tasks wait apart, each with a ticket: a worker may take one only after everything that
//! was in the queue when it yielded was taken.

use crate::sync::{AtomicUsize, CachePadded, Mutex, MutexGuard, Ordering};
use std::collections::VecDeque;

/// A ring that has grown beyond this capacity is freed when it runs empty, so that one burst does
/// not hold its memory for the life of the pool. Smaller rings are kept: a steady state allocates
/// nothing.
const KEPT_CAPACITY: usize = 64 * 1024;

/// One push in this many carries a time stamp, for the queue-time histogram.
const QUEUE_TIME_SAMPLE_INTERVAL: u64 = 64;

/// The tasks that a worker may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Only tasks that never yielded: the worker's own queue holds older tasks, which go first.
    FreshOnly,
    /// Also a yielded task, if a task that was pushed later has been taken before it. Other workers
    /// may have older tasks to steal, but a flood from outside must not make it wait forever.
    YieldedWhenOvertaken,
    /// Any task, in order.
    All,
}

#[derive(Debug)]
struct Sample {
    /// The number of tasks that are taken before the sampled one.
    position: u64,
    pushed_at_ns: u64,
}

#[derive(Debug)]
struct Yielded<T> {
    /// The number of fresh tasks that must be taken before this one.
    ticket: u64,
    task: T,
}

#[derive(Debug)]
struct QueuedTasks<T> {
    fresh: VecDeque<T>,
    yielded: VecDeque<Yielded<T>>,
    fresh_pushed: u64,
    sample: Option<Sample>,
}

impl<T> QueuedTasks<T> {
    fn len(&self) -> usize {
        self.fresh.len() + self.yielded.len()
    }

    fn fresh_taken(&self) -> u64 {
        self.fresh_pushed - self.fresh.len() as u64
    }

    /// Returns `true` if a yielded task comes next.
    fn yielded_is_next(&self, order: Order) -> bool {
        let Some(next) = self.yielded.front() else { return false };
        match order {
            Order::FreshOnly => false,
            Order::YieldedWhenOvertaken => next.ticket < self.fresh_taken(),
            Order::All => next.ticket <= self.fresh_taken(),
        }
    }

    fn take_next(&mut self, order: Order) -> Option<T> {
        if self.yielded_is_next(order) {
            self.yielded.pop_front().map(|next| next.task)
        } else {
            self.fresh.pop_front()
        }
    }

    fn take(&mut self, order: Order, wanted: usize, batch: &mut Vec<T>) {
        if self.yielded.is_empty() {
            let moved = wanted.min(self.fresh.len());
            batch.extend(self.fresh.drain(..moved));
        } else {
            batch.extend(std::iter::from_fn(|| self.take_next(order)).take(wanted));
        }
    }

    fn give_back_outgrown_ring(&mut self) -> Option<VecDeque<T>> {
        let outgrown = self.fresh.is_empty() && self.fresh.capacity() > KEPT_CAPACITY;
        outgrown.then(|| std::mem::take(&mut self.fresh))
    }

    /// Records the time of the push that is about to happen, if its turn to be sampled has come and
    /// no other sample is pending.
    fn sample_push(&mut self, count: u64, now_ns: impl FnOnce() -> u64) {
        let last = self.fresh_pushed + count;
        let crosses =
            last / QUEUE_TIME_SAMPLE_INTERVAL != self.fresh_pushed / QUEUE_TIME_SAMPLE_INTERVAL;
        if self.sample.is_none() && (crosses || self.fresh_pushed == 0) {
            self.sample = Some(Sample { position: self.fresh_pushed, pushed_at_ns: now_ns() });
        }
    }

    fn finished_sample(&mut self) -> Option<u64> {
        let taken = self.fresh_taken();
        self.sample.take_if(|sample| sample.position < taken).map(|sample| sample.pushed_at_ns)
    }
}

/// The queue that all workers share.
#[derive(Debug)]
pub(crate) struct Injector<T> {
    len: CachePadded<AtomicUsize>,
    yielded_len: CachePadded<AtomicUsize>,
    tasks: CachePadded<Mutex<QueuedTasks<T>>>,
}

impl<T> Default for Injector<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Injector<T> {
    /// Creates an empty queue.
    pub(crate) fn new() -> Self {
        let tasks = QueuedTasks {
            fresh: VecDeque::new(),
            yielded: VecDeque::new(),
            fresh_pushed: 0,
            sample: None,
        };
        Self {
            len: CachePadded::new(AtomicUsize::new(0)),
            yielded_len: CachePadded::new(AtomicUsize::new(0)),
            tasks: CachePadded::new(Mutex::new(tasks)),
        }
    }

    /// Returns the number of queued tasks. A pusher publishes it before its light fence, so that a
    /// worker's last look before it parks cannot miss them.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len.load(Ordering::Acquire)
    }

    /// Returns `true` if the queue is empty.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns `true` if a yielded task is queued.
    pub(crate) fn has_yielded(&self) -> bool {
        self.yielded_len.load(Ordering::Relaxed) > 0
    }

    /// Adds one task at the back.
    pub(crate) fn push(&self, task: T, now_ns: impl FnOnce() -> u64) {
        let mut queued = self.tasks.lock();
        queued.sample_push(1, now_ns);
        queued.fresh.push_back(task);
        queued.fresh_pushed += 1;
        self.publish_len(&queued);
    }

    /// Adds tasks at the back, all in one step, and leaves `tasks` empty.
    pub(crate) fn push_batch(&self, tasks: &mut Vec<T>, now_ns: impl FnOnce() -> u64) {
        let count = tasks.len() as u64;
        if count == 0 {
            return;
        }
        let mut queued = self.tasks.lock();
        queued.sample_push(count, now_ns);
        // As a ring, the tasks are appended by a copy of memory instead of one by one.
        let mut ring = VecDeque::from(std::mem::take(tasks));
        queued.fresh.append(&mut ring);
        queued.fresh_pushed += count;
        self.publish_len(&queued);
        drop(queued);
        *tasks = Vec::from(ring);
    }

    /// Adds a task that has yielded, behind everything that is queued now.
    pub(crate) fn push_yielded(&self, task: T) {
        let mut queued = self.tasks.lock();
        let ticket = queued.fresh_pushed;
        queued.yielded.push_back(Yielded { ticket, task });
        self.yielded_len.store(queued.yielded.len(), Ordering::Relaxed);
        self.publish_len(&queued);
    }

    /// Moves the oldest tasks to the end of `batch`, oldest first. `batch_size` maps the number of
    /// queued tasks to the number to take. Returns the time of the push of a sampled task, if the
    /// batch has one.
    pub(crate) fn take(
        &self,
        order: Order,
        batch_size: impl FnOnce(usize) -> usize,
        batch: &mut Vec<T>,
    ) -> Option<u64> {
        let mut queued = self.tasks.lock();
        let wanted = batch_size(queued.len());
        let yielded_before = queued.yielded.len();
        queued.take(order, wanted, batch);
        if queued.yielded.len() != yielded_before {
            self.yielded_len.store(queued.yielded.len(), Ordering::Relaxed);
        }
        let pushed_at_ns = queued.finished_sample();
        self.publish_len(&queued);
        let outgrown = queued.give_back_outgrown_ring();
        drop(queued);
        // Freed outside of the lock: unmapping a large ring takes long.
        drop(outgrown);
        pushed_at_ns
    }

    /// Takes the oldest task that never yielded.
    pub(crate) fn take_one(&self) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        let mut queued = self.tasks.lock();
        let oldest = queued.fresh.pop_front();
        self.publish_len(&queued);
        oldest
    }

    /// Publishes the length. It changes only under the lock, so a plain store is enough.
    fn publish_len(&self, queued: &MutexGuard<'_, QueuedTasks<T>>) {
        self.len.store(queued.len(), Ordering::Release);
    }
}

#[cfg(all(test, not(heist_loom)))]
mod tests {
    use super::*;

    fn take(injector: &Injector<u32>, order: Order, wanted: usize) -> Vec<u32> {
        let mut batch = Vec::new();
        injector.take(order, |_| wanted, &mut batch);
        batch
    }

    fn push_all(injector: &Injector<u32>, tasks: impl IntoIterator<Item = u32>) {
        injector.push_batch(&mut tasks.into_iter().collect(), || 0);
    }

    #[test]
    fn is_first_in_first_out_and_counts() {
        let injector = Injector::new();
        push_all(&injector, 0..5);
        injector.push(5, || 0);
        assert_eq!(injector.len(), 6);
        assert_eq!(take(&injector, Order::All, 4), [0, 1, 2, 3]);
        assert_eq!(take(&injector, Order::All, 4), [4, 5]);
        assert!(injector.is_empty());
        assert_eq!(take(&injector, Order::All, 4), []);
    }

    #[test]
    fn a_yielded_task_waits_for_the_tasks_before_it_and_no_others() {
        let injector = Injector::new();
        push_all(&injector, 0..3);
        injector.push_yielded(100);
        push_all(&injector, 3..5);
        injector.push_yielded(101);
        assert_eq!(injector.len(), 7);
        assert_eq!(take(&injector, Order::All, 2), [0, 1]);
        assert_eq!(take(&injector, Order::All, 3), [2, 100, 3]);
        assert_eq!(take(&injector, Order::All, 9), [4, 101]);
    }

    #[test]
    fn a_worker_with_older_work_leaves_yielded_tasks_alone() {
        let injector = Injector::new();
        injector.push_yielded(100);
        push_all(&injector, 0..2);
        assert_eq!(take(&injector, Order::FreshOnly, 9), [0, 1]);
        assert_eq!(take(&injector, Order::FreshOnly, 9), []);
        assert_eq!(take(&injector, Order::All, 9), [100]);
    }

    #[test]
    fn before_stealing_a_yielded_task_is_taken_only_if_it_was_overtaken() {
        let injector = Injector::new();
        injector.push_yielded(100);
        assert_eq!(take(&injector, Order::YieldedWhenOvertaken, 9), []);
        push_all(&injector, 0..3);
        assert_eq!(take(&injector, Order::YieldedWhenOvertaken, 9), [0, 100, 1, 2]);
    }

    #[test]
    fn follows_a_sampled_task_through_the_queue() {
        let injector = Injector::new();
        injector.push(0, || 7);
        injector.push(1, || 8);
        let mut batch = Vec::new();
        assert_eq!(injector.take(Order::All, |_| 1, &mut batch), Some(7));
        assert_eq!(injector.take(Order::All, |_| 1, &mut batch), None);
        // The next sample is due when the 64th push is crossed.
        push_all(&injector, 2..60);
        injector.push_batch(&mut (60..70).collect(), || 9);
        assert_eq!(injector.take(Order::All, |_| 58, &mut batch), None);
        assert_eq!(injector.take(Order::All, |_| 1, &mut batch), Some(9));
    }

    #[test]
    fn a_burst_does_not_hold_its_memory_forever() {
        let injector = Injector::new();
        push_all(&injector, 0..200_000);
        assert_eq!(take(&injector, Order::All, usize::MAX).len(), 200_000);
        assert!(injector.tasks.lock().fresh.capacity() <= KEPT_CAPACITY);
    }

    #[test]
    fn any_mixture_of_pushes_and_takes_keeps_the_order() {
        let injector = Injector::new();
        let mut rng = crate::rng::XorShift64::new(7);
        let (mut pushed, mut taken) = (0, Vec::new());
        let mut batch = Vec::new();
        while pushed < 20_000 {
            match rng.below(3) {
                0 => {
                    injector.push(pushed, || 0);
                    pushed += 1;
                }
                1 => {
                    let count = rng.below(200);
                    push_all(&injector, pushed..pushed + count);
                    pushed += count;
                }
                _ => {
                    let wanted = rng.below_usize(100);
                    injector.take(Order::All, |_| wanted, &mut batch);
                    assert!(batch.len() <= wanted);
                    taken.append(&mut batch);
                }
            }
            assert_eq!(injector.len(), pushed as usize - taken.len());
        }
        taken.extend(take(&injector, Order::All, usize::MAX));
        assert!(taken.into_iter().eq(0..pushed));
    }
}
