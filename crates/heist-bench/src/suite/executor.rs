//! The suite `executor`: typed tasks on heist and on the pools that people use instead.

use std::io::{self, Write as _};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};

use crate::cases::{finish, idle, throughput, wake};
use crate::disturbance::Disturbance;
use crate::peers::{everybody, everybody_and_join, wake_rules};
use crate::ratio::geometric_mean;
use crate::report::{Measurement, Report, check_writable};
use crate::workload::{Board, Load, Pace, Puzzle, Task};

/// The cases whose geometric mean is the suite's headline, and what it must reach.
const HEADLINE_CASES: [&str; 3] = ["tree", "flat", "inject_batch"];
const HEADLINE_BARS: [(&str, f64); 2] = [("rayon scope", 2.0), ("reference", 1.2)];

/// How to read the table.
const NOTES: &str = "\
- Values are medians; spread is the interquartile range in per cent of the median.
- A ratio above 1 means that heist is better.
- `rayon scope` spawns every task into a scope; `rayon join` is in the cases that divide, `tree` and `queens`, where
  rayon's users would write `join`.
- `finish` includes the end of the threads for heist and reference, whose `join` ends them.
- `idle` counts context switches in 2 seconds; its ratio is (theirs + 1) / (ours + 1).
";

#[derive(Args, Debug)]
pub(crate) struct Options {
    /// Smaller problems and fewer wake-ups, but as many runs: ends within a minute.
    #[arg(long)]
    quick: bool,
    /// Also write the results to this file, as an array of objects.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Only this case; may be given several times.
    #[arg(long = "case", value_name = "NAME")]
    cases: Vec<Case>,
    /// Interleaved runs of every contender in every case.
    #[arg(long, value_name = "N", default_value = "9")]
    runs: NonZeroUsize,
    /// Workers of every pool [default: the CPUs available to this process].
    #[arg(long, value_name = "N")]
    workers: Option<NonZeroUsize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
enum Case {
    /// A binary tree of tasks.
    Tree,
    /// The n-queens puzzle, a task for each board.
    Queens,
    /// One task spawns all others, one by one.
    Flat,
    /// One task spawns all others, as a batch where the pool has such a thing.
    FlatBatch,
    /// Tasks from outside in batches of 64.
    InjectBatch,
    /// Tasks from outside one by one.
    InjectOne,
    /// One task in a thousand is a thousand times longer.
    Skewed,
    /// From idle to running: latency and CPU time.
    Wake,
    /// From the end of the last task to the caller's return.
    Finish,
    /// heist's rule for waking siblings against fixed thresholds.
    Hoard,
    /// Context switches while there is nothing to do.
    Idle,
}

impl Case {
    fn name(self) -> String {
        let value = self.to_possible_value().expect("no case is hidden from the command line");
        value.get_name().to_owned()
    }
}

/// How much of everything.
struct Sizes {
    tree_levels: u32,
    queens: u32,
    flat_leaves: u32,
    flat_batch_leaves: u32,
    inject_batch_tasks: u32,
    inject_one_tasks: u32,
    skewed_leaves: u32,
    hoard_leaves: u32,
    wake_cycles_per_run: usize,
    finish_loads_per_run: usize,
    idle_windows: usize,
}

impl Sizes {
    fn full(runs: usize) -> Self {
        Self {
            tree_levels: 19, // 2^20 - 1 tasks
            queens: 12,      // 856,189 tasks
            flat_leaves: 1_000_000,
            flat_batch_leaves: 1_000_000,
            inject_batch_tasks: 1_000_000,
            inject_one_tasks: 300_000,
            skewed_leaves: 100_000,
            hoard_leaves: 100_000,
            wake_cycles_per_run: 300,
            finish_loads_per_run: 30,
            idle_windows: runs,
        }
    }

