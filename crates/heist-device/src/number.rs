//! Linux device numbers: a major and a minor number, and the single word that `stat` packs them
//! into.
//!
//! Plain arithmetic, the same on every system. Not guaranteed: that a number names a device at all.

use std::fmt;

/// A Linux device number: `8:1` is the first partition of the first SCSI disk.
///
/// Major 0 is *anonymous*: a file system without its own block device (btrfs, overlayfs, tmpfs,
/// NFS) gets such a number when it is mounted.
///
/// ```
/// use heist_device::DeviceNumber;
///
/// let number = DeviceNumber::new(8, 1);
/// assert_eq!(number.to_string(), "8:1");
/// assert_eq!(DeviceNumber::from_st_dev(number.st_dev()), number);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceNumber {
    /// Which driver, roughly; 0 for none.
    pub major: u32,
    /// Which device or partition of that driver.
    pub minor: u32,
}

impl DeviceNumber {
    /// Creates the number `major:minor`.
    #[must_use]
    pub const fn new(major: u32, minor: u32) -> Self {
        Self { major, minor }
    }

    /// Unpacks the value that `stat` has in `st_dev` on Linux:
    /// `std::os::unix::fs::MetadataExt::dev`.
    #[must_use]
    pub const fn from_st_dev(st_dev: u64) -> Self {
        // The halves are interleaved, because both grew after the first 16 bits were in use: from
        // the top 20 bits of major, 24 of minor, 12 of major, 8 of minor.
        let major = ((st_dev >> 32) & 0xffff_f000) | ((st_dev >> 8) & 0xfff);
        let minor = ((st_dev >> 12) & 0xffff_ff00) | (st_dev & 0xff);
        Self { major: major as u32, minor: minor as u32 }
    }

    /// Packs the number as `stat` does.
    #[must_use]
    pub const fn st_dev(self) -> u64 {
        let (major, minor) = (self.major as u64, self.minor as u64);
        ((major & 0xffff_f000) << 32)
            | ((major & 0xfff) << 8)
            | ((minor & 0xffff_ff00) << 12)
            | (minor & 0xff)
    }

    /// Returns `true` for the number of a file system without a block device.
    #[must_use]
    pub const fn is_anonymous(self) -> bool {
        self.major == 0
    }

    /// Parses `8:1`, as sysfs and the mount table write it.
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        let colon = text.iter().position(|&byte| byte == b':')?;
        let (major, minor) = (&text[..colon], &text[colon + 1..]);
        Some(Self { major: parse_digits(major)?, minor: parse_digits(minor)? })
    }
}

impl fmt::Display for DeviceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

/// Parses a number that consists of digits alone; `str::parse` would also accept `+8`.
pub(super) fn parse_digits<N: std::str::FromStr>(text: &[u8]) -> Option<N> {
    if !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    str::from_utf8(text).ok()?.parse().ok()
}

#[cfg(all(test, not(heist_loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_device_numbers_are_unpacked() {
        // As `stat --format='%d'` prints them.
        assert_eq!(DeviceNumber::from_st_dev(65024), DeviceNumber::new(254, 0));
        assert_eq!(DeviceNumber::from_st_dev(21), DeviceNumber::new(0, 21));
        assert_eq!(DeviceNumber::new(259, 300).st_dev(), 0x0011_032c);
    }

    #[test]
    fn a_number_is_digits_around_one_colon() {
        assert_eq!(DeviceNumber::parse(b"8:17"), Some(DeviceNumber::new(8, 17)));
        for garbage in ["", ":", "8", "8:", ":1", "+8:1", "8:-1", "8:1:2", "8: 1", "4294967296:0"] {
            assert_eq!(DeviceNumber::parse(garbage.as_bytes()), None, "{garbage:?}");
        }
    }

    proptest! {
        #[test]
        fn packing_loses_nothing(major: u32, minor: u32) {
            let number = DeviceNumber::new(major, minor);
            prop_assert_eq!(DeviceNumber::from_st_dev(number.st_dev()), number);
            prop_assert_eq!(DeviceNumber::parse(number.to_string().as_bytes()), Some(number));
        }

        #[test]
        fn unpacking_loses_nothing(st_dev: u64) {
            prop_assert_eq!(DeviceNumber::from_st_dev(st_dev).st_dev(), st_dev);
        }
    }
}
