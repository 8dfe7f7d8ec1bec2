//! Corner cases that were once wrong, each with the smallest program that showed it.

use crate::support::sync::Mutex;
use crate::support::{check_all_run, check_finished, job, start_jobs, watched, workers};
use heist::trace::{ChromeTrace, Source, TraceHooks, Tracer};
use heist::{Executor, ExecutorConfig, OnPanic, RunError};
use std::cell::RefCell;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

/// Panics without calling the panic hook.
fn panic_quietly() -> ! {
    resume_unwind(Box::new("deliberate panic"))
}

#[test]
fn a_panic_in_scratch_init_fails_the_run_whenever_it_happens() {
    watched(|| {
        for _ in 0..200 {
            let scratch_init = |worker| {
                if worker == 0 {
                    panic_quietly()
                }
            };
            let run = heist::run(workers(4), 0..10_u32, scratch_init, |_task, _ctx| {});
            assert!(matches!(run, Err(RunError::Panicked { .. })));
        }
    });
}

#[test]
fn a_run_that_is_shut_down_reports_that_it_is_partial() {
    watched(|| {
        let shut_down = |_task, ctx: &mut heist::WorkerCtx<'_, u32, ()>| ctx.handle().shutdown();
        let output = heist::run(workers(1), 0..100, |_worker| (), shut_down).unwrap();
        assert!(output.cancelled);
        check_finished(&output.metrics, 100);
        assert_eq!(output.metrics.tasks_dropped, 99);
    });
}

#[test]
fn a_handle_inside_a_run_is_never_refused() {
    watched(|| {
        for _ in 0..300 {
            let output = heist::run(
                workers(2),
                [3_u32],
                |_worker| 0,
                |task, ctx| {
                    *ctx.scratch += 1;
                    if task > 0 {
                        ctx.handle().spawn(task - 1).expect("it comes from inside");
                    }
                },
            );
            assert_eq!(output.unwrap().scratch.into_iter().sum::<u32>(), 4);
        }
    });
}

#[test]
fn a_sibling_below_an_endless_chain_does_not_keep_a_yielded_task_waiting() {
    #[derive(Clone, Copy)]
    enum Task {
        Root,
        Yielded,
        Sibling,
        Chain(u32),
    }
    watched(|| {
        let position = heist::run(
            workers(1),
            [Task::Root],
            |_worker| None,
            |task, ctx| match task {
                Task::Root => {
                    ctx.spawn_yielded(Task::Yielded);
                    ctx.spawn_local(Task::Sibling);
                    ctx.spawn_local(Task::Chain(0));
                }
                Task::Chain(length) if length < 100_000 && ctx.scratch.is_none() => {
                    ctx.spawn_local(Task::Chain(length + 1));
                }
                Task::Yielded => *ctx.scratch = Some(ctx.metrics().tasks_run()),
                Task::Sibling | Task::Chain(_) => {}
            },
        );
        let position = position.unwrap().scratch[0].expect("it ran");
        assert!(position < 1_000, "it ran after {position} others");
    });
}

#[test]
fn join_timeout_on_the_pools_own_worker_returns_at_once() {
    watched(|| {
        let slot = Arc::new(Mutex::new(None::<Executor<crate::support::Job>>));
        let executor = start_jobs(workers(2));
        let handle = executor.handle();
        *slot.lock().unwrap() = Some(executor);
        let (took, when_took) = channel();
        let join = job(move |_ctx| {
            let executor = slot.lock().unwrap().take().unwrap();
            let began = Instant::now();
            let timed_out = executor.join_timeout(Duration::MAX);
            took.send((began.elapsed(), timed_out.is_err())).unwrap();
        });
        handle.spawn(join).unwrap();
        let (elapsed, timed_out) = when_took.recv().unwrap();
        assert!(timed_out && elapsed < Duration::from_secs(5), "{elapsed:?}");
    });
}

#[test]
fn an_executor_in_a_thread_local_of_its_own_worker_does_not_join_itself() {
    thread_local! {
        static KEPT: RefCell<Option<Executor<crate::support::Job>>> = const { RefCell::new(None) };
    }
    watched(|| {
        let slot = Arc::new(Mutex::new(None));
        let executor = start_jobs(workers(1));
        let handle = executor.handle();
        *slot.lock().unwrap() = Some(executor);
        let keep = job(move |ctx| {
            KEPT.with(|kept| *kept.borrow_mut() = slot.lock().unwrap().take());
            ctx.handle().shutdown();
        });
        handle.spawn(keep).unwrap();
        crate::support::wait_until("the task has ended", || handle.metrics().tasks_ended() == 1);
    });
}

