//! Memory per future: while it waits, and from spawn to end if it is short.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use crate::allocations::counted;
use crate::contender::{Sampling, measure_rows};
use crate::ratio::Unit;
use crate::report::Measurement;
use crate::runtimes::{Experiment, FutureRuntime, Spawn, all_runtimes};

/// Short futures that exist at the same time.
const SHORT_AT_A_TIME: usize = 1_000;
/// Time for queues to release the memory that they needed only while they were full.
const SETTLE: Duration = Duration::from_millis(5);

/// Measures waiting futures of 64 bytes and of 1 KiB, and short ones.
pub(crate) fn measure(workers: usize, sampling: &Sampling, futures: usize) -> Vec<Measurement> {
    let rows = |what: &str| {
        [
            (format!("memory_{what}_bytes-{workers}"), Unit::Bytes),
            (format!("memory_{what}_allocations-{workers}"), Unit::Allocations),
        ]
    };
    let small = WaitingFutures::<48> { futures };
    let large = WaitingFutures::<1008> { futures };
    let short_inside = ShortFutures { futures, from_outside: false };
    let short_outside = ShortFutures { futures, from_outside: true };
    [
        measure_rows(rows("waiting_64"), sampling, all_runtimes(workers, small)),
        measure_rows(rows("waiting_1024"), sampling, all_runtimes(workers, large)),
        measure_rows(rows("short_inside"), sampling, all_runtimes(workers, short_inside)),
        measure_rows(rows("short_outside"), sampling, all_runtimes(workers, short_outside)),
    ]
    .concat()
}

/// Bytes and allocations of a future while it waits, including its own size: `CARRIES` and 16
/// bytes.
#[derive(Clone, Copy, Debug)]
struct WaitingFutures<const CARRIES: usize> {
    futures: usize,
}

impl<const CARRIES: usize> Experiment for WaitingFutures<CARRIES> {
    type Sample = [f64; 2];

    fn sample<R: FutureRuntime>(self, runtime: &R) -> [f64; 2] {
        let event = Arc::new(Event::for_futures(self.futures));
        let allocated = counted(|| {
            for number in 0..self.futures {
                let event = Arc::clone(&event);
                runtime.spawn_detached(Sleeper { event, number, _carried: [0; CARRIES] });
            }
            while event.waiting.load(Ordering::Acquire) < self.futures {
                thread::sleep(Duration::from_micros(100));
            }
            thread::sleep(SETTLE);
        });
        event.happen();
        while Arc::strong_count(&event) > 1 {
            thread::sleep(Duration::from_micros(100));
        }
        let futures = self.futures as f64;
        [allocated.bytes_kept as f64 / futures, allocated.allocations as f64 / futures]
    }
}

/// An event that all futures wait for. It allocates everything before the first future starts.
struct Event {
    has_happened: AtomicBool,
    waiting: AtomicUsize,
    /// One for each future.
    wakers: Vec<Mutex<Option<Waker>>>,
}

impl Event {
    fn for_futures(futures: usize) -> Self {
        Self {
            has_happened: AtomicBool::new(false),
            waiting: AtomicUsize::new(0),
            wakers: (0..futures).map(|_| Mutex::new(None)).collect(),
        }
    }

    /// Wakes all futures; every one of them must be waiting already.
    fn happen(&self) {
        self.has_happened.store(true, Ordering::Release);
        for waker in &self.wakers {
            let waker = waker.lock().unwrap_or_else(PoisonError::into_inner).take();
            waker.expect("all futures wait").wake();
        }
    }
}

/// A future that waits for the event.
struct Sleeper<const CARRIES: usize> {
    event: Arc<Event>,
    number: usize,
    _carried: [u8; CARRIES],
}

impl<const CARRIES: usize> Future for Sleeper<CARRIES> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.event.has_happened.load(Ordering::Acquire) {
            return Poll::Ready(());
        }
        let mut waker =
            self.event.wakers[self.number].lock().unwrap_or_else(PoisonError::into_inner);
        if waker.replace(context.waker().clone()).is_none() {
            self.event.waiting.fetch_add(1, Ordering::Release);
        }
        Poll::Pending
    }
}

/// Bytes and allocations of a future from spawn to end, whether or not they are freed. The spawner
/// waits for a thousand futures at a time.
#[derive(Clone, Copy, Debug)]
struct ShortFutures {
    futures: usize,
    from_outside: bool,
}

impl Experiment for ShortFutures {
    type Sample = [f64; 2];

    fn sample<R: FutureRuntime>(self, runtime: &R) -> [f64; 2] {
        let allocated = counted(|| {
            if self.from_outside {
                let mut handles = Vec::with_capacity(SHORT_AT_A_TIME);
                for _ in 0..self.futures / SHORT_AT_A_TIME {
                    handles.extend((0..SHORT_AT_A_TIME).map(|value| runtime.spawn(short(value))));
                    runtime.block_on(async {
                        for handle in handles.drain(..) {
                            R::join(handle).await;
                        }
                    });
                }
            } else {
                let root = runtime.spawn(spawn_and_wait(runtime.inside(), self.futures));
                runtime.block_on(R::join(root));
            }
        });
        let futures = self.futures as f64;
        [allocated.bytes as f64 / futures, allocated.allocations as f64 / futures]
    }
}

async fn spawn_and_wait<S: Spawn + Copy + Send + Sync + 'static>(inside: S, futures: usize) {
    let mut handles = Vec::with_capacity(SHORT_AT_A_TIME);
    for _ in 0..futures / SHORT_AT_A_TIME {
        handles.extend((0..SHORT_AT_A_TIME).map(|value| inside.spawn(short(value))));
        for handle in handles.drain(..) {
            S::join(handle).await;
        }
    }
}

/// A future of 16 bytes or less that ends at its first poll.
async fn short(value: usize) -> usize {
    value + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn futures_are_as_large_as_their_rows_say() {
        assert_eq!(size_of::<Sleeper<48>>(), 64);
        assert_eq!(size_of::<Sleeper<1008>>(), 1024);
        assert!(size_of_val(&short(1)) <= 16);
    }

    #[test]
    fn every_runtime_allocates_at_least_once_per_future() {
        for mut contender in all_runtimes(2, WaitingFutures::<1008> { futures: 2_000 }) {
            let [bytes, allocations] = contender.sample();
            assert!(
                bytes > 1024.0 && allocations >= 1.0,
                "{}: {bytes} {allocations}",
                contender.name()
            );
        }
        for from_outside in [false, true] {
            for mut contender in all_runtimes(2, ShortFutures { futures: 2_000, from_outside }) {
                let [bytes, allocations] = contender.sample();
                assert!(
                    bytes > 16.0 && allocations >= 1.0,
                    "{}: {bytes} {allocations}",
                    contender.name()
                );
            }
        }
    }
}
