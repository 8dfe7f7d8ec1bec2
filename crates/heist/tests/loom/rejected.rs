//! The rejected ways to detect termination. Each fails the check that the shipping one passes.
//!
//! There are two workers. The first runs a root task, which spawns two children, one before and one
//! after some work. The other one steals what it can. A worker that finds *done* leaves. It must
//! not find it before all three tasks have ended, and one of them must find it at the end.

use crate::support::{Tally, fails};
use heist::__internal::queue::{LocalQueue, Steal, Stealer};
use heist::__internal::sync::{Arc, AtomicUsize, Ordering};
use loom::sync::atomic::AtomicI64;

const EARLY: &str = "done before every task had ended";
const NEVER: &str = "every task has ended, and no thread found it done";
const TASKS: usize = 3;

#[derive(Clone, Copy)]
enum Scheme {
    /// Each worker adds its signed delta (produced minus consumed) to one counter when it runs out
    /// of work. Done when the counter is 0 and the queues look empty.
    BatchedDeltaWhenIdle,
    /// Each worker adds its signed delta when it exceeds a threshold. Done as above.
    BatchedDeltaBeyond(i64),
    /// Done when all queues look empty.
    QueuesLookEmpty,
}

struct Pool {
    scheme: Scheme,
    /// Starts at 1, for the root.
    outstanding: AtomicI64,
    queue: Stealer<()>,
    at_work: AtomicUsize,
    ended: Tally,
    noticed: Tally,
}

impl Pool {
    fn count(&self, delta: &mut i64, change: i64) {
        *delta += change;
        if let Scheme::BatchedDeltaBeyond(threshold) = self.scheme
            && delta.abs() > threshold
        {
            self.flush(delta);
        }
    }

    fn flush(&self, delta: &mut i64) {
        self.outstanding.fetch_add(std::mem::take(delta), Ordering::AcqRel);
    }

    fn end_task(&self) {
        self.at_work.fetch_add(1, Ordering::Relaxed);
        self.ended.add();
    }

    fn idle(&self, delta: &mut i64) {
        if let Scheme::BatchedDeltaWhenIdle = self.scheme {
            self.flush(delta);
        }
        let counted_out = match self.scheme {
            Scheme::QueuesLookEmpty => true,
            _ => self.outstanding.load(Ordering::Acquire) == 0,
        };
        if counted_out && self.queue.is_empty() {
            assert_eq!(self.ended.get(), TASKS, "{EARLY}");
            self.noticed.add();
        }
    }

    fn work_on_root(&self, queue: &LocalQueue<()>) {
        let mut delta = 0;
        self.count(&mut delta, -1);
        for _child in 0..2 {
            self.count(&mut delta, 1);
            queue.push(());
            self.at_work.fetch_add(1, Ordering::Relaxed);
        }
        self.end_task();
        while queue.pop().is_some() {
            self.count(&mut delta, -1);
            self.end_task();
        }
        self.idle(&mut delta);
    }

    fn steal(&self) {
        let mut delta = 0;
        while let Steal::Success(()) = self.queue.steal_half(&LocalQueue::new(), 1) {
            self.count(&mut delta, -1);
            self.end_task();
        }
        self.idle(&mut delta);
    }
}

fn two_workers(scheme: Scheme) {
    let queue = LocalQueue::new();
    let pool = Arc::new(Pool {
        scheme,
        outstanding: AtomicI64::new(1),
        queue: queue.stealer(),
        at_work: AtomicUsize::new(0),
        ended: Tally::default(),
        noticed: Tally::default(),
    });
    let thief = {
        let pool = Arc::clone(&pool);
        loom::thread::spawn(move || pool.steal())
    };
    pool.work_on_root(&queue);
    thief.join().unwrap();
    assert!(pool.noticed.get() > 0, "{NEVER}");
}

#[test]
fn deltas_flushed_when_idle_end_early() {
    assert!(fails(2, EARLY, || two_workers(Scheme::BatchedDeltaWhenIdle)));
}

#[test]
fn deltas_flushed_at_once_end_early() {
    assert!(fails(2, EARLY, || two_workers(Scheme::BatchedDeltaBeyond(0))));
}

#[test]
fn deltas_flushed_beyond_a_threshold_never_end() {
    assert!(fails(2, NEVER, || two_workers(Scheme::BatchedDeltaBeyond(1_000))));
}

#[test]
fn queues_that_look_empty_end_early() {
    assert!(fails(2, EARLY, || two_workers(Scheme::QueuesLookEmpty)));
}
