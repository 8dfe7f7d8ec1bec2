//! A producer that is faster than the workers, held back by a budget: at most 8 tasks are in flight, so the memory
//! for them is bounded however long the input is.
//!
//! The permit lives *inside* the task. It comes back when the task has been run, and just as well when it is dropped
//! unrun: so a pool that was cancelled, or stopped by a panic, never leaves its producer waiting.
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
    /// Nobody reads it. It only has to be here.
    _permit: CountPermit,
}

/// Spawns up to `count` tasks; returns how many were accepted, and why no more if it was told to stop.
fn produce(
    count: usize,
    budget: &CountBudget,
    executor: &ExecutorHandle<Task>,
) -> Result<(usize, Option<SpawnErrorKind>), AcquireError> {
    for number in 0..count {
        // Blocks until one of those in flight is done with. Not for workers: a task waits with `acquire_then`.
        let task = Task { number, _permit: budget.acquire(1)? };
        // A refused task comes back in the error, and its permit with it.
        if let Err(refused) = executor.spawn(task) {
            return Ok((number, Some(refused.kind())));
        }
    }
    Ok((count, None))
}

/// A pool whose tasks take half a millisecond; the one with the number `bad` panics.
fn start(cancel: &CancelToken, bad: Option<usize>) -> Result<Executor<Task>, StartError> {
    Executor::builder().workers(2).cancel(cancel.clone()).build(
        |_worker| (),
        move |task: Task, _ctx| {
            thread::sleep(Duration::from_micros(500));
            if Some(task.number) == bad {
                panic!("task {} was told to", task.number);
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
    // To the end.
    let (budget, cancel) = (CountBudget::new(IN_FLIGHT_MAX)?, CancelToken::new());
    let executor = start(&cancel, None)?;
    let produced = produce(2_000, &budget, &executor.handle())?;
    let metrics = executor.join();
    report("a whole run", &budget, produced);
    println!("{metrics}\n");

    // Cancelled from another thread, as by Ctrl-C or a deadline.
    let budget = CountBudget::new(IN_FLIGHT_MAX)?;
    let executor = start(&cancel, None)?;
    let deadline = thread::spawn(move || {
        thread::sleep(Duration::from_millis(100));
        cancel.cancel();
    });
    let produced = produce(usize::MAX, &budget, &executor.handle())?;
    executor.join();
    report("cancelled", &budget, produced);
    // It has cancelled, so it has ended.
    let _ = deadline.join();

    // Stopped by a panic, of which the standard library tells on standard error. `join` would rethrow it; dropping the
    // executor does not.
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
