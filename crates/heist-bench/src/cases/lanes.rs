//! Jobs that wait for a device: in heist's lanes, and respawned again and again until they get a
//! device slot.
//!
//! The measuring thread holds all slots of a device and hands jobs for it to an otherwise idle
//! pool. While no job can make progress, it records the CPU time and the context switches of the
//! pool's threads. (CPU time is that of all threads except the measuring one; no others are awake.)
//! Then it returns the slots and joins the pool, which checks that every job runs.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use ::heist::{Executor, ExecutorHandle, WorkerCtx};
use heist_device::{DeviceId, DeviceLanes, DeviceSlotPermit, DeviceSlots, DeviceTurn};
use rustix::thread::gettid;

use crate::clock::other_threads_cpu_time;
use crate::measure::{Series, interleave};
use crate::ratio::Unit;
use crate::report::Measurement;
use crate::thread_stats::switches_of;

const DEVICE: DeviceId = DeviceId::from_raw(1);
const SLOTS: usize = 4;
const WORKERS: usize = 2;
const JOBS: usize = 1000;
/// Time for the workers to handle the submitted jobs and, if they ever do, to fall asleep.
const SETTLE: Duration = Duration::from_millis(100);

/// How a job waits for its device slot.
#[derive(Clone, Copy)]
enum WaitMethod {
    Lanes,
    Requeueing,
}

enum Task {
    InLane(DeviceTurn<Job>),
    Alone(Job),
}

struct Job {
    done: Arc<AtomicUsize>,
    slots: Arc<DeviceSlots>,
}

impl Job {
    fn run(self, slot: DeviceSlotPermit) {
        self.done.fetch_add(1, Ordering::Relaxed);
        drop(slot);
    }
}

fn perform(task: Task, ctx: &mut WorkerCtx<'_, Task, ()>) {
    match task {
        Task::InLane(turn) => {
            turn.run(Job::run);
        }
        Task::Alone(job) => match job.slots.try_acquire(DEVICE) {
            Some(slot) => job.run(slot),
            None => ctx.spawn_global(Task::Alone(job)),
        },
    }
}

/// What a pool's threads consumed while its jobs waited.
struct PoolUsage {
    cpu_ms: f64,
    switches: f64,
}

/// Compares CPU time and context switches of lanes with those of requeueing.
///
/// # Errors
/// Fails if the system does not report the context switches of a thread.
pub(crate) fn measure(case: &str, runs: usize, hold: Duration) -> Result<Vec<Measurement>, String> {
    let mut ways = [WaitMethod::Lanes, WaitMethod::Requeueing];
    let samples = interleave(runs, &mut ways, |&mut way| spend(way, hold));
    let samples = samples
        .into_iter()
        .map(|series| series.into_iter().collect::<Result<Vec<_>, _>>())
        .collect::<Result<Vec<_>, _>>()?;
    let measurement = |name: &str, unit, value: fn(&PoolUsage) -> f64| {
        let series = samples.iter().map(|series| Series::new(series.iter().map(value)));
        Measurement::ours_first(name, unit, ["lanes", "requeueing"], series)
    };
    Ok(vec![
        measurement(case, Unit::CpuMilliseconds, |spent| spent.cpu_ms),
        measurement(&format!("{case}-switches"), Unit::Switches, |spent| spent.switches),
    ])
}

fn spend(way: WaitMethod, hold: Duration) -> Result<PoolUsage, String> {
    let slots = DeviceSlots::uniform(SLOTS).expect("at least one");
    let held: Vec<DeviceSlotPermit> =
        (0..SLOTS).map(|_| slots.try_acquire(DEVICE).expect("all slots are free")).collect();
    let workers = Arc::new(Mutex::new(BTreeSet::new()));
    let register = {
        let workers = Arc::clone(&workers);
        move |_worker| {
            let id = gettid().as_raw_nonzero().get().unsigned_abs();
            workers.lock().expect("no thread panics").insert(id);
        }
    };
    let executor = Executor::builder()
        .threads(WORKERS)
        .build(register, perform)
        .expect("a valid configuration, and the system has threads for the benchmark");
    thread::sleep(SETTLE);
    let workers = workers.lock().expect("no thread panics").clone();
    assert_eq!(workers.len(), WORKERS, "every worker has begun");
    let done = Arc::new(AtomicUsize::new(0));
    hand_in(way, &executor.handle(), &slots, &done);
    thread::sleep(SETTLE);

    let (cpu_before, switches_before) = (other_threads_cpu_time(), switches_of(&workers)?);
    thread::sleep(hold);
    let (cpu_after, switches_after) = (other_threads_cpu_time(), switches_of(&workers)?);

    assert_eq!(done.load(Ordering::Relaxed), 0, "no job has a slot yet");
    drop(held);
    executor.join();
    assert_eq!(done.load(Ordering::Relaxed), JOBS, "join waits for every job");
    Ok(PoolUsage {
        cpu_ms: (cpu_after.saturating_sub(cpu_before)).as_secs_f64() * 1e3,
        switches: (switches_after - switches_before) as f64,
    })
}

fn hand_in(
    way: WaitMethod,
    pool: &ExecutorHandle<Task>,
    slots: &Arc<DeviceSlots>,
    done: &Arc<AtomicUsize>,
) {
    let job = || Job { done: Arc::clone(done), slots: Arc::clone(slots) };
    match way {
        WaitMethod::Lanes => {
            let lanes = DeviceLanes::new(pool, Arc::clone(slots), Task::InLane);
            for _ in 0..JOBS {
                lanes.submit(DEVICE, job()).expect("open until joined");
            }
        }
        WaitMethod::Requeueing => {
            for _ in 0..JOBS {
                pool.spawn(Task::Alone(job())).expect("open until joined");
            }
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// `measure` itself checks that no job runs without a slot and that all jobs run in the end.
    #[test]
    fn workers_of_lanes_sleep_while_jobs_wait() {
        let hold = Duration::from_millis(50);
        assert_eq!(spend(WaitMethod::Lanes, hold).expect("Linux reports it").switches, 0.0);
        spend(WaitMethod::Requeueing, hold).expect("Linux reports it");
    }
}
