//! Measures how the scheduler scales: the same workloads with 2 to 256 workers, under the protocols
//! that ship and under rejected ones.
//!
//! Every thread has its own core, and cache lines take time to travel. The executor, its policy and
//! its protocols are the code that ships. The deque and the costs of operations are modelled; see
//! [`crate::machine::costs`]. The same options give the same figures on every machine.

mod chart;
mod measure;
mod protocol;
mod table;
mod workload;

pub use protocol::Protocol;
pub use workload::Workload;

use crate::machine::costs::{PARTS, Part, Totals};
use measure::{Measured, measure};
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

/// What to measure.
#[derive(Clone, Debug)]
pub struct Options {
    /// The numbers of workers.
    pub workers: Vec<usize>,
    /// The workloads.
    pub workloads: Vec<Workload>,
    /// The protocols.
    pub protocols: Vec<Protocol>,
    /// The number of runs of each case, with different random numbers. The figures are their means.
    pub runs: u64,
    /// The number of real threads that simulate in parallel. It does not affect the figures.
    pub threads: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            workers: (1..=8).map(|log2| 1 << log2).collect(),
            workloads: Workload::ALL.to_vec(),
            protocols: Protocol::ALL.to_vec(),
            runs: 3,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

/// A figure per task, for each part of the executor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PerPart {
    /// The workers' own queues.
    pub queues: f64,
    /// The injector.
    pub injector: f64,
    /// The idle protocol.
    pub idle: f64,
    /// Termination.
    pub termination: f64,
    /// The intake.
    pub intake: f64,
    /// Everything else.
    pub rest: f64,
}

/// The means of the sound runs. All figures up to `efficiency` cover the time from the first spawn
/// to the end of the last task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// The number of tasks.
    pub tasks: f64,
    /// Writes per task to lines that another thread wrote last.
    pub shared_writes: f64,
    /// `shared_writes`, by part.
    pub shared_writes_by_part: PerPart,
    /// Reads per task of lines that had to travel.
    pub read_misses: f64,
    /// `read_misses`, by part.
    pub read_misses_by_part: PerPart,
    /// Time per task in memory accesses, by part.
    pub access_ns_by_part: PerPart,
    /// Time per task spent queueing for lines that other threads wanted.
    pub queued_ns: f64,
    /// Time per task spent waiting for locks.
    pub locked_out_ns: f64,
    /// Successful steals per task.
    pub steals: f64,
    /// Workers woken, per task.
    pub wakes: f64,
    /// Sleeps that a timeout ended, per task.
    pub timeouts: f64,
    /// Time per task in which a worker was awake outside of tasks.
    pub overhead_ns: f64,
    /// Time asleep per worker, whether there was work or not.
    pub asleep_us: f64,
    /// The time from the first spawn to the end of the last task, without the time in which there
    /// was no work.
    pub span_us: f64,
    /// The share of all workers' time within that span that was spent in tasks.
    pub efficiency: f64,
    /// Accesses per task to words of the termination protocol, before the end.
    pub termination_accesses: f64,
    /// Accesses to words of the termination protocol after the end of the last task, in all.
    pub end_termination_accesses: f64,
    /// Time in those accesses, in all.
    pub end_termination_us: f64,
    /// The time from the end of the last task until the first worker left.
    pub found_done_us: f64,
    /// The time from the end of the last task until `join` returned.
    pub joined_us: f64,
}

/// The result of one workload under one protocol with one number of workers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    /// The workload.
    pub workload: Workload,
    /// The protocol.
    pub protocol: Protocol,
    /// The number of workers.
    pub workers: usize,
    /// The number of runs.
    pub runs: u64,
    /// The number of runs that failed.
    pub wrong: u64,
    /// The first failure.
    pub failure: Option<String>,
    /// The figures, unless all runs failed.
    pub figures: Option<Figures>,
    /// The number of simulated steps in all runs.
    pub steps: u64,
}

/// The results of all cases.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// The cases by workload, protocol and number of workers.
    pub rows: Vec<Row>,
}

