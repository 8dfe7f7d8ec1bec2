//! The scanner. Typed tasks read and search files; futures fetch remote objects, which typed tasks
//! then search; and all findings go through one queue to a single writer.
//!
//! [`in_one_pool`] does all of that on one executor. [`in_two_pools`] uses a separate runtime for
//! the futures, which is the usual way. Nothing else differs.

use crate::material::Material;
use crate::search::{Search, Searched};
use crate::store::Store;
use heist::trace::{self, Tracer};
use heist::yielding::{Adaptive, YieldPolicy};
use heist::{
    Executor, ExecutorHandle, GatedQueue, JoinHandle, MetricsSnapshot, QueueTurn, SpawnErrorKind,
    WorkerCtx,
};
use heist_runtime::Runtime;
use std::error::Error;
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The number of workers of each pool.
pub(crate) const WORKERS: usize = 2;

/// A file is read and searched in pieces of this size. A piece is a unit of work, after which the
/// task may yield.
const PIECE_BYTES: usize = 64 << 10;

/// The names of the tasks and polls in the trace.
pub(crate) const SEARCH_FILE: &str = "search file";
pub(crate) const SEARCH_OBJECT: &str = "search object";
pub(crate) const WRITE: &str = "write (queue turn)";

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Source {
    File(PathBuf),
    Object(u32),
}

/// What was found in a source, or why it could not be searched.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Report {
    pub(crate) source: Source,
    pub(crate) result: Result<Searched, String>,
}

pub(crate) enum Task {
    File(Box<FileSearch>),
    Object { number: u32, body: Vec<u8>, reports: GatedQueue<Report> },
    Write(QueueTurn<Report>),
}

/// A file that is being searched. It contains everything needed to continue, on any worker.
pub(crate) struct FileSearch {
    path: PathBuf,
    /// `None` until the first piece is read.
    file: Option<File>,
    search: Search,
    policy: Adaptive,
    reports: GatedQueue<Report>,
}

impl FileSearch {
    /// Creates a search that yields after about the time `slice`.
    fn new(path: PathBuf, slice: Duration, reports: GatedQueue<Report>) -> Self {
        let (search, policy) = (Search::new(), Adaptive::new(slice));
        Self { path, file: None, search, policy, reports }
    }

    /// Searches until the end of the file or until it is time to yield. Returns `true` if the task
    /// should yield.
    fn run_slice(&mut self, piece: &mut [u8]) -> io::Result<bool> {
        let file = match &mut self.file {
            Some(file) => file,
            unopened => unopened.insert(File::open(&self.path)?),
        };
        loop {
            let began = Instant::now();
            let bytes = file.read(piece)?;
            if bytes == 0 {
                return Ok(false);
            }
            self.search.feed(&piece[..bytes]);
            if self.policy.should_yield(began.elapsed()) {
                return Ok(true);
            }
        }
    }

    fn run(mut self: Box<Self>, ctx: &mut WorkerCtx<'_, Task, Vec<u8>>) {
        let result = match self.run_slice(ctx.scratch) {
            Ok(true) => return ctx.spawn_yielded(Task::File(self)),
            Ok(false) => Ok(self.search.finish()),
            Err(error) => Err(error.to_string()),
        };
        send(&self.reports, Report { source: Source::File(self.path), result });
    }
}

/// Sends a report to the writer.
fn send(reports: &GatedQueue<Report>, report: Report) {
    // The queue has no bound and is never closed. In a stopped pool the report is not needed.
    let _ = reports.push(report);
}

/// Where the writer stores the reports. Only the writer uses it, so the lock is never contended.
type Written = Arc<Mutex<Vec<Report>>>;

fn run_task(task: Task, ctx: &mut WorkerCtx<'_, Task, Vec<u8>>, written: &Written) {
    match task {
        Task::File(search) => {
            trace::name_slice(SEARCH_FILE);
            search.run(ctx);
        }
        Task::Object { number, body, reports } => {
            trace::name_slice(SEARCH_OBJECT);
            let mut search = Search::new();
            search.feed(&body);
            let result = Ok(search.finish());
            send(&reports, Report { source: Source::Object(number), result });
        }
        Task::Write(turn) => {
            trace::name_slice(WRITE);
            let mut written = written.lock().unwrap_or_else(PoisonError::into_inner);
            turn.run(|report| written.push(report));
        }
    }
}

/// The scanner's executor, its queue, and the reports that come out of it.
struct Pool {
    executor: Executor<Task>,
    reports: GatedQueue<Report>,
    written: Written,
}

impl Pool {
    fn start(tracer: impl Tracer) -> Result<Self, Box<dyn Error>> {
        let written = Written::default();
        let for_tasks = Arc::clone(&written);
        let executor = Executor::builder().threads(WORKERS).trace(tracer).build(
            |_worker| vec![0; PIECE_BYTES],
            move |task, ctx| run_task(task, ctx, &for_tasks),
        )?;
        let reports = GatedQueue::unbounded(&executor.handle(), Task::Write);
        Ok(Self { executor, reports, written })
    }

    fn spawn_files(&self, material: &Material, slice: Duration) -> Result<(), Box<dyn Error>> {
        let files = material.files.iter().cloned();
        let searches = files.map(|path| FileSearch::new(path, slice, self.reports.clone()));
        let tasks = searches.map(|search| Task::File(Box::new(search)));
        self.executor.spawn_batch(tasks)?;
        Ok(())
    }

