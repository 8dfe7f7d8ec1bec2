//! [`DeviceSlots`]: how many jobs may use each device at the same time.
//!
//! Each device has a budget, created when the device is first used and forgotten when it is idle
//! and there are many devices. Devices never wait for each other.
//!
//! Invariant: a device has at most one budget. A budget is forgotten only under the lock of the
//! map, and only if the map holds the last handle to it; every other handle was cloned under that
//! lock.

use super::DeviceId;
use super::slots_config::{DeviceSlotsConfig, DeviceSlotsError, SlotCount, Whose};
use heist::__internal::is_shared;
use heist::__internal::sync::{Arc, Mutex};
use heist::{AcquireError, CountBudget, CountPermit};
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::time::Duration;

/// With fewer devices than this, looking for idle ones is not worth the time.
const DEVICES_BEFORE_PRUNING: usize = 64;

/// Slots of devices: how many jobs may work on one device at the same time.
///
/// A slot is for a job whose reads cannot be counted one by one, because the kernel decides which
/// of them reach the device. There are two kinds of such jobs:
///
/// - **Jobs that map files**, for example git packs and large archives: their reads are page
///   faults. A job takes a slot of its device before it maps a file, keeps the [`DeviceSlotPermit`]
///   while it uses the mapping, and drops it afterwards. So the number of slots bounds how many
///   jobs fault pages in from one disk at the same time.
/// - **Walks over directories**: they look up names, list directories and read metadata, from the
///   disk or from the kernel's caches, and a call does not reveal which. A worker of a walk (the
///   crate `heist-walk`) holds one slot while its tasks stay on a device, also while they open and
///   read files there, and returns it before it parks. So a disk that stops responding blocks only
///   its own share of the workers.
///
/// **Slots are advisory.** They bound how many jobs of this process work on a device. They do not
/// control when the kernel reads, how fast, how far ahead, or what it evicts, and they do not see
/// other processes.
///
/// A job that only makes explicit reads takes [`heist::ReadTokens`] for each of them instead: those
/// bound the bytes as well. Slots do not help with remote stores, when the data is in memory, with
/// one job at a time, or around work so short that the bookkeeping dominates.
///
/// A worker of an executor must not wait for a slot. It calls [`DeviceSlots::try_acquire`], or
/// better, leaves the waiting to [`crate::DeviceLanes`].
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
    /// The numbers set while running. They outlive the budget of an idle device.
    set_later: BTreeMap<DeviceId, SlotCount>,
    /// With this many devices, look for idle ones.
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
    /// Creates slots as configured. If they depend on the kind of device and the configuration has
    /// no detector, this reads the mount table. Disks that are mounted later are still found, by
    /// their device number.
    ///
    /// # Errors
    /// A device, or the default, has no slots, so its jobs would wait forever. The error names it.
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

    /// Creates the same number of slots for every device.
    ///
    /// # Errors
    /// `slots` is 0.
    pub fn uniform(slots: usize) -> Result<Arc<Self>, DeviceSlotsError> {
        Self::new(DeviceSlotsConfig::uniform(slots))
    }

    /// Returns the budget of a device and creates it if necessary.
    pub(super) fn budget(&self, device: DeviceId) -> CountBudget {
        if let Some(budget) = self.devices.lock().budgets.get(&device) {
            return budget.clone();
        }
        // Without the lock: this looks up the device's kind in files.
        let configured = self.config.slots_of(device);
        let mut devices = self.devices.lock();
        if devices.budgets.len() >= devices.prune_at {
            devices.prune();
        }
        let slots = devices.set_later.get(&device).copied().unwrap_or(configured);
        let made = || CountBudget::new(slots.get()).expect("a number of slots was checked to fit");
        devices.budgets.entry(device).or_insert_with(made).clone()
    }

    /// Takes a slot, if one is free and nothing waits for one.
    pub fn try_acquire(&self, device: DeviceId) -> Option<DeviceSlotPermit> {
        // Under the lock, which saves cloning a handle: this is the method that is called most.
        let known = self.devices.lock().budgets.get(&device).map(|budget| budget.try_acquire(1));
        let slot = known.unwrap_or_else(|| self.budget(device).try_acquire(1)).ok()?;
        Some(DeviceSlotPermit::new(slot, device))
    }

    /// [`DeviceSlots::try_acquire`] for the device of `path`. It looks the device up each time,
    /// which costs system calls: a job should look up its device once.
    pub fn try_acquire_for_path(&self, path: &Path) -> Option<DeviceSlotPermit> {
        self.try_acquire(DeviceId::from_path(path))
    }

    /// Takes a slot, and waits for one if necessary. First come, first served.
    ///
    /// # Errors
    /// No slot is free, and the caller is a worker of an executor, which must not wait.
    pub fn acquire(&self, device: DeviceId) -> Result<DeviceSlotPermit, AcquireError> {
        let slot = self.budget(device).acquire(1)?;
        Ok(DeviceSlotPermit::new(slot, device))
    }

    /// [`DeviceSlots::acquire`], for at most `timeout`.
    ///
    /// # Errors
    /// As [`DeviceSlots::acquire`]; or no slot was free in time.
    pub fn acquire_timeout(
        &self,
        device: DeviceId,
        timeout: Duration,
    ) -> Result<DeviceSlotPermit, AcquireError> {
        let slot = self.budget(device).acquire_timeout(1, timeout)?;
        Ok(DeviceSlotPermit::new(slot, device))
    }

    /// Takes a slot as soon as one is free. Works on any runtime. Dropping the future gives up its
    /// place.
    ///
    /// # Errors
    /// None at present: the slots of a device are never closed.
    pub async fn acquire_async(&self, device: DeviceId) -> Result<DeviceSlotPermit, AcquireError> {
        let slot = self.budget(device).acquire_async(1).await?;
        Ok(DeviceSlotPermit::new(slot, device))
    }

    /// Returns how many slots of a device are free; `None` if the device was not used yet, or was
    /// forgotten.
    pub fn available(&self, device: DeviceId) -> Option<usize> {
        let devices = self.devices.lock();
        devices.budgets.get(&device).map(|budget| as_usize(budget.available()))
    }

    /// Returns how many slots a device has, in use or not. If the device is idle and slots depend
    /// on its kind, this looks the kind up each time, in a few small files.
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

    /// Returns how many devices have a budget: those in use, and idle ones that were not forgotten
    /// yet.
    pub fn active_device_count(&self) -> usize {
        self.devices.lock().budgets.len()
    }

    /// Changes the number of a device's slots, also while jobs run. A larger number admits waiting
    /// jobs at once; with a smaller one, no job is admitted until enough have left.
    ///
    /// # Errors
    /// `slots` is 0, or larger than a budget can count.
    pub fn set_slots(&self, device: DeviceId, slots: usize) -> Result<(), DeviceSlotsError> {
        let slots = SlotCount::new(slots)
            .map_err(|problem| DeviceSlotsError::new(Whose::Device(device), problem))?;
        let mut devices = self.devices.lock();
        devices.set_later.insert(device, slots);
        // Without the lock: this admits jobs, which may run code of the caller. So another thread
        // may set another number in the meantime; the last one stands.
        while let Some((budget, slots)) = devices.to_resize(device) {
            drop(devices);
            budget.set_total(slots.get()).expect("a number of slots was checked to fit");
            devices = self.devices.lock();
        }
        Ok(())
    }

    /// Forgets the idle devices, and returns how many. The slots do this by themselves when there
    /// are many. A lane uses its device until the lane itself is forgotten
    /// ([`DeviceLanes::prune`](super::DeviceLanes::prune)).
    pub fn prune(&self) -> usize {
        self.devices.lock().prune()
    }
}

impl Devices {
    /// Returns the budget of a device if its number of slots differs from the one set last.
    fn to_resize(&self, device: DeviceId) -> Option<(CountBudget, SlotCount)> {
        let slots = *self.set_later.get(&device)?;
        let budget = self.budgets.get(&device).filter(|budget| budget.total() != slots.get())?;
        Some((budget.clone(), slots))
    }

    fn prune(&mut self) -> usize {
        let before = self.budgets.len();
        self.budgets.retain(|_, budget| is_shared(budget));
        // So that pruning stays cheap when all of them are in use.
        self.prune_at = (2 * self.budgets.len()).max(DEVICES_BEFORE_PRUNING);
        before - self.budgets.len()
    }
}

/// Counts of slots fit in 32 bits.
fn as_usize(slots: u64) -> usize {
    slots as usize
}

/// One slot of a device. Dropping it returns the slot.
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

    /// Returns the device.
    #[must_use]
    pub fn device(&self) -> DeviceId {
        self.device
    }
}
