//! The totals of a walk, and how the totals of several threads are combined.
//!
//! A file with several links counts once, whichever of its names is met first and by whichever
//! thread. That does not need a lock: every thread remembers such files for itself, and files that
//! two threads met are subtracted from the sum.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// The kernel's unit for space on disk, on all filesystems.
pub(crate) const BYTES_PER_BLOCK: u64 = 512;

/// The totals of a walk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    /// Space on disk, hard links counted once. 0 if only names were counted.
    pub(crate) disk_bytes: u64,
    /// Lengths of all files and directories, hard links counted once. 0 if only names were counted.
    pub(crate) apparent_bytes: u64,
    /// The directories' share of `apparent_bytes`.
    pub(crate) directory_bytes: u64,
    /// Names below the root, of any type.
    pub(crate) names: u64,
    /// Names of directories.
    pub(crate) directories: u64,
    /// Names of regular files.
    pub(crate) files: u64,
    /// System calls that failed.
    pub(crate) errors: u64,
}

impl Totals {
    /// Formats all numbers in the order of their declaration, separated by spaces.
    pub(crate) fn line(&self) -> String {
        let Totals {
            disk_bytes,
            apparent_bytes,
            directory_bytes,
            names,
            directories,
            files,
            errors,
        } = self;
        format!(
            "{disk_bytes} {apparent_bytes} {directory_bytes} {names} {directories} {files} {errors}"
        )
    }

    /// Parses the output of [`Self::line`].
    pub(crate) fn from_line(line: &str) -> Option<Self> {
        let numbers: Vec<u64> =
            line.split_whitespace().map(|word| word.parse().ok()).collect::<Option<_>>()?;
        let [disk_bytes, apparent_bytes, directory_bytes, names, directories, files, errors] =
            numbers[..]
        else {
            return None;
        };
        Some(Self {
            disk_bytes,
            apparent_bytes,
            directory_bytes,
            names,
            directories,
            files,
            errors,
        })
    }
}

/// The device and inode of a file with several names.
pub(crate) type FileIdentity = (u64, u64);

/// What a file adds to the totals: space on disk, and length.
pub(crate) type FileSizes = (u64, u64);

/// The totals of one thread.
#[derive(Default)]
pub(crate) struct Part {
    pub(crate) totals: Totals,
    linked: HashMap<FileIdentity, FileSizes, BuildHasherDefault<Mixer>>,
}

impl Part {
    pub(crate) fn count(&mut self, (disk, apparent): FileSizes) {
        self.totals.disk_bytes += disk;
        self.totals.apparent_bytes += apparent;
    }

    pub(crate) fn count_once(&mut self, file: FileIdentity, sizes: FileSizes) {
        if self.linked.insert(file, sizes).is_none() {
            self.count(sizes);
        }
    }

    pub(crate) fn add(&mut self, other: Self) {
        let (sum, more) = (&mut self.totals, other.totals);
        sum.disk_bytes += more.disk_bytes;
        sum.apparent_bytes += more.apparent_bytes;
        sum.directory_bytes += more.directory_bytes;
        sum.names += more.names;
        sum.directories += more.directories;
        sum.files += more.files;
        sum.errors += more.errors;
        for (file, sizes) in other.linked {
            if self.linked.insert(file, sizes).is_some() {
                sum.disk_bytes -= sizes.0;
                sum.apparent_bytes -= sizes.1;
            }
        }
    }
}

/// A hasher that spreads inode numbers by one multiplication. The kernel chooses them, so the hash
/// need not resist deliberate collisions.
#[derive(Default)]
struct Mixer(u64);

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, value: u64) {
        // An odd number with well-spread bits. The fold mixes the high half, which is mixed best,
        // into the low bits.
        let product = u128::from(self.0 ^ value) * 0x9e37_79b9_7f4a_7c15_u128;
        self.0 = (product as u64) ^ ((product >> 64) as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_met_by_two_threads_counts_once() {
        let file = (1, 2);
        let mut parts = [Part::default(), Part::default()];
        for part in &mut parts {
            part.count_once(file, (4096, 5));
            part.count_once(file, (4096, 5));
        }
        let [mut whole, other] = parts;
        whole.add(other);
        assert_eq!((whole.totals.disk_bytes, whole.totals.apparent_bytes), (4096, 5));
    }
}
