//! [`DeviceSlots`]: how many jobs may use each device at the same time.
//!
//! A budget for each device, made when the device is first asked for and forgotten when nobody uses it and there are
//! many. Devices never wait for each other.
//!
//! Invariant: a device has one budget at a time. A budget is forgotten only by whoever holds the lock of the map and
//! sees that the map alone has it; all others got theirs under that lock.

use super::DeviceId;
use super::slots_config::{DeviceSlotsConfig, DeviceSlotsError, SlotCount, Whose};
use heist::__internal::is_shared;
use heist::__internal::sync::{Arc, Mutex};
use heist::{AcquireError, CountBudget, CountPermit};
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::time::Duration;

/// Below this many devices it is not worth looking for idle ones.
const DEVICES_BEFORE_PRUNING: usize = 64;

/// Slots of devices: how many jobs may be at work on one device at the same time.
///
/// A slot is for a job whose reads cannot be counted one by one, because the kernel decides which of them reach the
/// device. There are two kinds of such jobs:
///
/// - **Jobs that map files**, for example git packs and large archives: their reads are page faults. A job takes a slot
///   of its device before it maps a file there, keeps the [`DeviceSlotPermit`] while it touches the mapping, and drops
///   it. So at most that many jobs fault pages in from one disk at the same time, and the page cache is not torn
///   between more of them.
/// - **Walks over directories**: names are looked up, directories listed and metadata read, from the disk or from the
///   kernel's caches, and the calls do not tell which. A worker of a walk (the crate `heist-walk`) holds one slot for
///   as long as its tasks stay on a device, whatever they call there, opening and reading the files that they find
///   included, and returns it before it parks. So a disk that stops answering holds up its own share of the workers.
///
/// **Slots are advisory.** They bound how many jobs of this process are at work on a device. They do not control when
/// the kernel reads, how fast, how far ahead, or what it evicts, and they know nothing of other processes.
///
/// A job that makes explicit reads and nothing else takes [`heist::ReadTokens`] for each of them instead: they bound
/// the bytes as well. Slots are also of no use for remote stores, when memory holds all that the jobs touch, with one
/// job at a time, or around work so short that the bookkeeping shows beside it.
///
/// A worker of an executor must not wait for a slot; it asks with [`DeviceSlots::try_acquire`], or better leaves the
/// waiting to [`crate::DeviceLanes`].
///
/// ```
/// use heist_device::{DeviceId, DeviceSlots};
///
/// let slots = DeviceSlots::uniform(2)?;
/// let disk = DeviceId::from_path("/".as_ref());
/// let first = slots.try_acquire(disk).expect("two are free");
/// let _second = slots.try_acquire(disk).expect("one is free");
/// assert!(slots.try_acquire(disk).is_none());
/// drop(first);
/// assert_eq!(slots.available(disk), Some(1));
/// # Ok::<(), heist_device::DeviceSlotsError>(())
/// ```
pub struct DeviceSlots {
    config: DeviceSlotsConfig,
    devices: Mutex<Devices>,
}

struct Devices {
    budgets: BTreeMap<DeviceId, CountBudget>,
    /// What was set while running, which outlives an idle device's budget.
    set_later: BTreeMap<DeviceId, SlotCount>,
    /// Look for idle devices when there are this many.
    prune_at: usize,
}

impl fmt::Debug for DeviceSlots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceSlots")
            .field("config", &self.config)
            .field("active_devices", &self.active_device_count())
            .finish_non_exhaustive()
    }
}

impl DeviceSlots {
    /// Slots as configured. If they depend on the kind of device, and no detector was given, this reads the mount
    /// table; what is mounted later on a disk is found all the same, by its number.
    ///
    /// # Errors
    /// A device, or the default, has no slots: jobs for it would wait for ever. The error names it.
    pub fn new(mut config: DeviceSlotsConfig) -> Result<Arc<Self>, DeviceSlotsError> {
        config.validate()?;
        config.find_detector();
        let devices = Devices {
            budgets: BTreeMap::new(),
            set_later: BTreeMap::new(),
            prune_at: DEVICES_BEFORE_PRUNING,
        };
        Ok(Arc::new(Self { config, devices: Mutex::new(devices) }))
    }

    /// The same number of slots for every device.
    ///
    /// # Errors
    /// `slots` is 0.
    pub fn uniform(slots: usize) -> Result<Arc<Self>, DeviceSlotsError> {
        Self::new(DeviceSlotsConfig::uniform(slots))
    }

    /// The budget of a device, made if it is not there.
    pub(super) fn budget(&self, device: DeviceId) -> CountBudget {
        if let Some(budget) = self.devices.lock().budgets.get(&device) {
            return budget.clone();
        }
        // Not under the lock: the device's kind is looked up, in files.
        let configured = self.config.slots_of(device);
        let mut devices = self.devices.lock();
        if devices.budgets.len() >= devices.prune_at {
            devices.prune();
        }
        let slots = devices.set_later.get(&device).copied().unwrap_or(configured);
        let made = || CountBudget::new(slots.get()).expect("a number of slots was checked to fit");
        devices.budgets.entry(device).or_insert_with(made).clone()
    }

    /// Takes a slot, if one is free and nobody waits for one.
    pub fn try_acquire(&self, device: DeviceId) -> Option<DeviceSlotPermit> {
        // Under the lock, which saves a handle to the budget: this is what is called most.
        let known = self.devices.lock().budgets.get(&device).map(|budget| budget.try_acquire(1));
        let slot = known.unwrap_or_else(|| self.budget(device).try_acquire(1)).ok()?;
        Some(DeviceSlotPermit::new(slot, device))
    }

