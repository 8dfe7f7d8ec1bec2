//! The suite `devices`: budgets and device slots against semaphores, and lanes against requeueing.
//!
//! | case | what is measured |
//! |---|---|
//! | `try-acquire-uncontended` | `CountBudget::try_acquire` and drop, on one thread |
//! | `slots-try-acquire` | `DeviceSlots::try_acquire` and drop, on one thread, against the same semaphores |
//! | `try-acquire-N` | N threads that repeatedly try to take one of N / 2 units: time per attempt and per success |
//! | `acquire-N` | N threads that wait for one unit and return it at once: all threads, and the slowest one |
//! | `acquire-half-N` | the same with N / 2 units |
//! | `lanes` | 1,000 jobs for a device whose slots are taken: CPU time and switches of the waiting pool |

use std::num::{NonZeroU64, NonZeroUsize};
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::side_by_side::{self, CaseResults, CommonOptions};
use crate::cases::budgets::{self, BudgetUse};
use crate::cases::lanes;
use crate::report::Measurement;

/// How to read the table.
const NOTES: &str = "\
- Values are medians; spread is the interquartile range in per cent of the median.
- A ratio above 1 means that heist is better.
- `lanes`: ratios are computed with 1 us, or 1 switch, added to both sides.
- `try-acquire-N` counts every attempt, and a refusal is cheap: a semaphore refuses often if its
  holders are descheduled while they hold a unit. `try-acquire-N-granted` counts only successes.
- With several threads a value is the elapsed time divided by the operations of all threads.
- `acquire-N-slowest` is the time per operation of the thread that completed the fewest.
- heist and tokio grant units in the order of requests. With more threads than free CPUs, every
  hand-over may have to wait until a thread wakes up, and all others wait behind it. async-lock and
  the condition variable give the unit to a thread that is already running.
";

#[derive(Args, Debug)]
pub(crate) struct Options {
    #[command(flatten)]
    common: CommonOptions,
    /// Run only this case; may be repeated.
    #[arg(long = "case", value_name = "NAME")]
    cases: Vec<DeviceCase>,
    /// How long the device slots are taken in `lanes`, in milliseconds.
    #[arg(long, value_name = "MS", default_value = "2000")]
    hold_ms: NonZeroU64,
    /// Runs of `lanes`; a few are enough, because each takes seconds.
    #[arg(long, value_name = "N", default_value = "3")]
    lanes_runs: NonZeroUsize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum DeviceCase {
    /// `CountBudget::try_acquire` and drop, on one thread.
    TryAcquireUncontended,
    /// `DeviceSlots::try_acquire` and drop, on one thread.
    SlotsTryAcquire,
    /// Two threads that try to take one unit.
    #[value(name = "try-acquire-2")]
    TryAcquire2,
    /// Four threads that try to take one of two units.
    #[value(name = "try-acquire-4")]
    TryAcquire4,
    /// Eight threads that try to take one of four units.
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
    /// Four threads that wait for one of two units.
    #[value(name = "acquire-half-4")]
    AcquireHalf4,
    /// Eight threads that wait for one of four units.
    #[value(name = "acquire-half-8")]
    AcquireHalf8,
    /// CPU time and context switches of a pool whose jobs wait for a device: in lanes, and
    /// requeued.
    Lanes,
}

pub(crate) fn run(options: &Options) -> Result<(), String> {
    let common = &options.common;
    let sampling = &common.sampling();
    let window = Duration::from_millis(if common.quick { 20 } else { 60 });
    let twice = |name: &str, suffix: &str, usage: &dyn Fn(bool) -> BudgetUse| {
        let other_name = format!("{name}-{suffix}");
        let measurements = vec![
            budgets::measure_budget(name, sampling, usage(false)),
            budgets::measure_budget(&other_name, sampling, usage(true)),
        ];
        Ok(measurements.into())
    };
    let trying = |name: &str, threads| {
        twice(name, "granted", &|granted_only| BudgetUse::Trying {
            threads,
            total: threads / 2,
            window,
            refusals_count: !granted_only,
        })
    };
    let waiting = |name: &str, threads, total| {
        twice(name, "slowest", &|slowest_counts| BudgetUse::Waiting {
            threads,
            total,
            window,
            slowest_counts,
        })
    };
    side_by_side::run("devices", common, &options.cases, NOTES, |case, name| match case {
        DeviceCase::TryAcquireUncontended => {
            Ok(budgets::measure_budget(name, sampling, BudgetUse::Alone).into())
        }
        DeviceCase::SlotsTryAcquire => {
            Ok(budgets::measure_slots(name, sampling, BudgetUse::Alone).into())
        }
        DeviceCase::TryAcquire2 => trying(name, 2),
        DeviceCase::TryAcquire4 => trying(name, 4),
        DeviceCase::TryAcquire8 => trying(name, 8),
        DeviceCase::Acquire2 => waiting(name, 2, 1),
        DeviceCase::Acquire4 => waiting(name, 4, 1),
        DeviceCase::Acquire8 => waiting(name, 8, 1),
        DeviceCase::AcquireHalf4 => waiting(name, 4, 2),
        DeviceCase::AcquireHalf8 => waiting(name, 8, 4),
        DeviceCase::Lanes => {
            let hold = Duration::from_millis(options.hold_ms.get());
            let measurements = lanes::measure(name, options.lanes_runs.get(), hold)?;
            let remarks = measurements.first().map(share).into_iter().collect();
            Ok(CaseResults { measurements, remarks })
        }
    })
}

/// Describes heist's CPU time as a share of the peer's.
fn share(cpu: &Measurement) -> String {
    let ours = cpu.ours.median();
    let peers = cpu.peers.iter().map(|(peer, theirs)| {
        format!("{:.4} % of the CPU time of {peer}", 100.0 * ours / theirs.median())
    });
    format!("`{}`: {}", cpu.case, peers.collect::<Vec<_>>().join(", "))
}
