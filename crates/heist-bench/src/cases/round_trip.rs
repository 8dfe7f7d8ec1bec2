//! Two threads that wake each other in turn: what it costs to announce something to a consumer that sleeps.
//!
//! A round trip is two wake-ups. Each thread has something of its own to wait at; whoever is woken wakes the other. All
//! of them may spin before they sleep, as they do by default.

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

/// A bell that one thread rings and another waits for. What was rung before the wait counts.
trait Bell: Send + Sync + 'static {
    fn new() -> Self;
    fn ring(&self);
    fn wait(&self);
}

/// A gate of a waker with one queue in use. Its consumer waits for a permit, takes the queue, and begins and finishes.
struct Gate {
    gate: SignalGate,
}

impl Bell for Gate {
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
            // Without a queue the permit stood for none; without a guard somebody else has it. Neither happens to a
            // single consumer, but a consumer is written like this.
            if permit.take_ready().is_some()
                && let Some(guard) = self.gate.begin()
            {
                black_box(guard.finish());
                return;
            }
        }
    }
}

/// event-listener beside a flag, as its documentation has it.
struct Listened {
    rung: AtomicBool,
    event: Event,
}

impl Bell for Listened {
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

/// tokio's `Notify`, waited for on a plain thread.
struct Notified(Notify);

impl Bell for Notified {
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
        Contender::new("heist", move || microseconds_each::<Gate>(rounds)),
        Contender::new("event-listener", move || microseconds_each::<Listened>(rounds)),
        Contender::new("tokio Notify", move || microseconds_each::<Notified>(rounds)),
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
    // The other is up when it has answered once.
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
    fn every_bell_is_heard_as_often_as_it_is_rung_in_turn() {
        assert!(microseconds_each::<Gate>(100) > 0.0);
        assert!(microseconds_each::<Listened>(100) > 0.0);
        assert!(microseconds_each::<Notified>(100) > 0.0);
    }
}
