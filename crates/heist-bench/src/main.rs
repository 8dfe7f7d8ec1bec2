//! Side-by-side benchmarks of heist against its peers.
//!
//! One suite a subcommand. Every suite but `costs` runs all contenders in this process, interleaved, prints a
//! Markdown table of medians and spreads to stdout and ends it with the line `worst ratio: ...`;
//! progress goes to stderr. A ratio above 1 means that heist is better.

mod cases;
mod clock;
mod disturbance;
mod measure;
mod peers;
mod ratio;
mod reference_executor;
mod report;
mod suite;
mod workload;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Benchmarks heist side by side with its peers.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    suite: Suite,
}

#[derive(Subcommand)]
enum Suite {
    /// Typed tasks: throughput, wake-up, completion and idle cost of `Executor`.
    Executor(suite::executor::Options),
    /// What each operation of `Executor` costs, without peers.
    Costs(suite::costs::Options),
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().suite {
        Suite::Executor(options) => suite::executor::run(&options),
        Suite::Costs(options) => suite::costs::run(&options),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}
