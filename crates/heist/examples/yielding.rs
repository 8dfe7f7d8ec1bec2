//! A long task that yields, so that short tasks need not wait for it.
//!
//! A worker is never interrupted. A long task therefore asks a policy after each unit of work. When
//! the policy says yes, the task spawns itself again *with its cursor*, and the tasks that are
//! already queued run first.
//!
//! This example makes the same pass over 200 million numbers twice, once in one piece and once in
//! slices, while short tasks keep coming in. There is only one worker, so no other worker can help.
//!
//! ```text
//! cargo run --release --example yielding
//! ```

use heist::yielding::{Adaptive, Never, YieldPolicy};
use heist::{Executor, StartError, WorkerCtx};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// The numbers in the whole pass, and in one unit of work (about 50 µs).
const NUMBERS: u64 = 200_000_000;
const UNIT: u64 = 100_000;

enum Task {
    /// A pass that has reached `cursor`. It contains everything needed to continue.
    Pass { cursor: u64, sum: u64, slices: u32, policy: Box<dyn YieldPolicy + Send> },
    /// A short task that records how long it waited.
    Short { spawned: Instant },
}

/// The results of one measurement.
#[derive(Default)]
struct Results {
    sum: u64,
    slices: u32,
    waits: Vec<Duration>,
}

fn run_task(task: Task, ctx: &mut WorkerCtx<'_, Task, ()>, results: &Mutex<Results>) {
    match task {
        Task::Short { spawned } => lock(results).waits.push(spawned.elapsed()),
        Task::Pass { mut cursor, mut sum, mut slices, mut policy } => {
            slices += 1;
            while cursor < NUMBERS {
                let began = Instant::now();
                let end = NUMBERS.min(cursor + UNIT);
                sum = (cursor..end)
                    .fold(sum, |sum, number| sum.wrapping_mul(31).wrapping_add(number));
                cursor = end;
                if policy.should_yield(began.elapsed()) && cursor < NUMBERS {
                    ctx.spawn_yielded(Task::Pass { cursor, sum, slices, policy });
                    return;
                }
            }
            let mut results = lock(results);
            (results.sum, results.slices) = (sum, slices);
        }
    }
}

fn lock(results: &Mutex<Results>) -> std::sync::MutexGuard<'_, Results> {
    results.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Runs the pass with this policy, and spawns a short task every millisecond until it ends.
fn measure(name: &str, policy: Box<dyn YieldPolicy + Send>) -> Result<u64, StartError> {
    let shared = Arc::new(Mutex::new(Results::default()));
    let results = Arc::clone(&shared);
    let executor = Executor::builder()
        .threads(1)
        .build(|_worker| (), move |task, ctx| run_task(task, ctx, &results))?;
    let began = Instant::now();
    // The executor has not been closed, so it accepts every task.
    let _ = executor.spawn(Task::Pass { cursor: 0, sum: 0, slices: 0, policy });
    while lock(&shared).slices == 0 {
        let _ = executor.spawn(Task::Short { spawned: Instant::now() });
        thread::sleep(Duration::from_millis(1));
    }
    executor.join();
    let took = began.elapsed();
    let results = lock(&shared);
    let longest = results.waits.iter().max().copied().unwrap_or_default();
    println!(
        "{name:>8}: {took:.0?} in slices: {}; short tasks: {}, the longest wait {longest:.1?}",
        results.slices,
        results.waits.len()
    );
    Ok(results.sum)
}

fn main() -> Result<(), StartError> {
    let in_one_piece = measure("Never", Box::new(Never))?;
    let in_slices = measure("Adaptive", Box::new(Adaptive::default()))?;
    assert_eq!(in_one_piece, in_slices, "both passes compute the same result");
    println!("both passes compute {in_slices:#x}");
    Ok(())
}