    /// [`DeviceSlots::try_acquire`] for the device that holds `path`. Looks the device up each time, which costs
    /// system calls: a job should find out its device once.
    pub fn try_acquire_for_path(&self, path: &Path) -> Option<DeviceSlotPermit> {
        self.try_acquire(DeviceId::from_path(path))
    }

    /// Takes a slot, after waiting for one if need be. First come, first served.
    ///
    /// # Errors
    /// None is free and this is a worker of an executor, which must not wait.
    pub fn acquire(&self, device: DeviceId) -> Result<DeviceSlotPermit, AcquireError> {
        let slot = self.budget(device).acquire(1)?;
        Ok(DeviceSlotPermit::new(slot, device))
    }

    /// [`DeviceSlots::acquire`], for at most `timeout`.
    ///
    /// # Errors
    /// As [`DeviceSlots::acquire`]; or none came free in time.
    pub fn acquire_timeout(
        &self,
        device: DeviceId,
        timeout: Duration,
    ) -> Result<DeviceSlotPermit, AcquireError> {
        let slot = self.budget(device).acquire_timeout(1, timeout)?;
        Ok(DeviceSlotPermit::new(slot, device))
    }

    /// Takes a slot as soon as there is one. On any runtime; dropped, it gives up its place.
    ///
    /// # Errors
    /// None today: the slots of a device are never closed.
    pub async fn acquire_async(&self, device: DeviceId) -> Result<DeviceSlotPermit, AcquireError> {
        let slot = self.budget(device).acquire_async(1).await?;
        Ok(DeviceSlotPermit::new(slot, device))
    }

    /// How many slots of a device are free; `None` if nobody has asked for one (or not for long).
    pub fn available(&self, device: DeviceId) -> Option<usize> {
        let devices = self.devices.lock();
        devices.budgets.get(&device).map(|budget| as_usize(budget.available()))
    }

    /// How many slots a device has, in use or not. If nobody uses it and slots depend on the kind of device, this looks
    /// the kind up each time, in a few small files.
    pub fn total(&self, device: DeviceId) -> usize {
        let devices = self.devices.lock();
        let slots = devices.set_later.get(&device).copied();
        let used = devices.budgets.get(&device).map(CountBudget::total);
        drop(devices);
        as_usize(
            used.or(slots.map(SlotCount::get))
                .unwrap_or_else(|| self.config.slots_of(device).get()),
        )
    }

    /// How many devices have a budget at the moment: those in use, and those that were and are not forgotten yet.
    pub fn active_device_count(&self) -> usize {
        self.devices.lock().budgets.len()
    }

    /// Changes the number of a device's slots, also while jobs run. Raised, it lets waiting jobs in at once; lowered,
    /// it lets nobody in until enough have left.
    ///
    /// # Errors
    /// `slots` is 0, or beyond what a budget can count.
    pub fn set_slots(&self, device: DeviceId, slots: usize) -> Result<(), DeviceSlotsError> {
        let slots = SlotCount::new(slots)
            .map_err(|problem| DeviceSlotsError::new(Whose::Device(device), problem))?;
        let mut devices = self.devices.lock();
        devices.set_later.insert(device, slots);
        // Not under the lock: this lets jobs in, and what they do is their own. So somebody else may set another number
        // meanwhile; the last one stands.
        while let Some((budget, slots)) = devices.to_resize(device) {
            drop(devices);
            budget.set_total(slots.get()).expect("a number of slots was checked to fit");
            devices = self.devices.lock();
        }
        Ok(())
    }

    /// Forgets the devices that nobody uses; says how many. Done by itself when there are many. A lane uses its device
    /// until it is forgotten itself ([`DeviceLanes::prune`](super::DeviceLanes::prune)).
    pub fn prune(&self) -> usize {
        self.devices.lock().prune()
    }
}

impl Devices {
    /// The budget of a device, if it has not as many slots as were set last.
    fn to_resize(&self, device: DeviceId) -> Option<(CountBudget, SlotCount)> {
        let slots = *self.set_later.get(&device)?;
        let budget = self.budgets.get(&device).filter(|budget| budget.total() != slots.get())?;
        Some((budget.clone(), slots))
    }

    fn prune(&mut self) -> usize {
        let before = self.budgets.len();
        self.budgets.retain(|_, budget| is_shared(budget));
        // So that pruning costs little even if all of them are in use.
        self.prune_at = (2 * self.budgets.len()).max(DEVICES_BEFORE_PRUNING);
        before - self.budgets.len()
    }
}

/// Counts of slots fit in 32 bits.
fn as_usize(slots: u64) -> usize {
    slots as usize
}

/// One slot of a device. Dropping it gives it back.
#[must_use = "the slot is given back when the permit is dropped"]
pub struct DeviceSlotPermit {
    /// Held for its `drop`.
    _slot: CountPermit,
    device: DeviceId,
}

const _: () = assert!(size_of::<DeviceSlotPermit>() <= 48);

impl fmt::Debug for DeviceSlotPermit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceSlotPermit").field("device", &self.device).finish_non_exhaustive()
    }
}

impl DeviceSlotPermit {
    pub(super) fn new(slot: CountPermit, device: DeviceId) -> Self {
        Self { _slot: slot, device }
    }

    /// Whose slot it is.
    #[must_use]
    pub fn device(&self) -> DeviceId {
        self.device
    }
}
