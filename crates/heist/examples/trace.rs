//! Records a trace of a run: a row for each worker, a slice for each task, marks for steals and
//! wake-ups.
//!
//! This example shows [`ChromeTrace`]. Open the file that it writes at <https://ui.perfetto.dev>.
//!
//! ```text
//! cargo run --release --example trace                      # writes heist.trace.json
//! cargo run --release --example trace -- my.trace.json
//! ```

use heist::trace::ChromeTrace;
use heist::{Executor, MetricsSnapshot};
use std::error::Error;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use std::{env, thread};

/// Works for a while. Each task then spawns two smaller ones, down to size 0.
fn work(size: u32) {
    let began = Instant::now();
    while began.elapsed() < Duration::from_micros(20 + 10 * u64::from(size)) {
        std::hint::spin_loop();
    }
}

fn main() -> ExitCode {
    let path = env::args_os().nth(1).map_or("heist.trace.json".into(), PathBuf::from);
    match record(&path) {
        Ok(metrics) => {
            println!("{metrics}\n\nThe trace is in {}.", path.display());
            println!("Open it at https://ui.perfetto.dev or in chrome://tracing.");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs some tasks and writes their trace to `path`.
fn record(path: &Path) -> Result<MetricsSnapshot, Box<dyn Error>> {
    let cannot_write = |error: io::Error| format!("cannot write {}: {error}", path.display());
    let file = File::create(path).map_err(cannot_write)?;
    let trace = ChromeTrace::new(BufWriter::new(file));
    let executor = Executor::builder().threads(4).trace(trace.clone()).build(
        |_worker| (),
        |size: u32, ctx| {
            work(size);
            if size > 0 {
                ctx.spawn_local_batch([size - 1; 2]);
            }
        },
    )?;
    // Three waves of tasks with pauses between them. In the trace, look for workers that park, and
    // for the wake-ups at the start of a wave.
    for _ in 0..3 {
        executor.spawn_batch(vec![6; 4])?;
        thread::sleep(Duration::from_millis(20));
    }
    let metrics = executor.join();
    // The file is complete only now. `finish` also reports write errors.
    trace.finish().map_err(cannot_write)?;
    Ok(metrics)
}
