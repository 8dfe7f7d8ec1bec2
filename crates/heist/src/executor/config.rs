//! What the user can set.

use super::error::ConfigError;
use crate::affinity;
use crate::cancel::CancelToken;
use std::time::Duration;

/// What happens when a task panics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnPanic {
    /// The first panic stops the pool: nothing more is accepted, what is queued is dropped, and `join`
    /// rethrows it.
    #[default]
    StopPool,
    /// The panic ends its task alone. It is counted and reported, the worker's scratch is rebuilt, and the
    /// run goes on. If that scratch cannot be dropped or made without a panic, the pool stops after all.
    Isolate,
}

/// How an executor is set up. Every field has a default; [`crate::Executor::builder`] sets them one by one.
#[derive(Clone, Debug)]
pub struct ExecutorConfig {
    /// How many worker threads. Default: the CPUs that this process may really use (its affinity mask and
    /// cgroup quota respected).
    pub workers: usize,
    /// Seed of the workers' random numbers, which pick whom to steal from. Default 0x853c49e6748fea9b.
    pub seed: u64,
    /// Rounds over all other workers that one search makes. Default 4, at most 64.
    pub steal_tries: u32,
    /// How often a worker without work looks again before it parks. Default 200; it stops after 20 µs in any
    /// case.
    pub spin_iters: u32,
    /// Whether each worker is pinned to one of the allowed cores. Default off.
    pub pin_threads: bool,
    /// Whether workers steal from each other. Default on. Off, a task of `spawn_local` stays with its worker, and
    /// workers take from the injector one by one.
    pub stealing: bool,
    /// How many tasks one steal takes at most (it takes half of the victim's). Default 64, which is what a
    /// queue holds without growing.
    pub steal_batch: usize,
    /// How many tasks a worker takes from the injector at a time, at most. Default 64.
    pub injector_batch: usize,
    /// Whether a future that its own worker wakes is polled next, before those that have waited longer (three times in
    /// a row at most). Default on. Off, it goes to the back of the worker's queue.
    pub lifo_slot: bool,
    /// Whether others may take that next future from a worker that is busy with a long poll. Default on. It costs a
    /// wake-up of a sleeping worker now and then.
    pub lifo_stealing: bool,
    /// After how many tasks or polls of its own a worker looks at the injector. Default: it adapts to how long they
    /// take, from 8 to 255.
    pub injector_interval: Option<u32>,
    /// What happens when a task panics. Default [`OnPanic::StopPool`].
    pub on_panic: OnPanic,
    /// A worker that slept this long looks for work although nobody woke it. Default off: no wake-up is ever
    /// lost, and an idle pool makes no system call. For those who insist; `backstop_rescues` in the metrics
    /// counts how often it found something.
    pub park_backstop: Option<Duration>,
    /// Threads are called this, a dash and their number. Default `heist`.
    pub thread_name: String,
    /// Stack size of the worker threads, at least 64 KiB. Default: the platform's.
    pub stack_size: Option<usize>,
    /// Cancels the pool from outside: queued tasks are dropped, running ones can ask. An idle pool notices at its
    /// next task or when it is joined. A clone of the configuration shares the token.
    pub cancel: CancelToken,
}

/// More threads than any machine has cores; beyond it a typing mistake is likelier than a plan.
const WORKERS_MAX: usize = 4096;

/// Less than this overflows in the engine's own frames, or in those that print a panic.
const STACK_SIZE_MIN: usize = 64 * 1024;

/// One search looks no longer than this: beyond it, being woken is cheaper than to go on looking.
const STEAL_TRIES_MAX: u32 = 64;

impl Default for ExecutorConfig {
    fn default() -> Self {
        Self {
            workers: affinity::usable_parallelism(),
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

impl ExecutorConfig {
    /// Checks every field.
    ///
    /// # Errors
    /// Names the first field that cannot be used, and why.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let problem = |field, problem: &str| Err(ConfigError::new(field, problem));
        if self.workers == 0 {
            return problem("workers", "must be at least 1");
        }
        if self.workers > WORKERS_MAX {
            return Err(ConfigError::new(
                "workers",
                format!("must be at most {WORKERS_MAX}, but is {}", self.workers),
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
            ("workers", |config| config.workers = 0),
            ("workers", |config| config.workers = 4097),
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
        ExecutorConfig { workers: 4096, ..Default::default() }.validate().unwrap();
        ExecutorConfig { stealing: false, steal_tries: 0, ..Default::default() }
            .validate()
            .unwrap();
    }
}
