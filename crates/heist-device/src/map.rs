//! Remembers the device of every file system met so far: a million files cost a `statx` each, and nothing else.
//!
//! Invariant: sysfs is read once per place (device number, and mount if the number is anonymous). Not guaranteed: that
//! an answer is still right after something was unmounted and its number given to something else.

use super::place::{Place, place_of};
use super::{Detector, DeviceId, DeviceNumber, PhysicalDevice};
use std::collections::HashMap;
use std::io;
use std::path::Path;

/// A [`Detector`] with a memory.
///
/// It takes `&mut self` and no lock: give every worker one of its own, in its scratch. Clones share the mount table,
/// and start with what is known already. It grows with the file systems that it meets and forgets nothing, so take a
/// new one for each run.
///
/// ```
/// use heist_device::{DeviceMap, Detector};
/// use std::path::Path;
///
/// let detector = Detector::system();
/// let output = heist::run(
///     heist::ExecutorConfig::default(),
///     [".", ".."],
///     |_worker| DeviceMap::new(detector.clone()),
///     |path, ctx| {
///         let device = ctx.scratch.id_of(Path::new(path));
///         // ... and on with the work, within the limits of `device`.
///         # let _ = device;
///     },
/// )?;
/// # drop(output);
/// # Ok::<(), heist::RunError>(())
/// ```
#[derive(Clone, Debug)]
pub struct DeviceMap {
    detector: Detector,
    /// Indices into `devices`.
    places: HashMap<Place, usize>,
    devices: Vec<PhysicalDevice>,
}

impl DeviceMap {
    /// An empty map that asks `detector`.
    #[must_use]
    pub fn new(detector: Detector) -> Self {
        Self { detector, places: HashMap::new(), devices: Vec::new() }
    }

    /// An empty map of this system, with the mounts of now.
    #[must_use]
    pub fn system() -> Self {
        Self::new(Detector::system())
    }

    /// The id of the device of `path`, or [`DeviceId::UNKNOWN`] if the path cannot be looked up.
    pub fn id_of(&mut self, path: &Path) -> DeviceId {
        self.device_of(path).map_or(DeviceId::UNKNOWN, |device| device.id)
    }

    /// The device of `path`; a symbolic link is followed. Outside Linux always [`PhysicalDevice::unknown`].
    ///
    /// # Errors
    ///
    /// As [`Detector::detect`].
    pub fn device_of(&mut self, path: &Path) -> io::Result<&PhysicalDevice> {
        let Some(place) = place_of(path)? else {
            let index = self.index_of(PhysicalDevice::unknown());
            return Ok(&self.devices[index]);
        };
        Ok(self.remembered(place, |detector| detector.detect_place(place, path)))
    }

    /// The device of files that were looked at already; see [`Detector::detect_at`].
    pub fn device_at(&mut self, number: DeviceNumber, mount_id: Option<u64>) -> &PhysicalDevice {
        let detect = |detector: &Detector| detector.detect_at(number, mount_id);
        self.remembered(Place::new(number, mount_id), detect)
    }

    /// What is known about a device that an earlier answer named.
    #[must_use]
    pub fn get(&self, id: DeviceId) -> Option<&PhysicalDevice> {
        self.devices.iter().find(|device| device.id == id)
    }

    /// Every device met so far, once each, in the order in which they were met.
    #[must_use]
    pub fn devices(&self) -> &[PhysicalDevice] {
        &self.devices
    }

    fn remembered(
        &mut self,
        place: Place,
        detect: impl FnOnce(&Detector) -> PhysicalDevice,
    ) -> &PhysicalDevice {
        let index = match self.places.get(&place) {
            Some(&index) => index,
            None => {
                let device = detect(&self.detector);
                let index = self.index_of(device);
                self.places.insert(place, index);
                index
            }
        };
        &self.devices[index]
    }

    /// Where `device` is in the list, to which it is added if it is new.
    fn index_of(&mut self, device: PhysicalDevice) -> usize {
        let known = self.devices.iter().position(|other| other.id == device.id);
        known.unwrap_or_else(|| {
            self.devices.push(device);
            self.devices.len() - 1
        })
    }
}
