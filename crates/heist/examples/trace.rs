//! Writes a trace of a run that can be looked at: a row per worker, a slice per task, marks for steals and wake-ups.
//!
//! ```text
//! cargo run --release --example trace                      # writes heist.trace.json
//! cargo run --release --example trace -- /tmp/my.trace.json
//! ```

use heist::Executor;
use heist::trace::ChromeTrace;
use std::error::Error;
use std::fs::File;
use std::io::BufWriter;
use std::time::{Duration, Instant};
use std::{env, thread};

/// A task works for a while and spawns two smaller ones, down to size 0.
fn work(size: u32) {
    let began = Instant::now();
    while began.elapsed() < Duration::from_micros(20 + 10 * u64::from(size)) {
        std::hint::spin_loop();
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = env::args_os().nth(1).unwrap_or_else(|| "heist.trace.json".into());
    let trace = ChromeTrace::new(BufWriter::new(File::create(&path)?));
    let executor = Executor::builder().workers(4).trace(trace.clone()).build(
        |_worker| (),
        |size: u32, ctx| {
            work(size);
            if size > 0 {
                ctx.spawn_local_batch([size - 1; 2]);
            }
        },
    )?;
    // Three waves with rests between them: look for the workers that park, and for who wakes whom.
    for _ in 0..3 {
        executor.spawn_external_batch(vec![6; 4])?;
        thread::sleep(Duration::from_millis(20));
    }
    println!("{}", executor.join());
    // Only now is the file whole; this also reports an error in writing it.
    trace.finish()?;

    println!("\nThe trace is in {}.", path.display());
    println!("Open it at https://ui.perfetto.dev or in chrome://tracing.");
    Ok(())
}
