//! A scanner that computes and waits: once on one executor, and once with two pools.
//!
//! Typed tasks read local files with blocking calls, search them for access keys, and yield when
//! they take long. Futures fetch hundreds of remote objects over a real connection to a slow
//! server, and hand each object over to a typed task that searches it. All findings go through a
//! gated queue to a single writer.
//!
//! - **One pool**: one executor with two workers runs the tasks, polls the futures and takes the
//!   queue's turns.
//! - **Two pools**: the executor has the tasks and the queue, and a runtime with two more workers
//!   has the futures. This is the usual way, with various libraries. Here both pools are heist's,
//!   so that nothing else differs.
//!
//! Both must find the same keys, or the program fails. What to expect: one pool has fewer threads
//! to wake and to switch between, because the worker that hands an object over can continue with
//! it. But an object that has arrived waits for a worker that is busy with files, whereas the
//! operating system would give a core to a thread of another pool sooner.
//!
//! ```text
//! cargo run --release --example one_pool
//! cargo run --release --example one_pool -- --rounds 21 crates docs    # searches these files
//! cargo run --release --example one_pool -- --slice-us 100             # tasks yield sooner
//! cargo run --release --example one_pool -- --svg docs                 # draws docs/one-pool.svg
//! cargo run --release --example one_pool -- --trace one-pool.json      # a trace, for Perfetto
//! ```

mod material;
mod picture;
mod scan;
mod search;
mod server;
mod slices;
mod store;
mod switches;

use heist::trace::ChromeTrace;
use heist::yielding::Adaptive;
use material::Material;
use scan::{Run, WORKERS};
use slices::Slices;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use switches::Switches;

const ROUNDS: usize = 9;

/// The measurements of one variant, a value for each round.
#[derive(Default)]
struct Measured {
    wall_ms: Vec<f64>,
    switches: Vec<Option<u64>>,
    wakes: Vec<u64>,
    wait_median_ms: Vec<f64>,
    wait_tail_ms: Vec<f64>,
}

fn median<T: PartialOrd + Copy>(values: &mut [T]) -> T {
    values.sort_by(|one, other| one.partial_cmp(other).unwrap_or(Ordering::Equal));
    values[values.len() / 2]
}

impl Measured {
    fn add(&mut self, run: &Run, switches: &Switches) {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let wait = |percent: usize| run.waits.get(run.waits.len() * percent / 100);
        self.wall_ms.push(ms(run.wall));
        self.switches.push(switches.get());
        self.wakes.push(run.wakes);
        self.wait_median_ms.push(wait(50).copied().map_or(0.0, ms));
        self.wait_tail_ms.push(wait(99).copied().map_or(0.0, ms));
    }

    fn print(mut self, title: &str, threads: usize) {
        let wall = median(&mut self.wall_ms);
        let (least, most) = (self.wall_ms[0], self.wall_ms[self.wall_ms.len() - 1]);
        let wall = format!("{wall:.0} ms ({least:.0} to {most:.0})");
        let switches = median(&mut self.switches);
        let switches = switches.map_or("unknown".to_owned(), |count| count.to_string());
        let (half, tail) = (median(&mut self.wait_median_ms), median(&mut self.wait_tail_ms));
        let wait = format!("{half:.2}, {tail:.1} ms");
        let wakes = median(&mut self.wakes);
        println!("{title:27} {threads:>7} {wall:>22} {switches:>9} {wakes:>9} {wait:>16}");
    }
}

/// Checks that both variants found the same keys, and all keys if those are known.
fn check(material: &Material, one: &Run, two: &Run) -> Result<(), String> {
    if one.reports != two.reports {
        return Err("one pool and two pools did not find the same keys".to_owned());
    }
    let searched = one.reports.iter().filter_map(|report| report.result.as_ref().ok());
    let keys = searched.flat_map(|searched| &searched.findings).map(|finding| finding.key.clone());
    let found: BTreeSet<String> = keys.collect();
    match &material.keys {
        Some(hidden) if *hidden != found => {
            Err(format!("{} keys were hidden, but {} were found", hidden.len(), found.len()))
        }
        _ => Ok(()),
    }
}

fn print_what_was_found(run: &Run) {
    let searched = || run.reports.iter().filter_map(|report| report.result.as_ref().ok());
    let findings: usize = searched().map(|searched| searched.findings.len()).sum();
    let contents: BTreeSet<_> = searched().map(|searched| searched.hash).collect();
    let mebibytes =
        searched().map(|searched| searched.bytes).sum::<u64>() as f64 / f64::from(1 << 20);
    println!(
        "{} files and objects, {} different contents, {mebibytes:.1} MiB; {findings} keys found",
        run.reports.len(),
        contents.len(),
    );
    for report in &run.reports {
        if let Err(error) = &report.result {
            println!("{:?}: {error}", report.source);
        }
    }
}

