//! Looking at a run: hooks that the worker loop calls, and a writer for Perfetto.
//!
//! The hooks are a type parameter of the loop. With [`NoTrace`], the default, they are empty functions that
//! compile to nothing. With [`ChromeTrace`] every worker writes its tasks, steals, parks and wake-ups in the
//! Chrome trace format, which <https://ui.perfetto.dev> and `chrome://tracing` open. Tasks and polls may say what they
//! are ([`name_slice`]), so that a trace shows more than that there were some.

mod chrome;
mod name;

pub use chrome::ChromeTrace;
pub use name::name_slice;

use crate::policy::Source;

/// What happens in one worker. Every method has an empty default.
///
/// Hooks run on the worker, between tasks: one that blocks holds the worker, and one that panics stops the pool as
/// [`crate::OnPanic::StopPool`] does, whatever was configured.
pub trait TraceHooks {
    /// A task starts to run.
    #[inline]
    fn task_start(&mut self, _source: Source) {}

    /// The task has ended.
    #[inline]
    fn task_end(&mut self) {}

    /// A future starts to be polled.
    #[inline]
    fn poll_start(&mut self, _source: Source) {}

    /// The poll is over.
    #[inline]
    fn poll_end(&mut self) {}

    /// The task or poll that starts next was stolen from `victim`.
    #[inline]
    fn steal(&mut self, _victim: usize) {}

    /// The worker is about to park.
    #[inline]
    fn park(&mut self) {}

    /// The worker is awake again: by a wake-up, or because a last look found work.
    #[inline]
    fn unpark(&mut self, _woken: bool) {}
}

/// Makes the hooks of each worker.
pub trait Tracer: Send + Sync + 'static {
    /// The hooks of one worker. They live and die on its thread.
    type Hooks: TraceHooks;

    /// The hooks of worker `worker`.
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
