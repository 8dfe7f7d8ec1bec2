//! `ExecutorBuilder`: sets the configuration field by field.

use super::attached::Attached;
use super::config::ExecutorConfig;
use super::context::WorkerCtx;
use super::error::{RunError, StartError};
use super::handle::ExecutorHandle;
use super::pool::Executor;
use super::run::{RunOutput, run_to_end};
use crate::trace::{NoTrace, Tracer};
use std::convert::Infallible;
use std::fmt;
use std::marker::PhantomData;

/// Builds an [`Executor`], or does one run. See [`ExecutorConfig`] for the meaning of each setting.
///
/// ```
/// let executor = heist::Executor::builder()
///     .threads(4)
///     .on_panic(heist::OnPanic::Isolate)
///     .build(|_worker| (), |task: u32, _ctx| assert_ne!(task, 13))?;
/// # executor.join();
/// # Ok::<(), heist::StartError>(())
/// ```
///
/// The task type `T` follows from the runner. Naming it where the builder begins,
/// `Executor::<Task>::builder()`, lets the runner leave the types of its arguments out:
///
/// ```
/// use heist::Executor;
///
/// enum Task {
///     Greet(&'static str),
/// }
///
/// let executor = Executor::<Task>::builder()
///     .threads(2)
///     .build(|_worker| (), |task, _ctx| match task {
///         Task::Greet(name) => println!("hello, {name}"),
///     })?;
/// executor.spawn(Task::Greet("world"))?;
/// executor.join();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub struct ExecutorBuilder<T, H = NoTrace> {
    config: ExecutorConfig,
    tracer: H,
    /// A builder holds no task, so it may cross threads whatever `T` is.
    _task: PhantomData<fn(T)>,
}

// By hand, so that `T` need be neither `Clone` nor `Debug`.
impl<T, H: Clone> Clone for ExecutorBuilder<T, H> {
    fn clone(&self) -> Self {
        Self { config: self.config.clone(), tracer: self.tracer.clone(), _task: PhantomData }
    }
}

impl<T, H: fmt::Debug> fmt::Debug for ExecutorBuilder<T, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExecutorBuilder")
            .field("config", &self.config)
            .field("tracer", &self.tracer)
            .finish()
    }
}

impl<T> ExecutorBuilder<T, NoTrace> {
    /// Creates a builder from a configuration.
    pub fn new(config: ExecutorConfig) -> Self {
        Self { config, tracer: NoTrace, _task: PhantomData }
    }
}

impl<T, H: Tracer> ExecutorBuilder<T, H> {
    crate::__executor_setters!();

    fn configure(mut self, change: impl FnOnce(&mut ExecutorConfig)) -> Self {
        change(&mut self.config);
        self
    }

    /// Has `tracer` record what every worker does. See [`crate::trace::ChromeTrace`].
    pub fn trace<G: Tracer>(self, tracer: G) -> ExecutorBuilder<T, G> {
        ExecutorBuilder { config: self.config, tracer, _task: PhantomData }
    }

