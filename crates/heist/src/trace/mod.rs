//! Traces a run: hooks that the worker loop calls, and a writer for Perfetto.
//!
//! The hooks are a type parameter of the worker loop. With [`NoTrace`], the default, they are empty
//! functions that compile to nothing. With [`ChromeTrace`], every worker writes its tasks, steals,
//! parks and wake-ups in the Chrome trace format, which <https://ui.perfetto.dev> and
//! `chrome://tracing` open. A task or poll can give itself a name for the trace with
//! [`name_slice`].

mod chrome;
mod name;

pub use chrome::ChromeTrace;
pub use name::name_slice;

pub use crate::policy::Source;

/// Receives the events of one worker. Every method has an empty default.
///
/// heist calls the hooks on the worker, between tasks. A hook that blocks holds up the worker, and
/// a hook that panics stops the pool as [`crate::OnPanic::StopPool`] does, whatever was configured.
pub trait TraceHooks {
    /// Called when a task starts to run.
    #[inline]
    fn task_start(&mut self, _source: Source) {}

    /// Called when the task has ended.
    #[inline]
    fn task_end(&mut self) {}

    /// Called when the poll of a future starts.
    #[inline]
    fn poll_start(&mut self, _source: Source) {}

    /// Called when the poll has ended.
    #[inline]
    fn poll_end(&mut self) {}

    /// Called when the next task or poll was stolen from worker `victim`.
    #[inline]
    fn steal(&mut self, _victim: usize) {}

    /// Called when the worker is about to park.
    #[inline]
    fn park(&mut self) {}

    /// Called when the worker is awake again. `woken` says whether a wake-up was the reason;
    /// otherwise a last check found work.
    #[inline]
    fn unpark(&mut self, _woken: bool) {}
}

/// Creates the hooks of each worker.
pub trait Tracer: Send + Sync + 'static {
    /// The hooks of one worker. They are created and dropped on its thread.
    type Hooks: TraceHooks;

    /// Creates the hooks of worker `worker`.
    fn worker(&self, worker: usize) -> Self::Hooks;
}

/// Hooks that do nothing and cost nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoTrace;

impl TraceHooks for NoTrace {}

impl Tracer for NoTrace {
    type Hooks = Self;

    fn worker(&self, _worker: usize) -> Self {
        Self
    }
}
