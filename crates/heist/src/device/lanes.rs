//! [`DeviceLanes`]: jobs that wait for a slot of their device without holding a worker.
//!
//! A lane is a gated queue whose turn needs a slot. Its turn is spawned with the slot in hand, takes one job, lets the
//! next turn get in line for the next slot if there are more jobs, and runs its job. So a lane stands in its device's
//! line with one place at a time, only while it has a job, and moves up like everybody else: it neither starves those
//! who wait for slots by other ways, nor is it starved by them. Whatever grants a slot spawns the turn; nothing polls.
//!
//! Invariant: a device has one lane at a time. A lane is forgotten only by whoever holds the lock of the map and sees
//! that the map alone has it; a lane with jobs has a turn, which has it too.

use super::DeviceId;
use super::slots::{DeviceSlotPermit, DeviceSlots};
use crate::budget::{AcquireError, Amount, Core, CountBudget, CountPermit, Permit};
use crate::executor::any::AnyExecutor;
use crate::executor::shared::PoolShared;
use crate::executor::{ConfigError, ExecutorHandle, SpawnError};
use crate::future::coop;
use crate::signal::queue::core::Scheduler;
use crate::signal::{GatedQueue, PushError, PushErrorKind, QueueConfig, QueueStats, QueueTurn};
use crate::sync::plant::{Plant, planted};
use crate::sync::{Arc, Mutex};
use std::collections::BTreeMap;
use std::fmt;

/// Below this many lanes it is not worth looking for idle ones.
const LANES_BEFORE_PRUNING: usize = 64;

/// Queues of jobs, one for each device, that feed an executor as the devices' slots allow.
///
/// [`submit`](Self::submit) hands in a job. It runs on the executor with a [`DeviceSlotPermit`] in hand: at once, or as
/// soon as a slot of its device comes free. Meanwhile it holds no worker, and nobody polls for it. A slow disk's jobs
/// hold up no other disk's.
///
/// Jobs of one lane are taken in the order in which they were handed in; each lane with a free slot has one turn after
/// the other with everything else on the executor. A job that panics gives its slot back, and so does one that is
/// dropped. Jobs count for the executor: `join` waits for them, and a stopped executor drops them.
///
/// A handle: clones are the same lanes.
///
/// ```
/// use heist::{DeviceId, DeviceLanes, DeviceSlots, DeviceTurn, Executor};
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

/// Makes the scheduler of a lane: it knows the type of the executor's tasks, which the lanes need not.
type MakeScheduler<T> = Box<dyn Fn(DeviceId, CountBudget) -> Box<dyn Scheduler<T>> + Send + Sync>;

struct Inner<T> {
    slots: Arc<DeviceSlots>,
    capacity: Option<u64>,
    make_scheduler: MakeScheduler<T>,
    lanes: Mutex<Lanes<T>>,
}

