//! Proves that a pool in steady state allocates nothing per task: no matter how many tasks run, the
//! number of heap allocations in the whole process stays below a small constant.

use crate::ALLOCATOR;
use crate::support::counting::alone;
use crate::support::{check_all_run, workers};
use heist::{Executor, ExecutorHandle, WorkerCtx};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// Covers allocations of the test harness, and a buffer that first grows in the measured part. A
/// tenth of an allocation per thousand tasks would exceed it.
const ALLOCATIONS_MAX: u64 = 50;

const TASKS: u64 = 200_000;

/// A queue that holds more than 64 tasks grows by doubling and shrinks when it runs empty. That is
/// a few allocations per burst, far fewer than one per task.
const ALLOCATIONS_IN_BURSTS_MAX: u64 = TASKS / 20;

/// A task spawns `fanout` children of one level less.
#[derive(Clone, Copy)]
struct Task {
    level: u32,
    fanout: u32,
}

const LEAF: Task = Task { level: 0, fanout: 0 };

/// A pool with a count of the tasks that are still to end.
struct Pool {
    executor: Executor<Task>,
    ended: Arc<AtomicU64>,
    spawned: u64,
}

impl Pool {
    fn start() -> Self {
        let ended = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&ended);
        let runner = move |task: Task, ctx: &mut WorkerCtx<'_, Task, ()>| {
            if task.level > 0 {
                let child = Task { level: task.level - 1, ..task };
                ctx.spawn_local_batch(std::iter::repeat_n(child, task.fanout as usize));
            }
            counter.fetch_add(1, Ordering::Release);
        };
        let executor = Executor::new(workers(2), |_| (), runner).unwrap();
        Self { executor, ended, spawned: 0 }
    }

    /// Adds `count` tasks to the backlog, and waits until at most `in_flight` are left, because an
    /// unbounded backlog would need memory.
    fn await_backlog(&mut self, count: u64, in_flight: u64) {
        self.spawned += count;
        while self.spawned - self.ended.load(Ordering::Acquire) > in_flight {
            thread::yield_now();
        }
    }

    fn spawn_tree(&mut self, level: u32, fanout: u32) {
        self.executor.spawn(Task { level, fanout }).unwrap();
        let tasks = (0..=level).map(|level| u64::from(fanout).pow(level)).sum();
        self.await_backlog(tasks, 0);
    }
}

/// Does the work once to warm up (buffers grow to their size), and then counts the allocations of
/// doing it again. The work spawns about [`TASKS`] tasks.
#[track_caller]
fn check_steady_state(work: impl FnMut(&mut Pool, &ExecutorHandle<Task>)) {
    check_allocations(ALLOCATIONS_MAX, work);
}

#[track_caller]
fn check_allocations(most: u64, mut work: impl FnMut(&mut Pool, &ExecutorHandle<Task>)) {
    let mut pool = Pool::start();
    let handle = pool.executor.handle();
    work(&mut pool, &handle);
    let (before, spawned) = (ALLOCATOR.allocations(), pool.spawned);
    work(&mut pool, &handle);
    let allocations = ALLOCATOR.allocations() - before;
    let tasks = pool.spawned - spawned;
    check_all_run(&pool.executor.join(), pool.spawned);
    assert!(tasks >= TASKS);
    assert!(allocations < most, "{allocations} allocations for {tasks} tasks");
}

#[test]
fn the_allocator_counts_allocations() {
    alone(|| {
        let before = ALLOCATOR.allocations();
        for number in 0..1_000 {
            std::hint::black_box(Box::new(number));
        }
        assert!(ALLOCATOR.allocations() - before >= 1_000);
    });
}

#[test]
fn a_tree_of_local_tasks_allocates_nothing() {
    alone(|| check_steady_state(|pool, _| pool.spawn_tree(17, 2)));
}

#[test]
fn tasks_from_outside_one_by_one_allocate_nothing() {
    alone(|| {
        check_steady_state(|pool, handle| {
            for _ in 0..TASKS {
                handle.spawn(LEAF).unwrap();
                pool.await_backlog(1, 1_000);
            }
            pool.await_backlog(0, 0);
        });
    });
}

#[test]
fn batches_from_outside_allocate_nothing() {
    alone(|| {
        let mut batch = Vec::new();
        check_steady_state(move |pool, handle| {
            for _ in 0..TASKS.div_ceil(64) {
                batch.extend([LEAF; 64]);
                handle.spawn_drain(&mut batch).unwrap();
                pool.await_backlog(64, 1_000);
            }
            pool.await_backlog(0, 0);
        });
    });
}

#[test]
fn batches_of_tasks_with_children_allocate_far_less_than_once_per_task() {
    alone(|| {
        let mut batch = Vec::new();
        check_allocations(ALLOCATIONS_IN_BURSTS_MAX, move |pool, handle| {
            for _ in 0..TASKS.div_ceil(64 * 4) {
                batch.extend([Task { level: 1, fanout: 3 }; 64]);
                handle.spawn_drain(&mut batch).unwrap();
                pool.await_backlog(64 * 4, 1_000);
            }
            pool.await_backlog(0, 0);
        });
    });
}

#[test]
fn bursts_of_a_thousand_local_tasks_allocate_far_less_than_once_per_task() {
    alone(|| {
        check_allocations(ALLOCATIONS_IN_BURSTS_MAX, |pool, _| {
            for _ in 0..TASKS.div_ceil(1_001) {
                pool.spawn_tree(1, 1_000);
            }
        });
    });
}
