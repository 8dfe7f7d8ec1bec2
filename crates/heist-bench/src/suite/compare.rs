//! Compares this build of heist with an earlier one: did a change make anything slower?
//!
//! Both builds run the same suite in separate processes, in turns, so that a noisy machine affects
//! both alike. Only heist's own figures are compared; the peers run as well because a suite always
//! runs them.

use std::collections::BTreeMap;
use std::env::current_exe;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;
use serde::Deserialize;

use crate::measure::Series;
use crate::ratio::Unit;

/// A case with a ratio below this has become slower.
const SLOWER: f64 = 0.97;

#[derive(Args, Debug)]
pub(crate) struct Options {
    /// The `heist-bench` program of the earlier build.
    earlier: PathBuf,
    /// The suite to run: `executor`, `runtime`, `gates`, `devices` or `blocking`.
    suite: String,
    /// Run only this case; may be repeated.
    #[arg(long = "case", value_name = "NAME")]
    cases: Vec<String>,
    /// How often each build runs the suite.
    #[arg(long, value_name = "N", default_value = "7")]
    rounds: NonZeroUsize,
    /// Runs of every case in each round.
    #[arg(long, value_name = "N", default_value = "3")]
    runs: NonZeroUsize,
}

/// The fields of a row in a suite's JSON file that are needed here.
#[derive(Deserialize)]
struct SuiteRow {
    case: String,
    unit: Unit,
    ours: f64,
}

/// What both builds measured in one case.
struct ComparedCase {
    unit: Unit,
    earlier: Vec<f64>,
    this: Vec<f64>,
}

pub(crate) fn run(options: &Options) -> Result<(), String> {
    let this = current_exe()
        .map_err(|error| format!("cannot determine the path of this program: {error}"))?;
    let folder = std::env::temp_dir().join(format!("heist-bench-compare-{}", std::process::id()));
    fs::create_dir_all(&folder)
        .map_err(|error| format!("cannot create `{}`: {error}", folder.display()))?;
    let measured = measure(options, &this, &folder.join("results.json"));
    // If the folder cannot be removed, the system's cleanup of temporary files will get it.
    let _ = fs::remove_dir_all(&folder);
    print_table(&measured?);
    Ok(())
}

fn measure(
    options: &Options,
    this: &Path,
    json: &Path,
) -> Result<BTreeMap<String, ComparedCase>, String> {
    let mut cases = BTreeMap::<String, ComparedCase>::new();
    for round in 1..=options.rounds.get() {
        eprintln!("round {round} of {}", options.rounds);
        for is_earlier in [true, false] {
            let program = if is_earlier { &options.earlier } else { this };
            for row in run_suite(options, program, json)? {
                let new = || ComparedCase { unit: row.unit, earlier: Vec::new(), this: Vec::new() };
                let case = cases.entry(row.case).or_insert_with(new);
                let figures = if is_earlier { &mut case.earlier } else { &mut case.this };
                // heist's figure is the same in every peer's row, so only the first row of a round
                // counts.
                if figures.len() < round {
                    figures.push(row.ours);
                }
            }
        }
    }
    Ok(cases)
}

fn run_suite(options: &Options, program: &Path, json: &Path) -> Result<Vec<SuiteRow>, String> {
    let failed = |what: &dyn std::fmt::Display| format!("`{}` {what}", program.display());
    let status = Command::new(program)
        .args([&options.suite, "--quick", "--runs", &options.runs.to_string(), "--json"])
        .arg(json)
        .args(options.cases.iter().flat_map(|case| ["--case", case]))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .map_err(|error| failed(&format_args!("cannot be run: {error}")))?;
    if !status.success() {
        return Err(failed(&format_args!(
            "failed ({status}); check that it has this suite and case"
        )));
    }
    let text = fs::read_to_string(json)
        .map_err(|error| failed(&format_args!("did not write results: {error}")))?;
    serde_json::from_str(&text)
        .map_err(|error| failed(&format_args!("wrote results that cannot be parsed: {error}")))
}

fn print_table(cases: &BTreeMap<String, ComparedCase>) {
    println!("| case | earlier | this | unit | ratio | spread earlier | spread this |");
    println!("|---|---:|---:|---|---:|---:|---:|");
    let mut slower = Vec::new();
    for (name, case) in cases {
        // Only one of the two builds has this case.
        if case.earlier.is_empty() || case.this.is_empty() {
            continue;
        }
        let (earlier, this) =
            (Series::new(case.earlier.iter().copied()), Series::new(case.this.iter().copied()));
        let ratio = case.unit.ratio(this.median(), earlier.median());
        let spread = |series: &Series| {
            series.spread_percent().map_or("-".to_owned(), |percent| format!("{percent:.0} %"))
        };
        println!(
            "| {name} | {} | {} | {} | {ratio:.3} | {} | {} |",
            case.unit.show(earlier.median()),
            case.unit.show(this.median()),
            case.unit,
            spread(&earlier),
            spread(&this),
        );
        if ratio < SLOWER {
            slower.push(format!("{name} {ratio:.3}"));
        }
    }
    println!();
    println!("A ratio above 1 means that this build is better than the earlier one.");
    if slower.is_empty() {
        println!("no case is below {SLOWER}");
    } else {
        println!("below {SLOWER}: {}", slower.join(", "));
    }
}
