//! One run over borrowed data.

use super::builder::ExecutorBuilder;
use super::config::ExecutorConfig;
use super::context::WorkerCtx;
use super::error::{RunError, StartError, TaskPanic};
use super::shared::PoolShared;
use super::task::contain;
use super::thread::ThreadPlan;
use crate::future::PanicPayload;
use crate::metrics::MetricsSnapshot;
use crate::sync::thread;
use crate::trace::Tracer;

/// What a run came to.
#[derive(Debug)]
#[non_exhaustive]
pub struct RunOutput<S> {
    /// Every worker's scratch, in the order of their ids.
    pub scratch: Vec<S>,
    /// The run's metrics.
    pub metrics: MetricsSnapshot,
    /// Whether the run was cancelled or shut down, so that this output may be a part of the whole. Tasks that were
    /// dropped for it are counted in the metrics.
    pub cancelled: bool,
    /// The panics of tasks, with [`crate::OnPanic::Isolate`]: the first 1,000.
    pub panics: Vec<TaskPanic>,
}

/// Runs `roots` and everything that they spawn, and hands back every worker's scratch.
///
/// Nothing needs to be `'static`: tasks, scratch and closures may borrow from the caller, because the run has
/// ended when this returns. The roots are collected before the run begins, and a handle taken inside it takes
/// nothing from other threads: what comes later is spawned by tasks. The workers are threads of this run alone; for
/// many small runs start one [`crate::Executor`] instead.
///
/// ```
/// let words = ["to", "be", "or", "not", "to", "be"];
/// let output = heist::run(
///     heist::ExecutorConfig::default(),
///     words.chunks(2),
///     |_worker| 0,
///     |chunk, ctx| *ctx.scratch += chunk.iter().map(|word| word.len()).sum::<usize>(),
/// )?;
/// assert_eq!(output.scratch.iter().sum::<usize>(), 13);
/// # Ok::<(), heist::RunError>(())
/// ```
///
/// # Errors
/// The configuration names an impossible value; the system refuses a thread; or a task panicked and
/// [`ExecutorConfig::on_panic`] is [`crate::OnPanic::StopPool`].
pub fn run<T, S, I, R>(
    config: ExecutorConfig,
    roots: impl IntoIterator<Item = T>,
    scratch_init: I,
    runner: R,
) -> Result<RunOutput<S>, RunError>
where
    T: Send,
    S: Send,
    I: Fn(usize) -> S + Sync,
    R: Fn(T, &mut WorkerCtx<'_, T, S>) + Sync,
{
    ExecutorBuilder::new(config).run(roots, scratch_init, runner)
}

pub(super) fn run_traced<T, S, I, R>(
    config: &ExecutorConfig,
    tracer: &impl Tracer,
    roots: impl IntoIterator<Item = T>,
    scratch_init: &I,
    runner: &R,
) -> Result<RunOutput<S>, RunError>
where
    T: Send,
    S: Send,
    I: Fn(usize) -> S + Sync,
    R: Fn(T, &mut WorkerCtx<'_, T, S>) + Sync,
{
    config.validate().map_err(StartError::from)?;
    let (shared, workers) = PoolShared::new(config);
    // The caller's iterator may panic: not while threads wait for what it gives.
    let roots = roots.into_iter().collect();

    let plan = ThreadPlan::new(shared.pool(), config);
    let scratch: Vec<S> = thread::scope(|scope| {
        let mut threads = Vec::with_capacity(config.workers);
        for worker in workers {
            let (id, plan) = (worker.id, &plan);
            let thread = plan.builder(id).spawn_scoped(scope, move || {
                let _id = plan.enter(id);
                plan.work(worker, (scratch_init, runner, &|_: &mut S| {}), tracer)
            });
            match thread {
                Ok(thread) => threads.push(thread),
                Err(source) => {
                    // The scope waits for the threads that did start; without this they would wait for ever.
                    shared.finish();
                    // Not left to the scope: a scratch whose drop panics would end the process there.
                    for thread in threads {
                        contain(|| drop(thread.join()));
                    }
                    return Err(StartError::Thread { worker: id, source });
                }
            }
        }
        // Only now: if a thread is refused, nothing has been run.
        shared.take_roots(roots);
        // The threads contain every panic; a worker without scratch has stopped the run with its own.
        Ok(threads.into_iter().filter_map(|thread| thread.join().ok().flatten()).collect())
    })?;

    if let Some(payload) = shared.take_fatal_payload() {
        let panic = shared.panic_reports().swap_remove(0);
        contain(|| drop(scratch));
        return Err(RunError::Panicked { panic, payload: PanicPayload::new(payload) });
    }
    Ok(RunOutput {
        scratch,
        metrics: shared.metrics_snapshot(),
        cancelled: shared.is_cancelled(),
        panics: shared.panic_reports(),
    })
}
