//! The suite `runtime`: futures on heist's `Runtime`, on tokio's multi-thread runtime and on
//! async-executor.
//!
//! Every case exists with 2 and with 4 workers.
//!
//! | case | what is measured |
//! |---|---|
//! | the first seven | tokio's own benchmarks of its multi-thread scheduler: microseconds per round |
//! | `memory` | bytes and allocations of a future that waits, and of a short one |
//! | `wake` | from a wake-up by an outside thread to the poll, on an idle runtime |
//! | `lifo_hazard` | from the wake-up to the poll, if the waking future keeps computing |
//! | `lifo_stealing` | heist against heist: other workers may or may not take from a LIFO slot |
//! | `injector_interval` | heist against heist: workers check the injector at an adaptive interval or every 61 polls |
//! | `remote_latency` in it | from an outside spawn to the first poll, with all workers busy; all runtimes |
//! | `idle` | context switches in 2 seconds with nothing to do |
//! | `http_1`, `http_32` | hyper's server with 1 and 32 connections: requests per CPU second and per second |

use std::num::NonZeroU64;
use std::time::Duration;

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};

use super::side_by_side::{self, CaseResults, CommonOptions};
use crate::cases::runtime::http::Http;
use crate::cases::runtime::remote_latency::RemoteLatency;
use crate::cases::runtime::tokio_set::{Rounds, TokioBenchmark};
use crate::cases::runtime::{idle, lifo_hazard, memory, wake};
use crate::contender::{Contender, Sampling, measure, measure_rows};
use crate::ratio::{Unit, geometric_mean};
use crate::report::{Measurement, Report};
use crate::runtimes::{
    ASYNC_EXECUTOR, Experiment, FIXED_INTERVAL, HEIST, Heist, SLOTS_KEPT, STATIC_EXECUTOR, TOKIO,
    all_runtimes, contender, peers,
};
use crate::workload::Pace;

/// How to read the table.
const NOTES: &str = "\
- Values are medians; spread is the interquartile range in per cent of the median.
- A ratio above 1 means that heist is better.
- The first 14 cases: microseconds per round. A round is one iteration of tokio's benchmark of that
  name.
- Except in the `http` cases, no runtime has timers or I/O. Threads of the benchmark run
  async-executor. `async-executor static` is its `StaticExecutor`, which does not keep a list of its
  tasks and cannot be dropped.
- `memory_waiting_N` is the memory that a future of N bytes holds while it waits, including those N.
  `memory_short` is everything allocated for a future that ends at its first poll, spawned by
  another future (`inside`) or from outside.
- `wake_cpu` is the CPU time of the whole process per wake-up, including the waking thread.
- `lifo_stealing` and `injector_interval_busy` compare heist's default with another setting.
- `idle` counts context switches; its ratio is (theirs + 1) / (ours + 1).
- `http_N`: hyper serves N connections, each of which sends its next request as soon as it has the
  response to the last. The server is a separate process: `cpu` is requests per second of its CPU
  time; `rate` is requests per second while it shares the CPUs with the load.
";

#[derive(Args, Debug)]
pub(crate) struct Options {
    #[command(flatten)]
    common: CommonOptions,
    /// Run only this case; may be repeated.
    #[arg(long = "case", value_name = "NAME")]
    cases: Vec<RuntimeCase>,
    /// How long the waking future keeps computing in `lifo_hazard`, in milliseconds.
    #[arg(long, value_name = "MS", default_value = "5")]
    hazard_ms: NonZeroU64,
}

/// An experiment and a number of workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RuntimeCase {
    name: &'static str,
    kind: RuntimeCaseKind,
    workers: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RuntimeCaseKind {
    TokioSet(TokioBenchmark),
    Memory,
    Wake,
    LifoHazard,
    LifoStealing,
    InjectorInterval,
    Idle,
    Http { connections: usize },
}

impl RuntimeCaseKind {
    /// Describes the case for `--help`.
    fn help(self) -> &'static str {
        match self {
            Self::TokioSet(_) => "tokio's own benchmark of that name",
            Self::Memory => "bytes and allocations per future",
            Self::Wake => "from a wake-up by an outside thread to the poll, on an idle runtime",
            Self::LifoHazard => {
                "from the wake-up to the poll, if the waking future keeps computing"
            }
            Self::LifoStealing => "heist with and without stealing from LIFO slots",
            Self::InjectorInterval => {
                "heist checking the injector at an adaptive or fixed interval, and latency from outside"
            }
            Self::Idle => "context switches while the runtime has nothing to do",
            Self::Http { .. } => "an HTTP server: requests per second of CPU time, and per second",
        }
    }
}