/// The hook that panics, only once in total.
#[derive(Clone, Copy, PartialEq)]
enum Hook {
    Start,
    End,
    Make,
}

struct PanicsOnce(Hook, Arc<AtomicBool>);

impl PanicsOnce {
    fn new(hook: Hook) -> Self {
        Self(hook, Arc::new(AtomicBool::new(false)))
    }

    fn at(&self, hook: Hook) {
        if self.0 == hook && !self.1.swap(true, Ordering::Relaxed) {
            panic_quietly();
        }
    }
}

impl TraceHooks for PanicsOnce {
    fn task_start(&mut self, _source: Source) {
        self.at(Hook::Start);
    }

    fn task_end(&mut self) {
        self.at(Hook::End);
    }
}

impl Tracer for PanicsOnce {
    type Hooks = Self;

    fn worker(&self, _worker: usize) -> Self {
        self.at(Hook::Make);
        Self(self.0, Arc::clone(&self.1))
    }
}

/// A task that reports its drop, whether it was run or not.
struct ReportsDrop(#[expect(dead_code, reason = "its drop is what counts")] Sender<()>);

#[test]
fn a_hook_that_panics_stops_the_pool_and_frees_the_tasks() {
    watched(|| {
        for hook in [Hook::Start, Hook::End, Hook::Make] {
            let ran = Arc::new(AtomicU32::new(0));
            let counter = Arc::clone(&ran);
            let executor = Executor::builder()
                .threads(2)
                .on_panic(OnPanic::Isolate)
                .trace(PanicsOnce::new(hook))
                .build(
                    |_worker| (),
                    move |_task: ReportsDrop, _ctx| {
                        counter.fetch_add(1, Ordering::Relaxed);
                    },
                )
                .unwrap();
            let handle = executor.handle();
            let (permits, when_all_dropped) = channel();
            for _ in 0..100 {
                let _ = handle.spawn(ReportsDrop(permits.clone()));
            }
            drop(permits);
            // Disconnects when the last task is dropped, while the handle still keeps the pool's
            // state alive.
            when_all_dropped.recv().unwrap_err();
            catch_unwind(AssertUnwindSafe(|| executor.join())).expect_err("the hook panicked");
            let metrics = handle.metrics();
            assert_eq!(metrics.tasks_run(), u64::from(ran.load(Ordering::Relaxed)), "{metrics}");
            assert_eq!(metrics.panics, 1, "{metrics}");
        }
    });
}

#[test]
fn a_trace_writer_that_panics_fails_only_the_trace() {
    #[derive(Debug)]
    struct Panics;
    impl io::Write for Panics {
        fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
            panic_quietly()
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    watched(|| {
        let trace = ChromeTrace::new(Panics);
        let executor = Executor::builder()
            .threads(2)
            .trace(trace.clone())
            .build(|_worker| (), |_task: u32, _ctx| {})
            .unwrap();
        executor.spawn_batch(0..5_000).unwrap();
        check_all_run(&executor.join(), 5_000);
        assert_eq!(trace.finish().unwrap_err().to_string(), "the trace's writer panicked");
    });
}

/// With one worker, the order of tasks must not depend on how long its thread takes to start.
#[test]
fn one_worker_repeats_itself_no_matter_how_late_it_starts() {
    let order = |delay: Duration| {
        let config = ExecutorConfig::new(1);
        let scratch_init = move |_worker| {
            let began = Instant::now();
            while began.elapsed() < delay {}
            Vec::new()
        };
        let output = heist::run(config, 0..200_u32, scratch_init, |task, ctx| {
            ctx.scratch.push(task);
            if task < 100 {
                ctx.spawn_local(task + 1_000);
                ctx.spawn_global(task + 2_000);
            }
        });
        output.unwrap().scratch.remove(0)
    };
    watched(move || {
        let expected = order(Duration::ZERO);
        for round in 0..200 {
            assert_eq!(order(Duration::from_nanos(250) * round), expected);
        }
    });
}
