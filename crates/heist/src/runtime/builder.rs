//! Setting up a runtime.

use super::Runtime;
use crate::cancel::CancelToken;
use crate::executor::{ExecutorBuilder, ExecutorConfig, StartError};
use crate::trace::{NoTrace, Tracer};

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
    executor: ExecutorBuilder<H>,
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
        Self { executor: ExecutorBuilder::new(ExecutorConfig::default()) }
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

    /// Lets `tracer` watch every worker, for example a [`crate::trace::ChromeTrace`].
    pub fn trace<G: Tracer>(self, tracer: G) -> RuntimeBuilder<G> {
        RuntimeBuilder { executor: self.executor.trace(tracer) }
    }

    /// Starts the runtime.
    ///
    /// # Errors
    /// A setting has an impossible value, or the system refuses a thread.
    pub fn build(self) -> Result<Runtime, StartError> {
        Runtime::start(self.executor)
    }
}
