//! Proves that `heist::run` runs its roots and everything that they spawn over borrowed data,
//! returns every worker's scratch in order, and reports correctly how the run ended.

use crate::support::{check_all_run, check_finished, panic_text, silent, watched, workers};
use heist::{CancelToken, ExecutorBuilder, OnPanic, RunError, WorkerCtx};
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::thread;

#[test]
fn counts_words_of_borrowed_text_like_a_plain_loop() {
    watched(|| {
        let text: String = (0..20_000_u32).map(|n| format!("w{} ", n % 97 * (n % 7))).collect();
        let lines: Vec<&str> = text.split_inclusive("w5 ").collect();
        let mut serial: HashMap<&str, u32> = HashMap::new();
        for word in text.split_whitespace() {
            *serial.entry(word).or_default() += 1;
        }
        for pool in [workers(1), workers(4), workers(4).stealing(false)] {
            // Roots, scratch and closures all borrow from this function.
            let output = heist::run(
                pool,
                lines.iter(),
                |_worker| HashMap::<&str, u32>::new(),
                |line, ctx| {
                    for word in line.split_whitespace() {
                        *ctx.scratch.entry(word).or_default() += 1;
                    }
                },
            )
            .unwrap();
            check_all_run(&output.metrics, lines.len() as u64);
            let mut merged: HashMap<&str, u32> = HashMap::new();
            for (word, count) in output.scratch.into_iter().flatten() {
                *merged.entry(word).or_default() += count;
            }
            assert_eq!(merged, serial);
            assert!(!output.cancelled);
            assert_eq!(output.panics, []);
        }
    });
}

/// A node that tasks borrow. Their children borrow from the same tree.
struct Node {
    value: u64,
    children: Vec<Node>,
}

fn tree(depth: u32, value: u64) -> Node {
    let children = if depth == 0 { 0 } else { 3 };
    Node { value, children: (0..children).map(|n| tree(depth - 1, value * 3 + n)).collect() }
}

fn serial_sum(node: &Node) -> u64 {
    node.value + node.children.iter().map(serial_sum).sum::<u64>()
}

#[test]
fn tasks_spawn_children_that_also_borrow() {
    watched(|| {
        let root = tree(8, 1);
        // Owned, counted, and not even `Sync`: each scratch belongs to one worker.
        let output = heist::run(
            workers(3),
            [&root],
            |_worker| Cell::new(0_u64),
            |node: &Node, ctx| {
                ctx.scratch.set(ctx.scratch.get() + node.value);
                ctx.spawn_local_batch(&node.children);
            },
        )
        .unwrap();
        check_all_run(&output.metrics, (3_u64.pow(9) - 1) / 2);
        assert_eq!(output.scratch.iter().map(Cell::get).sum::<u64>(), serial_sum(&root));
    });
}

#[test]
fn returns_one_scratch_per_worker_in_the_order_of_their_ids() {
    watched(|| {
        for workers_wanted in [1, 2, 5, 65] {
            let output = heist::run(
                workers(workers_wanted),
                0..200,
                |worker| (worker, 0),
                |_task: u32, ctx| {
                    assert_eq!(ctx.scratch.0, ctx.worker_id());
                    assert_eq!(heist::current_worker_id(), Some(ctx.worker_id()));
                    ctx.scratch.1 += 1;
                },
            )
            .unwrap();
            assert!(output.scratch.iter().map(|(worker, _)| *worker).eq(0..workers_wanted));
            assert_eq!(output.scratch.iter().map(|(_, tasks)| tasks).sum::<u32>(), 200);
            check_all_run(&output.metrics, 200);
        }
        assert_eq!(heist::current_worker_id(), None);
    });
}

#[test]
fn a_run_without_roots_ends_at_once() {
    watched(|| {
        for _ in 0..100 {
            let no_roots: [u8; 0] = [];
            let output = heist::run(workers(3), no_roots, |worker| worker, |_, _| {}).unwrap();
            assert_eq!(output.scratch, [0, 1, 2]);
            check_all_run(&output.metrics, 0);
        }
    });
}

#[test]
fn a_run_inside_a_task_is_independent() {
    watched(|| {
        let inner_sum = |outer: u64| {
            let output =
                heist::run(workers(2), 0..outer, |_| 0, |task, ctx| *ctx.scratch += task).unwrap();
            output.scratch.iter().sum::<u64>()
        };
        let output = heist::run(
            workers(2),
            0..20_u64,
            |_| 0,
            |task, ctx| {
                let before = heist::current_worker_id();
                *ctx.scratch += inner_sum(task);
                assert_eq!(heist::current_worker_id(), before);
            },
        )
        .unwrap();
        let serial: u64 = (0..20).map(|outer| (0..outer).sum::<u64>()).sum();
        assert_eq!(output.scratch.iter().sum::<u64>(), serial);
    });
}

