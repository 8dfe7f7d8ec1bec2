//! Side-by-side benchmarks of heist against its peers.
//!
//! One suite a subcommand. Every suite but `costs`, `walk` and `scan` runs all contenders in this process, interleaved,
//! prints a Markdown table of medians and spreads to stdout and ends it with the line `worst ratio: ...`; progress
//! goes to stderr. A ratio above 1 means that heist is better. The HTTP servers of `runtime` are processes. `walk` and
//! `scan` run every contender as a process; their ratios are those of times to the fastest walk that we can think of,
//! and of CPU time to reading alone.

mod allocations;
mod budgets;
mod cases;
mod clock;
mod contender;
mod disturbance;
mod measure;
mod peers;
mod queues;
mod race;
mod ratio;
mod reference_executor;
mod reference_gate;
mod report;
mod runtimes;
mod scan;
mod suite;
mod thread_stats;
mod walk;
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
    /// Gates, and queues that schedule their own consumer, against channels.
    Gates(suite::gates::Options),
    /// Budgets and device slots against semaphores, and lanes against requeueing.
    Devices(suite::devices::Options),
    /// Futures on `Runtime`: tokio's own benchmarks, memory, wake-up and policy.
    Runtime(suite::runtime::Options),
    /// Blocking calls on `Runtime` against tokio's.
    Blocking(suite::blocking::Options),
    /// Walks of whole trees against du, diskus, fd and others, each a process of its own.
    Walk(suite::walk::Options),
    /// Scans of whole trees for secrets against kingfisher, gitleaks and others, and how right each is.
    Scan(suite::scan::Options),
    /// This build of heist against an earlier one, in turns.
    Compare(suite::compare::Options),
    /// The least that a walk of a tree costs; a contender of `walk`.
    #[command(hide = true)]
    Floor(walk::floor::Options),
    /// The walkers of other libraries; contenders of `walk`.
    #[command(hide = true)]
    Library(walk::libraries::Options),
    /// One scan by heist-scan, or the least that one costs; contenders of `scan`.
    #[command(hide = true)]
    ScanLibrary(scan::library::Options),
    /// One walk by heist-walk, as a program of its own.
    #[command(hide = true)]
    HeistWalk(walk::heist_walk::Options),
    /// An HTTP server on one of the runtimes; a contender of `runtime`.
    #[command(hide = true)]
    HttpServer(cases::runtime::http::server::Options),
    /// Runs a command and says what it took; the measuring part of `walk`.
    #[command(hide = true)]
    Stopwatch(walk::stopwatch::Options),
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().suite {
        Suite::Executor(options) => suite::executor::run(&options),
        Suite::Costs(options) => suite::costs::run(&options),
        Suite::Gates(options) => suite::gates::run(&options),
        Suite::Devices(options) => suite::devices::run(&options),
        Suite::Runtime(options) => suite::runtime::run(&options),
        Suite::Blocking(options) => suite::blocking::run(&options),
        Suite::Walk(options) => suite::walk::run(&options),
        Suite::Scan(options) => suite::scan::run(&options),
        Suite::Compare(options) => suite::compare::run(&options),
        Suite::Floor(options) => walk::floor::run(&options),
        Suite::Library(options) => walk::libraries::run(&options),
        Suite::ScanLibrary(options) => scan::library::run(&options),
        Suite::HeistWalk(options) => walk::heist_walk::run(&options),
        Suite::HttpServer(options) => cases::runtime::http::server::run(&options),
        Suite::Stopwatch(options) => walk::stopwatch::run(&options),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}
