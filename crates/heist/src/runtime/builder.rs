//! Setting up a runtime.

use super::Runtime;
use super::blocking::BlockingConfig;
use crate::cancel::CancelToken;
use crate::executor::{ConfigError, ExecutorBuilder, ExecutorConfig, StartError};
use crate::trace::{NoTrace, Tracer};
use std::convert::Infallible;
use std::time::Duration;

/// As many as tokio has, whose users' programs were written for it: enough that hundreds of slow files, or of calls
/// that wait for each other, do not hold each other up; and few enough for any system, at some 100 KiB each.
const MAX_BLOCKING_THREADS: usize = 512;

/// As many numbers as Linux has for processes and threads, if nobody raised that: a larger limit is none.
const MAX_BLOCKING_THREADS_MAX: usize = 32_768;

/// Starting a thread takes some 50 µs. Ten seconds later nobody misses one that was not used; and as tokio.
const BLOCKING_KEEP_ALIVE: Duration = Duration::from_secs(10);

/// Builds a [`Runtime`]. See [`ExecutorConfig`] for what each setting means.
///
/// ```
/// let runtime = heist::Runtime::builder().workers(2).thread_name("net").build()?;
/// assert_eq!(runtime.block_on(async { 1 + 1 }), 2);
/// # Ok::<(), heist::StartError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct RuntimeBuilder<H = NoTrace> {
    executor: ExecutorBuilder<Infallible, H>,
    max_blocking_threads: usize,
    blocking_keep_alive: Duration,
}

/// Declares one setter per setting that the executor has, too.
macro_rules! setters {
    ($($field:ident: $type:ty),* $(,)?) => {
        $(#[doc = concat!("Sets [`ExecutorConfig::", stringify!($field), "`].")]
        pub fn $field(mut self, $field: $type) -> Self {
            self.executor = self.executor.$field($field);
            self
        })*
    };
}

impl RuntimeBuilder<NoTrace> {
    pub(super) fn new() -> Self {
        Self {
            executor: ExecutorBuilder::new(ExecutorConfig::default()),
            max_blocking_threads: MAX_BLOCKING_THREADS,
            blocking_keep_alive: BLOCKING_KEEP_ALIVE,
        }
    }
}

impl<H: Tracer> RuntimeBuilder<H> {
    setters! {
        workers: usize,
        seed: u64,
        steal_tries: u32,
        spin_iters: u32,
        pin_threads: bool,
        stealing: bool,
        steal_batch: usize,
        injector_batch: usize,
        lifo_slot: bool,
        lifo_stealing: bool,
        injector_interval: Option<u32>,
        stack_size: Option<usize>,
        thread_name: impl Into<String>,
        cancel: CancelToken,
    }

    /// How many threads there may be for blocking calls, from 1 to 32768. Default 512. They are started when they are
    /// needed; calls beyond that wait their turn. Their names are the [`ExecutorConfig::thread_name`], `-blocking-` and
    /// a number, their stacks have the [`ExecutorConfig::stack_size`].
    pub fn max_blocking_threads(mut self, threads: usize) -> Self {
        self.max_blocking_threads = threads;
        self
    }

    /// How long such a thread waits for its next call before it leaves. Default 10 seconds. With zero it leaves at
    /// once, with [`Duration::MAX`] never.
    pub fn blocking_keep_alive(mut self, keep_alive: Duration) -> Self {
        self.blocking_keep_alive = keep_alive;
        self
    }

    /// Lets `tracer` watch every worker, for example a [`crate::trace::ChromeTrace`].
    pub fn trace<G: Tracer>(self, tracer: G) -> RuntimeBuilder<G> {
        RuntimeBuilder {
            executor: self.executor.trace(tracer),
            max_blocking_threads: self.max_blocking_threads,
            blocking_keep_alive: self.blocking_keep_alive,
        }
    }

    /// Starts the runtime.
    ///
    /// # Errors
    /// A setting has an impossible value, or the system refuses a thread; with the feature `io` also if it refuses the
    /// descriptors that timers and sockets need ([`StartError::Reactor`]).
    pub fn build(self) -> Result<Runtime, StartError> {
        let config = self.executor.config();
        config.validate().map_err(|error| error.about("runtime"))?;
        if self.max_blocking_threads == 0 || self.max_blocking_threads > MAX_BLOCKING_THREADS_MAX {
            let problem = format!(
                "must be from 1 to {MAX_BLOCKING_THREADS_MAX}, but is {}",
                self.max_blocking_threads
            );
            return Err(ConfigError::of("runtime", "max_blocking_threads", problem).into());
        }
        let blocking = BlockingConfig {
            max_threads: self.max_blocking_threads,
            keep_alive: self.blocking_keep_alive,
            thread_name: config.thread_name.clone(),
            stack_size: config.stack_size,
        };
        #[cfg(all(feature = "io", not(any(heist_loom, heist_shuttle, heist_sim, heist_tsan))))]
        crate::reactor::start_and_check().map_err(StartError::Reactor)?;
        Runtime::start(self.executor, blocking)
    }
}