/// Counts its drops.
struct Counted<'d>(&'d AtomicUsize);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_run_cancelled_before_it_begins_runs_nothing_and_counts_the_dropped_tasks() {
    watched(|| {
        let cancel = CancelToken::new();
        cancel.cancel();
        let dropped = AtomicUsize::new(0);
        let output = heist::run(
            workers(2).cancel(cancel),
            (0..10).map(|_| Counted(&dropped)),
            |worker| worker,
            |_task, _ctx| panic!("a task ran after the cancellation"),
        )
        .unwrap();
        assert!(output.cancelled);
        assert_eq!(output.scratch, [0, 1]);
        assert_eq!(output.metrics.tasks_run(), 0);
        assert_eq!(dropped.load(Ordering::Relaxed), 10);
        check_finished(&output.metrics, 10);
    });
}

#[test]
fn a_run_cancelled_midway_drops_the_remaining_tasks() {
    watched(|| {
        for workers_wanted in [1, 3] {
            let cancel = CancelToken::new();
            let (dropped, ran) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let output = heist::run(
                workers(workers_wanted).cancel(cancel.clone()),
                (0..1_000).map(|_| Counted(&dropped)),
                |_worker| (),
                |_task, _ctx| {
                    if ran.fetch_add(1, Ordering::Relaxed) == 100 {
                        cancel.cancel();
                    }
                },
            )
            .unwrap();
            check_finished(&output.metrics, 1_000);
            assert!(output.cancelled);
            assert_eq!(dropped.load(Ordering::Relaxed), 1_000);
            let ran = ran.load(Ordering::Relaxed) as u64;
            assert_eq!(output.metrics.tasks_run(), ran);
            // Other workers may continue until they see the cancellation; the worker that cancelled
            // may not.
            assert!(ran == 101 || (workers_wanted > 1 && ran > 101), "{ran} tasks ran");
        }
    });
}

#[test]
fn a_run_whose_last_task_gave_up_reports_that_it_was_cancelled() {
    watched(|| {
        let cancel = CancelToken::new();
        let output = heist::run(
            workers(1).cancel(cancel.clone()),
            [()],
            |_worker| 0,
            |(), ctx| {
                while !ctx.is_cancelled() {
                    *ctx.scratch += 1;
                    if *ctx.scratch == 10 {
                        cancel.cancel();
                    }
                }
            },
        )
        .unwrap();
        assert_eq!(output.scratch, [10]);
        check_all_run(&output.metrics, 1);
        assert!(
            output.cancelled,
            "otherwise the caller would take a partial result for a complete one"
        );
    });
}

#[test]
fn a_panic_stops_the_run_and_is_returned_as_an_error() {
    watched(|| {
        let (dropped, ran) = (AtomicUsize::new(0), AtomicU32::new(0));
        let error = heist::run(
            silent(workers(1)),
            (0..100).map(|_| Counted(&dropped)),
            |_worker| (),
            |_task, _ctx| {
                let task = ran.fetch_add(1, Ordering::Relaxed);
                assert_ne!(task, 13, "deliberate panic");
            },
        )
        .unwrap_err();
        assert!(error.to_string().starts_with("panic on worker 0: "), "{error}");
        let RunError::Panicked { panic, payload } = error else { panic!("{error:?}") };
        assert_eq!(panic.worker, Some(0));
        assert!(panic.message.contains("deliberate panic"));
        assert_eq!(payload.message(), panic.message);
        assert_eq!(panic_text(&*payload.into_inner()), panic.message);
        assert_eq!(ran.load(Ordering::Relaxed), 14, "the remaining tasks were not run");
        assert_eq!(dropped.load(Ordering::Relaxed), 100, "they were dropped");
    });
}

#[test]
fn isolated_panics_are_reported_along_with_the_result() {
    watched(|| {
        let output = ExecutorBuilder::new(silent(workers(2)))
            .on_panic(OnPanic::Isolate)
            .run(0..100_u32, |_worker| (), |task, _ctx| assert_ne!(task % 10, 3, "no threes"))
            .unwrap();
        check_finished(&output.metrics, 100);
        assert_eq!(output.metrics.panics, 10);
        assert_eq!(output.panics.len(), 10);
        assert!(output.panics.iter().all(|panic| panic.message.contains("no threes")));
        assert_eq!(output.scratch.len(), 2);
    });
}

#[test]
fn a_panic_in_scratch_init_stops_the_run() {
    watched(|| {
        for on_panic in [OnPanic::StopPool, OnPanic::Isolate] {
            let ran = AtomicUsize::new(0);
            let error = heist::run(
                silent(workers(3)).on_panic(on_panic),
                0..1_000,
                |worker| assert_ne!(worker, 1, "deliberate panic"),
                |_task: u32, _ctx: &mut WorkerCtx<'_, _, ()>| {
                    ran.fetch_add(1, Ordering::Relaxed);
                    thread::yield_now();
                },
            )
            .unwrap_err();
            let RunError::Panicked { panic, .. } = error else { panic!("{error:?}") };
            assert_eq!(panic.worker, Some(1));
            assert!(panic.message.contains("deliberate panic"));
            assert!(ran.load(Ordering::Relaxed) <= 1_000);
        }
    });
}
