//! Proves that a Chrome trace is what its viewers expect: valid JSON, a named row for each worker,
//! a slice for each task, marks for steals and wake-ups; and that a write error is reported and
//! disturbs nothing else.

use crate::support::{check_all_run, wait_until, watched, workers};
use heist::Executor;
use heist::trace::{ChromeTrace, NoTrace, TraceHooks, Tracer};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

fn text<'e>(event: &'e Value, field: &str) -> &'e str {
    event[field].as_str().unwrap_or_else(|| panic!("no text `{field}` in {event}"))
}

fn number(event: &Value, field: &str) -> f64 {
    event[field].as_f64().unwrap_or_else(|| panic!("no number `{field}` in {event}"))
}

fn parse(json: &[u8]) -> Vec<Value> {
    let parsed: Value = serde_json::from_slice(json).expect("valid JSON");
    parsed.as_array().expect("an array").clone()
}

/// Counts the events by name.
fn count_by_name(events: &[Value]) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for event in events {
        *counts.entry(text(event, "name")).or_default() += 1;
    }
    counts
}

#[test]
fn a_run_becomes_rows_slices_and_marks() {
    const WORKERS: usize = 3;
    watched(|| {
        let trace = ChromeTrace::new(Vec::new());
        let barrier = Arc::new(Barrier::new(WORKERS));
        let meeting = Arc::clone(&barrier);
        // The root's children need a worker each, so some are stolen. All workers sleep before
        // that, so some are woken.
        let executor = Executor::builder()
            .threads(WORKERS)
            .trace(trace.clone())
            .build(
                |_| (),
                move |task: usize, ctx| {
                    if task > 0 {
                        ctx.spawn_local_batch(std::iter::repeat_n(0, task));
                    }
                    meeting.wait();
                },
            )
            .unwrap();
        wait_until("all workers sleep", || executor.metrics().parks == WORKERS as u64);
        thread::sleep(Duration::from_millis(50));
        executor.spawn(WORKERS - 1).unwrap();
        let metrics = executor.join();
        check_all_run(&metrics, WORKERS as u64);

        let json = trace.finish().unwrap();
        let events = parse(&json);
        let mut rows = BTreeMap::new();
        for event in &events {
            assert_eq!(event["pid"], 1, "one process, so that viewers show the rows together");
            let row = event["tid"].as_u64().expect("every event belongs to a row") as usize;
            assert!(row < WORKERS);
            match text(event, "ph") {
                "M" => {
                    assert_eq!(text(event, "name"), "thread_name");
                    rows.insert(row, text(&event["args"], "name").to_owned());
                }
                "X" => {
                    assert!(number(event, "ts") >= 0.0 && number(event, "dur") >= 0.0);
                    assert!(text(event, "name").starts_with(text(event, "cat")), "{event}");
                }
                "i" => assert!(number(event, "ts") >= 0.0 && text(event, "s") == "t"),
                other => panic!("unknown phase {other}"),
            }
        }
        let names: Vec<_> = rows.into_values().collect();
        assert_eq!(names, ["worker 0", "worker 1", "worker 2"]);

        let counts = count_by_name(&events);
        let count = |name: &str| counts.get(name).copied().unwrap_or(0) as u64;
        assert_eq!(count("task"), metrics.tasks_local);
        assert_eq!(count("task (injected)"), metrics.tasks_injector);
        assert_eq!(count("task (stolen)"), metrics.tasks_stolen);
        assert_eq!(count("parked"), metrics.parks);
        assert!(count("wake") >= metrics.wakes_received && metrics.wakes_received > 0);
        let steals: usize =
            counts.iter().filter(|(name, _)| name.starts_with("steal from ")).map(|(_, n)| n).sum();
        assert!(steals > 0, "{counts:?}");
        assert_eq!(steals as u64, metrics.tasks_stolen);
    });
}

#[test]
fn slices_of_a_row_do_not_overlap() {
    watched(|| {
        let trace = ChromeTrace::new(Vec::new());
        let output = Executor::builder().threads(2).trace(trace.clone()).run(
            0..2_000,
            |_| (),
            |task: u32, ctx| {
                if task < 500 {
                    ctx.spawn_local(task + 5_000);
                }
            },
        );
        check_all_run(&output.unwrap().metrics, 2_500);
        let json = trace.finish().unwrap();
        assert!(json.len() > 2 * 64 * 1024, "each worker has written its events out several times");
        let mut ends = BTreeMap::new();
        let mut slices = 0;
        for event in parse(&json).iter().filter(|event| text(event, "ph") == "X") {
            let (start, duration) = (number(event, "ts"), number(event, "dur"));
            let end = ends.entry(event["tid"].as_u64()).or_insert(0.0);
            // Times are rounded to a nanosecond.
            assert!(start + 0.002 >= *end, "{event} starts before {end}");
            *end = start + duration;
            slices += u32::from(text(event, "name").starts_with("task"));
        }
        assert_eq!(slices, 2_500);
    });
}

