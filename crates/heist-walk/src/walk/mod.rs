//! [`Walk`], the description of a walk, and [`WalkReport`], its result.

mod embed;
mod run;

pub(crate) use run::RunningWalk;

use crate::counters::{Progress, Totals};
use crate::disks::Disks;
use crate::engine::{DescriptorBudget, Engine, LEFT_FOR_PROGRAM};
use crate::error::WalkStartError;
use crate::filter::Filter;
use crate::sys;
use crate::visitor::Visitor;
use heist::trace::{NoTrace, Tracer};
use heist::{CancelToken, CountBudget, ExecutorConfig, MetricsSnapshot, OnPanic, StartError};
use std::path::PathBuf;

/// Which symbolic links a walk follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Symlinks {
    /// No links: the walk visits a link as a file. (If the path of a root ends in a slash, the
    /// system follows it nevertheless.)
    Never,
    /// Only links that are roots themselves.
    #[default]
    Roots,
    /// All links.
    ///
    /// A link to a directory that contains the link is an error and is not followed. A directory to
    /// which several links lead is visited once for each of them.
    Always,
}

/// A parallel walk over directory trees.
///
/// Describe the walk with the methods that return `Self`, then start it with [`run`](Self::run),
/// [`entries`](Self::entries), [`sorted`](Self::sorted) or
/// [`usage::measure`](crate::usage::measure).
///
/// ```
/// use heist_walk::{Enter, Entry, Flow, Visitor, Walk, WalkError};
/// use std::convert::Infallible;
///
/// #[derive(Default)]
/// struct CountSources(u64);
///
/// impl Visitor for CountSources {
///     type Dir = ();
///     type Task = Infallible;
///
///     fn enter_dir(&mut self, _dir: &Entry<'_>, _parent: Option<&()>) -> Enter<()> {
///         Enter::Into(())
///     }
///
///     fn file(&mut self, file: &Entry<'_>, _parent: Option<&()>) -> Flow {
///         self.0 += u64::from(file.name().as_encoded_bytes().ends_with(b".rs"));
///         Flow::Continue
///     }
///
///     fn error(&mut self, error: WalkError, _parent: Option<&()>) -> Flow {
///         eprintln!("{error}");
///         Flow::Continue
///     }
/// }
///
/// let report = Walk::new("src").run(|_thread| CountSources::default())?;
/// let sources: u64 = report.visitors.iter().map(|visitor| visitor.0).sum();
/// assert!(sources > 5);
/// # Ok::<(), heist_walk::WalkStartError>(())
/// ```
#[derive(Debug)]
#[must_use]
pub struct Walk {
    roots: Vec<PathBuf>,
    pub(crate) threads: Option<usize>,
    max_threads: usize,
    metadata: bool,
    symlinks: Symlinks,
    show_loops: bool,
    same_file_system: bool,
    max_depth: Option<usize>,
    filter: Filter,
    progress: Progress,
    raise_limit: bool,
    max_descriptors: Option<usize>,
    max_waiting_files: usize,
    /// The walk uses its token as its own, and sets `workers` and `on_panic` when it starts.
    executor: ExecutorConfig,
}

/// How many files may wait for [`Visitor::files`] by default.
const WAITING_FILES: usize = 1024;

/// The walk itself does not recurse, so nearly all of this is for the visitor. A walk may have many
/// threads, so it is not more.
const STACK_BYTES: usize = 1 << 20;

/// The result of a walk.
#[derive(Debug)]
#[non_exhaustive]
pub struct WalkReport<V> {
    /// The visitors of all threads, in no particular order.
    pub visitors: Vec<V>,
    /// What the walk visited.
    pub totals: Totals,
    /// Whether the walk ended early, because it was cancelled or a visitor stopped it. Then the
    /// report covers only a part of the tree.
    pub stopped: bool,
    /// The number of threads of the walk.
    pub threads: usize,
    /// The metrics of the executor that ran the walk.
    pub metrics: MetricsSnapshot,
}

