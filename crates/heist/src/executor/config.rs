//! The settings of an executor.

use super::error::ConfigError;
use crate::affinity;
use crate::cancel::CancelToken;
use std::time::Duration;

/// What happens when a task panics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnPanic {
    /// The first panic stops the pool: it accepts no more tasks and drops the queued ones, and
    /// `join` rethrows the panic. (It does not abort the process.)
    #[default]
    StopPool,
    /// The panic ends its task only. The pool counts and reports it, the worker makes a new
    /// scratch, and the run goes on. If dropping the old scratch or making the new one panics, the
    /// pool stops after all.
    Isolate,
}

/// The settings of an executor. Every field has a default, and a method that sets it.
/// [`crate::Executor::builder`] has the same methods.
///
/// ```
/// use heist::{ExecutorConfig, OnPanic};
///
/// let config = ExecutorConfig::new(2).on_panic(OnPanic::Isolate);
/// assert_eq!(config.threads, 2);
/// ```
#[derive(Clone, Debug)]
#[must_use]
#[non_exhaustive]
pub struct ExecutorConfig {
    /// The number of threads, each of which is a worker. Default: the number of CPUs that this
    /// process may really use, according to its affinity mask and cgroup quota.
    pub threads: usize,
    /// The seed of the workers' random numbers, which choose the victims of stealing. Default
    /// 0x853c49e6748fea9b.
    pub seed: u64,
    /// How many rounds over all other workers one search makes. Default 4, at most 64.
    pub steal_tries: u32,
    /// How many more searches a worker without work makes before it parks. Default 200. After 20 µs
    /// it parks in any case.
    pub spin_iters: u32,
    /// Pins each worker to one of the allowed cores. Default off.
    pub pin_threads: bool,
    /// Lets workers steal from each other. Default on. When it is off, a task from `spawn_local`
    /// stays with its worker, and workers take tasks from the injector one by one.
    pub stealing: bool,
    /// The largest number of tasks that one steal takes; it takes half of the victim's queue.
    /// Default 64, which is what a queue holds without growing.
    pub steal_batch: usize,
    /// The largest number of tasks that a worker takes from the injector at a time. Default 64.
    pub injector_batch: usize,
    /// Lets a worker poll a future that it has woken itself next (the *LIFO slot*), before futures
    /// that have waited longer, at most three times in a row. Default on. When it is off, the
    /// future goes to the back of the worker's queue.
    pub lifo_slot: bool,
    /// Lets other workers take the future in the LIFO slot of a worker that is busy with a long
    /// poll. Default on. It wakes a sleeping worker in vain now and then.
    pub lifo_stealing: bool,
    /// After how many tasks or polls a worker checks the injector. Default: the number adapts to
    /// how long they take, from 8 to 255.
    pub injector_interval: Option<u32>,
    /// What happens when a task panics. Default [`OnPanic::StopPool`].
    pub on_panic: OnPanic,
    /// Has a worker that slept for this long search for work although it was not woken. Default
    /// off: no wake-up is ever lost, and an idle pool makes no system call. If you want a backstop
    /// anyway, `backstop_rescues` in the metrics counts how often it found work.
    pub park_backstop: Option<Duration>,
    /// The name of the threads; a dash and the worker's number follow. Default `heist`.
    pub thread_name: String,
    /// The stack size of the worker threads, at least 64 KiB. Default: the platform's.
    pub stack_size: Option<usize>,
    /// Cancels the pool from outside: the pool drops queued tasks, and running tasks can check it.
    /// An idle pool notices at its next task, or when it is joined. A clone of the configuration
    /// has the same token.
    pub cancel: CancelToken,
}

/// Beyond this, a typing mistake is likelier than a machine with that many cores.
const THREADS_MAX: usize = 4096;

/// A smaller stack overflows in the engine's own frames, or while printing a panic.
const STACK_SIZE_MIN: usize = 64 * 1024;

/// Beyond this, sleeping and being woken is cheaper than searching on.
const STEAL_TRIES_MAX: u32 = 64;

