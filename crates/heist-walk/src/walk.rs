//! [`Walk`]: what to walk, and how; and the run itself.

use crate::counters::{Progress, Totals};
use crate::disks::{Disks, cores};
use crate::engine::{Descriptors, Engine, Hands, RESERVE, Spawn, WalkTask};
use crate::filter::Filter;
use crate::reserve::Reserve;
use crate::sys::{self, Names, ReadBuffer};
use crate::visitor::Visitor;
use heist::metrics::MetricsSnapshot;
use heist::trace::{NoTrace, Tracer, name_slice};
use heist::{
    CancelToken, DeviceLanes, DeviceSlotPermit, DeviceTurn, Executor, ExecutorConfig, StartError,
};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Which symbolic links a walk follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Symlinks {
    /// None: a link is a file like others. (A root with a slash at its end is followed by the system.)
    Never,
    /// Those that are roots.
    #[default]
    Roots,
    /// All. A link back to a directory that it is in is an error, and not followed; a directory that several links lead
    /// to is visited each time.
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
    threads: Option<usize>,
    metadata: bool,
    symlinks: Symlinks,
    same_file_system: bool,
    max_depth: Option<usize>,
    filter: Filter,
    cancel: CancelToken,
    progress: Progress,
    raise_limit: bool,
    max_descriptors: Option<usize>,
}

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
            cancel: self.cancel.clone(),
            progress: Progress::default(),
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
            metadata: false,
            symlinks: Symlinks::default(),
            same_file_system: false,
            max_depth: None,
            filter: Filter::default(),
            cancel: CancelToken::new(),
            progress: Progress::default(),
            raise_limit: true,
            max_descriptors: None,
        }
    }

    /// How many threads walk. `None`, the default, asks the roots' disks: 2 for one with a moving head, and 32 or
    /// more for others, whose waiting times overlap; of these only as many as there are cores begin, and the rest
    /// when it shows that the walk waits.
    pub fn threads(mut self, threads: Option<usize>) -> Self {
        self.threads = threads;
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
        self.cancel = cancel;
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

    /// Where it starts.
    pub(crate) fn roots(&self) -> &[PathBuf] {
        &self.roots
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

    /// Walks, and returns when everything is visited. `visitor` makes each worker's visitor, given the worker's number.
    ///
    /// # Errors
    /// The system refuses a thread, or `threads` is 0 or more than 4,096. What goes wrong in the tree goes to
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
        if let Some(workers) = self.threads {
            // Before anything is made for that many, and before it becomes fewer for want of descriptors: who is
            // refused is told of the number that he gave.
            ExecutorConfig { workers, ..ExecutorConfig::default() }.validate()?;
        }
        let roots = self.roots.len();
        let progress = self.progress();
        let (engine, first, threads) = self.into_engine();
        let stop = engine.stop.clone();
        let slots = Arc::clone(engine.disks.slots());
        let ended = Arc::new(Mutex::new(Vec::new()));
        let lanes = Arc::new(OnceLock::new());
        let reserve = Arc::new(Reserve::new(first, threads));
        let builder = Executor::builder()
            .workers(threads)
            .thread_name("heist-walk")
            .stack_size(Some(STACK_BYTES))
            .cancel(stop.clone())
            .trace(tracer);
        let executor = {
            let (progress, ended) = (progress.clone(), Arc::clone(&ended));
            let reserve_of_workers = Arc::clone(&reserve);
            #[cfg(all(test, target_os = "linux", not(heist_portable)))]
            let faults = crate::sys::fault::Plan::current();
            let at_work = AtWork { engine, lanes: Arc::clone(&lanes) };
            builder.build_with(
                move |worker| {
                    #[cfg(all(test, target_os = "linux", not(heist_portable)))]
                    crate::sys::fault::Plan::install(faults.clone());
                    let reserve = CallAtTheEnd(Arc::clone(&reserve_of_workers));
                    reserve.0.hold_back(worker);
                    Worker {
                        number: worker,
                        reserve,
                        resting: false,
                        hands: Some(Hands {
                            visitor: visitor(worker),
                            buffer: ReadBuffer::new(),
                            names: Names::default(),
                            counts: progress.add_worker(),
                        }),
                        slot: None,
                        ended: Arc::clone(&ended),
                    }
                },
                move |job, ctx| {
                    let (worker, mut queue) = ctx.split();
                    at_work.run(job, worker, &mut queue);
                },
                |worker| {
                    // Others may be waiting for the disk.
                    worker.slot = None;
                    worker.reserve.0.rest(worker.number, &mut worker.resting);
                },
            )?
        };
        // Set before there is any task that could want it.
        let _ = lanes.set(DeviceLanes::new(&executor.handle(), slots, Job::OnDisk));
        for root in 0..roots {
            // Refused only if the walk was cancelled already.
            let _ = executor.spawn_external(Job::Walk(WalkTask::Root(root)));
        }
        reserve.watch(&progress);
        let metrics = executor.join();
        let visitors = std::mem::take(&mut *ended.lock().unwrap_or_else(PoisonError::into_inner));
        let (totals, stopped) = (progress.totals(), stop.is_cancelled());
        Ok(Walked { visitors, totals, stopped, threads, metrics })
    }

    /// The engine; how many threads begin; and how many there are.
    fn into_engine(self) -> (Engine, usize, usize) {
        if self.raise_limit {
            sys::raise_descriptor_limit();
        }
        let (disks, threads) = Disks::new(&self.roots, self.threads);
        // Whoever says how many means it.
        let first = self.threads.unwrap_or_else(|| threads.min(cores()));
        let available = sys::descriptors_available().saturating_sub(RESERVE);
        let available = self.max_descriptors.map_or(available, |most| most.min(available));
        let (descriptors, affordable) = Descriptors::new(available, threads);
        let threads = threads.min(affordable);
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
            descriptors,
            disks,
            // A child: a visitor that quits ends this walk, and not whatever else the caller's token is for.
            stop: self.cancel.child(),
        };
        (engine, first.min(threads), threads)
    }
}

