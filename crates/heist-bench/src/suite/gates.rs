//! The suite `gates`: the cost of a gate, and queues that schedule their own consumer against
//! channels.
//!
//! | case | what is measured |
//! |---|---|
//! | `schedule-hot` | only the flags: `schedule` on a gate that is already scheduled |
//! | `schedule-cold` | only the flags: `schedule` on an idle gate, `begin`, `finish` |
//! | `finish-and-schedule` | only the flags: `begin` and back to scheduled, in one step and in two |
//! | `gate-round-trip` | two threads that wake each other alternately, each through a waker and a gate |
//! | `queue-N` | N producers into one unbounded queue |
//! | `queue-bounded-N` | N producers into one queue with room for 1,024 items |
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
- `schedule-hot`, `schedule-cold` and `finish-and-schedule` measure only a gate's flags, on one
  thread: no signal, permit, wake-up or queue.
- `unsound` is a gate with plain loads and stores, which loses wake-ups. It shows the cost of
  soundness and is not an alternative.
- Queues: heist and tokio consume in batches on 2 workers; flume and crossbeam use a thread per
  queue.
";

/// The capacity of a bounded queue.
const CAPACITY: usize = 1024;

#[derive(Args, Debug)]
pub(crate) struct Options {
    #[command(flatten)]
    common: CommonOptions,
    /// Run only this case; may be repeated.
    #[arg(long = "case", value_name = "NAME")]
    cases: Vec<GateCase>,
    /// How many items heist's and tokio's consumers take at once; 64 is heist's default.
    #[arg(long, value_name = "N", default_value = "64")]
    batch: NonZeroUsize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum GateCase {
    /// Only a gate's flags: `schedule` on a gate that is already scheduled.
    ScheduleHot,
    /// Only a gate's flags: `schedule` on an idle gate, `begin`, `finish`.
    ScheduleCold,
    /// Only a gate's flags: `begin` and back to scheduled, in one step and in two.
    FinishAndSchedule,
    /// Two threads that wake each other alternately.
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
    /// One producer into a queue with room for 1,024 items.
    #[value(name = "queue-bounded-1")]
    QueueBounded1,
    /// Four producers into a queue with room for 1,024 items.
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
            GateCase::ScheduleHot => return Ok(flags::schedule_hot(sampling).into()),
            GateCase::ScheduleCold => return Ok(flags::schedule_cold(sampling).into()),
            GateCase::FinishAndSchedule => return Ok(flags::finish_and_schedule(sampling).into()),
            GateCase::GateRoundTrip => {
                let rounds = if common.quick { 500 } else { 3_000 };
                return Ok(round_trip::measure_round_trip(name, sampling, rounds).into());
            }
            GateCase::Queue1 => one_queue(1, None),
            GateCase::Queue2 => one_queue(2, None),
            GateCase::Queue4 => one_queue(4, None),
            GateCase::Queue8 => one_queue(8, None),
            GateCase::QueueBounded1 => one_queue(1, Some(CAPACITY)),
            GateCase::QueueBounded4 => one_queue(4, Some(CAPACITY)),
            GateCase::ThousandQueues => QueueLoad {
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
