//! [`Walk`]: what to walk, and how.

mod embed;
mod run;

pub(crate) use run::Running;

use crate::counters::{Progress, Totals};
use crate::disks::Disks;
use crate::engine::{Descriptors, Engine, RESERVE};
use crate::filter::Filter;
use crate::sys;
use crate::visitor::Visitor;
use heist::metrics::MetricsSnapshot;
use heist::trace::{NoTrace, Tracer};
use heist::{CancelToken, CountBudget, ExecutorConfig, OnPanic, StartError};
use std::path::PathBuf;

/// Which symbolic links a walk follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Symlinks {
    /// None: a link is a file like others. (A root with a slash at its end is followed by the system.)
    Never,
    /// Those that are roots.
    #[default]
    Roots,
    /// All. A link back to a directory that it is in is an error, and not followed; a directory that several links
    /// lead to is visited each time.
    Always,
}

/// A parallel walk over directory trees.
///
/// ```
/// use heist_walk::{Enter, Entry, Flow, Visitor, Walk, WalkError};
///
/// #[derive(Default)]
/// struct Count(u64);
///
/// impl Visitor for Count {
///     type Dir = ();
///     fn enter_dir(&mut self, _dir: &Entry<'_>, _parent: Option<&()>) -> Enter<()> {
///         Enter::Into(())
///     }
///     fn file(&mut self, file: &Entry<'_>, _parent: Option<&()>) -> Flow {
///         self.0 += u64::from(file.name().as_encoded_bytes().ends_with(b".rs"));
///         Flow::Continue
///     }
///     fn error(&mut self, error: WalkError, _parent: Option<&()>) -> Flow {
///         eprintln!("{error}");
///         Flow::Continue
///     }
/// }
///
/// let walked = Walk::new("src").run(|_worker| Count::default())?;
/// let sources: u64 = walked.visitors.iter().map(|count| count.0).sum();
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
    /// Its token is the walk's. `workers` and `on_panic` are set when the walk starts.
    executor: ExecutorConfig,
}

/// How many files wait by default for a visitor that wants them later.
const WAITING_FILES: usize = 1024;

/// A worker recurses nowhere; the rest is for the visitor. A walk may have many threads, so not more than that.
const STACK_BYTES: usize = 1 << 20;

/// What a walk came to.
#[derive(Debug)]
#[non_exhaustive]
pub struct Walked<V> {
    /// Every worker's visitor.
    pub visitors: Vec<V>,
    /// What was visited.
    pub totals: Totals,
    /// Whether the walk ended early: it was cancelled, or a visitor quit. What it came to is then a part of the whole.
    pub stopped: bool,
    /// How many workers it had.
    pub threads: usize,
    /// What the executor did.
    pub metrics: MetricsSnapshot,
}

/// Why a walk could not start: the system refuses a thread, or there cannot be so many.
pub type WalkStartError = StartError;

