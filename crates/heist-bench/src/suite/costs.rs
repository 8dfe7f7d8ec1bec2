//! The suite `costs`: the cost of each operation of the executor, without peers.
//!
//! It runs one worker, so that a second core does not affect the figures. The producers' operations
//! are timed while that worker is busy, so that only the producer's cost is measured.

use std::hint::black_box;
use std::io::{self, Write as _};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use std::sync::mpsc::channel;
use std::time::Instant;

use clap::Args;
use heist::Executor;

use crate::measure::{Series, interleave};

#[derive(Args, Debug)]
pub(crate) struct Options {
    /// Interleaved runs of every operation.
    #[arg(long, value_name = "N", default_value = "15")]
    runs: std::num::NonZeroUsize,
}

const TASKS: u32 = 200_000;

/// An operation: its name, and a function that runs it once and returns nanoseconds per operation.
type Operation = (&'static str, fn() -> f64);

const OPERATIONS: [Operation; 10] = [
    ("`spawn_local` and run the task", || spawned_by_a_task(Spawn::Local)),
    ("`spawn_local_batch` and run the tasks, per task", || spawned_by_a_task(Spawn::LocalBatch)),
    ("`spawn_global` and run the task", || spawned_by_a_task(Spawn::Global)),
    ("`spawn_yielded` and run the task", || spawned_by_a_task(Spawn::Yielded)),
    ("`ExecutorHandle::spawn`, the producer's part", || spawned_from_outside(1)),
    ("`ExecutorHandle::spawn_drain` of 64, the producer's part per task", || {
        spawned_from_outside(64)
    }),
    ("`ExecutorHandle::metrics`, 2 workers", snapshot),
    ("start and join a pool of 2 workers", start_and_join),
    ("a `SeqCst` fence after a store (the idle protocol's, at each spawn)", fence_after_store),
    ("`membarrier` beside a running thread (the rejected alternative)", membarrier_beside_a_thread),
];

pub(crate) fn run(options: &Options) -> Result<(), String> {
    let mut operations = OPERATIONS;
    let samples = interleave(options.runs.get(), &mut operations, |(_, measure)| measure());
    let mut text = String::from("| operation | median | spread |\n|---|---:|---:|\n");
    for ((name, _), samples) in OPERATIONS.iter().zip(samples) {
        let series = Series::new(samples);
        let spread = series.spread_percent().unwrap_or(0.0);
        let median = if series.median().is_nan() {
            "not available".to_owned()
        } else {
            format!("{:.1} ns", series.median())
        };
        text.push_str(&format!("| {name} | {median} | {spread:.0} % |\n"));
    }
    io::stdout()
        .write_all(text.as_bytes())
        .map_err(|error| format!("cannot print the results: {error}"))
}

#[derive(Clone, Copy)]
enum Spawn {
    Local,
    LocalBatch,
    Global,
    Yielded,
}

fn nanoseconds_each(operations: u32, run: impl FnOnce()) -> f64 {
    let started = Instant::now();
    run();
    started.elapsed().as_nanos() as f64 / f64::from(operations)
}

/// Uses a binary tree for the local queue, which keeps the queue short and warm as real recursion
/// does, and a chain for the shared queue.
fn spawned_by_a_task(spawn: Spawn) -> f64 {
    let executor = Executor::builder()
        .threads(1)
        .build(
            |_worker| (),
            move |left: u32, ctx| {
                black_box(left);
                if left == 0 {
                    return;
                }
                let (half, other_half) = (left / 2, (left - 1) / 2);
                match spawn {
                    Spawn::Local => {
                        ctx.spawn_local(half);
                        ctx.spawn_local(other_half);
                    }
                    Spawn::LocalBatch => ctx.spawn_local_batch([half, other_half]),
                    Spawn::Global => ctx.spawn_global(left - 1),
                    Spawn::Yielded => ctx.spawn_yielded(left - 1),
                }
            },
        )
        .expect("one worker is a valid configuration");
    let started = Instant::now();
    executor.spawn(TASKS).expect("open until joined");
    let ran = executor.join().tasks_run();
    started.elapsed().as_nanos() as f64 / ran as f64
}

fn spawned_from_outside(batch: usize) -> f64 {
    let (release, released) = channel::<()>();
    let released = std::sync::Mutex::new(released);
    let executor = Executor::builder()
        .threads(1)
        .build(
            |_worker| (),
            move |is_blocker: bool, _ctx| {
                if is_blocker {
                    let _ = released.lock().expect("no thread panics").recv();
                }
            },
        )
        .expect("one worker is a valid configuration");
    let handle = executor.handle();
    handle.spawn(true).expect("open until joined");
    let mut tasks = Vec::with_capacity(batch);
    let each = nanoseconds_each(TASKS, || {
        for _ in 0..TASKS as usize / batch {
            if batch == 1 {
                handle.spawn(false).expect("open until joined");
            } else {
                tasks.resize(batch, false);
                handle.spawn_drain(&mut tasks).expect("open until joined");
            }
        }
    });
    drop(release);
    executor.join();
    each
}

fn snapshot() -> f64 {
    let executor = Executor::builder()
        .threads(2)
        .build(|_worker| (), |(), _ctx| {})
        .expect("two workers are a valid configuration");
    nanoseconds_each(1_000, || {
        for _ in 0..1_000 {
            black_box(executor.metrics());
        }
    })
}

fn start_and_join() -> f64 {
    nanoseconds_each(20, || {
        for _ in 0..20 {
            let executor =
                Executor::<()>::new(heist::ExecutorConfig::new(2), |_worker| (), |(), _ctx| {})
                    .expect("two workers are a valid configuration");
            executor.join();
        }
    })
}

fn fence_after_store() -> f64 {
    let cell = AtomicU64::new(0);
    nanoseconds_each(TASKS, || {
        for value in 0..u64::from(TASKS) {
            cell.store(value, Ordering::Relaxed);
            fence(Ordering::SeqCst);
            black_box(cell.load(Ordering::Relaxed));
        }
    })
}

/// Returns NaN if the system does not have this call.
fn membarrier_beside_a_thread() -> f64 {
    #[cfg(target_os = "linux")]
    {
        use rustix::thread::{MembarrierCommand, membarrier};
        let stop = AtomicBool::new(false);
        if membarrier(MembarrierCommand::RegisterPrivateExpedited).is_err() {
            return f64::NAN;
        }
        let running = AtomicBool::new(false);
        let (running, stop) = (&running, &stop);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    running.store(true, Ordering::Relaxed);
                    std::hint::spin_loop();
                }
            });
            while !running.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
            let each = nanoseconds_each(1_000, || {
                for _ in 0..1_000 {
                    let _ = membarrier(MembarrierCommand::PrivateExpedited);
                }
            });
            stop.store(true, Ordering::Relaxed);
            each
        })
    }
    #[cfg(not(target_os = "linux"))]
    f64::NAN
}
