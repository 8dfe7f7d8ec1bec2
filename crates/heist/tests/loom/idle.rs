//! The idle protocol under loom: the real [`Idle`], real queues, and workers that take one task
//! each.
//!
//! Every model has one task for each worker, and a worker that has a task never takes another. So
//! each worker must get one; a task that waits while a worker sleeps is a deadlock, which loom
//! reports.

use crate::support::{DEADLOCK, Size, check, must_fail};
use heist::__internal::idle::Idle;
use heist::__internal::queue::{LocalQueue, Steal, Stealer};
use heist::__internal::sync::plant::Plant;
use heist::__internal::sync::{Arc, Parker};

struct Pool {
    idle: Idle,
    queues: Vec<Stealer<u32>>,
}

impl Pool {
    /// A pool whose tasks come from `pushers` queues.
    fn new(workers: usize, pushers: usize) -> (Arc<Self>, Vec<Parker>, Vec<LocalQueue<u32>>) {
        let (idle, parkers) = Idle::new(workers);
        let owned: Vec<_> = (0..pushers).map(|_| LocalQueue::new()).collect();
        let queues = owned.iter().map(LocalQueue::stealer).collect();
        (Arc::new(Self { idle, queues }), parkers, owned)
    }

    fn any_work(&self) -> bool {
        self.queues.iter().any(|queue| !queue.is_empty())
    }

    fn push(&self, queue: &LocalQueue<u32>) {
        queue.push(0);
        self.idle.notify_pushed(1);
    }

    fn take(&self) -> bool {
        let into = LocalQueue::new();
        self.queues.iter().any(|queue| {
            loop {
                match queue.steal_half(&into, 1) {
                    Steal::Success(_) => return true,
                    Steal::Empty => return false,
                    Steal::Retry => loom::thread::yield_now(),
                }
            }
        })
    }

    /// What a worker does until it has a task.
    fn work(&self, me: usize, parker: &Parker) {
        let mut searching = false;
        while !self.take() {
            let may_look_again = !searching && self.idle.try_start_searching();
            if !may_look_again {
                self.idle.park(me, searching, parker, None, || self.any_work());
            }
            searching = true;
        }
        if searching {
            self.idle.found_work(|| self.any_work());
        }
    }

    fn start(self: &Arc<Self>, parkers: Vec<Parker>) {
        for (me, parker) in parkers.into_iter().enumerate() {
            let pool = Arc::clone(self);
            loom::thread::spawn(move || pool.work(me, &parker));
        }
    }
}

fn push_against_park_with_one_worker() {
    let (pool, parkers, queues) = Pool::new(1, 1);
    pool.start(parkers);
    pool.push(&queues[0]);
}

#[test]
fn a_push_against_a_park_with_one_worker() {
    check(Size::Small, push_against_park_with_one_worker);
}

fn push_against_park_with_two_workers() {
    let (pool, parkers, queues) = Pool::new(2, 1);
    pool.start(parkers);
    pool.push(&queues[0]);
    pool.push(&queues[0]);
}

/// The limit refuses the second worker whenever the first one searches.
#[test]
fn a_push_against_a_park_with_two_workers() {
    check(Size::Medium, push_against_park_with_two_workers);
}

/// This thread searches already, so the worker is refused and no worker is woken. Then this thread
/// leaves with a task.
fn searcher_leaves_while_another_is_refused() {
    let (pool, mut parkers, queues) = Pool::new(2, 1);
    assert!(pool.idle.try_start_searching());
    let worker = Arc::clone(&pool);
    let parker = parkers.remove(1);
    let thread = loom::thread::spawn(move || worker.work(1, &parker));
    pool.push(&queues[0]);
    pool.push(&queues[0]);
    assert!(pool.take());
    pool.idle.found_work(|| pool.any_work());
    thread.join().unwrap();
}

#[test]
fn a_searcher_refused_by_the_limit() {
    check(Size::Small, searcher_leaves_while_another_is_refused);
}

/// Two pushers may both wake a worker, and may both pick the same one.
fn wake_against_wake() {
    let (pool, parkers, mut queues) = Pool::new(2, 2);
    pool.start(parkers);
    let pusher = Arc::clone(&pool);
    let queue = queues.remove(1);
    loom::thread::spawn(move || pusher.push(&queue));
    pool.push(&queues[0]);
}

#[test]
fn a_wake_that_races_another() {
    check(Size::Medium, wake_against_wake);
}

#[test]
fn bites_no_light_fence() {
    must_fail(Plant::NoLightFence, 2, DEADLOCK, push_against_park_with_one_worker);
}

#[test]
fn bites_no_heavy_fence() {
    must_fail(Plant::NoHeavyFence, 2, DEADLOCK, push_against_park_with_one_worker);
}

#[test]
fn bites_no_look_after_the_bit_is_set() {
    must_fail(Plant::NoLookAfterBit, 2, DEADLOCK, push_against_park_with_one_worker);
}

#[test]
fn bites_no_wake_by_the_last_searcher() {
    must_fail(Plant::LastSearcherSilent, 2, DEADLOCK, searcher_leaves_while_another_is_refused);
}

#[test]
fn bites_counted_before_the_bit_is_cleared() {
    must_fail(Plant::CountBeforeClear, 3, DEADLOCK, wake_against_wake);
}

/// Two searchers find work. The first moves a second task into its own queue and leaves without a
/// fence. The last one must see that task, or the third worker sleeps beside it.
fn batch_of_a_searcher_that_is_not_the_last() {
    // Half of the pool may search.
    let (pool, mut parkers, queues) = Pool::new(4, 1);
    assert!(pool.idle.try_start_searching());
    assert!(pool.idle.try_start_searching());
    let sleeper = {
        let (pool, parker) = (Arc::clone(&pool), parkers.remove(2));
        loom::thread::spawn(move || pool.work(2, &parker))
    };
    let last = {
        let pool = Arc::clone(&pool);
        loom::thread::spawn(move || {
            pool.idle.found_work(|| pool.any_work());
        })
    };
    queues[0].push(0);
    pool.idle.found_work(|| pool.any_work());
    last.join().unwrap();
    sleeper.join().unwrap();
}

#[test]
fn a_batch_moved_by_a_searcher_that_is_not_the_last() {
    check(Size::Medium, batch_of_a_searcher_that_is_not_the_last);
}

#[test]
fn bites_a_searcher_count_that_orders_nothing() {
    must_fail(Plant::SearchersRelaxed, 2, DEADLOCK, batch_of_a_searcher_that_is_not_the_last);
}
