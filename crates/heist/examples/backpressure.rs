//! Limits a fast producer with a budget: at most 8 tasks are in flight, so memory stays bounded no
//! matter how long the input is.
//!
//! This example shows permits that live *inside* tasks. A permit comes back when its task has run,
//! and also when the task is dropped without being run. So the producer never hangs, even if the
//! pool is cancelled or stopped by a panic.
//!
//! ```text
//! cargo run --release --example backpressure
//! ```

use heist::{
    AcquireError, CancelToken, CountBudget, CountPermit, Executor, ExecutorHandle, SpawnErrorKind,
    StartError,
};
use std::error::Error;
use std::thread;
use std::time::Duration;

const IN_FLIGHT_MAX: u64 = 8;

struct Task {
    number: usize,
    /// Never read. Dropping the task gives it back.
    _permit: CountPermit,
}

/// Spawns up to `count` tasks. Returns how many were accepted, and the reason if the executor
/// refused one.
fn produce(
    count: usize,
    budget: &CountBudget,
    executor: &ExecutorHandle<Task>,
) -> Result<(usize, Option<SpawnErrorKind>), AcquireError> {
    for number in 0..count {
        // Blocks until a task in flight ends. Workers must not block: a task would use
        // `acquire_then`.
        let task = Task { number, _permit: budget.acquire(1)? };
        // A refused task comes back in the error, together with its permit.
        if let Err(refused) = executor.spawn(task) {
            return Ok((number, Some(refused.kind())));
        }
    }
    Ok((count, None))
}

/// Starts a pool whose tasks take half a millisecond. The task with the number `bad` panics.
fn start(cancel: &CancelToken, bad: Option<usize>) -> Result<Executor<Task>, StartError> {
    Executor::builder().threads(2).cancel(cancel.clone()).build(
        |_worker| (),
        move |task: Task, _ctx| {
            thread::sleep(Duration::from_micros(500));
            if Some(task.number) == bad {
                panic!("task {} panics on purpose", task.number);
            }
        },
    )
}

fn report(
    what: &str,
    budget: &CountBudget,
    (accepted, stopped_by): (usize, Option<SpawnErrorKind>),
) {
    let peak = budget.high_water();
    let reason = stopped_by.map_or("the end of the input".to_owned(), |kind| kind.to_string());
    println!("{what}: {accepted} tasks accepted, at most {peak} in flight; stopped by: {reason}");
}

fn main() -> Result<(), Box<dyn Error>> {
    // A complete run.
    let (budget, cancel) = (CountBudget::new(IN_FLIGHT_MAX)?, CancelToken::new());
    let executor = start(&cancel, None)?;
    let produced = produce(2_000, &budget, &executor.handle())?;
    let metrics = executor.join();
    report("a whole run", &budget, produced);
    println!("{metrics}\n");

    // Cancelled from another thread, for example because of Ctrl-C or a deadline.
    let budget = CountBudget::new(IN_FLIGHT_MAX)?;
    let executor = start(&cancel, None)?;
    let deadline = thread::spawn(move || {
        thread::sleep(Duration::from_millis(100));
        cancel.cancel();
    });
    let produced = produce(usize::MAX, &budget, &executor.handle())?;
    executor.join();
    report("cancelled", &budget, produced);
    // The thread has cancelled the pool, so it ends.
    let _ = deadline.join();

    // Stopped by a panic, which the standard library prints to standard error. `join` would rethrow
    // the panic; dropping the executor does not.
    let budget = CountBudget::new(IN_FLIGHT_MAX)?;
    let executor = start(&CancelToken::new(), Some(300))?;
    let handle = executor.handle();
    let produced = produce(usize::MAX, &budget, &handle)?;
    for panic in handle.panics() {
        println!("{panic}");
    }
    drop(executor);
    report("panicked", &budget, produced);
    Ok(())
}
