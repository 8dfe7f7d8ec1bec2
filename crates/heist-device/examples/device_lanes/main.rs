//! Jobs for a slow and a fast disk: once through device lanes, and once behind one semaphore for
//! both.
//!
//! This example shows [`DeviceLanes`], and what goes wrong without them. The disks are simulated. A
//! disk serves two jobs at a time, and every further job waits at the disk and blocks its worker,
//! as a page fault does. (This is kind to the semaphore: a real disk with a moving head gets slower
//! when it has more jobs than it can serve.)
//!
//! - **Lanes**: each disk has two device slots. A job gets a worker when its disk has a free device
//!   slot.
//! - **Semaphore**: one limit for all reads, with as many permits as the lanes have device slots.
//!   This is common practice, either as a semaphore or as a pool with that many threads. The jobs
//!   wait for their permits with `acquire_then`, so *that* blocks no worker. But a permit says
//!   nothing about the disk that it will be used for. Soon, jobs that wait at the slow disk hold
//!   most of the permits, and the fast disk has nothing to do.
//!
//! The jobs come in the order in which a walk over both disks would find them: one for the slow
//! disk, then some for the fast one, and so on.
//!
//! ```text
//! cargo run --release --example device_lanes
//! cargo run --release --example device_lanes -- --svg docs           # draws docs/device-lanes.svg
//! cargo run --release --example device_lanes -- --trace lanes.json   # a trace, for Perfetto
//! ```

mod disk;
mod picture;

use disk::{Disk, Job, Served};
use heist::trace::ChromeTrace;
use heist::{AcquireError, CountBudget, CountPermit, Executor};
use heist_device::{DeviceId, DeviceLanes, DeviceSlots, DeviceTurn};
use std::error::Error;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// The number of jobs that a disk serves at a time, and so the number of its device slots.
const SLOTS_PER_DISK: usize = 2;

/// One worker for each device slot. With fewer, the workers would be the limit and not the disks.
const WORKERS: usize = 2 * SLOTS_PER_DISK;

const SLOW_JOBS: usize = 12;
const FAST_JOBS_PER_SLOW: usize = 4;

/// The time that a disk needs for a job.
const FAST_JOB: Duration = Duration::from_millis(4);
const SLOW_JOB: Duration = Duration::from_millis(40);

enum Task {
    OnDisk(DeviceTurn<Job>),
    WithPermit(Result<CountPermit, AcquireError>, Job),
}

/// The two disks, and the record of what they did.
struct Bench {
    disks: [Disk; 2],
    /// When the first job was submitted. The time to start the threads does not count.
    began: OnceLock<Instant>,
    log: Mutex<Vec<Served>>,
}

impl Bench {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            disks: [
                Disk::new("fast disk", FAST_JOB, SLOTS_PER_DISK),
                Disk::new("slow disk", SLOW_JOB, SLOTS_PER_DISK),
            ],
            began: OnceLock::new(),
            log: Mutex::default(),
        })
    }

    /// Returns the jobs in the order of their submission, and starts the clock.
    fn jobs(&self) -> impl Iterator<Item = Job> + use<> {
        self.began.get_or_init(Instant::now);
        let (fast, slow) = (Job { disk: 0 }, Job { disk: 1 });
        (0..SLOW_JOBS).flat_map(move |_| [slow].into_iter().chain([fast; FAST_JOBS_PER_SLOW]))
    }

    fn serve(&self, job: Job, worker: usize) {
        let began = *self.began.get_or_init(Instant::now);
        let served = self.disks[job.disk].serve(job, worker, began);
        self.log.lock().unwrap_or_else(PoisonError::into_inner).push(served);
    }

    fn into_run(self: Arc<Self>, title: &'static str) -> Run {
        let mut served =
            std::mem::take(&mut *self.log.lock().unwrap_or_else(PoisonError::into_inner));
        served.sort_by_key(|job| job.started);
        Run { title, disks: self.disks.each_ref().map(|disk| disk.name), served }
    }
}

/// The record of a run.
struct Run {
    title: &'static str,
    disks: [&'static str; 2],
    /// In the order in which they were started.
    served: Vec<Served>,
}

impl Run {
    fn of_disk(&self, disk: usize) -> impl Iterator<Item = &Served> {
        self.served.iter().filter(move |served| served.job.disk == disk)
    }

    /// Returns when the last job of a disk ended.
    fn done_after(&self, disk: usize) -> Duration {
        self.of_disk(disk).map(|served| served.ended).max().unwrap_or_default()
    }

    /// Returns how long workers were blocked at a disk.
    fn held(&self) -> Duration {
        self.served.iter().map(|served| served.served - served.started).sum()
    }

