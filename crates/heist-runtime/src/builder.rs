//! The settings of a runtime.

use super::Runtime;
use super::blocking::BlockingConfig;
use heist::__internal as internal;
use heist::trace::{NoTrace, Tracer};
use heist::{ExecutorBuilder, ExecutorConfig, StartError};
use std::time::Duration;

/// The same number as tokio, for which many programs were written: enough that hundreds of slow
/// files, or of calls that wait for each other, do not block each other, and few enough for any
/// system, at about 100 KiB each.
const MAX_BLOCKING_THREADS: usize = 512;

/// The default limit of Linux on processes and threads. A larger number has no effect.
const MAX_BLOCKING_THREADS_MAX: usize = 32_768;

/// Starting a thread takes about 50 µs, so an unused one can go after ten seconds. The same as
/// tokio.
const BLOCKING_KEEP_ALIVE: Duration = Duration::from_secs(10);

/// Builds a [`Runtime`]. [`ExecutorConfig`] explains the settings.
///
/// ```
/// let runtime = heist_runtime::Runtime::builder().threads(2).thread_name("net").build()?;
/// assert_eq!(runtime.block_on(async { 1 + 1 }), 2);
/// # Ok::<(), heist::StartError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct RuntimeBuilder<H = NoTrace> {
    config: ExecutorConfig,
    tracer: H,
    max_blocking_threads: usize,
    blocking_keep_alive: Duration,
}

impl RuntimeBuilder<NoTrace> {
    pub(super) fn new() -> Self {
        Self {
            config: ExecutorConfig::default(),
            tracer: NoTrace,
            max_blocking_threads: MAX_BLOCKING_THREADS,
            blocking_keep_alive: BLOCKING_KEEP_ALIVE,
        }
    }
}

impl<H: Tracer> RuntimeBuilder<H> {
    heist::__executor_setters!(futures);

    fn configure(mut self, change: impl FnOnce(&mut ExecutorConfig)) -> Self {
        change(&mut self.config);
        self
    }

    /// Sets how many threads may make blocking calls, from 1 to 32768. Default: 512. The runtime
    /// starts them when it needs them; further calls wait. Their names are the
    /// [`ExecutorConfig::thread_name`], `-blocking-` and a number; their stacks have the
    /// [`ExecutorConfig::stack_size`].
    pub fn max_blocking_threads(mut self, threads: usize) -> Self {
        self.max_blocking_threads = threads;
        self
    }

    /// Sets how long such a thread waits for its next call before it ends. Default: 10 seconds.
    /// With zero it ends at once, with [`Duration::MAX`] never.
    pub fn blocking_keep_alive(mut self, keep_alive: Duration) -> Self {
        self.blocking_keep_alive = keep_alive;
        self
    }

    /// Lets `tracer` observe every worker, for example a [`heist::trace::ChromeTrace`].
    pub fn trace<G: Tracer>(self, tracer: G) -> RuntimeBuilder<G> {
        RuntimeBuilder {
            config: self.config,
            tracer,
            max_blocking_threads: self.max_blocking_threads,
            blocking_keep_alive: self.blocking_keep_alive,
        }
    }

    /// Starts the runtime.
    ///
    /// # Errors
    /// A setting has an impossible value, or the system refuses a thread. With the feature `io`,
    /// also if the system refuses the descriptors that timers and sockets need
    /// ([`StartError::Reactor`]).
    pub fn build(self) -> Result<Runtime, StartError> {
        internal::validate(&self.config, "runtime")?;
        if self.max_blocking_threads == 0 || self.max_blocking_threads > MAX_BLOCKING_THREADS_MAX {
            let problem = format!(
                "must be from 1 to {MAX_BLOCKING_THREADS_MAX}, but is {}",
                self.max_blocking_threads
            );
            return Err(internal::config_error("runtime", "max_blocking_threads", problem).into());
        }
        let blocking = BlockingConfig {
            max_threads: self.max_blocking_threads,
            keep_alive: self.blocking_keep_alive,
            thread_name: self.config.thread_name.clone(),
            stack_size: self.config.stack_size,
        };
        #[cfg(all(feature = "io", not(any(heist_loom, heist_shuttle, heist_sim, heist_tsan))))]
        crate::reactor::start_and_check().map_err(StartError::Reactor)?;
        Runtime::start(ExecutorBuilder::new(self.config).trace(self.tracer), blocking)
    }
}