struct Lanes<T> {
    by_device: BTreeMap<DeviceId, GatedQueue<T>>,
    prune_at: usize,
    closed: bool,
    /// What lanes did that are forgotten.
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
    /// Lanes without a bound. `turn` makes the executor's task that runs a job: usually the variant of an enum. (If it
    /// panics, that counts as the task's panic, and the lane is closed and emptied, until it is
    /// [forgotten](Self::prune) and made anew.)
    pub fn new<K: Send + 'static>(
        executor: &ExecutorHandle<K>,
        slots: Arc<DeviceSlots>,
        turn: impl Fn(DeviceTurn<T>) -> K + Send + Sync + 'static,
    ) -> Self {
        Self::build(executor, slots, None, turn)
    }

    /// Lanes that hold `capacity` waiting jobs each, at most: a full one pushes back on its producer.
    ///
    /// # Errors
    /// A capacity of 0, or one beyond what a budget can count.
    pub fn bounded<K: Send + 'static>(
        executor: &ExecutorHandle<K>,
        slots: Arc<DeviceSlots>,
        capacity: u64,
        turn: impl Fn(DeviceTurn<T>) -> K + Send + Sync + 'static,
    ) -> Result<Self, ConfigError> {
        let lane = QueueConfig { capacity: Some(capacity), ..QueueConfig::default() };
        lane.budget().map_err(|error| error.about("lanes"))?;
        Ok(Self::build(executor, slots, Some(capacity), turn))
    }

    fn build<K: Send + 'static>(
        executor: &ExecutorHandle<K>,
        slots: Arc<DeviceSlots>,
        capacity: Option<u64>,
        turn: impl Fn(DeviceTurn<T>) -> K + Send + Sync + 'static,
    ) -> Self {
        let shared = Arc::clone(executor.shared());
        let make = Arc::new(turn);
        let make_scheduler: MakeScheduler<T> = Box::new(move |device, slots| {
            Box::new(OnSlot {
                shared: Arc::clone(&shared),
                make: Arc::clone(&make),
                device,
                slots,
                place: Mutex::new(Place::default()),
            })
        });
        let lanes = Lanes {
            by_device: BTreeMap::new(),
            prune_at: LANES_BEFORE_PRUNING,
            closed: false,
            forgotten: QueueStats::default(),
        };
        let inner = Inner { slots, capacity, make_scheduler, lanes: Mutex::new(lanes) };
        Self { inner: Arc::new(inner) }
    }

    /// The lane of a device, made if it is not there; `None` if the lanes are closed.
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
        // Not under the lock: a device's kind may have to be looked up.
        let scheduler = (inner.make_scheduler)(device, inner.slots.budget(device));
        let config = QueueConfig { capacity: inner.capacity, ..QueueConfig::default() };
        let capacity = config.budget().expect("the capacity was checked");
        let lane = GatedQueue::with_scheduler(scheduler, capacity, 1);
        let mut lanes = inner.lanes.lock();
        if lanes.closed {
            return None;
        }
        if lanes.by_device.len() >= lanes.prune_at {
            lanes.prune();
        }
        Some(lanes.by_device.entry(device).or_insert(lane).clone())
    }

    /// Hands in a job if its lane has room.
    ///
    /// # Errors
    /// The lane is full, the lanes are closed, or the executor takes nothing more. The error gives the job back.
    pub fn try_submit(&self, device: DeviceId, job: T) -> Result<(), PushError<T>> {
        match self.lane(device) {
            Some(lane) => lane.try_push(job),
            None => Err(closed(job)),
        }
    }

    /// Hands in a job, after waiting for room in its lane if need be. (Never for a slot: the job waits for that.)
    ///
    /// # Errors
    /// The lanes are closed; the executor takes nothing more; or the lane is full and this is a worker of an executor,
    /// which must not wait. The error gives the job back.
    pub fn submit(&self, device: DeviceId, job: T) -> Result<(), PushError<T>> {
        match self.lane(device) {
            Some(lane) => lane.push(job),
            None => Err(closed(job)),
        }
    }

    /// Hands in a job as soon as its lane has room. On any runtime; see [`GatedQueue::push_async`].
    ///
    /// # Errors
    /// The lanes are closed, or the executor takes nothing more. The error gives the job back.
    pub async fn submit_async(&self, device: DeviceId, job: T) -> Result<(), PushError<T>> {
        match self.lane(device) {
            Some(lane) => lane.push_async(job).await,
            None => {
                // A producer that tries again and again must give way.
                coop::consume_budget().await;
                Err(closed(job))
            }
        }
    }

    /// Hands in a job as soon as its lane has room, and then spawns the task that `then` makes; see
    /// [`GatedQueue::push_then`].
    ///
    /// # Errors
    /// `executor` takes no more tasks; the error gives the job and `then` back.
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
        // As a closed queue does it: it is `then` that gets the job back.
        let shared = executor.shared();
        if let Err(kind) = shared.count_now() {
            return Err(SpawnError::new(kind, (job, then)));
        }
        shared.spawn_made(then, Err(closed(job)));
        Ok(())
    }

    /// How many jobs wait for a slot of `device`.
    pub fn waiting(&self, device: DeviceId) -> usize {
        let lane = self.inner.lanes.lock().by_device.get(&device).cloned();
        lane.map_or(0, |lane| lane.len())
    }

    /// How many lanes there are: those with jobs, and those that had some and are not forgotten yet.
    pub fn lane_count(&self) -> usize {
        self.inner.lanes.lock().by_device.len()
    }

    /// The slots that the lanes take.
    pub fn slots(&self) -> &Arc<DeviceSlots> {
        &self.inner.slots
    }

    /// What all lanes have done so far. A job counts as consumed when it begins.
    pub fn stats(&self) -> QueueStats {
        let lanes = self.inner.lanes.lock();
        lanes.by_device.values().fold(lanes.forgotten, |sum, lane| sum + lane.stats())
    }

    /// Forgets the lanes that have no jobs; says how many. Done by itself when there are many. Their devices can be
    /// forgotten then, too ([`DeviceSlots::prune`]): a lane uses the slots of its device as long as it is there.
    pub fn prune(&self) -> usize {
        self.inner.lanes.lock().prune()
    }

    /// Takes no more jobs; those that wait still have their turn.
    pub fn close(&self) {
        for lane in self.close_for_new_lanes() {
            lane.close();
        }
    }

    /// Takes no more jobs, and drops those that wait; says how many.
    pub fn close_and_drop(&self) -> usize {
        self.close_for_new_lanes().iter().map(GatedQueue::close_and_drop).sum()
    }

    fn close_for_new_lanes(&self) -> Vec<GatedQueue<T>> {
        let mut lanes = self.inner.lanes.lock();
        lanes.closed = true;
        lanes.by_device.values().cloned().collect()
    }
}