    fn end(&self) -> Duration {
        self.done_after(0).max(self.done_after(1))
    }
}

fn with_lanes(trace: Option<&Path>) -> Result<Run, Box<dyn Error>> {
    let bench = Bench::new();
    // Without a file, the trace is discarded.
    let writer: Box<dyn Write + Send> = match trace {
        Some(path) => Box::new(BufWriter::new(File::create(path).map_err(cannot_write(path))?)),
        None => Box::new(io::sink()),
    };
    let tracer = ChromeTrace::new(writer);
    let for_tasks = Arc::clone(&bench);
    let executor = Executor::builder().threads(WORKERS).trace(tracer.clone()).build(
        |_worker| (),
        move |task, ctx| match task {
            // The job holds its device slot for as long as it runs.
            Task::OnDisk(turn) => {
                turn.run(|job, _slot| for_tasks.serve(job, ctx.worker_id()));
            }
            Task::WithPermit(..) => unreachable!("this run has no semaphore"),
        },
    )?;
    let slots = DeviceSlots::uniform(SLOTS_PER_DISK)?;
    let lanes = DeviceLanes::new(&executor.handle(), slots, Task::OnDisk);
    for job in bench.jobs() {
        // Made-up ids for the simulated disks. For a file, use `DeviceId::from_path`.
        lanes.submit(DeviceId::from_raw(job.disk as u64 + 1), job)?;
    }
    executor.join();
    if let Some(path) = trace {
        tracer.finish().and_then(|mut file| file.flush()).map_err(cannot_write(path))?;
        println!("The trace is in {}.", path.display());
    }
    Ok(bench.into_run("Device lanes: two slots for each disk"))
}

fn with_one_semaphore() -> Result<Run, Box<dyn Error>> {
    let bench = Bench::new();
    let for_tasks = Arc::clone(&bench);
    let executor = Executor::builder().threads(WORKERS).build(
        |_worker| (),
        move |task, ctx| match task {
            // An error means that the pool was stopped, so the job does not run.
            Task::WithPermit(permit, job) => {
                if let Ok(_permit) = permit {
                    for_tasks.serve(job, ctx.worker_id());
                }
            }
            Task::OnDisk(_) => unreachable!("this run has no lanes"),
        },
    )?;
    let semaphore = CountBudget::new(2 * SLOTS_PER_DISK as u64)?;
    let handle = executor.handle();
    for job in bench.jobs() {
        semaphore.acquire_then(1, &handle, move |permit| Task::WithPermit(permit, job))?;
    }
    executor.join();
    Ok(bench.into_run("One semaphore: four permits for both disks"))
}

fn cannot_write(path: &Path) -> impl Fn(io::Error) -> String {
    move |error| format!("cannot write {}: {error}", path.display())
}

fn print_summary(runs: &[Run; 2]) {
    let ms = |time: Duration| format!("{:.0} ms", time.as_secs_f64() * 1e3);
    let [fast, slow] = runs[0].disks;
    println!("{:44} {fast:>12} {slow:>12} {:>15}", "done after", "workers blocked");
    for run in runs {
        let (fast, slow) = (ms(run.done_after(0)), ms(run.done_after(1)));
        println!("{:44} {fast:>12} {slow:>12} {:>15}", run.title, ms(run.held()));
    }
    println!(
        "\n(blocked: in a job that waits at its disk, which serves {SLOTS_PER_DISK} at a time)"
    );
}

struct Arguments {
    svg: Option<PathBuf>,
    trace: Option<PathBuf>,
}

impl Arguments {
    fn parse() -> Option<Self> {
        let mut arguments = Self { svg: None, trace: None };
        let mut rest = std::env::args_os().skip(1);
        while let Some(option) = rest.next() {
            let value = Some(PathBuf::from(rest.next()?));
            match option.to_str()? {
                "--svg" => arguments.svg = value,
                "--trace" => arguments.trace = value,
                _ => return None,
            }
        }
        Some(arguments)
    }
}

fn run(arguments: Arguments) -> Result<(), Box<dyn Error>> {
    let runs = [with_lanes(arguments.trace.as_deref())?, with_one_semaphore()?];
    print_summary(&runs);
    if let Some(directory) = arguments.svg {
        let path = directory.join("device-lanes.svg");
        fs::write(&path, picture::draw(&runs)).map_err(cannot_write(&path))?;
        println!("The picture is in {}.", path.display());
    }
    Ok(())
}

fn main() -> ExitCode {
    let Some(arguments) = Arguments::parse() else {
        eprintln!("usage: device_lanes [--svg DIRECTORY] [--trace FILE]");
        return ExitCode::from(2);
    };
    match run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
