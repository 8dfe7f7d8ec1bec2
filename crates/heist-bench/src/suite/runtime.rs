//! The suite `runtime`: futures on heist's `Runtime`, on tokio's multi-thread runtime and on async-executor.
//!
//! Every case is there with 2 and with 4 workers.
//!
//! | case | what is measured |
//! |---|---|
//! | the first seven | tokio's own benchmarks of its multi-thread scheduler: microseconds a round |
//! | `memory` | bytes and allocations of a future that waits, and of a short one |
//! | `wake` | from a foreign thread's wake-up to the poll, on an idle runtime |
//! | `lifo_hazard` | from the wake-up to the poll, if the waking future computes on |
//! | `lifo_stealing` | heist against heist: other workers may take what is in a slot, or may not |
//! | `injector_interval` | heist against heist: looking at what came from outside at an adaptive interval or at 61 |
//! | `remote_latency` in it | from a spawn from outside to the first poll, with all workers busy; everybody |
//! | `idle` | context switches in 2 seconds with nothing to do |
//! | `http_1`, `http_32` | hyper's server with 1 and 32 connections: requests per second of its CPU time, and per second |

use std::num::NonZeroU64;
use std::time::Duration;

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};

use super::side_by_side::{self, CommonOptions, Findings};
use crate::cases::runtime::http::Http;
use crate::cases::runtime::remote_latency::RemoteLatency;
use crate::cases::runtime::tokio_set::{Rounds, Shape};
use crate::cases::runtime::{idle, lifo_hazard, memory, wake};
use crate::contender::{Contender, Sampling, measure, measure_rows};
use crate::ratio::{Unit, geometric_mean};
use crate::report::{Measurement, Report};
use crate::runtimes::{
    ASYNC_EXECUTOR, Experiment, FIXED_INTERVAL, HEIST, Heist, SLOTS_KEPT, STATIC_EXECUTOR, TOKIO,
    contender, everybody, peers,
};
use crate::workload::Pace;

/// How to read the table.
const NOTES: &str = "\
- Values are medians; spread is the interquartile range in per cent of the median.
- A ratio above 1 means that heist is better.
- The first 14 cases: microseconds a round. A round is what tokio's own benchmark of that name does at a time.
- Except in the `http` cases, no runtime has timers or I/O. async-executor is run by threads of the benchmark.
  `async-executor static` is its `StaticExecutor`, which keeps no list of its tasks and cannot be dropped.
- `memory_waiting_N` is what a future of N bytes keeps while it waits, those N included; `memory_short` is all that is
  allocated for a future that ends at its first poll, spawned by another future or from outside.
- `wake_cpu` is CPU time of the whole process for one wake-up, that of the waking thread included.
- `lifo_stealing` and `injector_interval_busy`: heist's default first, the peer is heist with the other setting.
- `idle` counts context switches; its ratio is (theirs + 1) / (ours + 1).
- `http_N`: hyper answers N connections, each of which asks again as soon as it has its answer. The server is a process
  of its own: `cpu` is requests per second of its CPU time, `rate` is requests per second, beside the load on the same
  CPUs.
";

#[derive(Args, Debug)]
pub(crate) struct Options {
    #[command(flatten)]
    common: CommonOptions,
    /// Only this case; may be given several times.
    #[arg(long = "case", value_name = "NAME")]
    cases: Vec<Case>,
    /// How long the waking future computes on in `lifo_hazard`.
    #[arg(long, value_name = "MS", default_value = "5")]
    hazard_ms: NonZeroU64,
}

/// What is measured, with so many workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Case {
    name: &'static str,
    kind: Kind,
    workers: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    TokioSet(Shape),
    Memory,
    Wake,
    LifoHazard,
    LifoStealing,
    InjectorInterval,
    Idle,
    Http { connections: usize },
}

impl Case {
    const fn new(name: &'static str, kind: Kind, workers: usize) -> Self {
        Self { name, kind, workers }
    }
}

const CASES: [Case; 30] = [
    Case::new("spawn_many_local-2", Kind::TokioSet(Shape::SpawnManyLocal), 2),
    Case::new("spawn_many_local-4", Kind::TokioSet(Shape::SpawnManyLocal), 4),
    Case::new("spawn_many_remote_idle-2", Kind::TokioSet(Shape::SpawnManyRemoteIdle), 2),
    Case::new("spawn_many_remote_idle-4", Kind::TokioSet(Shape::SpawnManyRemoteIdle), 4),
    Case::new("spawn_many_remote_busy1-2", Kind::TokioSet(Shape::SpawnManyRemoteBusy1), 2),
    Case::new("spawn_many_remote_busy1-4", Kind::TokioSet(Shape::SpawnManyRemoteBusy1), 4),
    Case::new("spawn_many_remote_busy2-2", Kind::TokioSet(Shape::SpawnManyRemoteBusy2), 2),
    Case::new("spawn_many_remote_busy2-4", Kind::TokioSet(Shape::SpawnManyRemoteBusy2), 4),
    Case::new("ping_pong-2", Kind::TokioSet(Shape::PingPong), 2),
    Case::new("ping_pong-4", Kind::TokioSet(Shape::PingPong), 4),
    Case::new("yield_many-2", Kind::TokioSet(Shape::YieldMany), 2),
    Case::new("yield_many-4", Kind::TokioSet(Shape::YieldMany), 4),
    Case::new("chained_spawn-2", Kind::TokioSet(Shape::ChainedSpawn), 2),
    Case::new("chained_spawn-4", Kind::TokioSet(Shape::ChainedSpawn), 4),
    Case::new("memory-2", Kind::Memory, 2),
    Case::new("memory-4", Kind::Memory, 4),
    Case::new("wake-2", Kind::Wake, 2),
    Case::new("wake-4", Kind::Wake, 4),
    Case::new("lifo_hazard-2", Kind::LifoHazard, 2),
    Case::new("lifo_hazard-4", Kind::LifoHazard, 4),
    Case::new("lifo_stealing-2", Kind::LifoStealing, 2),
    Case::new("lifo_stealing-4", Kind::LifoStealing, 4),
    Case::new("injector_interval-2", Kind::InjectorInterval, 2),
    Case::new("injector_interval-4", Kind::InjectorInterval, 4),
    Case::new("idle-2", Kind::Idle, 2),
    Case::new("idle-4", Kind::Idle, 4),
    Case::new("http_1-2", Kind::Http { connections: 1 }, 2),
    Case::new("http_1-4", Kind::Http { connections: 1 }, 4),
    Case::new("http_32-2", Kind::Http { connections: 32 }, 2),
    Case::new("http_32-4", Kind::Http { connections: 32 }, 4),
];

