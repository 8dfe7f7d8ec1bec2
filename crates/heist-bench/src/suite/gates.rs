//! The suite `gates`: what a gate costs, and queues that schedule their own consumer against channels.
//!
//! | case | what is measured |
//! |---|---|
//! | `schedule-hot` | the flags alone: `schedule` of a gate that is scheduled already |
//! | `schedule-cold` | the flags alone: `schedule` of an idle gate, `begin`, `finish` |
//! | `finish-and-schedule` | the flags alone: `begin` and back to scheduled, in one step and in two |
//! | `gate-round-trip` | two threads that wake each other in turn through a waker and a gate each |
//! | `queue-N` | N producers into one unbounded queue |
//! | `queue-bounded-N` | N producers into one queue for 1,024 items |
//! | `thousand-queues` | 4 producers into 10 of 1,000 queues |

use std::num::NonZeroUsize;

use clap::{Args, ValueEnum};

use super::side_by_side::{self, CommonOptions};
use crate::cases::{flags, queues, round_trip};
use crate::queues::QueueLoad;

/// How to read the table.
const NOTES: &str = "\
- Values are medians; spread is the interquartile range in per cent of the median.
- A ratio above 1 means that heist is better.
- `schedule-hot`, `schedule-cold` and `finish-and-schedule` are the flags of a gate alone, on one thread: without
  signal, permit, wake-up and queue.
- `unsound` is a gate with plain loads and stores, which loses wake-ups: the price of soundness, not a choice.
- Queues: heist and tokio consume on 2 workers, in batches; flume and crossbeam on a thread for each queue.
";

/// Items of a bounded queue.
const CAPACITY: usize = 1024;

#[derive(Args, Debug)]
pub(crate) struct Options {
    #[command(flatten)]
    common: CommonOptions,
    /// Only this case; may be given several times.
    #[arg(long = "case", value_name = "NAME")]
    cases: Vec<Case>,
    /// How many items heist's and tokio's consumers take at once; 64 is heist's default.
    #[arg(long, value_name = "N", default_value = "64")]
    batch: NonZeroUsize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Case {
    /// The flags of a gate alone: `schedule` of one that is scheduled already.
    ScheduleHot,
    /// The flags of a gate alone: `schedule` of an idle one, `begin`, `finish`.
    ScheduleCold,
    /// The flags of a gate alone: `begin` and back to scheduled, in one step and in two.
    FinishAndSchedule,
    /// Two threads that wake each other in turn.
    GateRoundTrip,
    /// One producer into one unbounded queue.
    #[value(name = "queue-1")]
    Queue1,
    /// Two producers into one unbounded queue.
    #[value(name = "queue-2")]
    Queue2,
    /// Four producers into one unbounded queue.
    #[value(name = "queue-4")]
    Queue4,
    /// Eight producers into one unbounded queue.
    #[value(name = "queue-8")]
    Queue8,
    /// One producer into a queue for 1,024 items.
    #[value(name = "queue-bounded-1")]
    QueueBounded1,
    /// Four producers into a queue for 1,024 items.
    #[value(name = "queue-bounded-4")]
    QueueBounded4,
    /// Four producers into 10 of 1,000 queues.
    ThousandQueues,
}

pub(crate) fn run(options: &Options) -> Result<(), String> {
    let common = &options.common;
    let sampling = &common.sampling();
    let items = |full: u64| if common.quick { full / 5 } else { full };
    let one_queue = |producers, capacity: Option<usize>| QueueLoad {
        producers,
        items_per_producer: items(if capacity.is_some() { 400_000 } else { 1_000_000 }) / producers,
        queues: 1,
        busy_queues: 1,
        capacity,
        batch: options.batch.get(),
    };
    side_by_side::run("gates", common, &options.cases, NOTES, |case, name| {
        let load = match case {
            Case::ScheduleHot => return Ok(flags::schedule_hot(sampling).into()),
            Case::ScheduleCold => return Ok(flags::schedule_cold(sampling).into()),
            Case::FinishAndSchedule => return Ok(flags::finish_and_schedule(sampling).into()),
            Case::GateRoundTrip => {
                let rounds = if common.quick { 500 } else { 3_000 };
                return Ok(round_trip::measure_round_trip(name, sampling, rounds).into());
            }
            Case::Queue1 => one_queue(1, None),
            Case::Queue2 => one_queue(2, None),
            Case::Queue4 => one_queue(4, None),
            Case::Queue8 => one_queue(8, None),
            Case::QueueBounded1 => one_queue(1, Some(CAPACITY)),
            Case::QueueBounded4 => one_queue(4, Some(CAPACITY)),
            Case::ThousandQueues => QueueLoad {
                producers: 4,
                items_per_producer: items(100_000),
                queues: 1000,
                busy_queues: 10,
                capacity: None,
                batch: options.batch.get(),
            },
        };
        Ok(queues::measure_load(name, sampling, load).into())
    })
}
