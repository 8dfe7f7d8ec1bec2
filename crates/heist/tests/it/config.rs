//! Proves that an impossible configuration is an error that names its field, never a panic, however
//! the configuration is passed in; and that a thread that cannot be started is an error as well,
//! and leaves no thread behind.

use crate::support::{check_all_run, watched, workers};
use heist::{
    Executor, ExecutorBuilder, ExecutorConfig, QueueConfig, RunError, StartError, WorkerCtx,
};
use std::time::Duration;

type Change = fn(&mut ExecutorConfig);

const BAD_VALUES: [(&str, Change); 8] = [
    ("threads", |config| config.threads = 0),
    ("threads", |config| config.threads = 4_097),
    ("threads", |config| config.threads = usize::MAX),
    ("steal_tries", |config| config.steal_tries = 0),
    ("steal_batch", |config| config.steal_batch = 0),
    ("injector_batch", |config| config.injector_batch = 0),
    ("park_backstop", |config| config.park_backstop = Some(Duration::ZERO)),
    ("thread_name", |config| config.thread_name = "a\0b".to_owned()),
];

#[track_caller]
fn check_names_field(error: &StartError, field: &str) {
    let StartError::Config(config_error) = error else { panic!("{error:?}") };
    assert_eq!(config_error.field(), field);
    assert!(error.to_string().contains(&format!("`{field}`")), "{error}");
}

#[test]
fn each_bad_value_is_an_error_that_names_its_field() {
    watched(|| {
        for (field, change) in BAD_VALUES {
            let mut config = ExecutorConfig::default();
            change(&mut config);
            let error = Executor::new(config.clone(), |_| (), |_task: u32, _ctx| {}).unwrap_err();
            check_names_field(&error, field);

            let error = ExecutorBuilder::new(config.clone()).build(|_| (), |_task: u32, _ctx| {});
            check_names_field(&error.unwrap_err(), field);

            let error = heist::run(config, [1], |_| (), |_task: u32, _ctx| panic!("it ran"));
            match error.unwrap_err() {
                RunError::Start(error) => check_names_field(&error, field),
                other => panic!("{other:?}"),
            }
        }
    });
}

#[test]
fn extreme_values_that_make_sense_work() {
    let cases: [(&str, Change); 8] = [
        ("spin_iters", |config| config.spin_iters = u32::MAX),
        ("steal_batch", |config| config.steal_batch = usize::MAX),
        ("injector_batch", |config| config.injector_batch = usize::MAX),
        ("park_backstop", |config| config.park_backstop = Some(Duration::MAX)),
        ("park_backstop", |config| config.park_backstop = Some(Duration::from_millis(20))),
        ("thread_name", |config| config.thread_name = "a name longer than any system's".to_owned()),
        ("thread_name", |config| config.thread_name = String::new()),
        ("stack_size", |config| config.stack_size = Some(64 * 1024)),
    ];
    watched(move || {
        for (field, change) in cases {
            println!("{field}");
            let mut config = workers(2);
            change(&mut config);
            check_works(start_countdown(config).unwrap());
        }
    });
}

/// Starts a pool in which each task spawns the next smaller number.
fn start_countdown(config: ExecutorConfig) -> Result<Executor<u32>, StartError> {
    let runner = |task: u32, ctx: &mut WorkerCtx<'_, u32, ()>| {
        if task > 0 {
            ctx.spawn_local(task - 1);
        }
    };
    Executor::new(config, |_| (), runner)
}

fn check_works(executor: Executor<u32>) {
    executor.spawn_batch(vec![20; 5]).unwrap();
    match executor.join_timeout(Duration::from_secs(10)) {
        Ok(metrics) => check_all_run(&metrics, 5 * 21),
        Err(timeout) => {
            // Dropping the executor would wait as well.
            std::mem::forget(timeout);
            panic!("the pool does not end");
        }
    }
}

/// A search of four billion rounds would never end, so heist must refuse it or cut it short.
#[test]
fn endless_stealing_is_refused_or_works() {
    watched(|| match start_countdown(workers(2).steal_tries(u32::MAX)) {
        Ok(executor) => check_works(executor),
        Err(error) => check_names_field(&error, "steal_tries"),
    });
}

#[test]
fn an_impossible_stack_is_an_error_not_a_panic() {
    watched(|| {
        for stack_size in [usize::MAX / 2, usize::MAX - 4_096, usize::MAX] {
            let config = workers(2).stack_size(Some(stack_size));
            let started = Executor::new(config.clone(), |_| (), |_task: u32, _ctx| {});
            assert!(started.is_err(), "a stack of {stack_size} bytes");
            let run = heist::run(config, [1], |_| (), |_task: u32, _ctx| panic!("it ran"));
            assert!(matches!(run, Err(RunError::Start(_))), "a stack of {stack_size} bytes");
        }
    });
}

/// In a process with limited memory, some threads with large stacks start, and then no more.
#[cfg(target_os = "linux")]
mod refused_threads {
    use super::*;
    use crate::support::limited::is_limited;
    use std::sync::atomic::{AtomicU32, Ordering};