/// A worker recurses nowhere; the rest is for the visitor. Many threads, so not more than that.
const STACK_BYTES: usize = 1 << 20;

/// What the executor runs.
enum Job<D> {
    Walk(WalkTask<D>),
    /// A task that had to wait for its disk.
    OnDisk(DeviceTurn<WalkTask<D>>),
}

/// The queue of the worker at hand.
impl<D> Spawn<D> for heist::Spawner<'_, Job<D>> {
    fn spawn(&mut self, task: WalkTask<D>) {
        self.spawn_local(Job::Walk(task));
    }
}

/// What all workers share.
struct AtWork<D> {
    engine: Engine,
    lanes: Arc<OnceLock<DeviceLanes<WalkTask<D>>>>,
}

impl<D: Send + Sync + 'static> AtWork<D> {
    fn run<V: Visitor<Dir = D>>(
        &self,
        job: Job<D>,
        worker: &mut Worker<V>,
        queue: &mut heist::Spawner<'_, Job<D>>,
    ) {
        match job {
            Job::Walk(task) => {
                if let Some(task) = self.admit(task, worker) {
                    self.work(task, worker, queue);
                }
            }
            Job::OnDisk(turn) => {
                // The worker stays on that disk until it finds something else to do, or nothing.
                let admitted = turn.run(|task, slot| {
                    worker.slot = Some(slot);
                    task
                });
                if let Some(task) = admitted {
                    self.work(task, worker, queue);
                }
            }
        }
    }

    fn work<V: Visitor<Dir = D>>(
        &self,
        task: WalkTask<D>,
        worker: &mut Worker<V>,
        queue: &mut heist::Spawner<'_, Job<D>>,
    ) {
        worker.reserve.0.work_again(&mut worker.resting);
        name_slice(task.label());
        if let Some(hands) = &mut worker.hands {
            self.engine.run(task, hands, queue);
        }
    }

    /// Sees to it that the worker has a slot of the task's disk. If there is none free, the task waits in the disk's
    /// lane, and the worker is free for others.
    fn admit<V>(&self, task: WalkTask<D>, worker: &mut Worker<V>) -> Option<WalkTask<D>> {
        let Some(disk) = task.disk() else {
            // Where a root is shows only when it answers, which may take long: others may need this disk meanwhile.
            worker.slot = None;
            return Some(task);
        };
        if worker.slot.as_ref().is_some_and(|slot| slot.device() == disk) {
            return Some(task);
        }
        worker.slot = None;
        worker.slot = self.engine.disks.slots().try_acquire(disk);
        if worker.slot.is_some() {
            return Some(task);
        }
        if let Some(lanes) = self.lanes.get() {
            // Refused only if the walk was stopped, and then it would be dropped anyway.
            let _ = lanes.submit(disk, task);
        }
        None
    }
}

/// What a worker has: when it ends, its visitor goes back to the caller.
struct Worker<V> {
    number: usize,
    hands: Option<Hands<V>>,
    reserve: CallAtTheEnd,
    /// Whether it counts as out of work.
    resting: bool,
    /// The right to use a disk: kept while the worker stays on that disk.
    slot: Option<DeviceSlotPermit>,
    ended: Arc<Mutex<Vec<V>>>,
}

/// Calls the reserve when a worker ends, also by a panic: nobody may be held back then.
struct CallAtTheEnd(Arc<Reserve>);

impl Drop for CallAtTheEnd {
    fn drop(&mut self) {
        self.0.call();
    }
}

impl<V> Drop for Worker<V> {
    fn drop(&mut self) {
        if let Some(hands) = self.hands.take() {
            hands.counts.show();
            self.ended.lock().unwrap_or_else(PoisonError::into_inner).push(hands.visitor);
        }
    }
}
