//! Two threads that wake each other alternately: the cost of notifying a consumer that sleeps.
//!
//! A round trip is two wake-ups. Each thread waits at a bell of its own and, once woken, rings the
//! other's. Every contender may spin before it sleeps, as it does by default.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use ::heist::signal::{SignalGate, SignalWaker};
use ::tokio::sync::Notify;
use event_listener::{Event, Listener as _};
use futures_lite::future::block_on;

use crate::clock::now_ns;
use crate::contender::{Contender, Sampling, measure};
use crate::ratio::Unit;
use crate::report::Measurement;

/// A bell that one thread rings and another waits for. A ring that comes before the wait is not
/// lost.
trait Bell: Send + Sync + 'static {
    fn new() -> Self;
    fn ring(&self);
    fn wait(&self);
}

/// A waker with one queue, and the queue's gate. The consumer waits for a permit, takes the ready
/// queue, begins and finishes.
struct GateBell {
    gate: SignalGate,
}

impl Bell for GateBell {
    fn new() -> Self {
        Self { gate: SignalGate::new(SignalWaker::new(), 5).expect("there are 4,096") }
    }

    #[inline]
    fn ring(&self) {
        black_box(self.gate.schedule());
    }

    #[inline]
    fn wait(&self) {
        loop {
            let permit = self.gate.waker().acquire().expect("no worker waits here");
            // A permit may stand for no ready queue, and the guard may belong to another consumer.
            // Neither can happen with a single consumer, but this is how a consumer is written.
            if permit.take_ready().is_some()
                && let Some(guard) = self.gate.begin()
            {
                black_box(guard.finish());
                return;
            }
        }
    }
}

/// event-listener with a flag beside it, as its documentation shows.
struct ListenerBell {
    rung: AtomicBool,
    event: Event,
}

impl Bell for ListenerBell {
    fn new() -> Self {
        Self { rung: AtomicBool::new(false), event: Event::new() }
    }

    #[inline]
    fn ring(&self) {
        self.rung.store(true, Ordering::Release);
        self.event.notify(1);
    }

    #[inline]
    fn wait(&self) {
        loop {
            if self.rung.swap(false, Ordering::AcqRel) {
                return;
            }
            event_listener::listener!(self.event => listener);
            if self.rung.swap(false, Ordering::AcqRel) {
                return;
            }
            listener.wait();
        }
    }
}

/// tokio's `Notify`, awaited on a plain thread.
struct NotifyBell(Notify);

impl Bell for NotifyBell {
    fn new() -> Self {
        Self(Notify::new())
    }

    #[inline]
    fn ring(&self) {
        self.0.notify_one();
    }

    #[inline]
    fn wait(&self) {
        block_on(self.0.notified());
    }
}

pub(crate) fn measure_round_trip(case: &str, sampling: &Sampling, rounds: u32) -> Measurement {
    let contenders = vec![
        Contender::new("heist", move || microseconds_each::<GateBell>(rounds)),
        Contender::new("event-listener", move || microseconds_each::<ListenerBell>(rounds)),
        Contender::new("tokio Notify", move || microseconds_each::<NotifyBell>(rounds)),
    ];
    measure(case, Unit::Microseconds, sampling, contenders)
}

fn microseconds_each<B: Bell>(rounds: u32) -> f64 {
    let (there, back) = (Arc::new(B::new()), Arc::new(B::new()));
    let echo = {
        let (there, back) = (Arc::clone(&there), Arc::clone(&back));
        thread::spawn(move || {
            for _ in 0..=rounds {
                there.wait();
                back.ring();
            }
        })
    };
    // An answer shows that the other thread is running.
    there.ring();
    back.wait();
    let start_ns = now_ns();
    for _ in 0..rounds {
        there.ring();
        back.wait();
    }
    let elapsed_ns = now_ns() - start_ns;
    echo.join().expect("the other thread does not panic");
    elapsed_ns as f64 / 1e3 / f64::from(rounds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ring_of_every_bell_is_answered() {
        assert!(microseconds_each::<GateBell>(100) > 0.0);
        assert!(microseconds_each::<ListenerBell>(100) > 0.0);
        assert!(microseconds_each::<NotifyBell>(100) > 0.0);
    }
}
