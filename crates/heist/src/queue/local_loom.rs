//! The modelled local queue: a bounded Chase-Lev deque over loom's atomics.
//!
//! It publishes exactly what crossbeam's does: a Release store of `back` after the task was written, a full
//! fence between the owner's claim and its look at `front`, a compare-and-swap on `front` for thieves. A lock
//! around the whole queue would be simpler, but it would order operations that the real queue leaves
//! unordered and hide the very bugs that are looked for. The cells themselves are not modelled: the indices
//! decide who may touch one.

use super::Steal;
use crate::sync::{Arc, AtomicUsize, Ordering, fence};
use std::sync::Mutex;

/// Enough for every model; a push beyond it fails loudly. Loom's are small, and it tracks every cell.
const CAPACITY: usize = if cfg!(heist_loom) { 8 } else { 64 };

#[derive(Debug)]
struct Shared<T> {
    front: AtomicUsize,
    back: AtomicUsize,
    cells: Vec<Mutex<Option<T>>>,
}

impl<T> Shared<T> {
    fn take(&self, index: usize) -> T {
        let task = self.cells[index % CAPACITY].lock().unwrap().take();
        task.expect("whoever claimed the index owns the cell")
    }

    fn len(&self) -> usize {
        let front = self.front.load(Ordering::Acquire);
        let back = self.back.load(Ordering::Acquire);
        back.saturating_sub(front)
    }

    /// Steals one task; also says how many there were. The fence stands *before* the look at `back`, as in
    /// the real queue: after it, it would publish what that look has acquired, and hide a missing Release
    /// further on.
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
}

/// The owner's end.
#[derive(Debug)]
pub struct LocalQueue<T>(Arc<Shared<T>>);

/// A thief's end.
#[derive(Debug)]
pub struct Stealer<T>(Arc<Shared<T>>);

impl<T> Default for LocalQueue<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> LocalQueue<T> {
    /// An empty queue.
    pub fn new() -> Self {
        Self(Arc::new(Shared {
            // Not at zero, so that the owner's claim never wraps.
            front: AtomicUsize::new(CAPACITY),
            back: AtomicUsize::new(CAPACITY),
            cells: (0..CAPACITY).map(|_| Mutex::new(None)).collect(),
        }))
    }

    /// A thief's end of this queue.
    pub fn stealer(&self) -> Stealer<T> {
        Stealer(Arc::clone(&self.0))
    }

    /// Adds a task at the owner's end.
    pub fn push(&self, task: T) {
        let back = self.0.back.load(Ordering::Relaxed);
        let before = self.0.cells[back % CAPACITY].lock().unwrap().replace(task);
        assert!(before.is_none(), "the model's queue is full");
        self.0.back.store(back + 1, Ordering::Release);
    }

    /// Takes the task that was added last.
    pub fn pop(&self) -> Option<T> {
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
        // The last task: thieves may want it too.
        let won = queue
            .front
            .compare_exchange(front, front + 1, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok();
        queue.back.store(back + 1, Ordering::Relaxed);
        won.then(|| queue.take(back))
    }

    /// How many tasks are queued.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T> Stealer<T> {
    /// Whether the queue looks empty.
    pub fn is_empty(&self) -> bool {
        self.0.len() == 0
    }

    /// Moves the older half of the tasks, rounded up and `limit` at most, into `into`, and returns one of
    /// them.
    pub fn steal_half(&self, into: &LocalQueue<T>, limit: usize) -> Steal<T> {
        let (first, queued) = match self.0.steal_one() {
            Steal::Success(stolen) => stolen,
            Steal::Empty => return Steal::Empty,
            Steal::Retry => return Steal::Retry,
        };
        for _ in 1..queued.div_ceil(2).min(limit) {
            let Steal::Success((task, _)) = self.0.steal_one() else { break };
            into.push(task);
        }
        Steal::Success(first)
    }
}