impl RuntimeCase {
    const fn new(name: &'static str, kind: RuntimeCaseKind, workers: usize) -> Self {
        Self { name, kind, workers }
    }
}

const CASES: [RuntimeCase; 30] = [
    RuntimeCase::new(
        "spawn_many_local-2",
        RuntimeCaseKind::TokioSet(TokioBenchmark::SpawnManyLocal),
        2,
    ),
    RuntimeCase::new(
        "spawn_many_local-4",
        RuntimeCaseKind::TokioSet(TokioBenchmark::SpawnManyLocal),
        4,
    ),
    RuntimeCase::new(
        "spawn_many_remote_idle-2",
        RuntimeCaseKind::TokioSet(TokioBenchmark::SpawnManyRemoteIdle),
        2,
    ),
    RuntimeCase::new(
        "spawn_many_remote_idle-4",
        RuntimeCaseKind::TokioSet(TokioBenchmark::SpawnManyRemoteIdle),
        4,
    ),
    RuntimeCase::new(
        "spawn_many_remote_busy1-2",
        RuntimeCaseKind::TokioSet(TokioBenchmark::SpawnManyRemoteBusy1),
        2,
    ),
    RuntimeCase::new(
        "spawn_many_remote_busy1-4",
        RuntimeCaseKind::TokioSet(TokioBenchmark::SpawnManyRemoteBusy1),
        4,
    ),
    RuntimeCase::new(
        "spawn_many_remote_busy2-2",
        RuntimeCaseKind::TokioSet(TokioBenchmark::SpawnManyRemoteBusy2),
        2,
    ),
    RuntimeCase::new(
        "spawn_many_remote_busy2-4",
        RuntimeCaseKind::TokioSet(TokioBenchmark::SpawnManyRemoteBusy2),
        4,
    ),
    RuntimeCase::new("ping_pong-2", RuntimeCaseKind::TokioSet(TokioBenchmark::PingPong), 2),
    RuntimeCase::new("ping_pong-4", RuntimeCaseKind::TokioSet(TokioBenchmark::PingPong), 4),
    RuntimeCase::new("yield_many-2", RuntimeCaseKind::TokioSet(TokioBenchmark::YieldMany), 2),
    RuntimeCase::new("yield_many-4", RuntimeCaseKind::TokioSet(TokioBenchmark::YieldMany), 4),
    RuntimeCase::new("chained_spawn-2", RuntimeCaseKind::TokioSet(TokioBenchmark::ChainedSpawn), 2),
    RuntimeCase::new("chained_spawn-4", RuntimeCaseKind::TokioSet(TokioBenchmark::ChainedSpawn), 4),
    RuntimeCase::new("memory-2", RuntimeCaseKind::Memory, 2),
    RuntimeCase::new("memory-4", RuntimeCaseKind::Memory, 4),
    RuntimeCase::new("wake-2", RuntimeCaseKind::Wake, 2),
    RuntimeCase::new("wake-4", RuntimeCaseKind::Wake, 4),
    RuntimeCase::new("lifo_hazard-2", RuntimeCaseKind::LifoHazard, 2),
    RuntimeCase::new("lifo_hazard-4", RuntimeCaseKind::LifoHazard, 4),
    RuntimeCase::new("lifo_stealing-2", RuntimeCaseKind::LifoStealing, 2),
    RuntimeCase::new("lifo_stealing-4", RuntimeCaseKind::LifoStealing, 4),
    RuntimeCase::new("injector_interval-2", RuntimeCaseKind::InjectorInterval, 2),
    RuntimeCase::new("injector_interval-4", RuntimeCaseKind::InjectorInterval, 4),
    RuntimeCase::new("idle-2", RuntimeCaseKind::Idle, 2),
    RuntimeCase::new("idle-4", RuntimeCaseKind::Idle, 4),
    RuntimeCase::new("http_1-2", RuntimeCaseKind::Http { connections: 1 }, 2),
    RuntimeCase::new("http_1-4", RuntimeCaseKind::Http { connections: 1 }, 4),
    RuntimeCase::new("http_32-2", RuntimeCaseKind::Http { connections: 32 }, 2),
    RuntimeCase::new("http_32-4", RuntimeCaseKind::Http { connections: 32 }, 4),
];