/// Measures all cases. Calls `progress` after each of them.
pub fn run(options: &Options, progress: &mut dyn FnMut(&str)) -> Report {
    let mut cases = Vec::new();
    for workload in &options.workloads {
        for protocol in &options.protocols {
            cases.extend(options.workers.iter().map(|workers| (*workload, *protocol, *workers)));
        }
    }
    // Begin with the longest cases, so that the last thread does not end long after the others.
    let mut order: Vec<usize> = (0..cases.len()).collect();
    order.sort_by_key(|case| std::cmp::Reverse(cases[*case].2));
    let next = AtomicUsize::new(0);
    let (send, receive) = mpsc::channel();
    let mut rows: Vec<Option<Row>> = vec![None; cases.len()];
    std::thread::scope(|scope| {
        for _ in 0..options.threads.max(1) {
            let send = send.clone();
            let (next, cases, order) = (&next, &cases, &order);
            scope.spawn(move || {
                while let Some(case) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let (workload, protocol, workers) = cases[*case];
                    let row = row(workload, protocol, workers, options.runs);
                    let _ = send.send((*case, row));
                }
            });
        }
        drop(send);
        for (case, row) in receive {
            let done = rows.iter().flatten().count() + 1;
            progress(&format!(
                "{done} of {}: {}, {}, {} workers",
                cases.len(),
                row.workload.name(),
                row.protocol.name(),
                row.workers
            ));
            rows[case] = Some(row);
        }
    });
    Report { rows: rows.into_iter().flatten().collect() }
}

fn row(workload: Workload, protocol: Protocol, workers: usize, runs: u64) -> Row {
    let all: Vec<_> = (1..=runs).map(|seed| measure(workload, protocol, workers, seed)).collect();
    let right: Vec<_> = all.iter().filter(|run| run.failure.is_none()).collect();
    let failure = all.iter().find_map(|run| run.failure.as_ref()).map(ToString::to_string);
    Row {
        workload,
        protocol,
        workers,
        runs,
        wrong: runs - right.len() as u64,
        failure,
        figures: (!right.is_empty()).then(|| Figures::mean(&right)),
        steps: all.iter().map(|run| run.steps).sum(),
    }
}

impl PerPart {
    fn of(figure: impl Fn(usize) -> f64) -> Self {
        Self {
            queues: figure(Part::Queues as usize),
            injector: figure(Part::Injector as usize),
            idle: figure(Part::Idle as usize),
            termination: figure(Part::Termination as usize),
            intake: figure(Part::Intake as usize),
            rest: figure(Part::Rest as usize),
        }
    }
}