impl ValueEnum for Case {
    fn value_variants<'a>() -> &'a [Self] {
        &CASES
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.name))
    }
}

/// How much of everything.
struct Sizes {
    rounds_at_least: Duration,
    memory_futures: usize,
    wake_cycles_per_run: usize,
    hazard_cycles_per_run: usize,
    /// With polls of 1 us and of 1 ms, whose cycles are long.
    latency_cycles_per_run: [usize; 2],
    idle_windows: usize,
    http_window: Duration,
}

impl Sizes {
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
    let suite = Suite {
        sampling: common.sampling(),
        sizes: if common.quick { Sizes::QUICK } else { Sizes::FULL },
        hazard: Duration::from_millis(options.hazard_ms.get()),
        pace: Pace::measure(),
    };
    let measure = |case: &Case, _name: &str| suite.measure(*case);
    side_by_side::run_and_conclude("runtime", common, &options.cases, NOTES, measure, conclusions)
}

/// What all cases have in common.
struct Suite {
    sampling: Sampling,
    sizes: Sizes,
    hazard: Duration,
    pace: Pace,
}

impl Suite {
    fn measure(&self, case: Case) -> Result<Findings, String> {
        let Case { name, kind, workers } = case;
        let (sampling, sizes) = (&self.sampling, &self.sizes);
        Ok(match kind {
            Kind::TokioSet(shape) => {
                let contenders = everybody(workers, self.rounds(shape, workers));
                measure(name, Unit::Microseconds, sampling, contenders).into()
            }
            Kind::Memory => memory::measure(workers, sampling, sizes.memory_futures).into(),
            Kind::Wake => wake::measure(workers, sampling, sizes.wake_cycles_per_run).into(),
            Kind::LifoHazard => {
                let cycles = sizes.hazard_cycles_per_run;
                lifo_hazard::measure(name, workers, sampling, cycles, self.hazard).into()
            }
            Kind::LifoStealing => self.lifo_stealing(workers).into(),
            Kind::InjectorInterval => self.injector_interval(workers).into(),
            Kind::Idle => idle::measure(name, workers, sizes.idle_windows)?.into(),
            Kind::Http { connections } => {
                Http { connections, window: sizes.http_window }.measure(workers, sampling)?.into()
            }
        })
    }

    fn rounds(&self, shape: Shape, workers: usize) -> Rounds {
        Rounds { shape, workers, at_least: self.sizes.rounds_at_least }
    }

    fn lifo_stealing(&self, workers: usize) -> Vec<Measurement> {
        let shapes = [
            ("ping_pong", Shape::PingPong),
            ("chained_spawn", Shape::ChainedSpawn),
            ("spawn_many_local", Shape::SpawnManyLocal),
        ];
        let with_and_without = |(name, shape)| {
            let rounds = self.rounds(shape, workers);
            let contenders = vec![
                contender(HEIST, move || Heist::start(workers), rounds),
                contender(SLOTS_KEPT, move || Heist::slots_kept(workers), rounds),
            ];
            let case = format!("lifo_stealing_{name}-{workers}");
            measure(&case, Unit::Microseconds, &self.sampling, contenders)
        };
        shapes.into_iter().map(with_and_without).collect()
    }

    fn injector_interval(&self, workers: usize) -> Vec<Measurement> {
        let mut measurements = Vec::new();
        for (name, shape) in
            [("busy1", Shape::SpawnManyRemoteBusy1), ("busy2", Shape::SpawnManyRemoteBusy2)]
        {
            let case = format!("injector_interval_{name}-{workers}");
            let contenders = adaptive_and_fixed(workers, self.rounds(shape, workers));
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

/// The means over tokio's set against each peer, and where a peer is better.
fn conclusions(report: &Report) -> Vec<String> {
    let set: Vec<&str> = CASES
        .iter()
        .filter(|case| matches!(case.kind, Kind::TokioSet(_)))
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
    fn names_tell_the_workers_and_are_unique() {
        for case in CASES {
            assert!(case.name.ends_with(&format!("-{}", case.workers)), "{}", case.name);
            assert_eq!(CASES.iter().filter(|other| other.name == case.name).count(), 1);
        }
        let of_set = CASES.iter().filter(|case| matches!(case.kind, Kind::TokioSet(_)));
        assert_eq!(of_set.count(), 14);
    }

    #[test]
    fn conclusions_need_the_whole_set_and_name_what_is_below_one() {
        let mut report = Report::default();
        for case in CASES.iter().filter(|case| matches!(case.kind, Kind::TokioSet(_))) {
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
        assert_eq!(lines.len(), 2, "heist is no peer of its own: {lines:?}");
    }
}
