//! Proves that a pool with one worker and a fixed seed repeats itself: it runs the same tasks in
//! the same order with the same random numbers every time.

use crate::support::{check_all_run, watched, workers};
use heist::{ExecutorConfig, WorkerCtx};
use std::time::{Duration, Instant};

/// What one task saw: its number and a random number.
type Record = (u32, u64);

/// Spawns children in every possible way; the random numbers decide which.
fn run_task(task: u32, ctx: &mut WorkerCtx<'_, u32, Vec<Record>>) {
    let random = ctx.rng().next_u64();
    ctx.scratch.push((task, random));
    if task < 1_000_000 {
        let child = task + 1_000_000;
        match random % 5 {
            0 => ctx.spawn_local(child),
            1 => ctx.spawn_local_batch([child, child + 1_000_000]),
            2 => ctx.spawn_global(child),
            3 => ctx.spawn_yielded(child),
            _ => {}
        }
    }
}

fn busy_for(time: Duration) {
    let began = Instant::now();
    while began.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// Records a whole run of `roots` tasks, each of which takes at least `task_time`.
fn record(seed: u64, roots: u32, task_time: Duration) -> Vec<Record> {
    let config = workers(1).seed(seed);
    let mut output = heist::run(
        config,
        0..roots,
        |_| Vec::new(),
        |task, ctx| {
            busy_for(task_time);
            run_task(task, ctx);
        },
    )
    .unwrap();
    let record = output.scratch.remove(0);
    check_all_run(&output.metrics, record.len() as u64);
    record
}

#[test]
fn one_worker_with_a_fixed_seed_runs_identically_each_time() {
    watched(|| {
        let first = record(7, 3_000, Duration::ZERO);
        assert!(first.len() > 3_000, "some have children");
        for _ in 0..20 {
            // Compared without `assert_eq!`, which would print thousands of lines.
            let again = record(7, 3_000, Duration::ZERO);
            let differs = first.iter().zip(&again).position(|(one, other)| one != other);
            assert_eq!(differs, None, "the index of the first difference");
            assert_eq!(first.len(), again.len());
        }
    });
}

#[test]
fn one_worker_with_a_fixed_seed_runs_identically_on_a_slower_machine() {
    watched(|| {
        let fast = record(7, 300, Duration::ZERO);
        let slow = record(7, 300, Duration::from_micros(300));
        let differs = fast.iter().zip(&slow).position(|(one, other)| one != other);
        assert_eq!(differs, None, "the index of the first difference");
        assert_eq!(fast.len(), slow.len());
    });
}

#[test]
fn another_seed_gives_different_random_numbers() {
    watched(|| {
        let one = record(7, 100, Duration::ZERO);
        let other = record(8, 100, Duration::ZERO);
        assert_ne!(one[0].1, other[0].1);
        // The default seed is a constant and does not depend on the clock.
        assert_eq!(ExecutorConfig::default().seed, 0x853c_49e6_748f_ea9b);
    });
}

#[test]
fn workers_of_one_pool_have_different_random_numbers() {
    watched(|| {
        let output = heist::run(
            workers(8),
            std::iter::empty::<u32>(),
            |worker| heist::rng::XorShift64::for_worker(7, worker).next_u64(),
            |_, _| {},
        )
        .unwrap();
        let mut numbers = output.scratch;
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), 8);
    });
}