/// The lanes are closed: the job goes back.
fn closed<T>(job: T) -> PushError<T> {
    PushError::new(PushErrorKind::Closed, job)
}

impl<T> Lanes<T> {
    fn prune(&mut self) -> usize {
        let before = self.by_device.len();
        let forgotten = &mut self.forgotten;
        self.by_device.retain(|_, lane| {
            let idle = lane.is_sole_handle();
            if idle {
                *forgotten = *forgotten + lane.stats();
            }
            !idle
        });
        self.prune_at = (2 * self.by_device.len()).max(LANES_BEFORE_PRUNING);
        before - self.by_device.len()
    }
}

/// The right to run one job of a lane, with the slot that it needs. It comes to the executor inside a task, which
/// should [`run`](Self::run) it before it ends; as with a [`QueueTurn`], one that is dropped drops a job.
#[must_use = "a turn that is dropped drops a job"]
pub struct DeviceTurn<T> {
    turn: QueueTurn<T>,
    /// The slot. There is none if the lane was emptied for good, or the executor stopped.
    slot: Option<CountPermit>,
    device: DeviceId,
}

impl<T> fmt::Debug for DeviceTurn<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceTurn").field("device", &self.device).finish_non_exhaustive()
    }
}

impl<T> DeviceTurn<T> {
    /// Runs one job and hands its result out. `None` if there is none: the jobs were dropped meanwhile.
    ///
    /// Before the job begins its lane is free again, so that the next one can have another slot of the device and run
    /// on another worker.
    pub fn run<R>(self, job: impl FnOnce(T, DeviceSlotPermit) -> R) -> Option<R> {
        // Without a slot the turn takes nothing, and is over.
        let most = usize::from(self.slot.is_some());
        let next = self.turn.begin_with(most).try_pop();
        let slot = self.slot.map(|slot| DeviceSlotPermit::new(slot, self.device));
        next.zip(slot).map(|(next, slot)| job(next, slot))
    }

    /// Whose turn it is.
    pub fn device(&self) -> DeviceId {
        self.device
    }
}

/// A lane's turn becomes a task when its device has a slot for it.
struct OnSlot<K, F> {
    shared: Arc<PoolShared<K>>,
    make: Arc<F>,
    device: DeviceId,
    slots: CountBudget,
    place: Mutex<Place>,
}

/// Where a lane's turn waits.
#[derive(Default)]
struct Place {
    /// The number of the last turn that had to wait, among the executor's waiting tasks.
    number: Option<u64>,
    /// The lane is empty for good.
    recalled: bool,
}

impl<T, K, F> Scheduler<T> for OnSlot<K, F>
where
    T: Send + 'static,
    K: Send + 'static,
    F: Fn(DeviceTurn<T>) -> K + Send + Sync + 'static,
{
    fn executor(&self) -> &dyn AnyExecutor {
        &*self.shared
    }

    fn spawn_turn(&self, turn: QueueTurn<T>) {
        let (make, device) = (Arc::clone(&self.make), self.device);
        let make = move |granted: Result<Permit, AcquireError>| {
            let slot = granted.ok().map(CountPermit::from_core);
            turn.make(|turn| make(DeviceTurn { turn, slot, device }))
        };
        if planted(Plant::RequeueInsteadOfLane) {
            let slot = Core::try_acquire(self.slots.core(), Amount::ONE);
            return self.shared.spawn_made(make, slot);
        }
        let number =
            PoolShared::spawn_when_granted(&self.shared, self.slots.core(), Amount::ONE, make);
        let recalled = {
            let mut place = self.place.lock();
            // The turn may be over already, and the next one in line, from another thread: the later number stays.
            place.number = place.number.max(number);
            place.recalled
        };
        if recalled {
            self.recall_turn();
        }
    }

    fn recall_turn(&self) {
        let number = {
            let mut place = self.place.lock();
            place.recalled = true;
            place.number.take()
        };
        // If it waits no longer, this does nothing.
        if let Some(number) = number {
            self.shared.stop_waiting(number);
        }
    }
}
