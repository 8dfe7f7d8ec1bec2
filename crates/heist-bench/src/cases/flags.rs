//! The cost of a gate's state transitions on one thread: heist's sound flags against unsound ones.

use std::hint::black_box;
use std::time::Instant;

use ::heist::__internal::signal::GateFlags;

use crate::contender::{Contender, Sampling, measure};
use crate::ratio::Unit;
use crate::reference_gate::UnsoundGate;
use crate::report::Measurement;

const ROUNDS: u32 = 1_000_000;

/// Measures `schedule` on a gate that is already scheduled.
pub(crate) fn schedule_hot(sampling: &Sampling) -> Measurement {
    let sound = GateFlags::new();
    let unsound = UnsoundGate::new();
    assert!(sound.schedule().must_announce() && unsound.schedule());
    let contenders = vec![
        Contender::new("heist", move || {
            nanoseconds_each(|| {
                black_box(black_box(&sound).schedule().must_announce());
            })
        }),
        Contender::new("unsound", move || {
            nanoseconds_each(|| {
                black_box(black_box(&unsound).schedule());
            })
        }),
    ];
    measure("schedule-hot", Unit::Nanoseconds, sampling, contenders)
}

/// Measures `schedule` on an idle gate, then `begin` and `finish`.
pub(crate) fn schedule_cold(sampling: &Sampling) -> Measurement {
    let sound = GateFlags::new();
    let unsound = UnsoundGate::new();
    let contenders = vec![
        Contender::new("heist", move || {
            nanoseconds_each(|| {
                let gate = black_box(&sound);
                black_box(gate.schedule().must_announce());
                black_box(gate.begin());
                black_box(gate.finish());
            })
        }),
        Contender::new("unsound", move || {
            nanoseconds_each(|| {
                let gate = black_box(&unsound);
                black_box(gate.schedule());
                gate.begin();
                black_box(gate.finish());
            })
        }),
    ];
    measure("schedule-cold", Unit::Nanoseconds, sampling, contenders)
}

/// Measures `begin` on a scheduled gate and the way back to scheduled, in one step and in two.
pub(crate) fn finish_and_schedule(sampling: &Sampling) -> Measurement {
    let (sound, sound_twice) = (GateFlags::new(), GateFlags::new());
    let (unsound, unsound_twice) = (UnsoundGate::new(), UnsoundGate::new());
    assert!(sound.schedule().must_announce() && sound_twice.schedule().must_announce());
    assert!(unsound.schedule() && unsound_twice.schedule());
    let contenders = vec![
        Contender::new("heist", move || {
            nanoseconds_each(|| {
                let gate = black_box(&sound);
                black_box(gate.begin());
                gate.finish_and_schedule();
            })
        }),
        Contender::new("heist, finish then schedule", move || {
            nanoseconds_each(|| {
                let gate = black_box(&sound_twice);
                black_box(gate.begin());
                black_box(gate.finish());
                black_box(gate.schedule().must_announce());
            })
        }),
        Contender::new("unsound", move || {
            nanoseconds_each(|| {
                let gate = black_box(&unsound);
                gate.begin();
                gate.finish_and_schedule();
            })
        }),
        Contender::new("unsound, finish then schedule", move || {
            nanoseconds_each(|| {
                let gate = black_box(&unsound_twice);
                gate.begin();
                black_box(gate.finish());
                black_box(gate.schedule());
            })
        }),
    ];
    measure("finish-and-schedule", Unit::Nanoseconds, sampling, contenders)
}

fn nanoseconds_each(mut round: impl FnMut()) -> f64 {
    let started = Instant::now();
    for _ in 0..ROUNDS {
        round();
    }
    started.elapsed().as_nanos() as f64 / f64::from(ROUNDS)
}
