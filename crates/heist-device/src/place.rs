//! Where a file is: the device number of its file system and the id of its mount.
//!
//! Only this module asks the system about a path. Invariant: one system call per path. Not
//! guaranteed: a mount id, which Linux reports since 5.8.

use super::DeviceNumber;

/// What identifies the file system of a file. Files of one place are on one device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct FilePlace {
    pub(super) number: DeviceNumber,
    /// Set only where it is needed: the number of a block device is sufficient.
    pub(super) mount_id: Option<u64>,
}

impl FilePlace {
    pub(super) fn new(number: DeviceNumber, mount_id: Option<u64>) -> Self {
        Self { number, mount_id: mount_id.filter(|_| number.is_anonymous()) }
    }
}

pub(super) use system::place_of;

#[cfg(all(target_os = "linux", not(heist_portable)))]
mod system {
    use super::{DeviceNumber, FilePlace};
    use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
    use rustix::io::Errno;
    use std::io;
    use std::os::unix::fs::MetadataExt;
    use std::path::Path;

    /// `AT_STATX_DONT_SYNC`, the same number on every architecture. rustix defines it for glibc
    /// only, and heist is also built with musl.
    pub(super) const DONT_SYNC: AtFlags = AtFlags::from_bits_retain(0x4000);

    /// Asks the system about `path`, following symbolic links.
    ///
    /// # Errors
    ///
    /// The path cannot be looked up; the error names it.
    pub(crate) fn place_of(path: &Path) -> io::Result<Option<FilePlace>> {
        // A network file system need not ask its server, because the kernel knows the device and
        // the mount. And looking at a path must not mount anything.
        let flags = DONT_SYNC | AtFlags::NO_AUTOMOUNT;
        let found = match statx(CWD, path, flags, StatxFlags::MNT_ID) {
            Ok(found) => {
                let number = DeviceNumber::new(found.stx_dev_major, found.stx_dev_minor);
                let has_mount_id = found.stx_mask & StatxFlags::MNT_ID.bits() != 0;
                Ok(FilePlace::new(number, has_mount_id.then_some(found.stx_mnt_id)))
            }
            // Kernels before 4.11, and sandboxes that do not allow the call.
            Err(Errno::NOSYS | Errno::PERM) => std::fs::metadata(path)
                .map(|found| FilePlace::new(DeviceNumber::from_st_dev(found.dev()), None)),
            Err(error) => Err(error.into()),
        };
        found.map(Some).map_err(|error| {
            let message = format!("cannot look up the device of `{}`: {error}", path.display());
            io::Error::new(error.kind(), message)
        })
    }
}

/// On Linux with `--cfg heist_portable`, so that it is tested.
#[cfg(not(all(target_os = "linux", not(heist_portable))))]
mod system {
    use super::FilePlace;
    use std::io;
    use std::path::Path;

    /// Heist does not detect devices on this system yet.
    pub(crate) fn place_of(_path: &Path) -> io::Result<Option<FilePlace>> {
        Ok(None)
    }
}

#[cfg(all(test, target_os = "linux", not(heist_portable), not(heist_loom)))]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;
    use std::path::Path;

    #[test]
    fn a_place_agrees_with_stat() {
        for path in ["/", "/proc", "/dev", "."] {
            let place = place_of(Path::new(path)).unwrap().unwrap();
            let st_dev = std::fs::metadata(path).unwrap().dev();
            assert_eq!(place.number, DeviceNumber::from_st_dev(st_dev), "{path}");
        }
    }

    #[cfg(target_env = "gnu")]
    #[test]
    fn dont_sync_has_the_value_of_the_c_library() {
        assert_eq!(system::DONT_SYNC, rustix::fs::AtFlags::STATX_DONT_SYNC);
    }

    #[test]
    fn a_mount_id_is_kept_only_for_anonymous_numbers() {
        assert_eq!(FilePlace::new(DeviceNumber::new(8, 1), Some(5)).mount_id, None);
        assert_eq!(FilePlace::new(DeviceNumber::new(0, 1), Some(5)).mount_id, Some(5));
    }
}