    /// Starts the executor. See [`Executor::new`].
    ///
    /// # Errors
    /// Fails if a setting has an unusable value, or if the system refuses a thread.
    pub fn build<S, I, R>(self, scratch_init: I, runner: R) -> Result<Executor<T>, StartError>
    where
        T: Send + 'static,
        S: 'static,
        I: Fn(usize) -> S + Send + Sync + 'static,
        R: Fn(T, &mut WorkerCtx<'_, T, S>) + Send + Sync + 'static,
    {
        self.build_with(scratch_init, runner, |_scratch| {})
    }

    /// Starts an executor whose workers call `before_park` with their scratch each time before they
    /// sleep.
    ///
    /// This is for a scratch that keeps something while its worker is busy, which others may be
    /// waiting for: a device slot, or a buffer of a pool. If returning it makes other work
    /// runnable, that work runs: the worker searches once more before it sleeps. A panic in
    /// `before_park` counts as a task's panic.
    ///
    /// ```
    /// use heist::{CountBudget, CountPermit, Executor};
    ///
    /// let licences = CountBudget::new(1)?;
    /// let shared = licences.clone();
    /// let executor = Executor::builder().threads(2).build_with(
    ///     |_worker| None::<CountPermit>,
    ///     move |_task: u32, ctx| {
    ///         // Acquired once for many tasks in a row ...
    ///         if ctx.scratch.is_none() {
    ///             *ctx.scratch = shared.try_acquire(1).ok();
    ///         }
    ///     },
    ///     // ... and returned before the worker sleeps.
    ///     |licence| *licence = None,
    /// )?;
    /// executor.spawn(1)?;
    /// executor.join();
    /// assert_eq!(licences.available(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Fails as [`Self::build`] does.
    pub fn build_with<S, I, R, P>(
        self,
        scratch_init: I,
        runner: R,
        before_park: P,
    ) -> Result<Executor<T>, StartError>
    where
        T: Send + 'static,
        S: 'static,
        I: Fn(usize) -> S + Send + Sync + 'static,
        R: Fn(T, &mut WorkerCtx<'_, T, S>) + Send + Sync + 'static,
        P: Fn(&mut S) + Send + Sync + 'static,
    {
        let scratch_init = |_handle| scratch_init;
        Executor::start(&self.config, self.tracer, None, scratch_init, runner, before_park)
    }

    /// Does one run over borrowed data. See [`crate::run`]. The tasks of an [`Executor`] are
    /// `'static`; for tasks that borrow, begin with [`ExecutorBuilder::new`].
    ///
    /// # Errors
    /// Fails as [`crate::run`] does.
    pub fn run<S, I, R>(
        self,
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
        run_to_end(&self.config, &self.tracer, roots, &scratch_init, &runner)
    }
}

impl<H: Tracer> ExecutorBuilder<Infallible, H> {
    /// Starts an executor without typed tasks. `scratch_init` makes a worker's scratch from a
    /// handle to the executor.
    pub(crate) fn build_for_futures<S: 'static>(
        self,
        attached: Box<dyn Attached>,
        scratch_init: impl Fn(&ExecutorHandle<Infallible>) -> S + Send + Sync + 'static,
    ) -> Result<Executor<Infallible>, StartError> {
        let with_handle = |handle| move |_worker| scratch_init(&handle);
        let runner = |never: Infallible, _ctx: &mut WorkerCtx<'_, Infallible, S>| match never {};
        Executor::start(&self.config, self.tracer, Some(attached), with_handle, runner, |_| {})
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CancelToken, OnPanic};
    use std::time::Duration;

    /// No value is the default, so a setter that does nothing is noticed. The pattern has no `..`,
    /// so a field without a setter does not compile here.
    #[test]
    fn the_builder_sets_every_field() {
        let token = CancelToken::new();
        let builder = ExecutorBuilder::<()>::new(ExecutorConfig::default())
            .threads(4096)
            .seed(2)
            .steal_tries(3)
            .spin_iters(5)
            .pin_threads(true)
            .stealing(false)
            .steal_batch(6)
            .injector_batch(7)
            .lifo_slot(false)
            .lifo_stealing(false)
            .injector_interval(Some(8))
            .on_panic(OnPanic::Isolate)
            .park_backstop(Some(Duration::from_secs(9)))
            .thread_name("ten")
            .stack_size(Some(800_000))
            .cancel(token.clone());
        let ExecutorConfig {
            threads,
            seed,
            steal_tries,
            spin_iters,
            pin_threads,
            stealing,
            steal_batch,
            injector_batch,
            lifo_slot,
            lifo_stealing,
            injector_interval,
            on_panic,
            park_backstop,
            thread_name,
            stack_size,
            cancel,
        } = &builder.config;
        assert_eq!((*threads, *seed, *steal_tries, *spin_iters), (4096, 2, 3, 5));
        assert_eq!((*pin_threads, *stealing), (true, false));
        assert_eq!((*steal_batch, *injector_batch), (6, 7));
        assert_eq!((*lifo_slot, *lifo_stealing), (false, false));
        assert_eq!(*injector_interval, Some(8));
        assert_eq!(*on_panic, OnPanic::Isolate);
        assert_eq!(*park_backstop, Some(Duration::from_secs(9)));
        assert_eq!(thread_name, "ten");
        assert_eq!(*stack_size, Some(800_000));
        token.cancel();
        assert!(cancel.is_cancelled(), "it is the same token");
    }
}
