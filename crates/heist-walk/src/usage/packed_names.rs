//! [`PackedNames`]: many names one after the other in a single allocation.
//!
//! On systems other than Unix, bytes cannot become a name again without `unsafe`, so each name has
//! its own allocation there.

use std::ffi::OsStr;

/// Names in a single allocation. See the module's documentation.
#[derive(Debug, Default)]
pub(super) struct PackedNames {
    #[cfg(unix)]
    bytes: Vec<u8>,
    #[cfg(not(unix))]
    names: Vec<Box<OsStr>>,
}

#[cfg(unix)]
impl PackedNames {
    /// Appends a name and returns where it ends. It begins where the previous name ends.
    #[inline]
    pub(super) fn push(&mut self, name: &OsStr) -> u32 {
        self.bytes.extend_from_slice(name.as_encoded_bytes());
        u32::try_from(self.bytes.len()).expect("the names of a block take less than 4 GiB")
    }

    pub(super) fn get(&self, start: u32, end: u32) -> &OsStr {
        std::os::unix::ffi::OsStrExt::from_bytes(&self.bytes[start as usize..end as usize])
    }

    /// Frees unused memory.
    pub(super) fn shrink(&mut self) {
        self.bytes.shrink_to_fit();
    }
}

#[cfg(not(unix))]
impl PackedNames {
    pub(super) fn push(&mut self, name: &OsStr) -> u32 {
        self.names.push(name.into());
        u32::try_from(self.names.len()).expect("a block has less than 2^32 names")
    }

    pub(super) fn get(&self, start: u32, _end: u32) -> &OsStr {
        &self.names[start as usize]
    }

    pub(super) fn shrink(&mut self) {
        self.names.shrink_to_fit();
    }
}