impl Figures {
    fn mean(runs: &[&Measured]) -> Self {
        let mean = |figure: &dyn Fn(&Measured) -> f64| {
            runs.iter().map(|run| figure(run)).sum::<f64>() / runs.len() as f64
        };
        let per_task =
            |figure: &dyn Fn(&Measured) -> u64| mean(&|run| figure(run) as f64 / run.tasks as f64);
        let all = |totals: &Totals, figure: &dyn Fn(usize, &Totals) -> u64| -> u64 {
            (0..PARTS).map(|part| figure(part, totals)).sum()
        };
        let termination = Part::Termination as usize;
        let us = |ns: u64| ns as f64 / 1e3;
        Self {
            tasks: mean(&|run| run.tasks as f64),
            shared_writes: per_task(&|run| {
                all(&run.during, &|part, t| t.parts[part].shared_writes)
            }),
            shared_writes_by_part: PerPart::of(|part| {
                per_task(&|run| run.during.parts[part].shared_writes)
            }),
            read_misses: per_task(&|run| all(&run.during, &|part, t| t.parts[part].read_misses)),
            read_misses_by_part: PerPart::of(|part| {
                per_task(&|run| run.during.parts[part].read_misses)
            }),
            access_ns_by_part: PerPart::of(|part| per_task(&|run| run.during.parts[part].ns)),
            queued_ns: per_task(&|run| all(&run.during, &|part, t| t.parts[part].queued_ns)),
            locked_out_ns: per_task(&|run| run.during.locked_out_ns),
            steals: per_task(&|run| run.metrics.steals_won),
            wakes: per_task(&|run| run.during.wakes),
            timeouts: per_task(&|run| run.during.timeouts),
            overhead_ns: per_task(&Measured::overhead_ns),
            asleep_us: mean(&|run| us(run.during.asleep_ns) / run.workers as f64),
            span_us: mean(&|run| us(run.span_ns)),
            efficiency: mean(&|run| run.work_ns as f64 / (run.span_ns as f64 * run.workers as f64)),
            termination_accesses: per_task(&|run| run.during.parts[termination].accesses),
            end_termination_accesses: mean(&|run| run.end.parts[termination].accesses as f64),
            end_termination_us: mean(&|run| us(run.end.parts[termination].ns)),
            found_done_us: mean(&|run| us(run.found_done_ns)),
            joined_us: mean(&|run| us(run.joined_ns)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small(workloads: &[Workload], protocols: &[Protocol], threads: usize) -> Report {
        let (workloads, protocols) = (workloads.to_vec(), protocols.to_vec());
        let options = Options { workers: vec![2, 8], workloads, protocols, runs: 2, threads };
        run(&options, &mut |_| ())
    }

    fn figures(report: &Report, workers: usize) -> Figures {
        let row = report.rows.iter().find(|row| row.workers == workers).expect("it was measured");
        row.figures.expect("it was right")
    }

    #[test]
    fn the_same_options_give_the_same_report() {
        let all = |threads| small(&Workload::ALL, &Protocol::ALL, threads);
        let report = all(1);
        // Neither other allocations of this process nor the thread that runs a case may change the
        // figures.
        let _somewhere_else: Vec<Box<[u8; 40]>> = (0..1_000).map(|_| Box::new([0; 40])).collect();
        let again = all(2);
        assert_eq!(report.table(), again.table());
        assert_eq!(report.svg(), again.svg());
        for (row, again) in report.rows.iter().zip(&again.rows) {
            let json = |row: &Row| serde_json::to_string_pretty(row).expect("figures are numbers");
            assert_eq!(json(row), json(again));
        }
    }

    #[test]
    fn only_the_unsound_protocol_fails() {
        let report = small(&Workload::ALL, &Protocol::ALL, 2);
        for row in &report.rows {
            let may_be_wrong = row.protocol == Protocol::BatchedDeltaWhenIdle;
            assert!(row.wrong == 0 || may_be_wrong, "{row:?}");
        }
        let is_caught = |row: &&Row| row.workload == Workload::Straggler && row.wrong > 0;
        assert!(report.rows.iter().any(|row| is_caught(&row)), "a task that spawns late is missed");
    }

    #[test]
    fn an_in_flight_word_is_written_by_all_workers() {
        let ours = small(&[Workload::Tree], &[Protocol::Heist], 1);
        let word = small(&[Workload::Tree], &[Protocol::InFlightWord], 1);
        let ours = figures(&ours, 8).shared_writes_by_part.termination;
        let word = figures(&word, 8).shared_writes_by_part.termination;
        assert!(ours < 0.1 && word > 1.0, "{ours} and {word} shared writes a task");
    }

    #[test]
    fn an_idle_pool_is_silent_unless_it_sleeps_with_a_timeout() {
        let ours = figures(&small(&[Workload::Bursts], &[Protocol::Heist], 1), 8);
        let seed = figures(&small(&[Workload::Bursts], &[Protocol::RoundRobinWake], 1), 8);
        assert!(ours.timeouts == 0.0 && seed.timeouts > 0.1, "{ours:?} and {seed:?}");
    }

    #[test]
    fn looking_before_counting_writes_less() {
        let ours = figures(&small(&[Workload::Tree], &[Protocol::Heist], 1), 8);
        let count = figures(&small(&[Workload::Tree], &[Protocol::CountBeforeLooking], 1), 8);
        let [ours, count] = [ours, count].map(|figures| figures.shared_writes_by_part.idle);
        assert!(ours < count / 2.0, "{ours} and {count} shared writes a task");
    }
}