/// The same walk once more: it has counters of its own.
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
    /// A walk over what is below `root`, and `root` itself.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self::over([root])
    }

    /// A walk over several roots.
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

    /// How many threads walk. `None`, the default, asks the roots' disks: 2 for one with a moving head, and 32 or
    /// more for others, whose waiting times overlap; of these only as many as there are cores begin, and the rest
    /// when it shows that the walk waits.
    pub fn threads(mut self, threads: Option<usize>) -> Self {
        self.threads = threads;
        self
    }

    /// How many threads walk at most, if nobody says how many [do](Self::threads). Fewer are enough for whoever
    /// computes more than the walk waits.
    pub fn max_threads(mut self, most: usize) -> Self {
        self.max_threads = most.max(1);
        self
    }

    /// Whether entries come with their [`Metadata`](crate::Metadata): a system call for each. Off by default.
    pub fn metadata(mut self, metadata: bool) -> Self {
        self.metadata = metadata;
        self
    }

    /// Which symbolic links are followed. By default those that are roots.
    pub fn symlinks(mut self, symlinks: Symlinks) -> Self {
        self.symlinks = symlinks;
        self
    }

    /// Whether the walk stays on the file systems of its roots. Off by default. (That something is mounted on a file
    /// shows only in a walk with [metadata](Self::metadata).)
    pub fn same_file_system(mut self, same: bool) -> Self {
        self.same_file_system = same;
        self
    }

    /// How far down the walk goes: 0 visits the roots alone, 1 what is in them. `None`, the default: all the way.
    pub fn max_depth(mut self, max_depth: Option<usize>) -> Self {
        self.max_depth = max_depth;
        self
    }

    /// Which entries are left out. By default none.
    pub fn filter(mut self, filter: Filter) -> Self {
        self.filter = filter;
        self
    }

    /// Ends the walk early when it is cancelled.
    pub fn cancel(mut self, cancel: CancelToken) -> Self {
        self.executor.cancel = cancel;
        self
    }

    /// Whether the process's soft limit of descriptors is raised (to its hard limit, 65,536 at most), so that
    /// directories with pending names can stay open. On by default. With it off, or with a low limit, the walk opens
    /// some twice.
    pub fn raise_descriptor_limit(mut self, raise: bool) -> Self {
        self.raise_limit = raise;
        self
    }

    /// How many descriptors the walk may have open: three for each thread, and with less than that there are fewer
    /// threads. More make it faster, because directories with pending names can stay open. `None`, the default: what
    /// the process may still open, but for a reserve of 8.
    pub fn max_descriptors(mut self, max_descriptors: Option<usize>) -> Self {
        self.max_descriptors = max_descriptors;
        self
    }

    /// How many files may wait for a visitor that wants them [later](crate::Flow::Later). When there are as many, a
    /// worker that finds more reads them at once. 1,024 by default.
    pub fn max_waiting_files(mut self, max_waiting_files: usize) -> Self {
        self.max_waiting_files = max_waiting_files;
        self
    }

    /// For the executor's random choices: whom to steal from.
    pub fn seed(mut self, seed: u64) -> Self {
        self.executor.seed = seed;
        self
    }

    /// Changes the settings of the executor that runs the walk: whether its threads are pinned to cores, their names
    /// and stack size, how they steal, how they wait. Several calls add up. A value that cannot be used is an error
    /// when the walk starts.
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
    /// The closure finds the defaults of [`ExecutorConfig`], except that the threads are named `heist-walk` and have
    /// 1 MiB of stack each. `seed` and `cancel` are what [`seed`](Self::seed) and [`cancel`](Self::cancel) set. The
    /// walk overwrites two fields: `workers` by the number of its [threads](Self::threads), and `on_panic` by
    /// [`OnPanic::Abort`], because a panic of its visitor ends a walk. The fields about futures have no effect: a walk
    /// spawns none.
    ///
    /// [`sorted`](Self::sorted) has no executor; of these settings its threads take the name and the stack size.
    pub fn executor(mut self, change: impl FnOnce(&mut ExecutorConfig)) -> Self {
        change(&mut self.executor);
        self
    }

    /// Where it starts.
    pub(crate) fn roots(&self) -> &[PathBuf] {
        &self.roots
    }

    /// Shows links that lead back to a directory that they are in like any other directory, and not as errors: for
    /// a visitor that itself enters no directory twice.
    pub(crate) fn show_loops(mut self, show: bool) -> Self {
        self.show_loops = show;
        self
    }

    /// Which symbolic links it follows.
    pub(crate) fn followed_symlinks(&self) -> Symlinks {
        self.symlinks
    }

    /// The walk's counters, to be watched while it runs.
    #[must_use]
    pub fn progress(&self) -> Progress {
        self.progress.clone()
    }

    /// Walks, and returns when everything is visited. `visitor` makes each worker's visitor, given the worker's
    /// number.
    ///
    /// # Errors
    /// The system refuses a thread, or a setting cannot be used: `threads` is 0 or more than 4,096, or a field that
    /// [`executor`](Self::executor) changed has an impossible value. What goes wrong in the tree goes to
    /// [`Visitor::error`].
    ///
    /// # Panics
    /// Rethrows the first panic of a visitor.
    pub fn run<V: Visitor>(
        self,
        visitor: impl Fn(usize) -> V + Send + Sync + 'static,
    ) -> Result<Walked<V>, WalkStartError> {
        self.run_traced(NoTrace, visitor)
    }

    /// [`Walk::run`], watched by a tracer, for example a [`heist::trace::ChromeTrace`].
    ///
    /// # Errors
    /// As [`Walk::run`].
    ///
    /// # Panics
    /// As [`Walk::run`].
    pub fn run_traced<V: Visitor>(
        self,
        tracer: impl Tracer,
        visitor: impl Fn(usize) -> V + Send + Sync + 'static,
    ) -> Result<Walked<V>, WalkStartError> {
        self.start(tracer, true, visitor).map(Running::join)
    }

    /// The executor's settings, checked; `workers` is still to be set. An error also if the caller wants no threads
    /// at all.
    pub(crate) fn checked_executor(&self) -> Result<ExecutorConfig, WalkStartError> {
        let config = ExecutorConfig {
            workers: self.threads.unwrap_or(1),
            on_panic: OnPanic::Abort,
            ..self.executor.clone()
        };
        config.validate()?;
        Ok(config)
    }

    /// The engine, and how many threads it should have.
    pub(crate) fn into_engine(self) -> (Engine, usize) {
        if self.raise_limit {
            sys::raise_descriptor_limit();
        }
        let (disks, threads) = Disks::new(&self.roots, self.threads);
        let available = sys::descriptors_available().saturating_sub(RESERVE);
        let available = self.max_descriptors.map_or(available, |most| most.min(available));
        let (descriptors, affordable) = Descriptors::new(available, threads);
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
            .expect("2^32 is not too many"),
            // A child: a visitor that quits ends this walk, and not whatever else the caller's token is for.
            stop: self.executor.cancel.child(),
        };
        (engine, threads)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// All fields by name, so that a new one does not compile until it is looked at here.
    #[test]
    fn every_setting_of_the_executor_is_kept_but_workers_and_on_panic() {
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
        let expected = ExecutorConfig { workers: 3, on_panic: OnPanic::Abort, ..changed };
        assert_eq!(format!("{kept:?}"), format!("{expected:?}"));
        cancel.cancel();
        assert!(kept.cancel.is_cancelled());
    }
}
