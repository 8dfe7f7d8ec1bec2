//! [`Names`]: many names, one after the other in one piece of memory.
//!
//! Elsewhere than on Unix the bytes of a name cannot become a name again without `unsafe`, so there each is kept for
//! itself.

use std::ffi::OsStr;

/// See the module's documentation.
#[derive(Debug, Default)]
pub(super) struct Names {
    #[cfg(unix)]
    bytes: Vec<u8>,
    #[cfg(not(unix))]
    names: Vec<Box<OsStr>>,
}

#[cfg(unix)]
impl Names {
    /// Appends a name, and says where it ends. It begins where the one before ends.
    #[inline]
    pub(super) fn push(&mut self, name: &OsStr) -> u32 {
        self.bytes.extend_from_slice(name.as_encoded_bytes());
        u32::try_from(self.bytes.len())
            .expect("a chunk has a few names of at most some thousand bytes")
    }

    pub(super) fn get(&self, start: u32, end: u32) -> &OsStr {
        std::os::unix::ffi::OsStrExt::from_bytes(&self.bytes[start as usize..end as usize])
    }

    /// Gives back the memory that it does not need.
    pub(super) fn shrink(&mut self) {
        self.bytes.shrink_to_fit();
    }
}

#[cfg(not(unix))]
impl Names {
    pub(super) fn push(&mut self, name: &OsStr) -> u32 {
        self.names.push(name.into());
        u32::try_from(self.names.len()).expect("a chunk has a few names")
    }

    pub(super) fn get(&self, start: u32, _end: u32) -> &OsStr {
        &self.names[start as usize]
    }

    pub(super) fn shrink(&mut self) {
        self.names.shrink_to_fit();
    }
}
