//! The suite `executor`: typed tasks on heist and on the pools that people use instead.
//!
//! | case | what is measured |
//! |---|---|
//! | `tree` | tasks per second: a binary tree in which every task spawns two |
//! | `queens` | tasks per second: every board of the n-queens puzzle spawns its successors |
//! | `flat` | tasks per second: one task spawns all others, one by one |
//! | `flat_batch` | the same, as a batch if the pool supports it |
//! | `inject_batch` | tasks per second from an outside thread, in batches of 64 |
//! | `inject_one` | the same, one by one |
//! | `skewed` | tasks per second: one task in a thousand takes a thousand times longer |
//! | `wake` | from a spawn on an idle pool to the start of the task, and CPU time per cycle |
//! | `finish` | from the end of the last task until the waiting caller returns |
//! | `hoard` | heist's rule for waking other workers, against fixed thresholds |
//! | `idle` | context switches in 2 seconds without work |

use std::io::{self, Write as _};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};

use crate::cases::{finish, idle, throughput, wake};
use crate::disturbance::Disturbance;
use crate::peers::{all_pools, all_pools_and_join, wake_rules};
use crate::ratio::geometric_mean;
use crate::report::{Measurement, Report, check_writable};
use crate::workload::{Board, Load, Pace, Puzzle, Task};

/// The cases whose geometric mean is the suite's headline, and the target for it.
const HEADLINE_CASES: [&str; 3] = ["tree", "flat", "inject_batch"];
const HEADLINE_BARS: [(&str, f64); 2] = [("rayon scope", 2.0), ("reference", 1.2)];

/// How to read the table.
const NOTES: &str = "\
- Values are medians; spread is the interquartile range in per cent of the median.
- A ratio above 1 means that heist is better.
- `rayon scope` spawns every task into a scope. `rayon join` takes part in the divide-and-conquer
  cases `tree` and `queens`, where rayon's users would write `join`.
- `finish` includes ending the threads of heist and of the reference, because their `join` does so.
- `idle` counts context switches in 2 seconds; its ratio is (theirs + 1) / (ours + 1).
";

#[derive(Args, Debug)]
pub(crate) struct Options {
    /// Use smaller problems and fewer wake-ups with the same number of runs; takes less than a
    /// minute.
    #[arg(long)]
    quick: bool,
    /// Also write the results to this file, as a JSON array of objects.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Run only this case; may be repeated.
    #[arg(long = "case", value_name = "NAME")]
    cases: Vec<ExecutorCase>,
    /// Interleaved runs of every contender in every case.
    #[arg(long, value_name = "N", default_value = "9")]
    runs: NonZeroUsize,
    /// Threads of every pool [default: the CPUs available to this process].
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
enum ExecutorCase {
    /// A binary tree of tasks.
    Tree,
    /// The n-queens puzzle, one task per board.
    Queens,
    /// One task spawns all others, one by one.
    Flat,
    /// One task spawns all others, as a batch if the pool supports it.
    FlatBatch,
    /// Tasks from outside, in batches of 64.
    InjectBatch,
    /// Tasks from outside, one by one.
    InjectOne,
    /// One task in a thousand takes a thousand times longer.
    Skewed,
    /// Latency and CPU time from an idle pool to a running task.
    Wake,
    /// From the end of the last task until the waiting caller returns.
    Finish,
    /// heist's rule for waking other workers, against fixed thresholds.
    Hoard,
    /// Context switches while the pool has nothing to do.
    Idle,
}

impl ExecutorCase {
    fn name(self) -> String {
        let value = self.to_possible_value().expect("no case is hidden from the command line");
        value.get_name().to_owned()
    }
}

/// The sizes of the problems.
struct ExecutorSizes {
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

impl ExecutorSizes {
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
            // One window is enough: it takes two seconds, and the count hardly varies.
            idle_windows: 1,
        }
    }
}

pub(crate) fn run(options: &Options) -> Result<(), String> {
    let threads = match options.threads {
        Some(threads) => threads,
        None => thread::available_parallelism().map_err(|error| {
            format!("cannot determine the number of CPUs: {error}; set it with --threads")
        })?,
    };
    if let Some(path) = &options.json {
        check_writable(path)?;
    }
    let suite = ExecutorSuite {
        workers: threads.get(),
        runs: options.runs.get(),
        sizes: if options.quick {
            ExecutorSizes::quick()
        } else {
            ExecutorSizes::full(options.runs.get())
        },
        pace: Pace::measure(),
    };
    let disturbance = Disturbance::watch();
    let mut report = Report::default();
    let mut remarks = Vec::new();
    for &case in ExecutorCase::value_variants() {
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
    // The file comes first, so that a closed stdout does not lose the results.
    if let Some(path) = &options.json {
        report.write_json(path)?;
    }
    print(options, &suite, &report, remarks)
}

fn print(
    options: &Options,
    suite: &ExecutorSuite,
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

/// The parameters that all cases share.
struct ExecutorSuite {
    workers: usize,
    runs: usize,
    sizes: ExecutorSizes,
    pace: Pace,
}

impl ExecutorSuite {
    fn measure(&self, case: ExecutorCase) -> Result<Vec<Measurement>, String> {
        let ExecutorSizes {
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
            ExecutorCase::Tree => Load::Root(Task::Branch { value: 1, levels: tree_levels }),
            ExecutorCase::Queens => {
                Load::Root(Task::Queens { puzzle: Puzzle::leak(queens), board: Board::default() })
            }
            ExecutorCase::Flat => Load::Root(Task::Fan { leaves: flat_leaves, rounds: 1 }),
            ExecutorCase::FlatBatch => Load::Root(Task::FanBatch { leaves: flat_batch_leaves }),
            ExecutorCase::InjectBatch => {
                Load::Inject { tasks: self.sizes.inject_batch_tasks, batch: 64 }
            }
            ExecutorCase::InjectOne => {
                Load::Inject { tasks: self.sizes.inject_one_tasks, batch: 1 }
            }
            ExecutorCase::Skewed => {
                Load::Root(Task::FanSkewed { leaves: skewed_leaves, rounds: rounds(100) })
            }
            ExecutorCase::Hoard => {
                Load::Root(Task::Fan { leaves: hoard_leaves, rounds: rounds(1000) })
            }
            ExecutorCase::Wake => {
                let cycles = self.sizes.wake_cycles_per_run;
                return Ok(wake::measure(all_pools(self.workers), self.runs, cycles));
            }
            ExecutorCase::Finish => {
                let loads = self.sizes.finish_loads_per_run;
                let contenders = all_pools(self.workers);
                return Ok(vec![finish::measure(contenders, self.runs, loads, self.pace)]);
            }
            ExecutorCase::Idle => {
                return Ok(vec![idle::measure(&all_pools(self.workers), self.sizes.idle_windows)?]);
            }
        };
        let contenders = match case {
            ExecutorCase::Hoard => wake_rules(self.workers),
            ExecutorCase::Tree | ExecutorCase::Queens => all_pools_and_join(self.workers),
            _ => all_pools(self.workers),
        };
        Ok(vec![throughput::measure(case.name(), contenders, self.runs, &load)])
    }
}

/// Returns one line for each headline whose cases were all measured.
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
    fn cases_are_named_as_on_the_command_line() {
        let names: Vec<String> =
            ExecutorCase::value_variants().iter().map(|case| case.name()).collect();
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
