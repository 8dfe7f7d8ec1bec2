//! Random executors and runtimes on which typed tasks, futures, blocking calls, queues and permits
//! spawn each other, are aborted, panic, and are dropped with their pool, over and over.
//!
//! The test counts each piece of work when it is created, run and dropped. After a round, every
//! piece was dropped, every permit was returned, and the metrics agree. After a `join` without a
//! stop, every accepted piece has run, except those that were aborted. A lost piece shows as a
//! wrong count, a lost wake-up as a hang. `ci/soak.sh` runs this for long; `support/rounds.rs`
//! explains how to repeat a round.
//!
//! A program of its own, because its rounds keep all processors busy, and in `ci/soak.sh` for
//! minutes.
#![cfg(not(any(heist_loom, heist_shuttle, heist_sim)))]

mod soak_support;
mod support;

use heist::rng::XorShift64;
use heist::{
    CancelToken, CountBudget, Executor, ExecutorConfig, GatedQueue, MetricsSnapshot, OnPanic,
};
use heist_runtime::Runtime;
use soak_support::{Counts, Doors, PERMITS, Piece, Pool, Task, read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;
use support::rounds::soak;

/// Enough to see every kind of work and every kind of end many times, in a few seconds.
const ROUNDS: u64 = if cfg!(heist_tsan) { 100 } else { 1_000 };

#[test]
fn every_piece_of_work_is_accounted_for() {
    soak("everything", ROUNDS, round);
}

/// The pool of a round.
enum Owner {
    Executor(Executor<Task>),
    Runtime(Runtime),
}

impl Owner {
    fn start(random: &mut XorShift64, cancel: &CancelToken, on_panic: OnPanic) -> (Self, Pool) {
        let config = ExecutorConfig::new(1 + random.below_usize(4))
            .seed(random.next_u64())
            .spin_iters([0, 5, 200][random.below_usize(3)])
            .stealing(random.below(6) != 0)
            .lifo_slot(random.below(4) != 0)
            .lifo_stealing(random.below(2) == 0)
            .injector_batch(1 + random.below_usize(64))
            .on_panic(on_panic)
            .cancel(cancel.clone());
        if random.below(4) == 0 {
            let runtime = Runtime::builder()
                .threads(config.threads)
                .stealing(config.stealing)
                .lifo_slot(config.lifo_slot)
                .cancel(config.cancel)
                .max_blocking_threads(1 + random.below_usize(3))
                .build()
                .unwrap();
            let pool = Pool::Runtime(runtime.handle());
            return (Self::Runtime(runtime), pool);
        }
        let scratch_init = |_worker| {
            #[cfg(heist_plant)]
            bites::plant_on_this_thread();
            0
        };
        let executor =
            Executor::new(config, scratch_init, |task: Task, ctx| task.run(ctx)).unwrap();
        let handle = executor.handle();
        let queues = [
            GatedQueue::unbounded(&handle, Task::Consume),
            GatedQueue::bounded(&handle, 2, Task::Consume).unwrap(),
        ];
        (Self::Executor(executor), Pool::Executor { handle, queues })
    }

    fn shutdown(&self) {
        match self {
            Self::Executor(executor) => executor.shutdown(),
            Self::Runtime(runtime) => runtime.handle().shutdown(),
        }
    }

    fn join(self) {
        match self {
            Self::Executor(executor) => drop(executor.join()),
            Self::Runtime(runtime) => drop(runtime.join()),
        }
    }

    /// Joins the pool for a moment, and drops it if it has not ended by then.
    fn join_briefly(self) {
        let moment = Duration::from_micros(1);
        match self {
            Self::Executor(executor) => drop(executor.join_timeout(moment)),
            Self::Runtime(runtime) => drop(runtime.join_timeout(moment)),
        }
    }
}

fn metrics_of(pool: &Pool) -> MetricsSnapshot {
    match pool {
        Pool::Executor { handle, .. } => handle.metrics(),
        Pool::Runtime(handle) => handle.metrics(),
    }
}

fn round(seed: u64) {
    let mut random = XorShift64::new(seed);
    let cancel = CancelToken::new();
    let panics = random.below(3) == 0;
    let on_panic = if random.below(3) == 0 { OnPanic::StopPool } else { OnPanic::Isolate };
    let (owner, pool) = Owner::start(&mut random, &cancel, on_panic);
    let end = random.below(8);
    let is_stopped_by_panics =
        panics && on_panic == OnPanic::StopPool && matches!(owner, Owner::Executor(_));
    let permits = CountBudget::new(PERMITS).unwrap();
    // Held until the pool has ended, so everything that requests a permit still waits when the pool
    // is stopped.
    let kept_permits =
        (end < 4 && random.below(3) == 0).then(|| permits.try_acquire(PERMITS).unwrap());
    let counts = Arc::<Counts>::default();
    let (to_abort, aborted) = channel();
    let doors = Arc::new(Doors {
        pool,
        permits: permits.clone(),
        to_abort,
        counts: Arc::clone(&counts),
        panics,
        ends_by_stop: end < 4,
        stops: end < 4 || is_stopped_by_panics,
    });

    // This thread ends when every piece and everything else has dropped the doors: a leak shows as
    // a hang.
    let aborter = thread::spawn(move || {
        for guard in aborted {
            drop(guard);
        }
    });
    let levels = 2 + random.below(4);
    for _ in 0..1 + random.below(3) {
        let piece = Piece::new(&doors, levels, random.next_u64());
        doors.spawn_from_outside(piece, &mut random);
    }
    let producers: Vec<_> = (0..random.below(3))
        .map(|_| {
            let (doors, mut random) = (Arc::clone(&doors), XorShift64::new(random.next_u64()));
            thread::spawn(move || {
                for _ in 0..random.below(10) {
                    let piece = Piece::new(&doors, levels.min(3), random.next_u64());
                    doors.spawn_from_outside(piece, &mut random);
                }
            })
        })
        .collect();
    if random.below(2) == 0 {
        thread::sleep(Duration::from_micros(u64::from(random.below(300))));
    }

    let ended = catch_unwind(AssertUnwindSafe(|| match end {
        0 => {
            cancel.cancel();
            owner.join();
        }
        1 => {
            owner.shutdown();
            owner.join();
        }
        2 => owner.join_briefly(),
        3 => drop(owner),
        _ => owner.join(),
    }));
    assert!(ended.is_ok() || is_stopped_by_panics, "something other than a task panicked");
    for producer in producers {
        producer.join().unwrap();
    }

    drop(kept_permits);
    let metrics = metrics_of(&doors.pool);
    let stops = doors.stops;
    drop(doors);
    aborter.join().unwrap();
    assert_eq!(metrics.futures_spawned, metrics.futures_ended, "{metrics}");
    assert_eq!(metrics.injector_depth, 0, "work is left behind: {metrics}");
    assert_eq!(metrics.tasks_waiting, 0, "tasks still wait: {metrics}");
    assert_eq!(metrics.backstop_rescues, 0, "lost wake-ups: {metrics}");
    assert_eq!(read(&counts.gone), read(&counts.made), "pieces were not dropped: {metrics}");
    assert_eq!(permits.available(), PERMITS, "permits were not returned: {metrics}");
    assert_eq!(read(&counts.unexpected), 0, "refusals and lost outcomes: {metrics}");
    if !stops {
        assert_eq!(read(&counts.not_run), read(&counts.refused), "lost pieces: {metrics}");
    }
}

/// The planted bugs that a round must detect.
#[cfg(heist_plant)]
mod bites {
    use heist::__internal::sync::plant::{self, Plant};
    use std::sync::Mutex;
    use std::sync::mpsc::channel;
    use std::thread;
    use std::time::Duration;

    /// Each of these loses pieces or permits, or makes `join` hang.
    const BUGS: [Plant; 8] = [
        Plant::InsideSpawnUncounted,
        Plant::DetachAborts,
        Plant::AbortForgotten,
        Plant::CancelLosesGrant,
        Plant::StopForgetsFutures,
        Plant::StopForgetsWaiters,
        Plant::FutureDropUncounted,
        Plant::WakeWhileRunningLost,
    ];

    /// Each bug shows within this many rounds.
    const ROUNDS: u64 = 2_000;

    /// A round takes milliseconds. One that takes this long hangs.
    const HANGS: Duration = Duration::from_secs(5);

    /// The bug that is planted in this process.
    static PLANTED: Mutex<Option<Plant>> = Mutex::new(None);

    /// Each thread switches its planted bugs on separately.
    pub(super) fn plant_on_this_thread() {
        plant::set(*PLANTED.lock().unwrap());
    }

    /// Runs a round on a separate thread, which is left behind if it hangs.
    fn ends_well(seed: u64, name: &str) -> bool {
        let (ended, when_ended) = channel();
        let round = thread::Builder::new().name(name.to_owned()).spawn(move || {
            plant_on_this_thread();
            super::round(seed);
            ended.send(()).unwrap();
        });
        drop(round.expect("a thread for the round"));
        when_ended.recv_timeout(HANGS).is_ok()
    }

    #[test]
    fn bites_every_planted_bug_that_loses_work() {
        // Installs the hook that hides the panics of silent threads.
        let name = super::support::silent(super::support::workers(1)).thread_name;
        for bug in BUGS {
            *PLANTED.lock().unwrap() = Some(bug);
            let found = (0..ROUNDS).find(|seed| !ends_well(*seed, &name));
            assert!(found.is_some(), "{bug:?} was planted, but {ROUNDS} rounds did not detect it");
        }
    }
}