impl<V> WalkReport<V> {
    /// Creates a report in which everything except the visitors is empty.
    #[must_use]
    pub fn new(visitors: impl IntoIterator<Item = V>) -> Self {
        Self {
            visitors: visitors.into_iter().collect(),
            totals: Totals::default(),
            stopped: false,
            threads: 0,
            metrics: MetricsSnapshot::default(),
        }
    }
}

/// The clone has progress counters of its own.
impl Clone for Walk {
    fn clone(&self) -> Self {
        Self {
            roots: self.roots.clone(),
            filter: self.filter.clone(),
            progress: Progress::default(),
            executor: self.executor.clone(),
            ..*self
        }
    }
}

impl Walk {
    /// Creates a walk over `root` and everything below it.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self::over([root])
    }

    /// Creates a walk over several roots.
    pub fn over(roots: impl IntoIterator<Item = impl Into<PathBuf>>) -> Self {
        Self {
            roots: roots.into_iter().map(Into::into).collect(),
            threads: None,
            max_threads: usize::MAX,
            metadata: false,
            symlinks: Symlinks::default(),
            show_loops: false,
            same_file_system: false,
            max_depth: None,
            filter: Filter::default(),
            progress: Progress::default(),
            raise_limit: true,
            max_descriptors: None,
            max_waiting_files: WAITING_FILES,
            executor: ExecutorConfig {
                thread_name: "heist-walk".to_owned(),
                stack_size: Some(STACK_BYTES),
                ..ExecutorConfig::default()
            },
        }
    }

    /// Sets the number of threads.
    ///
    /// By default (`None`) it depends on the disks of the roots: 2 threads for a disk with a moving
    /// head, and at least 32 for any other disk, whose requests can overlap. The walk starts with
    /// one thread per core; the extra threads join in when it turns out to wait for its disks.
    pub fn threads(mut self, threads: Option<usize>) -> Self {
        self.threads = threads;
        self
    }

    /// Limits the number of threads that the walk chooses by itself. It has no effect if
    /// [`threads`](Self::threads) sets the number.
    ///
    /// A low limit suits visitors that compute for longer than the walk waits.
    pub fn max_threads(mut self, max_threads: usize) -> Self {
        self.max_threads = max_threads.max(1);
        self
    }

    /// Sets whether entries come with their [`Metadata`](crate::Metadata), which costs one system
    /// call each. Off by default.
    pub fn metadata(mut self, metadata: bool) -> Self {
        self.metadata = metadata;
        self
    }

    /// Sets which symbolic links the walk follows. By default it follows only links that are roots.
    pub fn symlinks(mut self, symlinks: Symlinks) -> Self {
        self.symlinks = symlinks;
        self
    }

    /// Sets whether the walk stays on the file systems of its roots. Off by default.
    ///
    /// A file that is a mount point itself is recognized only in a walk with
    /// [`metadata`](Self::metadata).
    pub fn same_file_system(mut self, same: bool) -> Self {
        self.same_file_system = same;
        self
    }

    /// Sets how deep the walk goes: 0 visits only the roots, 1 also what is directly in them. By
    /// default (`None`) there is no limit.
    pub fn max_depth(mut self, max_depth: Option<usize>) -> Self {
        self.max_depth = max_depth;
        self
    }

    /// Sets which entries the walk leaves out. By default it leaves out nothing.
    pub fn filter(mut self, filter: Filter) -> Self {
        self.filter = filter;
        self
    }

    /// Sets a token that ends the walk early when it is cancelled.
    pub fn cancel(mut self, cancel: CancelToken) -> Self {
        self.executor.cancel = cancel;
        self
    }

    /// Sets whether the walk raises the process's soft limit on descriptors, up to the hard limit
    /// and at most to 65,536. On by default.
    ///
    /// With a low limit, the walk has to close directories with pending names and open them again.
    pub fn raise_descriptor_limit(mut self, raise: bool) -> Self {
        self.raise_limit = raise;
        self
    }

    /// Limits the number of descriptors that the walk may have open.
    ///
    /// A walk needs three per thread, and with less than that it uses fewer threads. More
    /// descriptors make it faster, because directories with pending names can stay open. By default
    /// (`None`) the walk uses all descriptors that the process may still open, except 8.
    pub fn max_descriptors(mut self, max_descriptors: Option<usize>) -> Self {
        self.max_descriptors = max_descriptors;
        self
    }

    /// Limits how many files may wait for [`Visitor::files`], 1,024 by default.
    ///
    /// At the limit, a worker that finds more files passes them to its own visitor at once.
    pub fn max_waiting_files(mut self, max_waiting_files: usize) -> Self {
        self.max_waiting_files = max_waiting_files;
        self
    }

    /// Sets the seed of the executor's random choices, such as which worker to steal from.
    pub fn seed(mut self, seed: u64) -> Self {
        self.executor.seed = seed;
        self
    }

    /// Changes the settings of the executor that runs the walk, such as thread names, stack size,
    /// pinning and stealing.
    ///
    /// Several calls add up. A value that cannot be used is an error when the walk starts.
    ///
    /// ```
    /// use heist_walk::Walk;
    ///
    /// let walk = Walk::new("src").executor(|config| {
    ///     config.pin_threads = true;
    ///     // For a visitor that recurses.
    ///     config.stack_size = Some(8 << 20);
    /// });
    /// assert!(walk.entries()?.count() > 5);
    /// # Ok::<(), heist_walk::WalkStartError>(())
    /// ```
    ///
    /// The closure starts from the defaults of [`ExecutorConfig`], except that threads are named
    /// `heist-walk` and have 1 MiB of stack. The fields `seed` and `cancel` are the ones that
    /// [`seed`](Self::seed) and [`cancel`](Self::cancel) set. The walk overwrites `workers` with
    /// the number of its [`threads`](Self::threads), and `on_panic` with [`OnPanic::StopPool`],
    /// because a panic of a visitor ends the walk. The settings for futures have no effect.
    ///
    /// [`sorted`](Self::sorted) does not use an executor. It takes only the thread name and the
    /// stack size.
    pub fn executor(mut self, change: impl FnOnce(&mut ExecutorConfig)) -> Self {
        change(&mut self.executor);
        self
    }

    /// Returns the roots.
    pub(crate) fn roots(&self) -> &[PathBuf] {
        &self.roots
    }

    /// Sets whether the walk shows a link that leads back to a directory containing it like any
    /// other directory, instead of reporting an error. The visitor must then make sure that it does
    /// not enter a directory twice.
    pub(crate) fn show_loops(mut self, show: bool) -> Self {
        self.show_loops = show;
        self
    }

    /// Returns which symbolic links the walk follows.
    pub(crate) fn followed_symlinks(&self) -> Symlinks {
        self.symlinks
    }

    /// Returns a handle to the walk's counters, which any thread can read while the walk runs.
    #[must_use]
    pub fn progress(&self) -> Progress {
        self.progress.clone()
    }

    /// Runs the walk and returns when everything is visited.
    ///
    /// `visitor` creates the visitor of each thread from the thread's number. [`Visitor`] explains
    /// on which thread and in which order the walk calls it.
    ///
    /// # Errors
    ///
    /// Returns an error if [`threads`](Self::threads) is 0 or more than 4,096, if
    /// [`executor`](Self::executor) set a field to an unusable value, or if the system refuses a
    /// thread. Problems in the tree do not end the walk: they go to [`Visitor::error`].
    ///
    /// # Panics
    ///
    /// Rethrows the first panic of a visitor.
    pub fn run<V: Visitor>(
        self,
        visitor: impl Fn(usize) -> V + Send + Sync + 'static,
    ) -> Result<WalkReport<V>, WalkStartError> {
        self.run_traced(NoTrace, visitor)
    }

    /// Runs the walk like [`Walk::run`] and reports to a tracer, for example a
    /// [`heist::trace::ChromeTrace`].
    ///
    /// # Errors
    ///
    /// See [`Walk::run`].
    ///
    /// # Panics
    ///
    /// See [`Walk::run`].
    pub fn run_traced<V: Visitor>(
        self,
        tracer: impl Tracer,
        visitor: impl Fn(usize) -> V + Send + Sync + 'static,
    ) -> Result<WalkReport<V>, WalkStartError> {
        self.start(tracer, true, visitor).map(RunningWalk::join)
    }

    /// Returns the executor's settings, checked, or an error. The caller still has to set
    /// `workers`.
    pub(crate) fn checked_executor(&self) -> Result<ExecutorConfig, WalkStartError> {
        let config = ExecutorConfig {
            workers: self.threads.unwrap_or(1),
            on_panic: OnPanic::StopPool,
            ..self.executor.clone()
        };
        let refused =
            |error| WalkStartError::from_executor(StartError::Config(error), self.threads);
        config.validate().map_err(refused)?;
        Ok(config)
    }

    /// Turns the description into an engine, and returns how many threads the engine should have.
    pub(crate) fn into_engine(self) -> (Engine, usize) {
        if self.raise_limit {
            sys::raise_descriptor_limit();
        }
        let (disks, threads) = Disks::new(&self.roots, self.threads);
        let available = sys::descriptors_available().saturating_sub(LEFT_FOR_PROGRAM);
        let available = self.max_descriptors.map_or(available, |most| most.min(available));
        let (descriptors, affordable) = DescriptorBudget::new(available, threads);
        let most = if self.threads.is_some() { usize::MAX } else { self.max_threads };
        let threads = threads.min(affordable).min(most);
        let identify = self.same_file_system
            || self.symlinks == Symlinks::Always
            || Disks::has_mounts_below(&self.roots);
        let engine = Engine {
            roots: self.roots,
            filter: self.filter,
            symlinks: self.symlinks,
            max_depth: self
                .max_depth
                .map_or(u32::MAX, |depth| u32::try_from(depth).unwrap_or(u32::MAX)),
            same_file_system: self.same_file_system,
            metadata: self.metadata,
            identify,
            show_loops: self.show_loops,
            descriptors,
            disks,
            waiting_files: CountBudget::new(
                (self.max_waiting_files as u64).min(u64::from(u32::MAX)),
            )
            .expect("a budget of up to 2^32 is allowed"),
            // A child token: a visitor that stops the walk must not cancel everything else that
            // uses the caller's token.
            stop: self.executor.cancel.child(),
        };
        (engine, threads)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::THREADS_MAX;
    use std::time::Duration;

    #[test]
    fn the_limit_on_threads_is_the_one_in_the_error_message() {
        let with = |threads| Walk::new(".").threads(Some(threads)).checked_executor();
        assert!(with(THREADS_MAX).is_ok());
        assert!(matches!(with(THREADS_MAX + 1), Err(WalkStartError::Threads { .. })));
    }

    /// Names all fields, so that this test does not compile after a field is added.
    #[test]
    fn the_walk_changes_only_workers_and_on_panic_of_the_executor_settings() {
        let cancel = CancelToken::new();
        let changed = ExecutorConfig {
            workers: 7,
            seed: 1,
            steal_tries: 2,
            spin_iters: 3,
            pin_threads: true,
            stealing: false,
            steal_batch: 4,
            injector_batch: 5,
            lifo_slot: false,
            lifo_stealing: false,
            injector_interval: Some(6),
            on_panic: OnPanic::Isolate,
            park_backstop: Some(Duration::from_secs(8)),
            thread_name: "name".to_owned(),
            stack_size: Some(1 << 21),
            cancel: cancel.clone(),
        };
        let walk = Walk::new(".").threads(Some(3)).executor(|config| *config = changed.clone());
        let kept = walk.checked_executor().unwrap();
        let expected = ExecutorConfig { workers: 3, on_panic: OnPanic::StopPool, ..changed };
        assert_eq!(format!("{kept:?}"), format!("{expected:?}"));
        cancel.cancel();
        assert!(kept.cancel.is_cancelled());
    }
}
