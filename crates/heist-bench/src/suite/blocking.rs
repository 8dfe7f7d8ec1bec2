//! The suite `blocking`: `spawn_blocking` on heist and on tokio.
//!
//! | case | what is measured |
//! |---|---|
//! | `calls-N` | N producers, each of which spawns 16 calls that do nothing and waits for them |
//! | `batch-N` | the same, with heist's calls handed over in one batch |
//! | `round-trip` | one producer, one call at a time |
//! | `many-threads-N` | like `calls-N`, with the default limit on threads |

use clap::{Args, ValueEnum};

use super::side_by_side::{self, CommonOptions};
use crate::cases::blocking::{BlockingLoad, HandOver, contenders};
use crate::contender::measure;
use crate::ratio::Unit;

/// How to read the table.
const NOTES: &str = "\
- Values are medians of nanoseconds per call, from the first spawn to the last result; spread is
  the interquartile range in per cent of the median.
- A ratio above 1 means that heist is better.
- Each runtime has 2 workers, which have nothing to do, and at most 8 threads for blocking calls,
  or 512 in `many-threads`.
- To measure tokio's sharded queue, set `TOKIO_UNSTABLE_SHARDED_BLOCKING_QUEUE=1` in the
  environment.
";

/// Enough threads for all producers here, and few enough that they do not mainly compete for cores.
const THREADS: usize = 8;

/// The default limit of both runtimes.
const THREADS_DEFAULT: usize = 512;

#[derive(Args, Debug)]
pub(crate) struct Options {
    #[command(flatten)]
    common: CommonOptions,
    /// Run only this case; may be repeated.
    #[arg(long = "case", value_name = "NAME")]
    cases: Vec<BlockingCase>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum BlockingCase {
    /// One producer, 16 calls per round.
    #[value(name = "calls-1")]
    Calls1,
    /// Two producers, 16 calls per round.
    #[value(name = "calls-2")]
    Calls2,
    /// Four producers, 16 calls per round.
    #[value(name = "calls-4")]
    Calls4,
    /// Eight producers, 16 calls per round.
    #[value(name = "calls-8")]
    Calls8,
    /// One producer, 16 calls in one batch.
    #[value(name = "batch-1")]
    Batch1,
    /// Four producers, 16 calls in one batch.
    #[value(name = "batch-4")]
    Batch4,
    /// One producer, one call at a time.
    RoundTrip,
    /// One producer, with the default limit on threads.
    #[value(name = "many-threads-1")]
    ManyThreads1,
    /// Four producers, with the default limit on threads.
    #[value(name = "many-threads-4")]
    ManyThreads4,
}

pub(crate) fn run(options: &Options) -> Result<(), String> {
    let common = &options.common;
    let rounds = if common.quick { 100 } else { 1_000 };
    side_by_side::run("blocking", common, &options.cases, NOTES, |case, name| {
        let calls = |producers, hand_over, threads| BlockingLoad {
            producers,
            rounds,
            calls_per_round: 16,
            hand_over,
            threads,
        };
        let load = match case {
            BlockingCase::Calls1 => calls(1, HandOver::OneByOne, THREADS),
            BlockingCase::Calls2 => calls(2, HandOver::OneByOne, THREADS),
            BlockingCase::Calls4 => calls(4, HandOver::OneByOne, THREADS),
            BlockingCase::Calls8 => calls(8, HandOver::OneByOne, THREADS),
            BlockingCase::Batch1 => calls(1, HandOver::Batch, THREADS),
            BlockingCase::Batch4 => calls(4, HandOver::Batch, THREADS),
            BlockingCase::RoundTrip => BlockingLoad {
                calls_per_round: 1,
                rounds: 10 * rounds,
                ..calls(1, HandOver::OneByOne, THREADS)
            },
            BlockingCase::ManyThreads1 => calls(1, HandOver::OneByOne, THREADS_DEFAULT),
            BlockingCase::ManyThreads4 => calls(4, HandOver::OneByOne, THREADS_DEFAULT),
        };
        Ok(measure(name, Unit::Nanoseconds, &common.sampling(), contenders(load)).into())
    })
}
