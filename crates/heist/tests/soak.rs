//! Random pools, workloads and ends, over and over. A wake-up that is lost once in ten thousand
//! runs shows as a hang, and a lost task as a wrong count. `soak_mixed.rs` does the same with
//! everything else that an executor runs. `ci/soak.sh` runs both for a long time;
//! `support/rounds.rs` explains how to repeat a round.
//!
//! A program of its own, because its rounds keep all processors busy, and in `ci/soak.sh` for
//! minutes.
#![cfg(not(any(heist_loom, heist_shuttle, heist_sim)))]

mod support;

use heist::rng::XorShift64;
use heist::{CancelToken, Executor, ExecutorConfig, OnPanic, WorkerCtx};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;
use support::check_finished;
use support::rounds::soak;

/// Enough to meet every kind of end several times, within a second or two.
const ROUNDS: u64 = 300;

#[test]
fn every_task_is_accounted_for_whatever_happens() {
    soak("tasks", ROUNDS, round);
}

/// A task of a tree. The worker's random numbers decide how it spawns its children, and whether it
/// panics.
#[derive(Clone, Copy)]
struct Task {
    levels: u32,
    panics: bool,
}

fn run_task(task: Task, ctx: &mut WorkerCtx<'_, Task, u64>, spawned: &AtomicU64) {
    *ctx.scratch += 1;
    if task.levels > 0 {
        let child = Task { levels: task.levels - 1, ..task };
        spawned.fetch_add(2, Ordering::Relaxed);
        match ctx.rng().below(4) {
            0 => ctx.spawn_local_batch([child; 2]),
            1 => {
                ctx.spawn_local(child);
                ctx.spawn_global(child);
            }
            2 => {
                ctx.spawn_global(child);
                ctx.spawn_yielded(child);
            }
            _ => {
                ctx.spawn_local(child);
                ctx.spawn_yielded(child);
            }
        }
    }
    if task.panics && ctx.rng().below(20) == 0 {
        resume_unwind(Box::new("deliberate panic"));
    }
}

fn round(seed: u64) {
    let mut rng = XorShift64::new(seed);
    let cancel = CancelToken::new();
    let config = ExecutorConfig::new(1 + rng.below_usize(8))
        .seed(seed)
        .spin_iters([0, 5, 200][rng.below_usize(3)])
        .steal_batch(1 + rng.below_usize(100))
        .injector_batch(1 + rng.below_usize(100))
        .stealing(rng.below(8) != 0)
        .on_panic(if rng.below(2) == 0 { OnPanic::StopPool } else { OnPanic::Isolate })
        .cancel(cancel.clone());
    let aborts_on_panic = config.on_panic == OnPanic::StopPool;
    let panics = rng.below(4) == 0;
    let spawned = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&spawned);
    let executor =
        Executor::new(config, |_worker| 0, move |task, ctx| run_task(task, ctx, &counter)).unwrap();

    let producers: Vec<_> = (0..rng.below(3))
        .map(|producer| {
            let (handle, spawned) = (executor.handle(), Arc::clone(&spawned));
            let mut rng = XorShift64::for_worker(seed, producer as usize);
            thread::spawn(move || {
                for _ in 0..rng.below(30) {
                    let task = Task { levels: rng.below(6), panics };
                    let batch = 1 + rng.below_usize(5);
                    let accepted = match batch {
                        1 => handle.spawn(task).is_ok(),
                        _ => handle.spawn_batch(vec![task; batch]).is_ok(),
                    };
                    spawned.fetch_add(if accepted { batch as u64 } else { 0 }, Ordering::Relaxed);
                    if rng.below(3) == 0 {
                        thread::sleep(Duration::from_micros(u64::from(rng.below(100))));
                    }
                }
            })
        })
        .collect();
    let first = Task { levels: rng.below(10), panics };
    let first_accepted = executor.spawn(first).is_ok();
    spawned.fetch_add(u64::from(first_accepted), Ordering::Relaxed);

    let handle = executor.handle();
    if rng.below(2) == 0 {
        thread::sleep(Duration::from_micros(u64::from(rng.below(300))));
    }
    let end = rng.below(5);
    let ended = catch_unwind(AssertUnwindSafe(|| match end {
        0 => {
            cancel.cancel();
            executor.join();
        }
        1 => {
            executor.shutdown();
            executor.join();
        }
        // Either the pool ends in time, or `join_timeout` returns the executor, which is then
        // dropped.
        2 => drop(executor.join_timeout(Duration::from_micros(1))),
        3 => drop(executor),
        _ => drop(executor.join()),
    }));
    assert!(ended.is_ok() || (panics && aborts_on_panic), "a panic that did not come from a task");
    for producer in producers {
        producer.join().unwrap();
    }
    // In every case the executor was joined or dropped, so everything has ended.
    check_finished(&handle.metrics(), spawned.load(Ordering::Relaxed));
}
