//! [`Extensions`]: sums by extension.
//!
//! The extension is what [`Path::extension`] says, in lower case (ASCII letters only: names are bytes). A file
//! without one, and one whose name ends in a dot, is summed up under the empty name. Directories have none.

use super::Size;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// See the module's documentation.
#[derive(Debug, Default)]
pub(super) struct Extensions {
    sums: HashMap<OsString, (Size, u64)>,
    /// The extension at hand: kept, so that looking one up allocates nothing.
    lower: OsString,
}

impl Extensions {
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

    /// From the one that takes most of the disk; among equals by name.
    pub(super) fn into_sorted(self) -> Vec<(OsString, Size, u64)> {
        let sums = self.sums.into_iter();
        let mut sorted: Vec<_> =
            sums.map(|(extension, (size, files))| (extension, size, files)).collect();
        sorted.sort_unstable_by(|(one, one_size, _), (other, other_size, _)| {
            let by_name = || one.as_encoded_bytes().cmp(other.as_encoded_bytes());
            other_size.allocated.cmp(&one_size.allocated).then_with(by_name)
        });
        sorted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_are_lower_case_and_sorted_by_what_they_take() {
        let size = |allocated| Size { len: 1, allocated, inodes: 1 };
        let mut extensions = Extensions::default();
        for (name, allocated) in
            [("a.TXT", 1), ("b.txt", 2), ("c.rs", 9), (".hidden", 1), ("d.", 2)]
        {
            extensions.add(OsStr::new(name), size(allocated));
        }
        let mut more = Extensions::default();
        more.add(OsStr::new("dir.d/plain"), size(0));
        more.add(OsStr::new("x.rs"), size(0));
        extensions.merge(more);
        let sorted = extensions.into_sorted();
        let shown: Vec<_> = sorted
            .iter()
            .map(|(name, size, files)| (name.to_str().unwrap(), size.allocated, *files))
            .collect();
        assert_eq!(shown, [("rs", 9, 2), ("", 3, 3), ("txt", 3, 2)]);
    }
}
