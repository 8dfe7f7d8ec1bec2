//! Proves that a runtime's documented defaults are the real ones, that its builder sets every
//! field, and that an impossible value is an error that names its field.

use crate::support::watched;
use heist::StartError;
use heist_runtime::{Runtime, RuntimeBuilder};
use std::time::Duration;

#[track_caller]
fn check_names_field(error: &StartError, field: &str) {
    let StartError::Config(config_error) = error else { panic!("{error:?}") };
    assert_eq!(config_error.field(), field);
    assert!(error.to_string().contains(&format!("`{field}`")), "{error}");
}

/// Returns the first two columns of every row in the guide's tables of knobs.
fn documented_knobs() -> Vec<(&'static str, &'static str)> {
    include_str!("../../src/lib.rs")
        .lines()
        .filter_map(|line| line.strip_prefix("//! | `")?.split_once("` | "))
        .filter_map(|(field, rest)| Some((field, rest.split_once(" | ")?.0)))
        .collect()
}

/// A runtime's settings are private, but its builder prints them.
#[test]
fn the_documented_defaults_of_runtimes_are_the_real_ones() {
    let documented = documented_knobs();
    let shown = format!("{:?}", Runtime::builder());
    for (knob, default) in [("max_blocking_threads", "512"), ("blocking_keep_alive", "10 s")] {
        assert!(documented.contains(&(&format!("RuntimeBuilder::{knob}"), default)), "{knob}");
        let field = format!("{knob}: {}", default.replace(' ', ""));
        assert!(shown.contains(&field), "{field} in {shown}");
    }
}

#[test]
fn a_runtimes_builder_sets_every_field() {
    let builder = Runtime::builder()
        .threads(1)
        .seed(2)
        .steal_tries(3)
        .spin_iters(4)
        .pin_threads(true)
        .stealing(false)
        .steal_batch(5)
        .injector_batch(6)
        .lifo_slot(false)
        .lifo_stealing(false)
        .injector_interval(Some(61))
        .stack_size(Some(800_000))
        .thread_name("nine")
        .max_blocking_threads(10)
        .blocking_keep_alive(Duration::from_secs(11));
    let shown = format!("{builder:?}");
    for field in [
        "threads: 1",
        "seed: 2",
        "steal_tries: 3",
        "spin_iters: 4",
        "pin_threads: true",
        "stealing: false",
        "steal_batch: 5",
        "injector_batch: 6",
        "lifo_slot: false",
        "lifo_stealing: false",
        "injector_interval: Some(61)",
        "stack_size: Some(800000)",
        "thread_name: \"nine\"",
        "max_blocking_threads: 10",
        "blocking_keep_alive: 11s",
    ] {
        assert!(shown.contains(field), "{field} in {shown}");
    }
}

#[test]
fn each_bad_value_of_a_runtime_is_an_error_that_names_its_field() {
    type Change = fn(RuntimeBuilder) -> RuntimeBuilder;
    let cases: [(&str, Change); 6] = [
        ("threads", |builder| builder.threads(0)),
        ("steal_tries", |builder| builder.steal_tries(0)),
        ("injector_interval", |builder| builder.injector_interval(Some(0))),
        ("stack_size", |builder| builder.stack_size(Some(1))),
        ("max_blocking_threads", |builder| builder.max_blocking_threads(0)),
        ("max_blocking_threads", |builder| builder.max_blocking_threads(32_769)),
    ];
    for (field, change) in cases {
        let error = change(Runtime::builder()).build().unwrap_err();
        check_names_field(&error, field);
        assert!(error.to_string().starts_with("runtime configuration: "), "{error}");
    }
}

#[test]
fn extreme_values_of_a_runtime_that_make_sense_work() {
    watched(|| {
        for keep_alive in [Duration::ZERO, Duration::from_nanos(1), Duration::MAX] {
            for threads in [1, 32_768] {
                let builder = Runtime::builder().threads(1).max_blocking_threads(threads);
                let runtime = builder.blocking_keep_alive(keep_alive).build().unwrap();
                let calls = runtime.spawn_blocking_batch((0..10).map(|call| move || call));
                let made = calls.into_iter().map(|call| runtime.block_on(call).unwrap());
                assert_eq!(made.collect::<Vec<_>>(), (0..10).collect::<Vec<_>>());
            }
        }
    });
}