impl ValueEnum for RuntimeCase {
    fn value_variants<'a>() -> &'a [Self] {
        &CASES
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.name).help(self.kind.help()))
    }
}

/// The sizes of the problems.
struct RuntimeSizes {
    rounds_at_least: Duration,
    memory_futures: usize,
    wake_cycles_per_run: usize,
    hazard_cycles_per_run: usize,
    /// Cycles with polls of 1 us, and with polls of 1 ms, whose cycles are long.
    latency_cycles_per_run: [usize; 2],
    idle_windows: usize,
    http_window: Duration,
}

impl RuntimeSizes {
    const FULL: Self = Self {
        rounds_at_least: Duration::from_millis(100),
        memory_futures: 100_000,
        wake_cycles_per_run: 200,
        hazard_cycles_per_run: 15,
        latency_cycles_per_run: [100, 12],
        idle_windows: 3,
        http_window: Duration::from_millis(500),
    };
    const QUICK: Self = Self {
        rounds_at_least: Duration::from_millis(20),
        memory_futures: 20_000,
        wake_cycles_per_run: 50,
        hazard_cycles_per_run: 5,
        latency_cycles_per_run: [30, 4],
        idle_windows: 1,
        http_window: Duration::from_millis(100),
    };
}

pub(crate) fn run(options: &Options) -> Result<(), String> {
    let common = &options.common;
    let suite = RuntimeSuite {
        sampling: common.sampling(),
        sizes: if common.quick { RuntimeSizes::QUICK } else { RuntimeSizes::FULL },
        hazard: Duration::from_millis(options.hazard_ms.get()),
        pace: Pace::measure(),
    };
    let measure = |case: &RuntimeCase, _name: &str| suite.measure(*case);
    side_by_side::run_and_conclude("runtime", common, &options.cases, NOTES, measure, conclusions)
}

/// The parameters that all cases share.
struct RuntimeSuite {
    sampling: Sampling,
    sizes: RuntimeSizes,
    hazard: Duration,
    pace: Pace,
}

impl RuntimeSuite {
    fn measure(&self, case: RuntimeCase) -> Result<CaseResults, String> {
        let RuntimeCase { name, kind, workers } = case;
        let (sampling, sizes) = (&self.sampling, &self.sizes);
        Ok(match kind {
            RuntimeCaseKind::TokioSet(benchmark) => {
                let contenders = all_runtimes(workers, self.rounds(benchmark, workers));
                measure(name, Unit::Microseconds, sampling, contenders).into()
            }
            RuntimeCaseKind::Memory => {
                memory::measure(workers, sampling, sizes.memory_futures).into()
            }
            RuntimeCaseKind::Wake => {
                wake::measure(workers, sampling, sizes.wake_cycles_per_run).into()
            }
            RuntimeCaseKind::LifoHazard => {
                let cycles = sizes.hazard_cycles_per_run;
                lifo_hazard::measure(name, workers, sampling, cycles, self.hazard).into()
            }
            RuntimeCaseKind::LifoStealing => self.lifo_stealing(workers).into(),
            RuntimeCaseKind::InjectorInterval => self.injector_interval(workers).into(),
            RuntimeCaseKind::Idle => idle::measure(name, workers, sizes.idle_windows)?.into(),
            RuntimeCaseKind::Http { connections } => {
                Http { connections, window: sizes.http_window }.measure(workers, sampling)?.into()
            }
        })
    }

    fn rounds(&self, benchmark: TokioBenchmark, workers: usize) -> Rounds {
        Rounds { benchmark, workers, at_least: self.sizes.rounds_at_least }
    }

    fn lifo_stealing(&self, workers: usize) -> Vec<Measurement> {
        let benchmarks = [
            ("ping_pong", TokioBenchmark::PingPong),
            ("chained_spawn", TokioBenchmark::ChainedSpawn),
            ("spawn_many_local", TokioBenchmark::SpawnManyLocal),
        ];
        let with_and_without = |(name, benchmark)| {
            let rounds = self.rounds(benchmark, workers);
            let contenders = vec![
                contender(HEIST, move || Heist::start(workers), rounds),
                contender(SLOTS_KEPT, move || Heist::slots_kept(workers), rounds),
            ];
            let case = format!("lifo_stealing_{name}-{workers}");
            measure(&case, Unit::Microseconds, &self.sampling, contenders)
        };
        benchmarks.into_iter().map(with_and_without).collect()
    }

