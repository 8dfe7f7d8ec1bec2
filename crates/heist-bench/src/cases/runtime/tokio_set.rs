//! The benchmarks by which tokio watches its own multi-thread scheduler, with the same shapes and sizes.
//!
//! A round is what tokio measures at a time, and the result is its duration. What is prepared for all rounds there is
//! prepared for all rounds of a sample here. The thread that measures is no worker and drives no executor, so
//! `spawn_many_local` spawns from outside, in spite of its name.
//!
//! Whatever a thread waits for is a channel of the standard library, as in the original. The oneshot channel of
//! `ping_pong` is tokio's for everybody: it is the original's, and works on every runtime. (On tokio it counts towards
//! the cooperative budget, which two messages a task do not use up.)

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use ::tokio::sync::oneshot;

use super::busy::Busy;
use crate::runtimes::{Experiment, FutureRuntime, Spawn};

const SPAWNS: usize = 10_000;
/// Fewer with [`Shape::SpawnManyRemoteBusy2`], where each takes longer.
const SPAWNS_BUSY2: usize = 1_000;
const STALL: Duration = Duration::from_micros(10);
const PINGS: usize = 1_000;
const YIELDING_FUTURES: usize = 200;
const YIELDS: usize = 1_000;
const CHAIN: usize = 1_000;

const ENDS_HELD: &str = "both ends of the channel outlive the round";

/// What a round does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// 10,000 futures that count down, spawned within `block_on`.
    SpawnManyLocal,
    /// 10,000 empty futures from outside, which are then waited for; there is nothing else to do.
    SpawnManyRemoteIdle,
    /// The same beside two futures a worker that take 10 us and yield, again and again.
    SpawnManyRemoteBusy1,
    /// 1,000 of them beside a future a worker that takes 10 us and spawns its like.
    SpawnManyRemoteBusy2,
    /// 1,000 futures, each of which has a child, sends it a message and waits for one.
    PingPong,
    /// 200 futures that yield 1,000 times each.
    YieldMany,
    /// A chain of 1,000 futures, each spawned by the one before.
    ChainedSpawn,
}

/// Microseconds a round.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rounds {
    pub(crate) shape: Shape,
    pub(crate) workers: usize,
    /// A sample has as many rounds as this takes.
    pub(crate) at_least: Duration,
}

impl Experiment for Rounds {
    type Sample = f64;

    fn sample<R: FutureRuntime>(self, runtime: &R) -> f64 {
        match self.shape {
            Shape::SpawnManyLocal => {
                let (countdown, done) = Countdown::new();
                self.time(|| spawn_many_local(runtime, &countdown, &done))
            }
            Shape::SpawnManyRemoteIdle => self.time_remote(runtime, SPAWNS),
            Shape::SpawnManyRemoteBusy1 => {
                let busy = Busy::yielding(runtime, 2 * self.workers, stall);
                let micros = self.time_remote(runtime, SPAWNS);
                busy.stop();
                micros
            }
            Shape::SpawnManyRemoteBusy2 => {
                let busy = Busy::spawning(runtime, self.workers, stall);
                let micros = self.time_remote(runtime, SPAWNS_BUSY2);
                busy.stop();
                micros
            }
            Shape::PingPong => {
                let (countdown, done) = Countdown::new();
                self.time(|| ping_pong(runtime, &countdown, &done))
            }
            Shape::YieldMany => {
                let (sender, done) = sync_channel(YIELDING_FUTURES);
                self.time(|| yield_many(runtime, &sender, &done))
            }
            Shape::ChainedSpawn => {
                let (sender, done) = sync_channel(1);
                self.time(|| chained_spawn(runtime, &sender, &done))
            }
        }
    }
}

impl Rounds {
    /// Has one round to warm up, and then rounds for long enough.
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

    /// Rounds of empty futures from outside.
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

/// Tells a thread when the last of several futures is done.
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

/// Takes 10 us, and lets other threads run meanwhile if they must, as the original does.
fn stall() {
    let started = Instant::now();
    while started.elapsed() < STALL {
        thread::yield_now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtimes::everybody;

    #[test]
    fn everybody_gets_through_every_shape() {
        for shape in [
            Shape::SpawnManyLocal,
            Shape::SpawnManyRemoteIdle,
            Shape::SpawnManyRemoteBusy1,
            Shape::SpawnManyRemoteBusy2,
            Shape::PingPong,
            Shape::YieldMany,
            Shape::ChainedSpawn,
        ] {
            let rounds = Rounds { shape, workers: 2, at_least: Duration::ZERO };
            for mut contender in everybody(2, rounds) {
                assert!(contender.sample() > 0.0, "{shape:?} on {}", contender.name());
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