impl Default for ExecutorConfig {
    fn default() -> Self {
        Self::new(affinity::usable_parallelism())
    }
}

impl ExecutorConfig {
    /// Creates the settings of an executor with this number of threads and all other defaults. In
    /// contrast to [`Self::default`], it does not ask the system for the number of CPUs.
    pub fn new(threads: usize) -> Self {
        Self {
            threads,
            seed: 0x853c_49e6_748f_ea9b,
            steal_tries: 4,
            spin_iters: 200,
            pin_threads: false,
            stealing: true,
            steal_batch: 64,
            injector_batch: 64,
            lifo_slot: true,
            lifo_stealing: true,
            injector_interval: None,
            on_panic: OnPanic::default(),
            park_backstop: None,
            thread_name: "heist".to_owned(),
            stack_size: None,
            cancel: CancelToken::new(),
        }
    }
}

/// Each setter returns the changed configuration.
impl ExecutorConfig {
    crate::__executor_setters!();

    fn configure(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}

impl ExecutorConfig {
    /// Checks every field.
    ///
    /// # Errors
    /// Names the first field with an unusable value, and the reason.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let problem = |field, problem: &str| Err(ConfigError::new(field, problem));
        if self.threads == 0 {
            return problem("threads", "must be at least 1");
        }
        if self.threads > THREADS_MAX {
            return Err(ConfigError::new(
                "threads",
                format!("must be at most {THREADS_MAX}, but is {}", self.threads),
            ));
        }
        if self.stealing && self.steal_tries == 0 {
            return problem(
                "steal_tries",
                "must be at least 1; to turn stealing off, set `stealing`",
            );
        }
        if self.steal_tries > STEAL_TRIES_MAX {
            return Err(ConfigError::new(
                "steal_tries",
                format!("must be at most {STEAL_TRIES_MAX}, but is {}", self.steal_tries),
            ));
        }
        if self.steal_batch == 0 {
            return problem("steal_batch", "must be at least 1");
        }
        if self.injector_batch == 0 {
            return problem("injector_batch", "must be at least 1");
        }
        if self.injector_interval == Some(0) {
            return problem("injector_interval", "must be at least 1; `None` lets it adapt");
        }
        if self.park_backstop == Some(Duration::ZERO) {
            return problem("park_backstop", "must be longer than zero; `None` turns it off");
        }
        if self.stack_size.is_some_and(|bytes| bytes < STACK_SIZE_MIN) {
            return problem(
                "stack_size",
                "must be at least 65536 bytes; `None` is the platform's default",
            );
        }
        if self.thread_name.contains('\0') {
            return problem("thread_name", "must not contain a NUL character");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Change = fn(&mut ExecutorConfig);

    #[test]
    fn each_unusable_value_is_an_error_that_names_its_field() {
        let cases: [(&str, Change); 10] = [
            ("threads", |config| config.threads = 0),
            ("threads", |config| config.threads = 4097),
            ("steal_tries", |config| config.steal_tries = 0),
            ("steal_tries", |config| config.steal_tries = 65),
            ("steal_batch", |config| config.steal_batch = 0),
            ("injector_batch", |config| config.injector_batch = 0),
            ("injector_interval", |config| config.injector_interval = Some(0)),
            ("park_backstop", |config| config.park_backstop = Some(Duration::ZERO)),
            ("stack_size", |config| config.stack_size = Some(65_535)),
            ("thread_name", |config| config.thread_name = "a\0b".to_owned()),
        ];
        for (field, change) in cases {
            let mut config = ExecutorConfig::default();
            change(&mut config);
            let error = config.validate().expect_err(field);
            assert_eq!(error.field(), field);
            assert!(error.to_string().contains(field), "{error}");
        }
    }

    #[test]
    fn the_defaults_and_the_limits_are_usable() {
        ExecutorConfig::default().validate().unwrap();
        ExecutorConfig { threads: 4096, ..Default::default() }.validate().unwrap();
        ExecutorConfig { stealing: false, steal_tries: 0, ..Default::default() }
            .validate()
            .unwrap();
    }
}
