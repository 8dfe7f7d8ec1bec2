//! [`DeviceLanes`]: jobs that wait for a slot of their device without holding a worker.
//!
//! A lane is a gated queue whose turn needs a slot of the device. The executor gets the turn as a
//! task together with the slot. The turn takes one job, queues the next turn for the next slot if
//! more jobs wait, and runs its job. So a lane holds one place in its device's queue for slots, and
//! only while it has a job. It neither starves other code that waits for slots, nor is it starved
//! by it. Granting a slot spawns the turn; nothing polls.
//!
//! Invariant: a device has at most one lane. A lane is forgotten only under the lock of the map,
//! and only if the map holds the last handle to it; a lane with jobs has a turn, which holds a
//! handle as well.

use super::DeviceId;
use super::slots::{DeviceSlotPermit, DeviceSlots};
use heist::__internal::sync::{Arc, Mutex};
use heist::__internal::{
    begin_turn, capacity_budget, is_sole_handle, push_error, queue_on_permits, spawn_made,
};
use heist::coop;
use heist::{
    ConfigError, CountBudget, CountPermit, ExecutorHandle, GatedQueue, PushError, PushErrorKind,
    QueueStats, QueueTurn, SpawnError,
};
use std::collections::BTreeMap;
use std::fmt;

/// With fewer lanes than this, looking for idle ones is not worth the time.
const LANES_BEFORE_PRUNING: usize = 64;

/// Queues of jobs, one for each device, that feed an executor as the devices' slots allow.
///
/// [`submit`](Self::submit) queues a job. It runs on the executor and holds a [`DeviceSlotPermit`]:
/// at once, or as soon as a slot of its device is free. A waiting job holds no worker, and nothing
/// polls for it. The jobs of a slow disk do not delay those of another.
///
/// The jobs of a lane begin in the order of their submission. A lane with a free slot takes turns
/// with everything else on the executor. A job returns its slot when it ends, panics or is dropped.
/// Jobs count for the executor: `join` waits for them, and a stopped executor drops them.
///
/// Clones are handles to the same lanes.
///
/// ```
/// use heist::Executor;
/// use heist_device::{DeviceId, DeviceLanes, DeviceSlots, DeviceTurn};
/// use std::path::PathBuf;
///
/// enum Task {
///     OnDisk(DeviceTurn<PathBuf>),
/// }
///
/// let executor = Executor::builder().build(
///     |_worker| 0,
///     |task, ctx| match task {
///         Task::OnDisk(turn) => {
///             turn.run(|path, _slot| *ctx.scratch += path.as_os_str().len());
///         }
///     },
/// )?;
/// let lanes = DeviceLanes::new(&executor.handle(), DeviceSlots::uniform(2)?, Task::OnDisk);
/// for path in ["/", "/tmp"] {
///     let path = PathBuf::from(path);
///     lanes.submit(DeviceId::from_path(&path), path)?;
/// }
/// executor.join();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct DeviceLanes<T> {
    inner: Arc<Inner<T>>,
}

/// Makes the lane of a device. The closure hides the type of the executor's tasks.
type MakeLane<T> = Box<dyn Fn(DeviceId, CountBudget) -> GatedQueue<T> + Send + Sync>;

struct Inner<T> {
    slots: Arc<DeviceSlots>,
    capacity: Option<u64>,
    make_lane: MakeLane<T>,
    lanes: Mutex<Lanes<T>>,
}

struct Lanes<T> {
    by_device: BTreeMap<DeviceId, GatedQueue<T>>,
    prune_at: usize,
    closed: bool,
    /// The statistics of lanes that were forgotten.
    forgotten: QueueStats,
}

impl<T> Clone for DeviceLanes<T> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }
}

impl<T> fmt::Debug for DeviceLanes<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceLanes")
            .field("slots", &self.inner.slots)
            .field("capacity", &self.inner.capacity)
            .finish_non_exhaustive()
    }
}

