//! [`ExtensionSums`]: sizes summed up by extension.
//!
//! The extension is that of [`Path::extension`] in lower case (only ASCII letters change, because
//! names are bytes). Files without an extension, and files whose names end in a dot, count under
//! the empty extension. Directories do not count.

use super::Size;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// What the files with one extension take.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExtensionUsage {
    /// The extension in lower case, without its dot. It is empty for files without an extension.
    pub extension: OsString,
    /// What these files take together.
    pub size: Size,
    /// The number of these files.
    pub files: u64,
}

impl ExtensionUsage {
    /// Creates the report of one extension.
    #[must_use]
    pub const fn new(extension: OsString, size: Size, files: u64) -> Self {
        Self { extension, size, files }
    }
}

/// Sums by extension. See the module's documentation.
#[derive(Debug, Default)]
pub(super) struct ExtensionSums {
    sums: HashMap<OsString, (Size, u64)>,
    /// The extension being looked up. Kept to avoid an allocation per lookup.
    lower: OsString,
}

impl ExtensionSums {
    pub(super) fn add(&mut self, name: &OsStr, size: Size) {
        self.lower.clear();
        if let Some(extension) = Path::new(name).extension() {
            self.lower.push(extension);
            self.lower.make_ascii_lowercase();
        }
        match self.sums.get_mut(&self.lower) {
            Some((sum, files)) => {
                *sum += size;
                *files += 1;
            }
            None => {
                self.sums.insert(self.lower.clone(), (size, 1));
            }
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        for (extension, (size, files)) in other.sums {
            let (sum, sum_files) = self.sums.entry(extension).or_default();
            *sum += size;
            *sum_files += files;
        }
    }

    /// Returns the sums by decreasing disk space, and by name among equals.
    pub(super) fn into_sorted(self) -> Vec<ExtensionUsage> {
        let sums = self.sums.into_iter();
        let mut sorted: Vec<_> = sums
            .map(|(extension, (size, files))| ExtensionUsage::new(extension, size, files))
            .collect();
        sorted.sort_unstable_by(|one, other| {
            let (one_name, other_name) = (&one.extension, &other.extension);
            let by_name = || one_name.as_encoded_bytes().cmp(other_name.as_encoded_bytes());
            other.size.allocated.cmp(&one.size.allocated).then_with(by_name)
        });
        sorted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_are_lower_case_and_sorted_by_disk_space() {
        let size = |allocated| Size { len: 1, allocated, inodes: 1 };
        let mut extensions = ExtensionSums::default();
        for (name, allocated) in
            [("a.TXT", 1), ("b.txt", 2), ("c.rs", 9), (".hidden", 1), ("d.", 2)]
        {
            extensions.add(OsStr::new(name), size(allocated));
        }
        let mut more = ExtensionSums::default();
        more.add(OsStr::new("dir.d/plain"), size(0));
        more.add(OsStr::new("x.rs"), size(0));
        extensions.merge(more);
        let sorted = extensions.into_sorted();
        let shown: Vec<_> = sorted
            .iter()
            .map(|usage| (usage.extension.to_str().unwrap(), usage.size.allocated, usage.files))
            .collect();
        assert_eq!(shown, [("rs", 9, 2), ("", 3, 3), ("txt", 3, 2)]);
    }
}