/// Tasks and polls appear under the names that they gave themselves, with any characters, and a
/// name is used only once.
#[test]
fn a_task_and_a_poll_can_be_named() {
    watched(|| {
        let trace = ChromeTrace::new(Vec::new());
        let executor = Executor::builder().threads(1).trace(trace.clone());
        let executor = executor.build(
            // Set between two tasks, so it belongs to neither.
            |_| heist::trace::name_slice("between tasks"),
            |name: Option<&'static str>, _ctx| {
                name.into_iter().for_each(heist::trace::name_slice);
            },
        );
        let executor = executor.unwrap();
        let quoted = "a \"quoted\" \\ name\nin two lines";
        executor.spawn_batch(vec![Some("plain"), None, Some(quoted), None]).unwrap();
        let future = executor.handle().spawn_future(async {
            heist::trace::name_slice("first poll");
            heist::yield_now().await;
        });
        let future = future.unwrap();
        wait_until("the future has ended", || future.is_finished());
        check_all_run(&executor.join(), 4);

        let events = parse(&trace.finish().unwrap());
        let mut slices = BTreeMap::<_, u32>::new();
        for event in events.iter().filter(|event| text(event, "ph") == "X") {
            let name = text(event, "name");
            let name = name.strip_suffix(" (injected)").unwrap_or(name);
            *slices.entry((text(event, "cat"), name)).or_default() += 1;
        }
        slices.retain(|(category, _), _| *category != "parked");
        let expected = [
            (("poll", "first poll"), 1),
            (("poll", "poll"), 1),
            (("task", quoted), 1),
            (("task", "plain"), 1),
            (("task", "task"), 2),
        ];
        assert_eq!(slices, BTreeMap::from(expected));
    });
}

#[test]
fn a_trace_without_events_is_an_empty_array() {
    let json = ChromeTrace::new(Vec::new()).finish().unwrap();
    assert!(parse(&json).is_empty());
}

#[test]
fn a_trace_can_be_finished_once() {
    watched(|| {
        let trace = ChromeTrace::new(Vec::new());
        let executor = Executor::builder().threads(2).trace(trace.clone());
        let executor = executor.build(|_| (), |_task: u32, _ctx| {}).unwrap();
        executor.spawn(1).unwrap();
        // Finished too early: later events are dropped, and the pool is not affected.
        let early = trace.clone().finish().unwrap();
        parse(&early);
        executor.spawn_batch(0..100).unwrap();
        check_all_run(&executor.join(), 101);
        assert_eq!(trace.finish().unwrap_err().to_string(), "the trace is already finished");
    });
}

/// A disk that is full after some bytes.
struct Full {
    bytes_left: usize,
}

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.bytes_left.checked_sub(bytes.len()) {
            Some(left) => self.bytes_left = left,
            None => return Err(io::ErrorKind::StorageFull.into()),
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn finish_reports_a_writer_that_fails_and_nothing_else_is_disturbed() {
    watched(|| {
        for bytes_left in [0, 1, 100, 70_000] {
            let trace = ChromeTrace::new(Full { bytes_left });
            let executor = Executor::builder().threads(3).trace(trace.clone());
            let executor = executor.build(|_| (), |_task: u32, _ctx| {}).unwrap();
            executor.spawn_batch(0..5_000).unwrap();
            check_all_run(&executor.join(), 5_000);
            let Err(error) = trace.clone().finish() else { panic!("no error was reported") };
            assert_eq!(error.kind(), io::ErrorKind::StorageFull);
            assert!(trace.finish().is_err());
        }
    });
}

/// Users can write their own hooks.
#[test]
fn a_custom_tracer_sees_every_task() {
    struct Counting(Arc<std::sync::atomic::AtomicU64>);
    impl TraceHooks for Counting {
        fn task_end(&mut self) {
            self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
    }
    impl Tracer for Counting {
        type Hooks = Self;
        fn worker(&self, _worker: usize) -> Self {
            Self(Arc::clone(&self.0))
        }
    }
    watched(|| {
        let tasks = Arc::new(std::sync::atomic::AtomicU64::new(0));
        let counting = Counting(Arc::clone(&tasks));
        let builder = heist::ExecutorBuilder::new(workers(3));
        let output = builder.clone().trace(counting).run(0..1_000_u32, |_| (), |_, _| {});
        check_all_run(&output.unwrap().metrics, 1_000);
        assert_eq!(tasks.load(std::sync::atomic::Ordering::Relaxed), 1_000);
        let output = builder.trace(NoTrace).run(0..10_u32, |_| (), |_, _| {});
        check_all_run(&output.unwrap().metrics, 10);
    });
}
