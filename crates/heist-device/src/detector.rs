//! The sources of information: sysfs, the mount table, and a way to look up the files that they
//! name.
//!
//! Invariant: a detector does not change. It knows the mounts that existed when it was created, and
//! reads sysfs for each query; [`DeviceMap`](super::DeviceMap) remembers the results.

use super::place::{FilePlace, place_of};
use super::walk::{Tangled, Walk};
use super::{DeviceId, DeviceKind, DeviceNumber, Mount, MountTable, PhysicalDevice};
use heist::__internal::sync::Arc;
use std::io;
use std::path::{Path, PathBuf};

/// Finds the physical device below a file system. Clones share the mount table.
///
/// ```
/// use heist_device::{Detector, DeviceKind, DeviceNumber, MountTable};
///
/// let mounts = MountTable::parse(b"40 27 0:52 / /home rw - nfs4 server:/home rw,vers=4.2\n");
/// let detector = Detector::new("/no/sysfs/here".into(), mounts);
///
/// let home = detector.detect_at(DeviceNumber::new(0, 52), Some(40));
/// assert_eq!((home.kind, home.name.as_str()), (DeviceKind::Network, "server:/home"));
///
/// // Without sysfs, only the number of a disk is known.
/// let disk = detector.detect_at(DeviceNumber::new(8, 1), None);
/// assert_eq!((disk.kind, disk.id.to_string().as_str()), (DeviceKind::Unknown, "8:1"));
/// ```
#[derive(Clone, Debug)]
pub struct Detector {
    pub(super) sysfs: PathBuf,
    pub(super) mounts: Arc<MountTable>,
    files: Files,
}

/// How to locate a file that sysfs or the mount table names: the backing file of a loop device, or
/// the layer of an overlay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Files {
    /// Asks the system.
    System,
    /// Uses the mount table alone, so that tests can describe another system.
    MountTable,
}

impl Detector {
    /// Creates a detector for a sysfs and a mount table, which need not be this system's.
    ///
    /// [`detect_at`](Self::detect_at) then reads nothing outside the directory `sysfs` (and the
    /// targets of its links).
    #[must_use]
    pub fn new(sysfs: PathBuf, mounts: MountTable) -> Self {
        Self { sysfs, mounts: Arc::new(mounts), files: Files::MountTable }
    }

    /// Creates the detector of this system: `/sys`, and the mounts that this process sees now. If
    /// the mount table cannot be read, it counts as empty: disks are found without it.
    #[must_use]
    pub fn system() -> Self {
        let mounts = Arc::new(MountTable::system().unwrap_or_default());
        Self { sysfs: PathBuf::from("/sys"), mounts, files: Files::System }
    }

    /// Returns the mounts that this detector knows.
    #[must_use]
    pub fn mounts(&self) -> &MountTable {
        &self.mounts
    }

    /// Returns the device of `path`, and follows a symbolic link. Outside Linux this is always
    /// [`PhysicalDevice::unknown`].
    ///
    /// # Errors
    ///
    /// The path cannot be looked up: it does not exist, or a directory above it may not be entered.
    /// The error names the path. If the path exists but its device cannot be determined, the result
    /// is [unknown](super::DeviceKind::Unknown), not an error.
    pub fn detect(&self, path: &Path) -> io::Result<PhysicalDevice> {
        let place = place_of(path)?;
        Ok(place.map_or_else(PhysicalDevice::unknown, |place| self.detect_place(place, path)))
    }

    /// Returns the device of the files with this device number (see [`DeviceNumber::from_st_dev`])
    /// in this mount (`stx_mnt_id` of `statx`): for callers that have already looked at a file, and
    /// for tests that describe another system.
    ///
    /// The mount id matters only if the number is anonymous; pass `None` if you do not know it.
    /// Both are Linux numbers; those of other systems mean nothing here.
    #[must_use]
    pub fn detect_at(&self, number: DeviceNumber, mount_id: Option<u64>) -> PhysicalDevice {
        let place = FilePlace::new(number, mount_id);
        let found = Walk::new(self).place(place);
        found.unwrap_or_else(|Tangled| {
            let mount = self.mount_of(place);
            PhysicalDevice::unresolved(mount.map_or(number, |mount| mount.number))
        })
    }

