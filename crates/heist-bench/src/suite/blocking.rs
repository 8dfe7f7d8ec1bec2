//! The suite `blocking`: `spawn_blocking` against tokio's.
//!
//! | case | what is measured |
//! |---|---|
//! | `calls-N` | N producers, each of which spawns 16 calls that do nothing and waits for them |
//! | `batch-N` | the same, with heist's calls handed over at once |
//! | `round-trip` | one producer, one call at a time |
//! | `many-threads-N` | as `calls-N`, with as many threads as the default allows |

use clap::{Args, ValueEnum};

use super::side_by_side::{self, CommonOptions};
use crate::cases::blocking::{HandOver, Load, contenders};
use crate::contender::measure;
use crate::ratio::Unit;

/// How to read the table.
const NOTES: &str = "\
- Values are medians of nanoseconds a call, from the first spawn to the last result; spread is the interquartile range
  in per cent of the median.
- A ratio above 1 means that heist is better.
- Everybody has 2 workers, which have nothing to do, and at most 8 threads for calls; `many-threads` 512.
- tokio's other queue, with several locks, is measured with `TOKIO_UNSTABLE_SHARDED_BLOCKING_QUEUE=1` in the
  environment.
";

/// Enough for all producers here, and few enough that they do not only fight for the cores.
const THREADS: usize = 8;

/// The default of both.
const THREADS_DEFAULT: usize = 512;

#[derive(Args, Debug)]
pub(crate) struct Options {
    #[command(flatten)]
    common: CommonOptions,
    /// Only this case; may be given several times.
    #[arg(long = "case", value_name = "NAME")]
    cases: Vec<Case>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Case {
    /// One producer, 16 calls at a time.
    #[value(name = "calls-1")]
    Calls1,
    /// Two producers.
    #[value(name = "calls-2")]
    Calls2,
    /// Four producers.
    #[value(name = "calls-4")]
    Calls4,
    /// Eight producers.
    #[value(name = "calls-8")]
    Calls8,
    /// One producer, 16 calls at once.
    #[value(name = "batch-1")]
    Batch1,
    /// Four producers, 16 calls at once.
    #[value(name = "batch-4")]
    Batch4,
    /// One producer, one call at a time.
    RoundTrip,
    /// One producer and as many threads as the default allows.
    #[value(name = "many-threads-1")]
    ManyThreads1,
    /// Four producers and as many threads as the default allows.
    #[value(name = "many-threads-4")]
    ManyThreads4,
}

pub(crate) fn run(options: &Options) -> Result<(), String> {
    let common = &options.common;
    let rounds = if common.quick { 100 } else { 1_000 };
    side_by_side::run("blocking", common, &options.cases, NOTES, |case, name| {
        let calls = |producers, hand_over, threads| Load {
            producers,
            rounds,
            calls_per_round: 16,
            hand_over,
            threads,
        };
        let load = match case {
            Case::Calls1 => calls(1, HandOver::OneByOne, THREADS),
            Case::Calls2 => calls(2, HandOver::OneByOne, THREADS),
            Case::Calls4 => calls(4, HandOver::OneByOne, THREADS),
            Case::Calls8 => calls(8, HandOver::OneByOne, THREADS),
            Case::Batch1 => calls(1, HandOver::Batch, THREADS),
            Case::Batch4 => calls(4, HandOver::Batch, THREADS),
            Case::RoundTrip => Load {
                calls_per_round: 1,
                rounds: 10 * rounds,
                ..calls(1, HandOver::OneByOne, THREADS)
            },
            Case::ManyThreads1 => calls(1, HandOver::OneByOne, THREADS_DEFAULT),
            Case::ManyThreads4 => calls(4, HandOver::OneByOne, THREADS_DEFAULT),
        };
        Ok(measure(name, Unit::Nanoseconds, &common.sampling(), contenders(load)).into())
    })
}
