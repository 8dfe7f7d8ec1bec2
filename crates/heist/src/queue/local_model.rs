//! The modelled local queue: a Chase-Lev deque over the atomics of the model checker or simulator.
//!
//! It publishes exactly what crossbeam's does: a Release store of `back` after the task was
//! written, a full fence between the owner's claim and its look at `front`, a compare-and-swap on
//! `front` for each task that a thief takes, and one store of the thief's own `back` when it has
//! taken them all. A lock around the whole queue would be simpler, but it would order operations
//! that the real queue leaves unordered, and hide the bugs that the models search for. The cells
//! are not modelled: the indices decide which thread may touch one.

use super::Steal;
use crate::sync::{Arc, AtomicUsize, CachePadded, Ordering, fence};
use std::sync::Mutex;

/// The first index. Not zero, so that the owner's claim never wraps.
const START: usize = 1;

#[derive(Debug)]
struct Deque<T> {
    front: AtomicUsize,
    back: AtomicUsize,
    /// The task of each index. Only the owner's pushes and pops reuse a cell: models are short.
    cells: Mutex<Vec<Option<T>>>,
    /// The owner takes the oldest task first.
    fifo: bool,
}

impl<T> Deque<T> {
    fn put(&self, index: usize, task: T) {
        let mut cells = self.cells.lock().expect("no panic while it is held");
        if index >= cells.len() {
            cells.resize_with(index + 1, || None);
        }
        assert!(cells[index].replace(task).is_none(), "a cell is written when it is empty");
    }

    fn take(&self, index: usize) -> T {
        let task = self.cells.lock().expect("no panic while it is held")[index].take();
        task.expect("the thread that claimed the index owns the cell")
    }

    fn len(&self) -> usize {
        let front = self.front.load(Ordering::Acquire);
        let back = self.back.load(Ordering::Acquire);
        back.saturating_sub(front)
    }

    /// Steals one task. Also returns how many there were.
    ///
    /// The fence comes *before* the load of `back`, as in the real queue. After it, the fence would
    /// publish what the load has acquired, and hide a missing Release elsewhere.
    fn steal_one(&self) -> Steal<(T, usize)> {
        let front = self.front.load(Ordering::Acquire);
        fence(Ordering::SeqCst);
        let back = self.back.load(Ordering::Acquire);
        if back <= front {
            return Steal::Empty;
        }
        let claim =
            self.front.compare_exchange(front, front + 1, Ordering::AcqRel, Ordering::Relaxed);
        match claim {
            Ok(_) => Steal::Success((self.take(front), back - front)),
            Err(_) => Steal::Retry,
        }
    }

    #[cfg(heist_sim)]
    fn report_look(&self) {
        crate::sync::machine::machine().thief_looks_at(self.front.address());
    }

    #[cfg(heist_sim)]
    fn report_retry(&self) {
        crate::sync::machine::machine().steal_must_be_retried(self.front.address());
    }

    #[cfg(not(heist_sim))]
    fn report_look(&self) {}

    #[cfg(not(heist_sim))]
    fn report_retry(&self) {}
}

/// The owner's end.
#[derive(Debug)]
pub struct LocalQueue<T>(Arc<CachePadded<Deque<T>>>);

/// A thief's end.
#[derive(Debug)]
pub struct Stealer<T>(Arc<CachePadded<Deque<T>>>);

impl<T> Default for LocalQueue<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> LocalQueue<T> {
    /// Creates an empty queue whose owner takes the newest task first.
    pub fn new() -> Self {
        Self::with_order(false)
    }

    /// Creates an empty queue whose owner takes the oldest task first.
    pub fn new_fifo() -> Self {
        Self::with_order(true)
    }

    fn with_order(fifo: bool) -> Self {
        Self(Arc::new(CachePadded::new(Deque {
            front: AtomicUsize::new(START),
            back: AtomicUsize::new(START),
            cells: Mutex::new(Vec::new()),
            fifo,
        })))
    }

    /// Returns a thief's end of this queue.
    pub fn stealer(&self) -> Stealer<T> {
        Stealer(Arc::clone(&self.0))
    }

    /// Adds a task at the owner's end.
    pub fn push(&self, task: T) {
        let back = self.0.back.load(Ordering::Relaxed);
        self.0.put(back, task);
        self.0.back.store(back + 1, Ordering::Release);
    }

    /// Takes the owner's next task.
    pub fn pop(&self) -> Option<T> {
        if self.0.fifo { self.pop_oldest() } else { self.pop_newest() }
    }

    /// Claims by a fetch-and-add, and takes that back if the queue was empty. In that moment
    /// `front` is beyond `back`.
    fn pop_oldest(&self) -> Option<T> {
        let queue = &*self.0;
        let back = queue.back.load(Ordering::Relaxed);
        if back <= queue.front.load(Ordering::Relaxed) {
            return None;
        }
        let front = queue.front.fetch_add(1, Ordering::SeqCst);
        if back <= front {
            queue.front.store(front, Ordering::Relaxed);
            return None;
        }
        Some(queue.take(front))
    }

    fn pop_newest(&self) -> Option<T> {
        let queue = &*self.0;
        let back = queue.back.load(Ordering::Relaxed) - 1;
        if back < queue.front.load(Ordering::Relaxed) {
            return None;
        }
        queue.back.store(back, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let front = queue.front.load(Ordering::Relaxed);
        if front > back {
            queue.back.store(back + 1, Ordering::Relaxed);
            return None;
        }
        if front < back {
            return Some(queue.take(back));
        }
        // The last task: a thief may claim it at the same time.
        let won = queue
            .front
            .compare_exchange(front, front + 1, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok();
        queue.back.store(back + 1, Ordering::Relaxed);
        won.then(|| queue.take(back))
    }

    /// Returns the number of queued tasks.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns `true` if the queue is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T> Stealer<T> {
    /// Returns `true` if the queue looks empty.
    pub fn is_empty(&self) -> bool {
        self.0.report_look();
        self.0.len() == 0
    }

    /// Moves the older half of the tasks, rounded up and at most `limit`, into `into`. Returns the
    /// task that the thief must run first.
    pub fn steal_half(&self, into: &LocalQueue<T>, limit: usize) -> Steal<T> {
        self.0.report_look();
        let (mut next, queued) = match self.0.steal_one() {
            Steal::Success(stolen) => stolen,
            Steal::Empty => return Steal::Empty,
            Steal::Retry => {
                self.0.report_retry();
                return Steal::Retry;
            }
        };
        let mut back = into.0.back.load(Ordering::Relaxed);
        for _ in 1..queued.div_ceil(2).min(limit) {
            let Steal::Success((task, _)) = self.0.steal_one() else { break };
            let later = if self.0.fifo { task } else { std::mem::replace(&mut next, task) };
            into.0.put(back, later);
            back += 1;
        }
        into.0.back.store(back, Ordering::Release);
        Steal::Success(next)
    }
}
