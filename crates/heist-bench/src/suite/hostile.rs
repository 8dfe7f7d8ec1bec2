//! The suite `scan hostile`: searches for texts that cost the scan as much CPU time per byte as
//! possible.
//!
//! It first measures a corpus of bad texts, then mutates them. It fails if a text costs more than
//! the bar, as a multiple of prose. All scans run in this process, with one worker and without
//! writing findings.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::scan::hostile::{Found, HostileInput, Meter, Search};

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
    /// Fail if a text costs more than this many times prose.
    #[arg(long, value_name = "RATIO", default_value_t = 40.0)]
    bar: f64,
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
    let mut search = Search::new(&meter, options.seed);
    let lines: Vec<&str> = match &options.inputs[..] {
        [] => CORPUS.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect(),
        inputs => inputs.iter().map(String::as_str).collect(),
    };
    let corpus = lines.into_iter().map(|line| HostileInput::parse(line, &search.examples));
    let corpus = corpus.collect::<Result<Vec<_>, _>>()?;
    let mut all: Vec<Found> = corpus
        .iter()
        .map(|input| Found { input: input.clone(), ratio: search.confirm(input) })
        .collect();
    all.sort_by(|a, b| b.ratio.total_cmp(&a.ratio));
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
    let worst = all.iter().max_by(|a, b| a.ratio.total_cmp(&b.ratio));
    let Some(worst) = worst else { return Ok(()) };
    println!("worst ratio: {:.1}", worst.ratio);
    if worst.ratio > options.bar {
        let line = worst.input.to_line(&search.examples);
        return Err(format!(
            "a text costs {:.1} times as much CPU time as prose, more than {}: {line}",
            worst.ratio, options.bar
        ));
    }
    Ok(())
}

fn print(title: &str, found: &[Found], top: usize, search: &Search<'_>) {
    println!("## {title}\n");
    for Found { input, ratio } in found.iter().take(top) {
        println!("{ratio:8.1}  {}", input.to_line(&search.examples));
    }
    println!();
}