impl<T: Send + 'static> DeviceLanes<T> {
    /// Creates lanes without a bound. `turn` makes the task that runs a job: usually the variant of
    /// an enum. (If `turn` panics, that counts as the panic of a task, and the lane is closed and
    /// emptied until it is [forgotten](Self::prune) and created again.)
    pub fn new<K: Send + 'static>(
        executor: &ExecutorHandle<K>,
        slots: Arc<DeviceSlots>,
        turn: impl Fn(DeviceTurn<T>) -> K + Send + Sync + 'static,
    ) -> Self {
        Self::build(executor, slots, None, turn)
    }

    /// Creates lanes that hold at most `capacity` waiting jobs each. A full lane holds its
    /// producers back.
    ///
    /// # Errors
    /// `capacity` is 0, or larger than a budget can count.
    pub fn bounded<K: Send + 'static>(
        executor: &ExecutorHandle<K>,
        slots: Arc<DeviceSlots>,
        capacity: u64,
        turn: impl Fn(DeviceTurn<T>) -> K + Send + Sync + 'static,
    ) -> Result<Self, ConfigError> {
        capacity_budget(Some(capacity), "lanes")?;
        Ok(Self::build(executor, slots, Some(capacity), turn))
    }

    fn build<K: Send + 'static>(
        executor: &ExecutorHandle<K>,
        slots: Arc<DeviceSlots>,
        capacity: Option<u64>,
        turn: impl Fn(DeviceTurn<T>) -> K + Send + Sync + 'static,
    ) -> Self {
        let executor = executor.clone();
        let make = Arc::new(turn);
        let make_lane: MakeLane<T> = Box::new(move |device, slots| {
            let capacity = capacity_budget(capacity, "lanes").expect("the capacity was checked");
            let make = Arc::clone(&make);
            queue_on_permits(&executor, capacity, slots, move |turn, slot| {
                make(DeviceTurn { turn, slot, device })
            })
        });
        let lanes = Lanes {
            by_device: BTreeMap::new(),
            prune_at: LANES_BEFORE_PRUNING,
            closed: false,
            forgotten: QueueStats::default(),
        };
        let inner = Inner { slots, capacity, make_lane, lanes: Mutex::new(lanes) };
        Self { inner: Arc::new(inner) }
    }

    /// Returns the lane of a device and creates it if necessary; `None` if the lanes are closed.
    fn lane(&self, device: DeviceId) -> Option<GatedQueue<T>> {
        let inner = &*self.inner;
        {
            let lanes = inner.lanes.lock();
            if lanes.closed {
                return None;
            }
            if let Some(lane) = lanes.by_device.get(&device) {
                return Some(lane.clone());
            }
        }
        // Without the lock: this may look up the device's kind in files.
        let lane = (inner.make_lane)(device, inner.slots.budget(device));
        let mut lanes = inner.lanes.lock();
        if lanes.closed {
            return None;
        }
        if lanes.by_device.len() >= lanes.prune_at {
            lanes.prune();
        }
        Some(lanes.by_device.entry(device).or_insert(lane).clone())
    }

    /// Queues a job if its lane has room.
    ///
    /// # Errors
    /// The lane is full, the lanes are closed, or the executor accepts nothing more. The error
    /// returns the job.
    pub fn try_submit(&self, device: DeviceId, job: T) -> Result<(), PushError<T>> {
        match self.lane(device) {
            Some(lane) => lane.try_push(job),
            None => Err(closed(job)),
        }
    }

    /// Queues a job, and waits for room in its lane if necessary. (It never waits for a slot; the
    /// job does.)
    ///
    /// # Errors
    /// The lanes are closed; the executor accepts nothing more; or the lane is full and the caller
    /// is a worker of an executor, which must not wait. The error returns the job.
    pub fn submit(&self, device: DeviceId, job: T) -> Result<(), PushError<T>> {
        match self.lane(device) {
            Some(lane) => lane.push(job),
            None => Err(closed(job)),
        }
    }

    /// Queues a job as soon as its lane has room. Works on any runtime; see
    /// [`GatedQueue::push_async`].
    ///
    /// # Errors
    /// The lanes are closed, or the executor accepts nothing more. The error returns the job.
    pub async fn submit_async(&self, device: DeviceId, job: T) -> Result<(), PushError<T>> {
        match self.lane(device) {
            Some(lane) => lane.push_async(job).await,
            None => {
                // A producer that tries in a loop must give way to other futures.
                coop::consume_budget().await;
                Err(closed(job))
            }
        }
    }

    /// Queues a job as soon as its lane has room, and then spawns the task that `then` makes; see
    /// [`GatedQueue::push_then`].
    ///
    /// # Errors
    /// `executor` accepts no more tasks. The error returns the job and `then`.
    pub fn submit_then<K, F>(
        &self,
        device: DeviceId,
        job: T,
        executor: &ExecutorHandle<K>,
        then: F,
    ) -> Result<(), SpawnError<(T, F)>>
    where
        K: Send + 'static,
        F: FnOnce(Result<(), PushError<T>>) -> K + Send + 'static,
    {
        if let Some(lane) = self.lane(device) {
            return lane.push_then(job, executor, then);
        }
        // Like a closed queue, pass the job to `then`.
        spawn_made(executor, (job, then), |(job, then)| then(Err(closed(job))))
    }

    /// Returns how many jobs wait for a slot of `device`.
    pub fn waiting(&self, device: DeviceId) -> usize {
        let lane = self.inner.lanes.lock().by_device.get(&device).cloned();
        lane.map_or(0, |lane| lane.len())
    }

    /// Returns the number of lanes: those with jobs, and idle ones that were not forgotten yet.
    pub fn lane_count(&self) -> usize {
        self.inner.lanes.lock().by_device.len()
    }

    /// Returns the slots that the lanes use.
    pub fn slots(&self) -> &Arc<DeviceSlots> {
        &self.inner.slots
    }

    /// Returns the statistics of all lanes. A job counts as consumed when it begins.
    pub fn stats(&self) -> QueueStats {
        let lanes = self.inner.lanes.lock();
        lanes.by_device.values().fold(lanes.forgotten, |sum, lane| sum + lane.stats())
    }

    /// Forgets the lanes that have no jobs, and returns how many. The lanes do this by themselves
    /// when there are many. A lane uses the slots of its device while it exists; after this,
    /// [`DeviceSlots::prune`] can forget the device as well.
    pub fn prune(&self) -> usize {
        self.inner.lanes.lock().prune()
    }

    /// Closes the lanes. The jobs that wait still run.
    pub fn close(&self) {
        for lane in self.close_for_new_lanes() {
            lane.close();
        }
    }

    /// Closes the lanes, drops the jobs that wait, and returns how many those were.
    pub fn close_and_drop(&self) -> usize {
        self.close_for_new_lanes().iter().map(GatedQueue::close_and_drop).sum()
    }

    fn close_for_new_lanes(&self) -> Vec<GatedQueue<T>> {
        let mut lanes = self.inner.lanes.lock();
        lanes.closed = true;
        lanes.by_device.values().cloned().collect()
    }
}

