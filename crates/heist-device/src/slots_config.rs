//! How many slots each device gets, and the errors of impossible numbers.

use super::{Detector, DeviceId, DeviceKind};
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;

/// A valid number of slots: at least 1, at most `u32::MAX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SlotCount(u32);

impl SlotCount {
    pub(super) fn new(slots: usize) -> Result<Self, SlotsProblem> {
        match u32::try_from(slots) {
            Ok(0) => Err(SlotsProblem::Zero),
            Ok(slots) => Ok(Self(slots)),
            Err(_) => Err(SlotsProblem::TooMany),
        }
    }

    pub(super) fn get(self) -> u64 {
        u64::from(self.0)
    }
}

/// Why a number of slots cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SlotsProblem {
    Zero,
    TooMany,
}

/// What the number belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    Default,
    Device(DeviceId),
    Kind(DeviceKind),
}

impl fmt::Display for Whose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("the default"),
            Self::Device(device) => write!(f, "device {device}"),
            Self::Kind(kind) => write!(f, "the kind {kind}"),
        }
    }
}

/// A number of slots that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceSlotsError {
    whose: Whose,
    problem: SlotsProblem,
}

impl DeviceSlotsError {
    pub(super) fn new(whose: Whose, problem: SlotsProblem) -> Self {
        Self { whose, problem }
    }

    /// Returns the device that the number belongs to; `None` if it belongs to a kind of device or
    /// is the default.
    #[must_use]
    pub fn device(&self) -> Option<DeviceId> {
        match self.whose {
            Whose::Device(device) => Some(device),
            Whose::Default | Whose::Kind(_) => None,
        }
    }
}

impl fmt::Display for DeviceSlotsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whose = &self.whose;
        match self.problem {
            SlotsProblem::Zero => {
                write!(f, "{whose} has 0 slots: its jobs would wait forever; give it at least 1")
            }
            SlotsProblem::TooMany => {
                write!(
                    f,
                    "{whose} has more than {} slots: leave its jobs unlimited instead",
                    u32::MAX
                )
            }
        }
    }
}

impl Error for DeviceSlotsError {}

/// How many slots devices get.
///
/// ```
/// use heist_device::{DeviceId, DeviceKind, DeviceSlots, DeviceSlotsConfig};
///
/// let backup = DeviceId::from_raw(0x803);
/// let config =
///     DeviceSlotsConfig::by_kind().with_kind(DeviceKind::Nvme, 16).with_device(backup, 1);
/// let slots = DeviceSlots::new(config)?;
/// assert_eq!(slots.total(backup), 1);
/// # Ok::<(), heist_device::DeviceSlotsError>(())
/// ```
#[derive(Clone)]
pub struct DeviceSlotsConfig {
    /// For devices that have neither an override nor a number for their kind.
    pub default_slots: usize,
    /// For single devices. These take precedence.
    pub device_overrides: BTreeMap<DeviceId, usize>,
    /// For kinds of devices. If this is empty, kinds are not looked up.
    pub slots_by_kind: BTreeMap<DeviceKind, usize>,
    /// Looks up the kind of a device.
    detector: Option<Detector>,
}

impl fmt::Debug for DeviceSlotsConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceSlotsConfig")
            .field("default_slots", &self.default_slots)
            .field("device_overrides", &self.device_overrides)
            .field("slots_by_kind", &self.slots_by_kind)
            .finish_non_exhaustive()
    }
}

impl Default for DeviceSlotsConfig {
    /// The same as [`DeviceSlotsConfig::by_kind`].
    fn default() -> Self {
        Self::by_kind()
    }
}

impl DeviceSlotsConfig {
    /// Configures the same number for every device.
    #[must_use]
    pub fn uniform(slots: usize) -> Self {
        Self {
            default_slots: slots,
            device_overrides: BTreeMap::new(),
            slots_by_kind: BTreeMap::new(),
            detector: None,
        }
    }

    /// Configures slots by the kind of device, see [`DeviceKind::default_slots`]. The kind is
    /// looked up when a device is first used, in a few small files below `/sys`.
    /// [`DeviceSlots::new`](super::DeviceSlots::new) reads the mount table once.
    #[must_use]
    pub fn by_kind() -> Self {
        let kinds = DeviceKind::FROM_SLOWEST.iter().map(|kind| (*kind, kind.default_slots()));
        Self {
            slots_by_kind: kinds.collect(),
            ..Self::uniform(DeviceKind::Unknown.default_slots())
        }
    }

    /// Sets the slots of one device.
    #[must_use]
    pub fn with_device(mut self, device: DeviceId, slots: usize) -> Self {
        self.device_overrides.insert(device, slots);
        self
    }

    /// Sets the slots of a kind of device.
    #[must_use]
    pub fn with_kind(mut self, kind: DeviceKind, slots: usize) -> Self {
        self.slots_by_kind.insert(kind, slots);
        self
    }

    /// Looks kinds up with `detector` instead of this system's own.
    #[must_use]
    pub fn with_detector(mut self, detector: Detector) -> Self {
        self.detector = Some(detector);
        self
    }

    pub(super) fn validate(&self) -> Result<(), DeviceSlotsError> {
        let check = |whose, slots| {
            SlotCount::new(slots).map(drop).map_err(|problem| DeviceSlotsError::new(whose, problem))
        };
        check(Whose::Default, self.default_slots)?;
        for (device, slots) in &self.device_overrides {
            check(Whose::Device(*device), *slots)?;
        }
        for (kind, slots) in &self.slots_by_kind {
            check(Whose::Kind(*kind), *slots)?;
        }
        Ok(())
    }

    /// Adds a detector if kinds matter: this system's, unless one was given. It is built once,
    /// because building it reads the mount table.
    pub(super) fn find_detector(&mut self) {
        if !self.slots_by_kind.is_empty() {
            self.detector.get_or_insert_with(Detector::system);
        }
    }

    /// Returns the slots of a device. The configuration was validated, and has a detector if it
    /// needs one.
    pub(super) fn slots_of(&self, device: DeviceId) -> SlotCount {
        let of_device = self.device_overrides.get(&device).copied();
        let slots =
            of_device.or_else(|| self.slots_of_kind_of(device)).unwrap_or(self.default_slots);
        SlotCount::new(slots).expect("the configuration was validated")
    }

    /// Returns the number for the device's kind, which is looked up only if any kind has a number.
    fn slots_of_kind_of(&self, device: DeviceId) -> Option<usize> {
        let detector = self.detector.as_ref().filter(|_| !self.slots_by_kind.is_empty())?;
        self.slots_by_kind.get(&detector.kind_of(device)).copied()
    }
}

impl DeviceKind {
    /// Returns the default number of slots: 2 for a rotating disk, where each further job adds
    /// seeks; 4 for an SSD and for unknown devices; 8 for NVMe, memory and network, which have no
    /// head to move.
    #[must_use]
    pub fn default_slots(self) -> usize {
        match self {
            Self::Rotational => 2,
            Self::Nvme | Self::Memory | Self::Network => 8,
            Self::Ssd | Self::Unknown => 4,
        }
    }
}