    fn injector_interval(&self, workers: usize) -> Vec<Measurement> {
        let mut measurements = Vec::new();
        for (name, benchmark) in [
            ("busy1", TokioBenchmark::SpawnManyRemoteBusy1),
            ("busy2", TokioBenchmark::SpawnManyRemoteBusy2),
        ] {
            let case = format!("injector_interval_{name}-{workers}");
            let contenders = adaptive_and_fixed(workers, self.rounds(benchmark, workers));
            measurements.push(measure(&case, Unit::Microseconds, &self.sampling, contenders));
        }
        let [cycles_short, cycles_long] = self.sizes.latency_cycles_per_run;
        for (name, poll, cycles) in [
            ("1us", Duration::from_micros(1), cycles_short),
            ("1ms", Duration::from_millis(1), cycles_long),
        ] {
            let rounds_per_poll = self.pace.rounds(poll);
            let experiment = RemoteLatency { workers, cycles, rounds_per_poll };
            let mut contenders = adaptive_and_fixed(workers, experiment);
            contenders.extend(peers(workers, experiment));
            let row = |quantity: &str| {
                (format!("remote_latency_{name}_{quantity}-{workers}"), Unit::Microseconds)
            };
            measurements.extend(measure_rows(["p50", "p90"].map(row), &self.sampling, contenders));
        }
        measurements
    }
}

fn adaptive_and_fixed<E: Experiment>(workers: usize, experiment: E) -> Vec<Contender<E::Sample>> {
    vec![
        contender(HEIST, move || Heist::start(workers), experiment),
        contender(FIXED_INTERVAL, move || Heist::fixed_interval(workers), experiment),
    ]
}

/// Returns the mean over tokio's benchmarks against each peer, and the cases in which a peer is
/// better.
fn conclusions(report: &Report) -> Vec<String> {
    let set: Vec<&str> = CASES
        .iter()
        .filter(|case| matches!(case.kind, RuntimeCaseKind::TokioSet(_)))
        .map(|case| case.name)
        .collect();
    let peers = [TOKIO, ASYNC_EXECUTOR, STATIC_EXECUTOR];
    let mean = |peer: &&str| {
        let ratios: Option<Vec<f64>> = set.iter().map(|case| report.ratio(case, peer)).collect();
        let mean = geometric_mean(&ratios?)?;
        Some(format!("geometric mean of tokio's {} cases against {peer}: {mean:.2}", set.len()))
    };
    let mut lines: Vec<String> = peers.iter().filter_map(mean).collect();
    lines.extend(peers.iter().filter_map(|peer| {
        let losses = report.losses(peer).map(|row| format!("{} {:.2}", row.case, row.ratio));
        let losses: Vec<String> = losses.collect();
        (!losses.is_empty()).then(|| format!("below 1 against {peer}: {}", losses.join(", ")))
    }));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Series;

    #[test]
    fn names_end_with_the_number_of_workers_and_are_unique() {
        for case in CASES {
            assert!(case.name.ends_with(&format!("-{}", case.workers)), "{}", case.name);
            assert_eq!(CASES.iter().filter(|other| other.name == case.name).count(), 1);
        }
        let of_set = CASES.iter().filter(|case| matches!(case.kind, RuntimeCaseKind::TokioSet(_)));
        assert_eq!(of_set.count(), 14);
    }

    #[test]
    fn conclusions_need_all_of_tokios_cases_and_list_ratios_below_one() {
        let mut report = Report::default();
        for case in CASES.iter().filter(|case| matches!(case.kind, RuntimeCaseKind::TokioSet(_))) {
            assert!(
                conclusions(&report).iter().all(|line| !line.contains("mean")),
                "{}",
                case.name
            );
            let ours = if case.workers == 2 { 1.0 } else { 4.0 };
            report.add(&Measurement::ours_first(
                case.name,
                Unit::Microseconds,
                [HEIST, TOKIO, SLOTS_KEPT],
                [[ours], [2.0], [0.5]].map(Series::new),
            ));
        }
        let lines = conclusions(&report);
        assert_eq!(lines[0], "geometric mean of tokio's 14 cases against tokio: 1.00");
        assert!(
            lines[1].starts_with("below 1 against tokio: spawn_many_local-4 0.50, "),
            "{lines:?}"
        );
        assert_eq!(lines[1].matches("0.50").count(), 7);
        assert_eq!(lines.len(), 2, "heist is not its own peer: {lines:?}");
    }
}
