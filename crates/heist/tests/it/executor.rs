//! Proves that every way to spawn a task runs it exactly once (parallel equals serial), and in the
//! promised order where there is one.

use crate::support::sync::Mutex;
use crate::support::{Runs, check_all_run, check_finished, silent, watched, workers};
use heist::{Executor, ExecutorBuilder, ExecutorHandle, OnPanic, WorkerCtx};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Returns the children of a node in a binary tree of `TREE_NODES` nodes, numbered row by row.
fn children(node: usize) -> impl Iterator<Item = usize> {
    (2 * node + 1..=2 * node + 2).filter(|child| *child < TREE_NODES)
}

const TREE_NODES: usize = 5_000;

type Ctx<'w> = WorkerCtx<'w, usize, ()>;
type SpawnChildren = fn(&mut Ctx<'_>, usize);

const WAYS_TO_SPAWN: [(&str, SpawnChildren); 7] = [
    ("spawn_local", |ctx, node| children(node).for_each(|child| ctx.spawn_local(child))),
    ("spawn_local_batch", |ctx, node| ctx.spawn_local_batch(children(node))),
    ("spawn_global", |ctx, node| children(node).for_each(|child| ctx.spawn_global(child))),
    ("spawn_yielded", |ctx, node| children(node).for_each(|child| ctx.spawn_yielded(child))),
    ("split", |ctx, node| {
        let (_scratch, mut spawner) = ctx.split();
        match node % 4 {
            0 => spawner.spawn_local_batch(children(node)),
            1 => children(node).for_each(|child| spawner.spawn_local(child)),
            2 => children(node).for_each(|child| spawner.spawn_global(child)),
            _ => children(node).for_each(|child| spawner.spawn_yielded(child)),
        }
    }),
    ("handle().spawn", |ctx, node| {
        let handle = ctx.handle();
        children(node).for_each(|child| handle.spawn(child).expect("the pool is open"));
    }),
    ("handle().spawn_batch", |ctx, node| {
        ctx.handle().spawn_batch(children(node)).expect("the pool is open");
    }),
];

#[test]
fn every_way_to_spawn_runs_each_task_once() {
    watched(|| {
        for (way, spawn_children) in WAYS_TO_SPAWN {
            for pool in [workers(1), workers(3), workers(3).stealing(false)] {
                println!("{way}, {} threads, stealing: {}", pool.threads, pool.stealing);
                let runs = Runs::of(TREE_NODES);
                let (counter, last) = (Arc::clone(&runs), Arc::new(AtomicU64::new(0)));
                let ended = Arc::clone(&last);
                let runner = move |node, ctx: &mut Ctx<'_>| {
                    counter.count(node);
                    spawn_children(ctx, node);
                    ended.fetch_add(1, Ordering::Release);
                };
                let executor = Executor::new(pool, |_| (), runner).unwrap();
                executor.spawn(0).unwrap();
                // After `join` has begun, a handle refuses tasks, so wait for all of them first.
                crate::support::wait_until("the whole tree has run", || {
                    last.load(Ordering::Acquire) == TREE_NODES as u64
                });
                check_all_run(&executor.join(), TREE_NODES as u64);
                runs.check_each_once();
            }
        }
    });
}

#[test]
fn tasks_from_outside_give_the_sum_of_a_plain_loop() {
    const TASKS: u64 = 20_000;
    watched(|| {
        let serial: u64 = (0..TASKS).map(|task| task * task).sum();
        for batch in [1, 7, 64, 1_000, TASKS] {
            let total = Arc::new(AtomicU64::new(0));
            let sum = Arc::clone(&total);
            let executor = Executor::new(
                workers(3),
                |_| (),
                move |task: u64, _ctx| {
                    sum.fetch_add(task * task, Ordering::Relaxed);
                },
            )
            .unwrap();
            for start in (0..TASKS).step_by(batch as usize) {
                let mut tasks: Vec<_> = (start..TASKS.min(start + batch)).collect();
                match start / batch % 3 {
                    _ if batch == 1 => executor.spawn(start).unwrap(),
                    0 => executor.spawn_batch(tasks).unwrap(),
                    1 => executor.handle().spawn_batch(tasks).unwrap(),
                    _ => {
                        executor.handle().spawn_drain(&mut tasks).unwrap();
                        assert!(tasks.is_empty());
                    }
                }
            }
            check_all_run(&executor.join(), TASKS);
            assert_eq!(total.load(Ordering::Relaxed), serial, "batches of {batch}");
        }
    });
}