    fn quick() -> Self {
        Self {
            tree_levels: 17,
            queens: 11,
            flat_leaves: 300_000,
            flat_batch_leaves: 150_000,
            inject_batch_tasks: 300_000,
            inject_one_tasks: 60_000,
            skewed_leaves: 50_000,
            hoard_leaves: 50_000,
            wake_cycles_per_run: 100,
            finish_loads_per_run: 11,
            // Two seconds each, and a count that hardly varies.
            idle_windows: 1,
        }
    }
}

pub(crate) fn run(options: &Options) -> Result<(), String> {
    let workers = match options.workers {
        Some(workers) => workers,
        None => thread::available_parallelism()
            .map_err(|error| format!("cannot tell the number of CPUs ({error}); use --workers"))?,
    };
    if let Some(path) = &options.json {
        check_writable(path)?;
    }
    let suite = Suite {
        workers: workers.get(),
        runs: options.runs.get(),
        sizes: if options.quick { Sizes::quick() } else { Sizes::full(options.runs.get()) },
        pace: Pace::measure(),
    };
    let disturbance = Disturbance::watch();
    let mut report = Report::default();
    let mut remarks = Vec::new();
    for &case in Case::value_variants() {
        if !options.cases.is_empty() && !options.cases.contains(&case) {
            continue;
        }
        let started = Instant::now();
        match suite.measure(case) {
            Ok(measurements) => measurements.iter().for_each(|one| report.add(one)),
            Err(reason) => remarks.push(format!("`{}` was skipped: {reason}", case.name())),
        }
        eprintln!("{:<13}{:5.1} s", case.name(), started.elapsed().as_secs_f64());
    }
    remarks.extend(disturbance.warning());
    // The file first: a closed stdout must not lose the results.
    if let Some(path) = &options.json {
        report.write_json(path)?;
    }
    print(options, &suite, &report, remarks)
}

fn print(
    options: &Options,
    suite: &Suite,
    report: &Report,
    remarks: Vec<String>,
) -> Result<(), String> {
    let mut text = format!(
        "executor, {} sizes, {} workers, {} runs\n\n{}\n{NOTES}\n",
        if options.quick { "quick" } else { "full" },
        suite.workers,
        suite.runs,
        report.markdown_table(),
    );
    for line in remarks.into_iter().chain(headlines(report)).chain(report.worst_ratio_line()) {
        text.push_str(&line);
        text.push('\n');
    }
    io::stdout()
        .write_all(text.as_bytes())
        .map_err(|error| format!("cannot print the results: {error}"))
}

/// What all cases have in common.
struct Suite {
    workers: usize,
    runs: usize,
    sizes: Sizes,
    pace: Pace,
}

impl Suite {
    fn measure(&self, case: Case) -> Result<Vec<Measurement>, String> {
        let Sizes {
            tree_levels,
            queens,
            flat_leaves,
            flat_batch_leaves,
            skewed_leaves,
            hoard_leaves,
            ..
        } = self.sizes;
        let rounds = |ns| self.pace.rounds(Duration::from_nanos(ns));
        let load = match case {
            Case::Tree => Load::Root(Task::Branch { value: 1, levels: tree_levels }),
            Case::Queens => {
                Load::Root(Task::Queens { puzzle: Puzzle::leak(queens), board: Board::default() })
            }
            Case::Flat => Load::Root(Task::Fan { leaves: flat_leaves, rounds: 1 }),
            Case::FlatBatch => Load::Root(Task::FanBatch { leaves: flat_batch_leaves }),
            Case::InjectBatch => Load::Inject { tasks: self.sizes.inject_batch_tasks, batch: 64 },
            Case::InjectOne => Load::Inject { tasks: self.sizes.inject_one_tasks, batch: 1 },
            Case::Skewed => {
                Load::Root(Task::FanSkewed { leaves: skewed_leaves, rounds: rounds(100) })
            }
            Case::Hoard => Load::Root(Task::Fan { leaves: hoard_leaves, rounds: rounds(1000) }),
            Case::Wake => {
                let cycles = self.sizes.wake_cycles_per_run;
                return Ok(wake::measure(everybody(self.workers), self.runs, cycles));
            }
            Case::Finish => {
                let loads = self.sizes.finish_loads_per_run;
                let contenders = everybody(self.workers);
                return Ok(vec![finish::measure(contenders, self.runs, loads, self.pace)]);
            }
            Case::Idle => {
                return Ok(vec![idle::measure(&everybody(self.workers), self.sizes.idle_windows)?]);
            }
        };
        let contenders = match case {
            Case::Hoard => wake_rules(self.workers),
            Case::Tree | Case::Queens => everybody_and_join(self.workers),
            _ => everybody(self.workers),
        };
        Ok(vec![throughput::measure(case.name(), contenders, self.runs, &load)])
    }
}

/// One line for each headline whose cases were all measured.
fn headlines(report: &Report) -> Vec<String> {
    let headline = |&(peer, bar): &(&str, f64)| {
        let ratios: Option<Vec<f64>> =
            HEADLINE_CASES.iter().map(|case| report.ratio(case, peer)).collect();
        let mean = geometric_mean(&ratios?)?;
        let cases = HEADLINE_CASES.join(", ");
        Some(format!("geometric mean of {cases} against {peer}: {mean:.2} (bar: {bar:.1})"))
    };
    HEADLINE_BARS.iter().filter_map(headline).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Series;
    use crate::ratio::Unit;

    #[test]
    fn headline_needs_all_its_cases() {
        let mut report = Report::default();
        for (case, ours) in [("tree", 2.0), ("flat", 4.0), ("inject_batch", 8.0)] {
            assert!(headlines(&report).is_empty(), "incomplete before {case}");
            report.add(&Measurement::ours_first(
                case,
                Unit::MillionTasksPerSecond,
                ["heist", "rayon scope"],
                [[ours], [1.0]].map(Series::new),
            ));
        }
        assert_eq!(
            headlines(&report),
            ["geometric mean of tree, flat, inject_batch against rayon scope: 4.00 (bar: 2.0)"]
        );
    }

    #[test]
    fn cases_are_called_as_on_the_command_line() {
        let names: Vec<String> = Case::value_variants().iter().map(|case| case.name()).collect();
        assert_eq!(
            names,
            [
                "tree",
                "queens",
                "flat",
                "flat_batch",
                "inject_batch",
                "inject_one",
                "skewed",
                "wake",
                "finish",
                "hoard",
                "idle",
            ]
        );
    }
}