    fn fetcher(&self, material: &Material) -> io::Result<Fetcher> {
        let (pool, reports) = (self.executor.handle(), self.reports.clone());
        Ok(Fetcher { store: Store::open(&material.objects)?, pool, reports })
    }

    /// Waits until all work is done, and returns the reports.
    fn join(self) -> (MetricsSnapshot, Vec<Report>) {
        let metrics = self.executor.join();
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let mut reports = std::mem::take(&mut *written);
        reports.sort();
        (metrics, reports)
    }
}

/// Everything needed to fetch objects and to hand them over to the pool that searches them.
#[derive(Clone)]
struct Fetcher {
    store: Arc<Store>,
    pool: ExecutorHandle<Task>,
    reports: GatedQueue<Report>,
}

impl Fetcher {
    /// Requests all objects at once, and returns a future for each, which hands the object over
    /// when it arrives.
    fn fetch_all(&self, objects: u32) -> Vec<impl Future<Output = HandedOver> + Send + use<>> {
        (0..objects)
            .map(|number| {
                let answer = self.store.request(number);
                let fetcher = self.clone();
                async move {
                    let body = match answer {
                        Ok(answer) => answer.await,
                        Err(error) => Err(error),
                    };
                    fetcher.hand_over(number, body)
                }
            })
            .collect()
    }

    /// Hands an object over to be searched, or reports the error.
    fn hand_over(self, number: u32, body: io::Result<Vec<u8>>) -> HandedOver {
        match body {
            Ok(body) => {
                let task = Task::Object { number, body, reports: self.reports };
                self.pool.spawn(task).map_err(|refused| refused.kind())
            }
            Err(error) => {
                let result = Err(error.to_string());
                send(&self.reports, Report { source: Source::Object(number), result });
                Ok(())
            }
        }
    }
}

/// Whether the searching pool accepted the object. From one of its own futures it accepts objects
/// even while it is being joined. If the futures run in another pool, that pool must be joined
/// first.
type HandedOver = Result<(), SpawnErrorKind>;

async fn wait_for_all(fetches: Vec<JoinHandle<HandedOver>>) -> Result<(), String> {
    for fetch in fetches {
        let handed_over = fetch.await.map_err(|error| error.to_string())?;
        handed_over.map_err(|refused| refused.to_string())?;
    }
    Ok(())
}

/// The results of a run.
pub(crate) struct Run {
    /// From the first task to the end of all pools.
    pub(crate) wall: Duration,
    /// The number of wake-ups sent to the workers of the pools.
    pub(crate) wakes: u64,
    /// How long objects waited from their arrival until a worker took them, shortest first.
    pub(crate) waits: Vec<Duration>,
    /// Sorted by source.
    pub(crate) reports: Vec<Report>,
}

/// Runs everything on one executor.
pub(crate) fn in_one_pool(
    material: &Material,
    slice: Duration,
    tracer: impl Tracer,
) -> Result<Run, Box<dyn Error>> {
    let pool = Pool::start(tracer)?;
    let fetcher = pool.fetcher(material)?;
    let store = Arc::clone(&fetcher.store);
    let objects = material.objects.len() as u32;
    let handle = pool.executor.handle();
    let fetch_all = async move {
        // A future that spawns onto its own pool is never refused.
        let spawn = |fetch| handle.spawn_future(fetch).map_err(|refused| refused.to_string());
        let fetches = fetcher.fetch_all(objects).into_iter().map(spawn);
        let fetches = fetches.collect::<Result<_, _>>()?;
        wait_for_all(fetches).await
    };
    let began = Instant::now();
    let fetched = pool.executor.handle().spawn_future(fetch_all)?;
    pool.spawn_files(material, slice)?;
    heist_runtime::block_on(fetched)??;
    // All objects have arrived and were handed over. `join` waits for the rest of the searching and
    // writing.
    let (metrics, reports) = pool.join();
    let (wall, wakes) = (began.elapsed(), metrics.wakes_sent);
    Ok(Run { wall, wakes, waits: store.waits(), reports })
}

/// Runs the files and the searching on an executor, and the requests on a runtime.
pub(crate) fn in_two_pools(
    material: &Material,
    slice: Duration,
    tracer: impl Tracer + Clone,
) -> Result<Run, Box<dyn Error>> {
    let pool = Pool::start(tracer.clone())?;
    let runtime = Runtime::builder().threads(WORKERS).trace(tracer).build()?;
    let fetcher = pool.fetcher(material)?;
    let store = Arc::clone(&fetcher.store);
    let objects = material.objects.len() as u32;
    let fetch_all = async move {
        let fetches = fetcher.fetch_all(objects).into_iter().map(heist_runtime::spawn).collect();
        wait_for_all(fetches).await
    };
    let began = Instant::now();
    let fetched = runtime.spawn(fetch_all);
    pool.spawn_files(material, slice)?;
    heist_runtime::block_on(fetched)??;
    let requests = runtime.join();
    let (metrics, reports) = pool.join();
    let (wall, wakes) = (began.elapsed(), metrics.wakes_sent + requests.wakes_sent);
    Ok(Run { wall, wakes, waits: store.waits(), reports })
}
