//! The benchmarks that tokio runs on its own multi-thread scheduler, with the same structure and
//! sizes.
//!
//! A round is one iteration of tokio's benchmark, and the result is its duration. Setup that tokio
//! does once for all iterations happens here once per sample. The measuring thread is not a worker
//! and does not drive an executor, so `spawn_many_local` spawns from outside, despite its name.
//!
//! As in the original, threads wait on channels of the standard library. `ping_pong` uses tokio's
//! oneshot channel on every runtime: it is the original's, and it works on all of them. (On tokio
//! it draws on the cooperative budget, which two messages per task do not exhaust.)

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use ::tokio::sync::oneshot;

use super::busy::BusyFutures;
use crate::runtimes::{Experiment, FutureRuntime, Spawn};

const SPAWNS: usize = 10_000;
/// Spawns in [`TokioBenchmark::SpawnManyRemoteBusy2`], where each of them takes longer.
const SPAWNS_BUSY2: usize = 1_000;
const STALL: Duration = Duration::from_micros(10);
const PINGS: usize = 1_000;
const YIELDING_FUTURES: usize = 200;
const YIELDS: usize = 1_000;
const CHAIN: usize = 1_000;

const ENDS_HELD: &str = "both ends of the channel outlive the round";

/// What a round does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokioBenchmark {
    /// Spawns 10,000 futures that count down, within `block_on`.
    SpawnManyLocal,
    /// Spawns 10,000 empty futures from outside on an idle runtime and waits for them.
    SpawnManyRemoteIdle,
    /// The same while each worker has two futures that repeatedly compute for 10 us and yield.
    SpawnManyRemoteBusy1,
    /// 1,000 spawns while each worker has a future that computes for 10 us and spawns its
    /// successor.
    SpawnManyRemoteBusy2,
    /// 1,000 futures; each spawns a child, sends it a message and waits for the reply.
    PingPong,
    /// 200 futures that yield 1,000 times each.
    YieldMany,
    /// A chain of 1,000 futures, each spawned by the one before it.
    ChainedSpawn,
}

/// Measures microseconds per round.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rounds {
    pub(crate) benchmark: TokioBenchmark,
    pub(crate) workers: usize,
    /// A sample repeats its round for at least this long.
    pub(crate) at_least: Duration,
}

impl Experiment for Rounds {
    type Sample = f64;

    fn sample<R: FutureRuntime>(self, runtime: &R) -> f64 {
        match self.benchmark {
            TokioBenchmark::SpawnManyLocal => {
                let (countdown, done) = Countdown::new();
                self.time(|| spawn_many_local(runtime, &countdown, &done))
            }
            TokioBenchmark::SpawnManyRemoteIdle => self.time_remote(runtime, SPAWNS),
            TokioBenchmark::SpawnManyRemoteBusy1 => {
                let busy = BusyFutures::yielding(runtime, 2 * self.workers, stall);
                let micros = self.time_remote(runtime, SPAWNS);
                busy.stop();
                micros
            }
            TokioBenchmark::SpawnManyRemoteBusy2 => {
                let busy = BusyFutures::spawning(runtime, self.workers, stall);
                let micros = self.time_remote(runtime, SPAWNS_BUSY2);
                busy.stop();
                micros
            }
            TokioBenchmark::PingPong => {
                let (countdown, done) = Countdown::new();
                self.time(|| ping_pong(runtime, &countdown, &done))
            }
            TokioBenchmark::YieldMany => {
                let (sender, done) = sync_channel(YIELDING_FUTURES);
                self.time(|| yield_many(runtime, &sender, &done))
            }
            TokioBenchmark::ChainedSpawn => {
                let (sender, done) = sync_channel(1);
                self.time(|| chained_spawn(runtime, &sender, &done))
            }
        }
    }
}

impl Rounds {
    /// Runs one round to warm up, then repeats it for at least `at_least`, and returns microseconds
    /// per round.
    fn time(self, mut round: impl FnMut()) -> f64 {
        round();
        let (started, mut rounds) = (Instant::now(), 0);
        loop {
            round();
            rounds += 1;
            let elapsed = started.elapsed();
            if elapsed >= self.at_least {
                return elapsed.as_secs_f64() * 1e6 / f64::from(rounds);
            }
        }
    }

