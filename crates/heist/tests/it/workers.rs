//! Proves that pools of any size work, below and above the 64 workers that fit into one word of the
//! parked set, and far above the number of cores; that a wake-up can reach every worker; and that
//! the settings change only speed, never results.

use crate::support::sync::Mutex;
use crate::support::{check_all_run, check_finished, watched, workers};
use heist::{Executor, ExecutorConfig, WorkerCtx};
use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};

const POOL_SIZES: [usize; 6] = [1, 2, 3, 64, 65, 200];

type Change = fn(&mut ExecutorConfig);

/// Settings that take paths through the scheduler that the default does not.
const SETTINGS: [(&str, Change); 8] = [
    ("default", |_| {}),
    ("no stealing", |config| config.stealing = false),
    ("no spinning", |config| config.spin_iters = 0),
    ("endless spinning", |config| config.spin_iters = u32::MAX),
    ("steal one", |config| config.steal_batch = 1),
    ("inject one", |config| config.injector_batch = 1),
    ("one round of stealing", |config| config.steal_tries = 1),
    ("pinned", |config| config.pin_threads = true),
];

fn configured(workers_wanted: usize, change: Change) -> ExecutorConfig {
    let mut config = workers(workers_wanted);
    change(&mut config);
    config
}

/// Adds the task's number and spawns its halves, some locally and some through the injector.
fn spawn_halves(task: u64, ctx: &mut WorkerCtx<'_, u64, ()>) {
    if task > 1 {
        ctx.spawn_local(task / 2);
        ctx.spawn_global(task - task / 2);
    }
}

/// Returns the sum and the number of all tasks that descend from `task`.
fn serial(task: u64) -> (u64, u64) {
    if task <= 1 {
        return (task, 1);
    }
    let (left, right) = (serial(task / 2), serial(task - task / 2));
    (task + left.0 + right.0, 1 + left.1 + right.1)
}

#[test]
fn every_size_with_every_setting_gives_the_serial_result() {
    watched(|| {
        let roots = [100, 200, 300, 7, 1];
        let expected = roots
            .iter()
            .map(|root| serial(*root))
            .fold((0, 0), |sum, root| (sum.0 + 3 * root.0, sum.1 + 3 * root.1));
        for size in POOL_SIZES {
            for (name, change) in SETTINGS {
                println!("{size} workers, {name}");
                let total = Arc::new(AtomicU64::new(0));
                let sum = Arc::clone(&total);
                let runner = move |task, ctx: &mut WorkerCtx<'_, u64, ()>| {
                    sum.fetch_add(task, Ordering::Relaxed);
                    spawn_halves(task, ctx);
                };
                let executor = Executor::new(configured(size, change), |_| (), runner).unwrap();
                executor.spawn_batch(roots.to_vec()).unwrap();
                roots.iter().for_each(|root| executor.spawn(*root).unwrap());
                executor.spawn_batch(roots.to_vec()).unwrap();
                let metrics = executor.join();
                assert_eq!(total.load(Ordering::Relaxed), expected.0);
                assert_eq!(metrics.threads, size);
                check_all_run(&metrics, expected.1);
            }
        }
    });
}

/// A barrier for tasks: none continues before there is one on every worker, so each needs its own
/// worker.
struct Meeting {
    barrier: Barrier,
    seen: Mutex<HashSet<usize>>,
}

impl Meeting {
    fn of(workers_wanted: usize) -> Arc<Self> {
        Arc::new(Self { barrier: Barrier::new(workers_wanted), seen: Mutex::default() })
    }

    fn meet(&self, worker: usize) {
        self.seen.lock().unwrap().insert(worker);
        self.barrier.wait();
    }

    fn take_seen(&self) -> HashSet<usize> {
        std::mem::take(&mut *self.seen.lock().unwrap())
    }
}

#[derive(Clone, Copy)]
enum Call {
    Meet,
    /// Spawns this many meeting tasks onto the worker's own queue and meets.
    Gather(usize),
}

