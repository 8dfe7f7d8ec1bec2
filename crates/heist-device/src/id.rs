//! The name of a physical device: one word that compares, hashes and travels with a task.
//!
//! Invariant: two files that share a disk (and no stack over several disks) have the same id. Not
//! guaranteed: that an id means the same after a reboot or a remount, or on another machine. Keep
//! it for one run; do not store it.

use super::{Detector, DeviceNumber};
use std::fmt;
use std::io;
use std::path::Path;

/// A physical device, or the stack that several of them form. The [crate documentation](super) says
/// what counts as one device.
///
/// ```
/// use heist_device::DeviceId;
/// use std::path::Path;
///
/// assert_eq!(DeviceId::from_path(Path::new("does/not/exist")), DeviceId::UNKNOWN);
/// assert_eq!(DeviceId::from_path(Path::new(".")), DeviceId::from_path(Path::new(".")));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceId(u64);

impl DeviceId {
    /// The device of all files whose device is unknown. No Linux device number packs into this
    /// value.
    pub const UNKNOWN: Self = Self(u64::MAX);

    /// Returns the device of `path`, or [`UNKNOWN`](Self::UNKNOWN) if it cannot be determined.
    ///
    /// The same as [`try_from_path`](Self::try_from_path), for callers that continue either way.
    #[must_use]
    pub fn from_path(path: &Path) -> Self {
        Self::try_from_path(path).unwrap_or(Self::UNKNOWN)
    }

    /// Returns the device of `path`, and follows a symbolic link.
    ///
    /// This makes a `statx` call and reads the mount table and some files of sysfs: it is many
    /// times slower than a `stat`, and slower still with thousands of mounts. Call it when a file
    /// is discovered and keep the answer. For more than a few paths use a
    /// [`DeviceMap`](super::DeviceMap).
    ///
    /// Outside Linux the answer is always [`UNKNOWN`](Self::UNKNOWN), even for a path that does not
    /// exist.
    ///
    /// # Errors
    ///
    /// The path cannot be looked up: it does not exist, or a directory above it may not be entered.
    /// The error has the system's kind, and names the path.
    pub fn try_from_path(path: &Path) -> io::Result<Self> {
        Detector::system().detect(path).map(|device| device.id)
    }

    /// Creates an id from a word: for tests, for a value that [`raw`](Self::raw) returned, and for
    /// devices that are not storage (remote endpoints, for example). Such ids must not collide with
    /// the device numbers in use.
    #[must_use]
    pub const fn from_raw(raw: u64) -> Self {
        Self(raw)
    }

    /// Returns the word: on Linux the device number, packed as in `st_dev`; `u64::MAX` if unknown.
    #[must_use]
    pub const fn raw(self) -> u64 {
        self.0
    }

    /// Returns `true` for [`UNKNOWN`](Self::UNKNOWN).
    #[must_use]
    pub const fn is_unknown(self) -> bool {
        self.0 == Self::UNKNOWN.0
    }
}

impl From<DeviceNumber> for DeviceId {
    fn from(number: DeviceNumber) -> Self {
        Self(number.st_dev())
    }
}

/// `8:0` as Linux writes device numbers, or `unknown`.
impl fmt::Display for DeviceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_unknown() {
            return f.write_str("unknown");
        }
        DeviceNumber::from_st_dev(self.0).fmt(f)
    }
}

impl fmt::Debug for DeviceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceId({self})")
    }
}

#[cfg(all(test, not(heist_loom)))]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_displayed_as_its_device_number() {
        let disk = DeviceId::from(DeviceNumber::new(259, 3));
        assert_eq!(disk.to_string(), "259:3");
        assert_eq!(format!("{disk:?}"), "DeviceId(259:3)");
        assert_eq!(DeviceId::UNKNOWN.to_string(), "unknown");
    }

    #[test]
    fn raw_returns_the_word_of_from_raw() {
        assert_eq!(DeviceId::from_raw(7).raw(), 7);
        assert!(DeviceId::from_raw(u64::MAX).is_unknown());
        assert!(!DeviceId::from_raw(0).is_unknown());
    }

    #[test]
    #[cfg(all(target_os = "linux", not(heist_portable)))]
    fn an_error_names_its_path() {
        let path = Path::new("/does/not/exist");
        let error = DeviceId::try_from_path(path).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(error.to_string().contains("/does/not/exist"), "{error}");
        assert_eq!(DeviceId::from_path(path), DeviceId::UNKNOWN);

        let with_nul = DeviceId::try_from_path(Path::new("a\0b")).unwrap_err();
        assert_eq!(with_nul.kind(), io::ErrorKind::InvalidInput, "{with_nul}");
    }
}