/// Returns a job to its producer because the lanes are closed.
fn closed<T>(job: T) -> PushError<T> {
    push_error(PushErrorKind::Closed, job)
}

impl<T> Lanes<T> {
    fn prune(&mut self) -> usize {
        let before = self.by_device.len();
        let forgotten = &mut self.forgotten;
        self.by_device.retain(|_, lane| {
            let idle = is_sole_handle(lane);
            if idle {
                *forgotten = *forgotten + lane.stats();
            }
            !idle
        });
        self.prune_at = (2 * self.by_device.len()).max(LANES_BEFORE_PRUNING);
        before - self.by_device.len()
    }
}

/// The right to run one job of a lane, with the slot that it needs. It arrives at the executor
/// inside a task, which should [`run`](Self::run) it before the task ends. Like a [`QueueTurn`], a
/// turn that is dropped drops a job.
#[must_use = "a turn that is dropped drops a job"]
pub struct DeviceTurn<T> {
    turn: QueueTurn<T>,
    /// `None` if the lane was closed and emptied, or the executor was stopped.
    slot: Option<CountPermit>,
    device: DeviceId,
}

impl<T> fmt::Debug for DeviceTurn<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceTurn").field("device", &self.device).finish_non_exhaustive()
    }
}

impl<T> DeviceTurn<T> {
    /// Runs one job and returns its result, or `None` if the lane's jobs were dropped in the
    /// meantime.
    ///
    /// The lane is free again before the job begins, so the next job can take another slot of the
    /// device and run on another worker.
    pub fn run<R>(self, job: impl FnOnce(T, DeviceSlotPermit) -> R) -> Option<R> {
        // Without a slot the turn takes no job and ends.
        let most = usize::from(self.slot.is_some());
        let next = begin_turn(self.turn, most).try_pop();
        let slot = self.slot.map(|slot| DeviceSlotPermit::new(slot, self.device));
        next.zip(slot).map(|(next, slot)| job(next, slot))
    }

    /// Returns the device of the lane.
    pub fn device(&self) -> DeviceId {
        self.device
    }
}