fn start_meetings(config: ExecutorConfig) -> (Executor<Call>, Arc<Meeting>) {
    let meeting = Meeting::of(config.threads);
    let place = Arc::clone(&meeting);
    let runner = move |call, ctx: &mut WorkerCtx<'_, Call, ()>| {
        if let Call::Gather(others) = call {
            ctx.spawn_local_batch(std::iter::repeat_n(Call::Meet, others));
        }
        place.meet(ctx.worker_id());
    };
    (Executor::new(config, |_| (), runner).unwrap(), meeting)
}

/// Waits until the tasks of the previous rounds have ended, so that the next round starts with all
/// workers free.
fn rest(executor: &Executor<Call>, tasks: usize) {
    crate::support::wait_until("the round has ended", || {
        executor.metrics().tasks_run() == tasks as u64
    });
}

#[test]
fn as_many_tasks_from_outside_as_workers_use_every_worker() {
    watched(|| {
        for size in POOL_SIZES {
            for (name, change) in SETTINGS {
                println!("{size} workers, {name}");
                let (executor, meeting) = start_meetings(configured(size, change));
                let all_workers: HashSet<_> = (0..size).collect();
                executor.spawn_batch(vec![Call::Meet; size]).unwrap();
                rest(&executor, size);
                assert_eq!(meeting.take_seen(), all_workers);
                for _ in 0..size {
                    executor.spawn(Call::Meet).unwrap();
                }
                check_all_run(&executor.join(), 2 * size as u64);
                assert_eq!(meeting.take_seen(), all_workers);
            }
        }
    });
}

#[test]
fn children_of_one_task_are_stolen_until_every_worker_has_one() {
    watched(|| {
        for size in POOL_SIZES {
            for (name, change) in SETTINGS.into_iter().filter(|(name, _)| *name != "no stealing") {
                println!("{size} workers, {name}");
                let (executor, meeting) = start_meetings(configured(size, change));
                for round in 1..=3 {
                    executor.spawn(Call::Gather(size - 1)).unwrap();
                    rest(&executor, round * size);
                    assert_eq!(meeting.take_seen().len(), size);
                }
                check_all_run(&executor.join(), 3 * size as u64);
            }
        }
    });
}

/// Shows a wake-up that is lost once in ten thousand times: only the last searcher or the pusher
/// can wake the workers that the round needs.
#[test]
fn thousands_of_meetings_lose_no_wake_up() {
    watched(|| {
        for size in [2, 3, 4] {
            for spin_iters in [0, 200] {
                let (executor, _) = start_meetings(workers(size).spin_iters(spin_iters));
                for round in 0..1_500 {
                    match round % 3 {
                        0 => executor.spawn(Call::Gather(size - 1)).unwrap(),
                        1 => executor.spawn_batch(vec![Call::Meet; size]).unwrap(),
                        _ => (0..size).for_each(|_| executor.spawn(Call::Meet).unwrap()),
                    }
                }
                check_all_run(&executor.join(), 1_500 * size as u64);
            }
        }
    });
}

#[test]
fn oversubscribed_pools_side_by_side_all_end() {
    watched(|| {
        let pools: Vec<_> = (0..4)
            .map(|_| {
                let runner = |task: u64, ctx: &mut WorkerCtx<'_, u64, ()>| {
                    // Long enough that the system sometimes takes the core away in the middle of a
                    // task.
                    std::hint::black_box((0..2_000).fold(task, |mix, n| mix.rotate_left(5) ^ n));
                    spawn_halves(task, ctx);
                };
                Executor::new(workers(50), |_| (), runner).unwrap()
            })
            .collect();
        for pool in &pools {
            pool.spawn_batch(vec![500; 4]).unwrap();
        }
        for pool in pools {
            check_all_run(&pool.join(), 4 * serial(500).1);
        }
    });
}

#[test]
fn pinned_workers_run_or_report_that_they_could_not_be_pinned() {
    watched(|| {
        let config = workers(5).pin_threads(true);
        let (executor, _) = start_meetings(config);
        executor.spawn_batch(vec![Call::Meet; 5]).unwrap();
        let metrics = executor.join();
        check_finished(&metrics, 5);
        let expected = if cfg!(target_os = "linux") { 0 } else { 5 };
        assert_eq!(metrics.pin_failures, expected);
    });
}
