//! Jobs that wait for a device: in heist's lanes, and by being spawned again and again until they get a slot.
//!
//! All slots of a device are held from outside. Jobs for it are handed to a pool that has nothing else to do, and the
//! CPU time and context switches of the pool's threads are taken while nothing can go on (the CPU time as that of all
//! threads but the measuring one: no others are awake). Then the slots are given back, and the pool is joined, which
//! shows that every job runs.

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
/// For the workers to have dealt with what was handed in, and to sleep if they ever do.
const SETTLE: Duration = Duration::from_millis(100);

/// The two ways to wait.
#[derive(Clone, Copy)]
enum Way {
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

/// What a pool used up while its jobs waited.
struct Spent {
    cpu_ms: f64,
    switches: f64,
}

/// CPU time and context switches, lanes against requeueing. Fails where the system does not tell the switches.
pub(crate) fn measure(case: &str, runs: usize, hold: Duration) -> Result<Vec<Measurement>, String> {
    let mut ways = [Way::Lanes, Way::Requeueing];
    let samples = interleave(runs, &mut ways, |&mut way| spend(way, hold));
    let samples = samples
        .into_iter()
        .map(|series| series.into_iter().collect::<Result<Vec<_>, _>>())
        .collect::<Result<Vec<_>, _>>()?;
    let measurement = |name: &str, unit, value: fn(&Spent) -> f64| {
        let series = samples.iter().map(|series| Series::new(series.iter().map(value)));
        Measurement::ours_first(name, unit, ["lanes", "requeueing"], series)
    };
    Ok(vec![
        measurement(case, Unit::CpuMilliseconds, |spent| spent.cpu_ms),
        measurement(&format!("{case}-switches"), Unit::Switches, |spent| spent.switches),
    ])
}

fn spend(way: Way, hold: Duration) -> Result<Spent, String> {
    let slots = DeviceSlots::uniform(SLOTS).expect("at least one");
    let held: Vec<DeviceSlotPermit> =
        (0..SLOTS).map(|_| slots.try_acquire(DEVICE).expect("nobody else has any")).collect();
    let workers = Arc::new(Mutex::new(BTreeSet::new()));
    let register = {
        let workers = Arc::clone(&workers);
        move |_worker| {
            let id = gettid().as_raw_nonzero().get().unsigned_abs();
            workers.lock().expect("nobody panics").insert(id);
        }
    };
    let executor = Executor::builder()
        .workers(WORKERS)
        .build(register, perform)
        .expect("a valid configuration, and the system has threads for the benchmark");
    thread::sleep(SETTLE);
    let workers = workers.lock().expect("nobody panics").clone();
    assert_eq!(workers.len(), WORKERS, "every worker has begun");
    let done = Arc::new(AtomicUsize::new(0));
    hand_in(way, &executor.handle(), &slots, &done);
    thread::sleep(SETTLE);

    let (cpu_before, switches_before) = (other_threads_cpu_time(), switches_of(&workers)?);
    thread::sleep(hold);
    let (cpu_after, switches_after) = (other_threads_cpu_time(), switches_of(&workers)?);

    assert_eq!(done.load(Ordering::Relaxed), 0, "nobody has a slot");
    drop(held);
    executor.join();
    assert_eq!(done.load(Ordering::Relaxed), JOBS, "join waits for every job");
    Ok(Spent {
        cpu_ms: (cpu_after.saturating_sub(cpu_before)).as_secs_f64() * 1e3,
        switches: (switches_after - switches_before) as f64,
    })
}

fn hand_in(
    way: Way,
    pool: &ExecutorHandle<Task>,
    slots: &Arc<DeviceSlots>,
    done: &Arc<AtomicUsize>,
) {
    let job = || Job { done: Arc::clone(done), slots: Arc::clone(slots) };
    match way {
        Way::Lanes => {
            let lanes = DeviceLanes::new(pool, Arc::clone(slots), Task::InLane);
            for _ in 0..JOBS {
                lanes.submit(DEVICE, job()).expect("open until joined");
            }
        }
        Way::Requeueing => {
            for _ in 0..JOBS {
                pool.spawn(Task::Alone(job())).expect("open until joined");
            }
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// The rest, that nobody runs without a slot and everybody in the end, is checked where it is measured.
    #[test]
    fn workers_of_lanes_sleep_while_jobs_wait() {
        let hold = Duration::from_millis(50);
        assert_eq!(spend(Way::Lanes, hold).expect("Linux tells").switches, 0.0);
        spend(Way::Requeueing, hold).expect("Linux tells");
    }
}
