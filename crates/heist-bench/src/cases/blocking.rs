//! Blocking calls that do nothing: what is left is what handing them over costs.
//!
//! The shape is the one by which tokio measures its own (pull request 7757): each producer spawns 16 calls, waits for
//! all of them, and does so again. Producers are threads of the benchmark and no workers. The threads for blocking
//! calls are limited to as many for everybody: calls that do nothing would otherwise have hundreds of threads started,
//! and those would be measured.

use std::sync::Arc;

use ::tokio::runtime::Builder;

use crate::clock::now_ns;
use crate::contender::Contender;
use crate::race::start_together;
use crate::runtimes::{HEIST, TOKIO};

/// How a producer hands its calls over, where that makes a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HandOver {
    OneByOne,
    /// All calls of a round at once. Who cannot do that does it one by one.
    Batch,
}

/// What the producers do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub(crate) producers: usize,
    pub(crate) rounds: usize,
    /// Calls that a producer spawns before it waits for them.
    pub(crate) calls_per_round: usize,
    pub(crate) hand_over: HandOver,
    /// No more threads for calls than this.
    pub(crate) threads: usize,
}

impl Load {
    /// Nanoseconds a call.
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

/// Workers have nothing to do here.
const WORKERS: usize = 2;

const ENDS_WELL: &str = "the calls do not panic and nobody aborts them";

pub(crate) fn contenders(load: Load) -> Vec<Contender> {
    vec![heist(load), tokio(load)]
}

fn heist(load: Load) -> Contender {
    let runtime = heist_runtime::Runtime::builder()
        .workers(WORKERS)
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

fn tokio(load: Load) -> Contender {
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
    fn everybody_makes_the_calls() {
        for hand_over in [HandOver::OneByOne, HandOver::Batch] {
            let load = Load { producers: 2, rounds: 3, calls_per_round: 4, hand_over, threads: 3 };
            for mut contender in contenders(load) {
                assert!(contender.sample() > 0.0, "{}", contender.name());
            }
        }
    }
}
