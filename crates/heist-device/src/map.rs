//! Remembers the device of each file system it has seen: a million files cost a `statx` each, and
//! nothing else.
//!
//! Invariant: sysfs is read once per device number (and mount, if the number is anonymous). Not
//! guaranteed: that an answer is still right after an unmount, when the kernel has reused the
//! number.

use super::place::{FilePlace, place_of};
use super::{Detector, DeviceId, DeviceNumber, PhysicalDevice};
use std::collections::HashMap;
use std::io;
use std::path::Path;

/// A [`Detector`] with a memory.
///
/// It has no lock and takes `&mut self`: give each worker its own, in its scratch. Clones share the
/// mount table and start with the devices known so far. The map grows with the file systems it sees
/// and never forgets one, so create a new one for each run.
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
    places: HashMap<FilePlace, usize>,
    devices: Vec<PhysicalDevice>,
}

impl DeviceMap {
    /// Creates an empty map that uses `detector`.
    #[must_use]
    pub fn new(detector: Detector) -> Self {
        Self { detector, places: HashMap::new(), devices: Vec::new() }
    }

    /// Creates an empty map of this system, with its current mounts.
    #[must_use]
    pub fn system() -> Self {
        Self::new(Detector::system())
    }

    /// Returns the id of the device of `path`, or [`DeviceId::UNKNOWN`] if the path cannot be
    /// looked up.
    pub fn id_of(&mut self, path: &Path) -> DeviceId {
        self.device_of(path).map_or(DeviceId::UNKNOWN, |device| device.id)
    }

    /// Returns the device of `path`, and follows a symbolic link. Outside Linux this is always
    /// [`PhysicalDevice::unknown`].
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

    /// Returns the device of files whose place is already known; see [`Detector::detect_at`].
    pub fn device_at(&mut self, number: DeviceNumber, mount_id: Option<u64>) -> &PhysicalDevice {
        let detect = |detector: &Detector| detector.detect_at(number, mount_id);
        self.remembered(FilePlace::new(number, mount_id), detect)
    }

    /// Returns the device that an earlier answer named.
    #[must_use]
    pub fn get(&self, id: DeviceId) -> Option<&PhysicalDevice> {
        self.devices.iter().find(|device| device.id == id)
    }

    /// Returns each device seen so far, in the order of first sight.
    #[must_use]
    pub fn devices(&self) -> &[PhysicalDevice] {
        &self.devices
    }

    fn remembered(
        &mut self,
        place: FilePlace,
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

    /// Returns the index of `device` in the list, and adds it if it is new.
    fn index_of(&mut self, device: PhysicalDevice) -> usize {
        let known = self.devices.iter().position(|other| other.id == device.id);
        known.unwrap_or_else(|| {
            self.devices.push(device);
            self.devices.len() - 1
        })
    }
}
