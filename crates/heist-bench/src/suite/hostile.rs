//! The suite `scan hostile`: searches for texts that cost the scan as much CPU time per byte as
//! possible.
//!
//! It first measures a corpus of bad texts, then mutates them. It fails if a text costs more than
//! the bar, as a multiple of prose. All scans run in this process, with one worker and without
//! writing findings.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use heist_scan::WorkLimit;
use walkdir::WalkDir;

use crate::scan::hostile::{Cost, Found, Goal, HostileInput, Meter, Search};

/// The worst texts that earlier searches found.
const CORPUS: &str = include_str!("../../hostile.txt");

#[derive(Args, Debug)]
pub(crate) struct Options {
    /// How long to search after the corpus.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    seconds: u64,
    /// Seed of the search.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// What to search for: the cost in a large object, whose work is limited, or in a small one,
    /// whose work is free.
    #[arg(long, value_name = "GOAL", value_enum, default_value_t = Goal::Limited)]
    goal: Goal,
    /// Fail if a text costs more than this many times prose in a large object.
    #[arg(long, value_name = "RATIO", default_value_t = 40.0)]
    bar: f64,
    /// Fail if a text costs more than this many times prose in a small object.
    #[arg(long, value_name = "RATIO", default_value_t = 250.0)]
    free_bar: f64,
    /// Instead, show the files below this directory that count most work for their size.
    #[arg(long, value_name = "DIR")]
    densest: Option<PathBuf>,
    /// How many texts to print.
    #[arg(long, value_name = "N", default_value_t = 12)]
    top: usize,
    /// Also add the texts that are printed to this file.
    #[arg(long, value_name = "FILE")]
    keep: Option<PathBuf>,
    /// Measure only this text, written as in the corpus; may be repeated.
    #[arg(long = "input", value_name = "LINE")]
    inputs: Vec<String>,
}

/// Measures the corpus, searches, and prints the worst texts.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let meter = Meter::new();
    println!("prose: {:.3} ns per byte\n", meter.prose * 1e9);
    if let Some(directory) = &options.densest {
        print_densest(&meter, directory, options.top);
        return Ok(());
    }
    let goal = options.goal;
    let mut search = Search::new(&meter, goal, options.seed);
    let lines: Vec<&str> = match &options.inputs[..] {
        [] => CORPUS.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect(),
        inputs => inputs.iter().map(String::as_str).collect(),
    };
    let corpus = lines.into_iter().map(|line| HostileInput::parse(line, &search.examples));
    let corpus = corpus.collect::<Result<Vec<_>, _>>()?;
    let mut all: Vec<Found> = corpus
        .iter()
        .map(|input| Found { input: input.clone(), cost: search.confirm(input) })
        .collect();
    goal.sort(&mut all);
    print("corpus", &all, options.top, &search);
    if options.inputs.is_empty() && options.seconds > 0 {
        search.begin_with(&corpus);
        let found = search.run(Duration::from_secs(options.seconds));
        print("search", &found, options.top, &search);
        println!("{} texts tried", search.attempts);
        if let Some(path) = &options.keep {
            let lines = found.iter().take(options.top);
            let lines = lines.map(|found| found.input.to_line(&search.examples) + "\n");
            let before = fs::read_to_string(path).unwrap_or_default();
            fs::write(path, before + &lines.collect::<String>())
                .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        }
        all.extend(found);
    }
    for (goal, bar) in [(Goal::Limited, options.bar), (Goal::Free, options.free_bar)] {
        goal.sort(&mut all);
        let Some(worst) = all.first() else { return Ok(()) };
        let (ratio, line) = (goal.of(&worst.cost), worst.input.to_line(&search.examples));
        let object = if goal == Goal::Limited { "large" } else { "small" };
        println!("worst in a {object} object: {ratio:.1}");
        if ratio > bar {
            return Err(format!(
                "in a {object} object, a text costs {ratio:.1} times as much CPU time as prose, \
                 more than {bar}: {line}"
            ));
        }
    }
    Ok(())
}

fn print(title: &str, found: &[Found], top: usize, search: &Search<'_>) {
    println!("## {title}\n\n   large    small  work/B");
    for Found { input, cost: Cost { ratio, limited, work } } in found.iter().take(top) {
        println!("{limited:8.1} {ratio:8.1} {work:7.1}  {}", input.to_line(&search.examples));
    }
    println!();
}

/// Prints the files that come closest to the work limit, and those with the most work for each
/// byte.
fn print_densest(meter: &Meter, directory: &Path, top: usize) {
    let files = WalkDir::new(directory).into_iter().filter_map(Result::ok);
    let files = files.filter(|entry| entry.file_type().is_file());
    let texts = files.filter_map(|entry| {
        let text = fs::read(entry.path()).ok()?;
        // A scan skips binary files.
        let is_text = !text[..text.len().min(8192)].contains(&0);
        is_text.then(|| (meter.work(&text), text.len() as u64, entry.into_path()))
    });
    let mut all: Vec<(u64, u64, PathBuf)> = texts.collect();
    let WorkLimit { free, per_byte, .. } = WorkLimit::default();
    println!("{} files\n\n  of free    work/B      bytes", all.len());
    let mut print = |share: &dyn Fn(u64, u64) -> f64| {
        all.sort_by(|a, b| share(b.0, b.1).total_cmp(&share(a.0, a.1)));
        let above = all.iter().filter(|(work, bytes, _)| share(*work, *bytes) > 0.0);
        for (work, bytes, path) in above.take(top) {
            let of_free = work.saturating_sub(per_byte * bytes) as f64 / free as f64;
            let per_byte = *work as f64 / *bytes as f64;
            println!("{of_free:9.6} {per_byte:9.1} {bytes:10}  {}", path.display());
        }
        println!();
    };
    print(&|work, bytes| work as f64 - (per_byte * bytes) as f64);
    print(&|work, bytes| if bytes < 4096 { 0.0 } else { work as f64 / bytes as f64 });
}
