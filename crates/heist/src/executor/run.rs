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

/// The result of a [`run`].
#[derive(Debug)]
#[non_exhaustive]
pub struct RunOutput<S> {
    /// Every worker's scratch, ordered by worker id.
    pub scratch: Vec<S>,
    /// The run's metrics.
    pub metrics: MetricsSnapshot,
    /// `true` if the run was cancelled or shut down, so that the output may be incomplete. The
    /// metrics count the dropped tasks.
    pub cancelled: bool,
    /// The first 1,000 panics of tasks, with [`crate::OnPanic::Isolate`].
    pub panics: Vec<TaskPanic>,
}

/// Runs `roots` and everything that they spawn, and returns every worker's scratch.
///
/// Nothing needs to be `'static`: tasks, scratch and closures may borrow from the caller, because
/// the run has ended when this function returns. heist collects the roots before the run begins;
/// later tasks are spawned by tasks, because a handle to the run accepts nothing from other
/// threads. The run starts and ends its own threads. For many small runs, start one
/// [`crate::Executor`] instead.
///
/// # Examples
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
/// Fails if a field of the configuration has an unusable value, if the system refuses a thread, or
/// if a task panicked and [`ExecutorConfig::on_panic`] is [`crate::OnPanic::StopPool`].
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

pub(super) fn run_to_end<T, S, I, R>(
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
    // The caller's iterator may panic. That must not happen while threads wait for the roots.
    let roots = roots.into_iter().collect();

    let plan = ThreadPlan::new(shared.pool(), config);
    let scratch: Vec<S> = thread::scope(|scope| {
        let mut threads = Vec::with_capacity(config.threads);
        for worker in workers {
            let (id, plan) = (worker.id, &plan);
            let thread = plan.builder(id).spawn_scoped(scope, move || {
                let _id = plan.enter(id);
                plan.work(worker, (scratch_init, runner, &|_: &mut S| {}), tracer)
            });
            match thread {
                Ok(thread) => threads.push(thread),
                Err(source) => {
                    // The scope waits for the threads that did start, and they would never end.
                    shared.finish();
                    // Joined here: in the scope, a scratch whose drop panics would end the process.
                    for thread in threads {
                        contain(|| drop(thread.join()));
                    }
                    return Err(StartError::Thread { worker: id, source });
                }
            }
        }
        // Only now, so that no task has run if the system refused a thread.
        shared.take_roots(roots);
        // The threads contain every panic. A worker without a scratch has stopped the run.
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