    /// Times rounds that spawn empty futures from outside.
    fn time_remote<R: FutureRuntime>(self, runtime: &R, spawns: usize) -> f64 {
        let mut handles = Vec::with_capacity(spawns);
        self.time(|| {
            for _ in 0..spawns {
                handles.push(runtime.spawn(async {}));
            }
            runtime.block_on(async {
                for handle in handles.drain(..) {
                    R::join(handle).await;
                }
            });
        })
    }
}

/// Notifies a thread when the last of several futures is done.
#[derive(Clone)]
struct Countdown {
    left: Arc<AtomicUsize>,
    done: SyncSender<()>,
}

impl Countdown {
    fn new() -> (Self, Receiver<()>) {
        let (done, all_done) = sync_channel(1);
        (Self { left: Arc::new(AtomicUsize::new(0)), done }, all_done)
    }

    #[inline]
    fn count_down(&self) {
        if self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.done.send(()).expect(ENDS_HELD);
        }
    }
}

fn spawn_many_local<R: FutureRuntime>(runtime: &R, countdown: &Countdown, done: &Receiver<()>) {
    let inside = runtime.inside();
    countdown.left.store(SPAWNS, Ordering::Relaxed);
    runtime.block_on(async {
        for _ in 0..SPAWNS {
            let countdown = countdown.clone();
            inside.spawn_detached(async move { countdown.count_down() });
        }
        done.recv().expect(ENDS_HELD);
    });
}

fn ping_pong<R: FutureRuntime>(runtime: &R, countdown: &Countdown, done: &Receiver<()>) {
    let inside = runtime.inside();
    let countdown = countdown.clone();
    countdown.left.store(PINGS, Ordering::Relaxed);
    runtime.block_on(async {
        inside.spawn_detached(async move {
            for _ in 0..PINGS {
                let countdown = countdown.clone();
                inside.spawn_detached(async move {
                    let (ping, pinged) = oneshot::channel();
                    let (pong, ponged) = oneshot::channel();
                    inside.spawn_detached(async move {
                        pinged.await.expect(ENDS_HELD);
                        pong.send(()).expect(ENDS_HELD);
                    });
                    ping.send(()).expect(ENDS_HELD);
                    ponged.await.expect(ENDS_HELD);
                    countdown.count_down();
                });
            }
        });
        done.recv().expect(ENDS_HELD);
    });
}

fn yield_many<R: FutureRuntime>(runtime: &R, sender: &SyncSender<()>, done: &Receiver<()>) {
    for _ in 0..YIELDING_FUTURES {
        let sender = sender.clone();
        runtime.spawn_detached(async move {
            for _ in 0..YIELDS {
                R::yield_now().await;
            }
            sender.send(()).expect(ENDS_HELD);
        });
    }
    for _ in 0..YIELDING_FUTURES {
        done.recv().expect(ENDS_HELD);
    }
}

fn chained_spawn<R: FutureRuntime>(runtime: &R, sender: &SyncSender<()>, done: &Receiver<()>) {
    let (inside, sender) = (runtime.inside(), sender.clone());
    runtime.block_on(async {
        inside.spawn_detached(async move { chain(inside, sender, CHAIN) });
        done.recv().expect(ENDS_HELD);
    });
}

fn chain<S: Spawn + Copy + Send + Sync + 'static>(inside: S, done: SyncSender<()>, left: usize) {
    if left == 0 {
        done.send(()).expect(ENDS_HELD);
    } else {
        inside.spawn_detached(async move { chain(inside, done, left - 1) });
    }
}

/// Computes for 10 us and, like the original, lets the system run other threads meanwhile.
fn stall() {
    let started = Instant::now();
    while started.elapsed() < STALL {
        thread::yield_now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtimes::all_runtimes;

    #[test]
    fn every_runtime_completes_every_benchmark() {
        for benchmark in [
            TokioBenchmark::SpawnManyLocal,
            TokioBenchmark::SpawnManyRemoteIdle,
            TokioBenchmark::SpawnManyRemoteBusy1,
            TokioBenchmark::SpawnManyRemoteBusy2,
            TokioBenchmark::PingPong,
            TokioBenchmark::YieldMany,
            TokioBenchmark::ChainedSpawn,
        ] {
            let rounds = Rounds { benchmark, workers: 2, at_least: Duration::ZERO };
            for mut contender in all_runtimes(2, rounds) {
                assert!(contender.sample() > 0.0, "{benchmark:?} on {}", contender.name());
            }
        }
    }

    #[test]
    fn a_stall_is_as_long_as_in_the_original() {
        let started = Instant::now();
        stall();
        assert!(started.elapsed() >= STALL);
    }
}
