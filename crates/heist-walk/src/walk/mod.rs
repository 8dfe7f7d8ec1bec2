//! [`Walk`], the description of a walk, and [`WalkReport`], its result.

mod embed;
mod run;
mod settings;

pub(crate) use run::RunningWalk;
pub(crate) use settings::WalkSettings;

use crate::counters::{Progress, Totals};
use crate::error::WalkStartError;
use crate::filter::Filter;
use crate::visitor::Visitor;
use heist::trace::{NoTrace, Tracer};
use heist::{CancelToken, ExecutorConfig, MetricsSnapshot};
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
pub struct Walk<T = NoTrace> {
    pub(crate) settings: WalkSettings,
    tracer: T,
}

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
impl<T: Clone> Clone for Walk<T> {
    fn clone(&self) -> Self {
        Self { settings: self.settings.clone(), tracer: self.tracer.clone() }
    }
}

impl Walk {
    /// Creates a walk over `root` and everything below it.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self::over([root])
    }

    /// Creates a walk over several roots.
    pub fn over(roots: impl IntoIterator<Item = impl Into<PathBuf>>) -> Self {
        let roots = roots.into_iter().map(Into::into).collect();
        Self { settings: WalkSettings::new(roots), tracer: NoTrace }
    }
}

impl<T> Walk<T> {
    /// Sets the number of threads.
    ///
    /// By default (`None`) it depends on the disks of the roots: 2 threads for a disk with a moving
    /// head, and at least 32 for any other disk, whose requests can overlap. The walk starts with
    /// one thread per core; the extra threads join in when it turns out to wait for its disks.
    pub fn threads(mut self, threads: Option<usize>) -> Self {
        self.settings.threads = threads;
        self
    }

    /// Limits the number of threads that the walk chooses by itself. It has no effect if
    /// [`threads`](Self::threads) sets the number.
    ///
    /// A low limit suits visitors that compute for longer than the walk waits.
    pub fn max_threads(mut self, max_threads: usize) -> Self {
        self.settings.max_threads = max_threads.max(1);
        self
    }

    /// Sets whether entries come with their [`Metadata`](crate::Metadata), which costs one system
    /// call each. Off by default.
    pub fn metadata(mut self, metadata: bool) -> Self {
        self.settings.metadata = metadata;
        self
    }

    /// Sets which symbolic links the walk follows. By default it follows only links that are roots.
    pub fn symlinks(mut self, symlinks: Symlinks) -> Self {
        self.settings.symlinks = symlinks;
        self
    }

    /// Sets whether the walk stays on the file systems of its roots. Off by default.
    ///
    /// A file that is a mount point itself is recognized only in a walk with
    /// [`metadata`](Self::metadata).
    pub fn same_file_system(mut self, same: bool) -> Self {
        self.settings.same_file_system = same;
        self
    }

    /// Sets how deep the walk goes: 0 visits only the roots, 1 also what is directly in them. By
    /// default (`None`) there is no limit.
    pub fn max_depth(mut self, max_depth: Option<usize>) -> Self {
        self.settings.max_depth = max_depth;
        self
    }

    /// Sets which entries the walk leaves out. By default it leaves out nothing.
    pub fn filter(mut self, filter: Filter) -> Self {
        self.settings.filter = filter;
        self
    }

    /// Lets `tracer` watch the workers, for example a [`heist::trace::ChromeTrace`].
    ///
    /// It has no effect on [`sorted`](Self::sorted), which does not use an executor.
    pub fn trace<U: Tracer>(self, tracer: U) -> Walk<U> {
        Walk { settings: self.settings, tracer }
    }

    /// Sets a token that ends the walk early when it is cancelled.
    pub fn cancel(mut self, cancel: CancelToken) -> Self {
        self.settings.executor.cancel = cancel;
        self
    }

    /// Sets whether the walk raises the process's soft limit on descriptors, up to the hard limit
    /// and at most to 65,536. On by default.
    ///
    /// With a low limit, the walk has to close directories with pending names and open them again.
    pub fn raise_descriptor_limit(mut self, raise: bool) -> Self {
        self.settings.raise_limit = raise;
        self
    }

    /// Limits the number of descriptors that the walk may have open.
    ///
    /// A walk needs three per thread, and with less than that it uses fewer threads. More
    /// descriptors make it faster, because directories with pending names can stay open. By default
    /// (`None`) the walk uses all descriptors that the process may still open, except 8.
    pub fn max_descriptors(mut self, max_descriptors: Option<usize>) -> Self {
        self.settings.max_descriptors = max_descriptors;
        self
    }

    /// Limits how many files may wait for [`Visitor::files`], 1,024 by default.
    ///
    /// At the limit, a worker that finds more files passes them to its own visitor at once.
    pub fn max_waiting_files(mut self, max_waiting_files: usize) -> Self {
        self.settings.max_waiting_files = max_waiting_files;
        self
    }

    /// Sets the seed of the executor's random choices, such as which worker to steal from.
    pub fn seed(mut self, seed: u64) -> Self {
        self.settings.executor.seed = seed;
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
    /// [`seed`](Self::seed) and [`cancel`](Self::cancel) set. The walk overwrites `threads` with
    /// the number of its [`threads`](Self::threads), and `on_panic` with
    /// [`OnPanic::StopPool`](heist::OnPanic::StopPool), because a panic of a visitor ends the walk.
    /// The settings for futures have no effect.
    ///
    /// [`sorted`](Self::sorted) does not use an executor. It takes only the thread name and the
    /// stack size.
    pub fn executor(mut self, change: impl FnOnce(&mut ExecutorConfig)) -> Self {
        change(&mut self.settings.executor);
        self
    }

    /// Returns the roots.
    pub(crate) fn roots(&self) -> &[PathBuf] {
        &self.settings.roots
    }

    /// Sets whether the walk shows a link that leads back to a directory containing it like any
    /// other directory, instead of reporting an error. The visitor must then make sure that it does
    /// not enter a directory twice.
    pub(crate) fn show_loops(mut self, show: bool) -> Self {
        self.settings.show_loops = show;
        self
    }

    /// Returns which symbolic links the walk follows.
    pub(crate) fn followed_symlinks(&self) -> Symlinks {
        self.settings.symlinks
    }

    /// Returns a handle to the walk's counters, which any thread can read while the walk runs.
    #[must_use]
    pub fn progress(&self) -> Progress {
        self.settings.progress.clone()
    }
}

impl<T: Tracer> Walk<T> {
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
        self.start(true, visitor).map(RunningWalk::join)
    }
}
