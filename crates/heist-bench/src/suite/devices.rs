//! The suite `devices`: budgets and device slots against semaphores, and lanes against requeueing.
//!
//! | case | what is measured |
//! |---|---|
//! | `try-acquire-uncontended` | `CountBudget::try_acquire` and back, on one thread |
//! | `slots-try-acquire` | `DeviceSlots::try_acquire` and back, on one thread, against the same semaphores |
//! | `try-acquire-N` | N threads that try all the time for N / 2 units, by attempt and by success |
//! | `acquire-N` | N threads that wait for one unit and give it back at once; and by the slowest of them |
//! | `acquire-half-N` | the same with N / 2 units |
//! | `lanes` | 1,000 jobs for a device whose slots others hold: CPU time and switches of the pool meanwhile |

use std::num::{NonZeroU64, NonZeroUsize};
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::side_by_side::{self, CommonOptions, Findings};
use crate::cases::budgets::{self, Use};
use crate::cases::lanes;
use crate::report::Measurement;

/// How to read the table.
const NOTES: &str = "\
- Values are medians; spread is the interquartile range in per cent of the median.
- A ratio above 1 means that heist is better.
- `lanes`: ratios are with 1 us, or 1 switch, added to both sides.
- `try-acquire-N` counts every attempt, and a refusal is cheap: a semaphore whose holders sleep while they hold refuses
  often. `try-acquire-N-granted` counts successes alone.
- With several threads a value is elapsed time by operations of all threads together.
- `acquire-N-slowest` is the time per operation of the thread that got through least.
- heist and tokio grant in the order of requests. With more threads than free CPUs every hand-over may have to wait for
  a thread to be woken, and all wait behind it; async-lock and the condition variable let whoever runs go first.
";

#[derive(Args, Debug)]
pub(crate) struct Options {
    #[command(flatten)]
    common: CommonOptions,
    /// Only this case; may be given several times.
    #[arg(long = "case", value_name = "NAME")]
    cases: Vec<Case>,
    /// How long others hold the slots in `lanes`.
    #[arg(long, value_name = "MS", default_value = "2000")]
    hold_ms: NonZeroU64,
    /// Runs of `lanes`, which needs few: it measures seconds.
    #[arg(long, value_name = "N", default_value = "3")]
    lanes_runs: NonZeroUsize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Case {
    /// `CountBudget::try_acquire` and back, on one thread.
    TryAcquireUncontended,
    /// `DeviceSlots::try_acquire` and back, on one thread.
    SlotsTryAcquire,
    /// Two threads that try for one unit.
    #[value(name = "try-acquire-2")]
    TryAcquire2,
    /// Four threads that try for two units.
    #[value(name = "try-acquire-4")]
    TryAcquire4,
    /// Eight threads that try for four units.
    #[value(name = "try-acquire-8")]
    TryAcquire8,
    /// Two threads that wait for one unit.
    #[value(name = "acquire-2")]
    Acquire2,
    /// Four threads that wait for one unit.
    #[value(name = "acquire-4")]
    Acquire4,
    /// Eight threads that wait for one unit.
    #[value(name = "acquire-8")]
    Acquire8,
    /// Four threads that wait for two units.
    #[value(name = "acquire-half-4")]
    AcquireHalf4,
    /// Eight threads that wait for four units.
    #[value(name = "acquire-half-8")]
    AcquireHalf8,
    /// CPU time and switches of a pool whose jobs wait for a device: in lanes, and requeued.
    Lanes,
}

pub(crate) fn run(options: &Options) -> Result<(), String> {
    let common = &options.common;
    let sampling = &common.sampling();
    let window = Duration::from_millis(if common.quick { 20 } else { 60 });
    let twice = |name: &str, suffix: &str, usage: &dyn Fn(bool) -> Use| {
        let other_name = format!("{name}-{suffix}");
        let measurements = vec![
            budgets::measure_budget(name, sampling, usage(false)),
            budgets::measure_budget(&other_name, sampling, usage(true)),
        ];
        Ok(measurements.into())
    };
    let trying = |name: &str, threads| {
        twice(name, "granted", &|granted_only| Use::Trying {
            threads,
            total: threads / 2,
            window,
            refusals_count: !granted_only,
        })
    };
    let waiting = |name: &str, threads, total| {
        twice(name, "slowest", &|slowest_counts| Use::Waiting {
            threads,
            total,
            window,
            slowest_counts,
        })
    };
    side_by_side::run("devices", common, &options.cases, NOTES, |case, name| match case {
        Case::TryAcquireUncontended => {
            Ok(budgets::measure_budget(name, sampling, Use::Alone).into())
        }
        Case::SlotsTryAcquire => Ok(budgets::measure_slots(name, sampling, Use::Alone).into()),
        Case::TryAcquire2 => trying(name, 2),
        Case::TryAcquire4 => trying(name, 4),
        Case::TryAcquire8 => trying(name, 8),
        Case::Acquire2 => waiting(name, 2, 1),
        Case::Acquire4 => waiting(name, 4, 1),
        Case::Acquire8 => waiting(name, 8, 1),
        Case::AcquireHalf4 => waiting(name, 4, 2),
        Case::AcquireHalf8 => waiting(name, 8, 4),
        Case::Lanes => {
            let hold = Duration::from_millis(options.hold_ms.get());
            let measurements = lanes::measure(name, options.lanes_runs.get(), hold)?;
            let remarks = measurements.first().map(share).into_iter().collect();
            Ok(Findings { measurements, remarks })
        }
    })
}

/// What our CPU time is of the peer's.
fn share(cpu: &Measurement) -> String {
    let ours = cpu.ours.median();
    let peers = cpu.peers.iter().map(|(peer, theirs)| {
        format!("{:.4} % of the CPU time of {peer}", 100.0 * ours / theirs.median())
    });
    format!("`{}`: {}", cpu.case, peers.collect::<Vec<_>>().join(", "))
}