    /// Returns the kind of a device that was found before.
    #[must_use]
    pub fn kind_of(&self, device: DeviceId) -> DeviceKind {
        if device.is_unknown() {
            return DeviceKind::Unknown;
        }
        self.detect_at(DeviceNumber::from_st_dev(device.raw()), None).kind
    }

    /// Returns the device of `path`, whose place is known.
    pub(super) fn detect_place(&self, place: FilePlace, path: &Path) -> PhysicalDevice {
        let place = self.with_mount(place, path);
        self.detect_at(place.number, place.mount_id)
    }

    /// Returns `place` with a mount id. If one is needed and the kernel did not report it, this is
    /// the mount whose name contains `path`.
    fn with_mount(&self, place: FilePlace, path: &Path) -> FilePlace {
        if place.mount_id.is_some() || !place.number.is_anonymous() {
            return place;
        }
        let path = path.canonicalize();
        let mount = path.ok().and_then(|path| self.mounts.containing(&path));
        FilePlace { mount_id: mount.map(|mount| mount.id), ..place }
    }

    /// Returns the mount of an anonymous place; `None` for a block device, which does not need one.
    pub(super) fn mount_of(&self, place: FilePlace) -> Option<&Mount> {
        if !place.number.is_anonymous() {
            return None;
        }
        let by_id = place.mount_id.and_then(|id| self.mounts.by_id(id));
        by_id.or_else(|| self.mounts.by_number(place.number))
    }

    /// Locates the file `path`, which sysfs or the mount table names; `None` if this process cannot
    /// see it.
    pub(super) fn place_of_named(&self, path: &Path) -> Option<FilePlace> {
        // The path is relative to a directory that the kernel does not record.
        if !path.is_absolute() {
            return None;
        }
        match self.files {
            Files::System => {
                place_of(path).ok().flatten().map(|place| self.with_mount(place, path))
            }
            Files::MountTable => {
                let mount = self.mounts.containing(path)?;
                Some(FilePlace::new(mount.number, Some(mount.id)))
            }
        }
    }

    /// Returns the path of a device file, and resolves links such as `/dev/disk/by-uuid/...` and
    /// `/dev/group/volume` on this system.
    pub(super) fn device_file(&self, source: &Path) -> PathBuf {
        let is_ours = self.files == Files::System && source.starts_with("/dev");
        let resolved = is_ours.then(|| source.canonicalize().ok()).flatten();
        resolved.unwrap_or_else(|| source.to_owned())
    }
}

#[cfg(all(test, target_os = "linux", not(heist_loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_system_or_the_mount_table_locates_files() {
        let system = Detector::system();
        let file = Path::new("/proc/self/status");
        assert_eq!(system.place_of_named(file), place_of(file).unwrap());
        assert_eq!(system.place_of_named(Path::new("/does/not/exist")), None);
        assert_eq!(system.place_of_named(Path::new(".")), None, "the base of the path is unknown");

        let fake = Detector::new("/sys".into(), MountTable::parse(b"9 1 0:5 / / rw - tmpfs t rw"));
        let expected = FilePlace::new(DeviceNumber::new(0, 5), Some(9));
        assert_eq!(fake.place_of_named(Path::new("/does/not/exist")), Some(expected));
    }

    #[test]
    fn a_mount_that_the_kernel_does_not_report_is_found_by_name() {
        let system = Detector::system();
        let file = Path::new("/proc/self/status");
        let reported = place_of(file).unwrap().unwrap();
        let unreported = FilePlace { mount_id: None, ..reported };
        let found = system.with_mount(unreported, file);
        let by_name = system.mounts.containing(Path::new("/proc")).unwrap();
        assert_eq!(found.mount_id, Some(by_name.id));
        if reported.mount_id.is_some() {
            assert_eq!(found, reported, "since Linux 5.8 the kernel reports the same mount");
        }

        let disk = FilePlace::new(DeviceNumber::new(8, 1), None);
        assert_eq!(system.with_mount(disk, file), disk, "a disk needs no mount id");
    }
}