/// Runs both variants several times, alternating, and prints the measurements.
fn compare(material: &Material, slice: Duration, rounds: usize) -> Result<(), Box<dyn Error>> {
    let (mut in_one, mut in_two) = (Measured::default(), Measured::default());
    for round in 0..rounds {
        let (switches_one, switches_two) = (Switches::default(), Switches::default());
        let one = scan::in_one_pool(material, slice, switches_one.clone())?;
        let two = scan::in_two_pools(material, slice, switches_two.clone())?;
        check(material, &one, &two)?;
        if round == 0 {
            print_what_was_found(&one);
        }
        in_one.add(&one, &switches_one);
        in_two.add(&two, &switches_two);
    }
    println!("\nMedians of {rounds} rounds, alternating between the two variants:\n");
    let heads = ["threads", "wall time (range)", "switches", "wake-ups", "objects wait"];
    let [threads, wall, switches, wakes, wait] = heads;
    println!("{:27} {threads:>7} {wall:>22} {switches:>9} {wakes:>9} {wait:>16}", "");
    in_one.print("one executor for both", WORKERS);
    in_two.print("an executor and a runtime", 2 * WORKERS);
    println!(
        "\nContext switches and wake-ups are those of the pools' threads. After an object has arrived, it waits"
    );
    println!(
        "until its future is polled: half of the objects less than the first time, 99 % less than the second."
    );
    Ok(())
}

fn cannot_write(path: &Path) -> impl Fn(io::Error) -> String {
    move |error| format!("cannot write {}: {error}", path.display())
}

struct Arguments {
    svg: Option<PathBuf>,
    trace: Option<PathBuf>,
    rounds: usize,
    /// How long a file is searched before the task yields.
    slice: Duration,
    paths: Vec<PathBuf>,
}

impl Arguments {
    fn parse() -> Option<Self> {
        let (rounds, slice) = (ROUNDS, Adaptive::DEFAULT_TARGET);
        let mut arguments = Self { svg: None, trace: None, rounds, slice, paths: Vec::new() };
        let mut rest = std::env::args_os().skip(1);
        while let Some(argument) = rest.next() {
            match argument.to_str() {
                Some("--svg") => arguments.svg = Some(rest.next()?.into()),
                Some("--trace") => arguments.trace = Some(rest.next()?.into()),
                Some("--rounds") => {
                    let rounds = rest.next()?.to_str()?.parse().ok();
                    arguments.rounds = rounds.filter(|rounds| *rounds > 0)?;
                }
                Some("--slice-us") => {
                    arguments.slice = Duration::from_micros(rest.next()?.to_str()?.parse().ok()?);
                }
                Some(option) if option.starts_with('-') => return None,
                _ => arguments.paths.push(argument.into()),
            }
        }
        Some(arguments)
    }
}

fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let material = match &*arguments.paths {
        [] => Material::make()?,
        paths => Material::with_files_of(paths)?,
    };
    compare(&material, arguments.slice, arguments.rounds)?;
    if arguments.trace.is_none() && arguments.svg.is_none() {
        return Ok(());
    }
    // One more run, to look at. Tracing takes time, so this run is not measured.
    let tracer = ChromeTrace::new(Vec::new());
    scan::in_one_pool(&material, arguments.slice, tracer.clone())?;
    let json = tracer.finish()?;
    if let Some(path) = &arguments.trace {
        fs::write(path, &json).map_err(cannot_write(path))?;
        println!("\nThe trace is in {}; https://ui.perfetto.dev opens it.", path.display());
    }
    if let Some(directory) = &arguments.svg {
        let path = directory.join("one-pool.svg");
        let picture = picture::draw(&Slices::read(&json)?, &material);
        fs::write(&path, picture).map_err(cannot_write(&path))?;
        println!("\nThe picture is in {}.", path.display());
    }
    Ok(())
}

fn main() -> ExitCode {
    let Some(arguments) = Arguments::parse() else {
        eprintln!(
            "usage: one_pool [--svg DIRECTORY] [--trace FILE] [--rounds NUMBER] [--slice-us MICROSECONDS] [PATH]..."
        );
        return ExitCode::from(2);
    };
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
