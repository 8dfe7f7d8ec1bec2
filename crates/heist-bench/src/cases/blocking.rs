//! Blocking calls that do nothing, so that only the cost of handing them over remains.
//!
//! The load is the one that tokio uses for its own pool (pull request 7757): each producer spawns
//! 16 calls, waits for all of them, and repeats. Producers are threads of the benchmark, not
//! workers. Every contender gets the same limit on threads for blocking calls. Without it, calls
//! that do nothing would start hundreds of threads, and the benchmark would measure thread
//! creation.

use std::sync::Arc;

use ::tokio::runtime::Builder;

use crate::clock::now_ns;
use crate::contender::Contender;
use crate::race::start_together;
use crate::runtimes::{HEIST, TOKIO};

/// How a producer hands its calls over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HandOver {
    OneByOne,
    /// All calls of a round at once. Contenders without such an operation spawn one by one.
    Batch,
}

/// What each producer does, and the limit on threads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockingLoad {
    pub(crate) producers: usize,
    pub(crate) rounds: usize,
    /// Calls that a producer spawns before it waits for them.
    pub(crate) calls_per_round: usize,
    pub(crate) hand_over: HandOver,
    /// The largest number of threads for blocking calls.
    pub(crate) threads: usize,
}

impl BlockingLoad {
    /// Returns nanoseconds per call.
    fn time(self, round: impl Fn() + Sync) -> f64 {
        let start_ns = start_together(self.producers, |_number| {
            for _ in 0..self.rounds {
                round();
            }
        });
        let calls = self.producers * self.rounds * self.calls_per_round;
        (now_ns() - start_ns) as f64 / calls as f64
    }
}

/// The workers have nothing to do in these cases.
const WORKERS: usize = 2;

const ENDS_WELL: &str = "the calls neither panic nor are aborted";

pub(crate) fn contenders(load: BlockingLoad) -> Vec<Contender> {
    vec![heist(load), tokio(load)]
}

fn heist(load: BlockingLoad) -> Contender {
    let runtime = heist_runtime::Runtime::builder()
        .threads(WORKERS)
        .max_blocking_threads(load.threads)
        .build()
        .expect("a valid configuration, and the system has threads for the benchmark");
    let runtime = Arc::new(runtime);
    Contender::new(HEIST, move || {
        load.time(|| {
            let calls: Vec<_> = match load.hand_over {
                HandOver::OneByOne => {
                    (0..load.calls_per_round).map(|_| runtime.spawn_blocking(|| ())).collect()
                }
                HandOver::Batch => {
                    runtime.spawn_blocking_batch((0..load.calls_per_round).map(|_| || ()))
                }
            };
            runtime.block_on(async {
                for call in calls {
                    call.await.expect(ENDS_WELL);
                }
            });
        })
    })
}

fn tokio(load: BlockingLoad) -> Contender {
    let runtime = Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .max_blocking_threads(load.threads)
        .build()
        .expect("the system has threads for the benchmark");
    Contender::new(TOKIO, move || {
        load.time(|| {
            let calls: Vec<_> =
                (0..load.calls_per_round).map(|_| runtime.spawn_blocking(|| ())).collect();
            runtime.block_on(async {
                for call in calls {
                    call.await.expect(ENDS_WELL);
                }
            });
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_contender_makes_all_calls() {
        for hand_over in [HandOver::OneByOne, HandOver::Batch] {
            let load =
                BlockingLoad { producers: 2, rounds: 3, calls_per_round: 4, hand_over, threads: 3 };
            for mut contender in contenders(load) {
                assert!(contender.sample() > 0.0, "{}", contender.name());
            }
        }
    }
}