    fn too_much() -> ExecutorConfig {
        workers(64).stack_size(Some(64 << 20)).thread_name("limited")
    }

    #[track_caller]
    fn check_refused(error: &StartError) {
        let StartError::Thread { worker, source } = error else { panic!("{error:?}") };
        assert!((1..64).contains(worker), "some threads must have started: {worker}");
        assert_eq!(source.kind(), std::io::ErrorKind::WouldBlock);
        assert!(error.to_string().contains(&format!("worker {worker}")), "{error}");
        crate::support::wait_until("no thread is left", || {
            crate::support::threads_named("limited-").is_empty()
        });
    }

    #[test]
    fn an_executor_whose_thread_is_refused_is_an_error_and_leaves_no_thread() {
        if is_limited(
            module_path!(),
            "an_executor_whose_thread_is_refused_is_an_error_and_leaves_no_thread",
        ) {
            watched(|| {
                let started = Executor::new(too_much(), |_| (), |_task: u32, _ctx| {});
                check_refused(&started.unwrap_err());
            });
        }
    }

    #[test]
    fn a_run_whose_thread_is_refused_runs_no_task_and_leaves_no_thread() {
        if is_limited(
            module_path!(),
            "a_run_whose_thread_is_refused_runs_no_task_and_leaves_no_thread",
        ) {
            watched(|| {
                let ran = AtomicU32::new(0);
                let output = heist::run(
                    too_much(),
                    0..1_000,
                    |_| (),
                    |_task: u32, _ctx| {
                        ran.fetch_add(1, Ordering::Relaxed);
                    },
                );
                match output.unwrap_err() {
                    RunError::Start(error) => check_refused(&error),
                    other => panic!("{other:?}"),
                }
                assert_eq!(
                    ran.load(Ordering::Relaxed),
                    0,
                    "tasks of a run that could not be started"
                );
            });
        }
    }
}

/// Returns the first two columns of every row of the guide's tables of settings.
fn documented_knobs() -> Vec<(&'static str, &'static str)> {
    include_str!("../../src/lib.rs")
        .lines()
        .filter_map(|line| line.strip_prefix("//! | `")?.split_once("` | "))
        .filter_map(|(field, rest)| Some((field, rest.split_once(" | ")?.0)))
        .collect()
}

/// Returns the names of the fields of a configuration that was printed with `{:#?}`.
fn fields_shown(shown: &str) -> impl Iterator<Item = &str> {
    shown
        .lines()
        .filter_map(|line| line.strip_prefix("    "))
        .filter(|line| !line.starts_with(' '))
        .filter_map(|line| Some(line.split_once(": ")?.0))
}

/// The guide's table of settings has every field of the configuration, with its default.
#[test]
fn the_documented_defaults_are_the_real_ones() {
    let documented = documented_knobs();
    let config = ExecutorConfig::default();
    let on_or_off = |on| if on { "on" } else { "off" }.to_owned();
    assert_eq!(config.threads, heist::affinity::usable_parallelism());
    assert_eq!((config.stack_size, config.cancel.is_cancelled()), (None, false));
    assert_eq!(config.injector_interval, None);
    let expected = [
        ("threads", "the CPUs this process may use".to_owned()),
        ("seed", format!("{:#x}", config.seed)),
        ("steal_tries", config.steal_tries.to_string()),
        ("spin_iters", config.spin_iters.to_string()),
        ("pin_threads", on_or_off(config.pin_threads)),
        ("stealing", on_or_off(config.stealing)),
        ("steal_batch", config.steal_batch.to_string()),
        ("injector_batch", config.injector_batch.to_string()),
        ("lifo_slot", on_or_off(config.lifo_slot)),
        ("lifo_stealing", on_or_off(config.lifo_stealing)),
        ("injector_interval", "adapts, 8 to 255".to_owned()),
        ("on_panic", format!("`{:?}`", config.on_panic)),
        ("park_backstop", on_or_off(config.park_backstop.is_some())),
        ("thread_name", format!("`{}`", config.thread_name)),
        ("stack_size", "the platform's".to_owned()),
        ("cancel", "a token of its own".to_owned()),
    ];
    for (field, default) in &expected {
        assert!(documented.contains(&(field, default.as_str())), "{field}: {default}");
    }
    let shown = format!("{config:#?}");
    assert!(fields_shown(&shown).eq(expected.iter().map(|(field, _)| *field)), "{shown}");
}

/// The same for queues.
#[test]
fn the_documented_defaults_of_queues_are_the_real_ones() {
    let documented = documented_knobs();
    let config = QueueConfig::default();
    assert_eq!(config.capacity, None);
    let expected = [("capacity", "none".to_owned()), ("batch", config.batch.to_string())];
    for (field, default) in &expected {
        let knob = format!("QueueConfig::{field}");
        assert!(documented.contains(&(&knob, default.as_str())), "{knob}: {default}");
    }
    let shown = format!("{config:#?}");
    assert!(fields_shown(&shown).eq(expected.iter().map(|(field, _)| *field)), "{shown}");
}