#[test]
fn join_runs_tasks_that_are_spawned_after_the_intake_is_closed() {
    watched(|| {
        let runs = Runs::of(TREE_NODES);
        let counter = Arc::clone(&runs);
        let executor = Executor::new(
            workers(2),
            |_| (),
            move |node, ctx: &mut Ctx<'_>| {
                counter.count(node);
                WAYS_TO_SPAWN[node % 5].1(ctx, node);
            },
        )
        .unwrap();
        executor.spawn(0).unwrap();
        check_all_run(&executor.join(), TREE_NODES as u64);
        runs.check_each_once();
    });
}

/// Runs `root` on the only worker of a pool and returns the order in which the tasks ran.
fn order_on_one_worker(
    roots: Vec<u32>,
    spawn: impl Fn(u32, &mut WorkerCtx<'_, u32, Vec<u32>>) + Sync,
) -> Vec<u32> {
    let output = heist::run(
        workers(1),
        roots,
        |_| Vec::new(),
        |task, ctx| {
            ctx.scratch.push(task);
            spawn(task, ctx);
        },
    );
    output.unwrap().scratch.remove(0)
}

#[test]
fn a_worker_runs_its_newest_task_first_and_the_injector_oldest_first() {
    watched(|| {
        assert_eq!(order_on_one_worker((0..10).collect(), |_, _| {}), Vec::from_iter(0..10));
        let batch = order_on_one_worker(vec![0], |task, ctx| {
            if task == 0 {
                ctx.spawn_local_batch(1..=5);
            }
        });
        assert_eq!(batch, [0, 5, 4, 3, 2, 1]);
        let depth_first = order_on_one_worker(vec![1], |task, ctx| {
            if task < 10 {
                ctx.spawn_local(10 * task);
                ctx.spawn_local(10 * task + 1);
            }
        });
        assert_eq!(depth_first, [1, 11, 10]);
        let globally = order_on_one_worker(vec![0, 1], |task, ctx| {
            if task == 0 {
                ctx.spawn_global(2);
                ctx.spawn_global(3);
                ctx.spawn_local(4);
            }
        });
        assert_eq!(globally, [0, 4, 1, 2, 3]);
    });
}

#[test]
fn tasks_that_an_iterator_returned_before_it_panicked_are_run() {
    const GIVEN: u32 = 150;
    watched(|| {
        for workers_wanted in [1, 3] {
            let runs = Arc::new(AtomicU32::new(0));
            let counter = Arc::clone(&runs);
            let executor = ExecutorBuilder::new(silent(workers(workers_wanted)))
                .on_panic(OnPanic::Isolate)
                .build(
                    |_| (),
                    move |task: u32, ctx| {
                        counter.fetch_add(1, Ordering::Relaxed);
                        if task == 0 {
                            ctx.spawn_local_batch((1..).inspect(|task| {
                                assert!(*task <= GIVEN, "the iterator gives up");
                            }));
                        }
                    },
                )
                .unwrap();
            let handle = executor.handle();
            executor.spawn(0).unwrap();
            let metrics = executor.join();
            check_finished(&metrics, u64::from(GIVEN) + 1);
            assert_eq!(runs.load(Ordering::Relaxed), GIVEN + 1);
            assert_eq!(metrics.panics, 1);
            assert_eq!(handle.panics()[0].message, "the iterator gives up");
        }
    });
}

#[test]
fn tasks_need_not_be_sync_but_executors_and_handles_are() {
    fn shareable<T: Send + Sync>() {}
    shareable::<Executor<std::cell::Cell<u32>>>();
    shareable::<ExecutorHandle<std::cell::Cell<u32>>>();
    // A scratch never leaves its thread, so it need not be `Send`.
    let seen = Arc::new(Mutex::new(Vec::new()));
    let list = Arc::clone(&seen);
    let executor = Executor::new(
        workers(2),
        std::rc::Rc::new,
        move |task: std::cell::Cell<u32>, ctx: &mut WorkerCtx<'_, _, std::rc::Rc<usize>>| {
            assert_eq!(**ctx.scratch, ctx.worker_id());
            list.lock().unwrap().push(task.get());
        },
    )
    .unwrap();
    executor.spawn(std::cell::Cell::new(7)).unwrap();
    check_all_run(&executor.join(), 1);
    assert_eq!(*seen.lock().unwrap(), [7]);
}
