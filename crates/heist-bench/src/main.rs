//! Side-by-side benchmarks of heist against its peers. Each subcommand is a suite.
//!
//! Most suites run all contenders in this process, in turns. They print a Markdown table of medians
//! and spreads to stdout, followed by the line `worst ratio: ...`; progress goes to stderr. A ratio
//! above 1 means that heist is better. Exceptions:
//!
//! - `costs` measures heist alone.
//! - `runtime` starts its HTTP servers as separate processes.
//! - `walk`, `scan` and `git` run every contender as a separate process. Their ratios compare with
//!   a yardstick: the time of the fastest walk we know how to write, the CPU time of only reading
//!   the files, and that of only decoding the objects.
//! - `compare` runs a suite of two builds of heist.

mod allocations;
mod budgets;
mod cases;
mod clock;
mod contender;
mod disturbance;
mod git;
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
    /// Cost of each operation of `Executor`, without peers.
    Costs(suite::costs::Options),
    /// Gates, and queues that schedule their own consumer, against channels.
    Gates(suite::gates::Options),
    /// Budgets and device slots against semaphores, and lanes against requeueing.
    Devices(suite::devices::Options),
    /// Futures on `Runtime`: tokio's own benchmarks, memory, wake-up and policy.
    Runtime(suite::runtime::Options),
    /// Blocking calls on `Runtime` and on tokio.
    Blocking(suite::blocking::Options),
    /// Walks of whole trees, against du, diskus, fd and others.
    Walk(suite::walk::Options),
    /// Secret scans of whole trees, against kingfisher, gitleaks and others: CPU time, recall,
    /// precision.
    Scan(suite::scan::Options),
    /// Secret scans of git histories, against kingfisher, gitleaks and trufflehog: CPU time and
    /// memory.
    Git(suite::git::Options),
    /// This build of heist against an earlier one.
    Compare(suite::compare::Options),
    /// The yardstick of `walk`: the cheapest walk of a tree.
    #[command(hide = true)]
    Floor(walk::floor::Options),
    /// The walkers of other libraries, as contenders of `walk`.
    #[command(hide = true)]
    Library(walk::libraries::Options),
    /// One scan by heist-scan, or the yardstick of `scan`.
    #[command(hide = true)]
    ScanLibrary(scan::library::Options),
    /// A part of a scan of a history, or the yardstick of `git`.
    #[command(hide = true)]
    GitLibrary(git::library::Options),
    /// One walk by heist-walk, as a contender of `walk`.
    #[command(hide = true)]
    HeistWalk(walk::heist_walk::Options),
    /// An HTTP server on one of the runtimes, as a contender of `runtime`.
    #[command(hide = true)]
    HttpServer(cases::runtime::http::server::Options),
    /// Runs a command and reports its time, CPU time and peak memory.
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
        Suite::Git(options) => suite::git::run(&options),
        Suite::GitLibrary(options) => git::library::run(&options),
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
