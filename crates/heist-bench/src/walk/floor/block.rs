//! A buffer of directory records in the kernel's format.
//!
//! It calls `getdents64` directly, because wrappers do not report how full the buffer is, and that
//! decides whether a directory is worth splitting. A directory ends with an empty block. On most
//! filesystems a block that is not full is the last one, so the final call could be saved, but some
//! filesystems return partial blocks in between.

use std::ffi::CStr;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::{io, iter};

use rustix::fs::FileType;

/// Large enough for 2,000 short names, small enough for the second-level cache.
const BLOCK_BYTES: usize = 64 * 1024;

/// The largest record, with a name of 255 bytes.
const RECORD_BYTES_MAX: usize = 280;

/// The bytes of a `getdents64` record before the name: inode, offset, length and type.
const RECORD_HEAD_BYTES: usize = 19;

/// A reusable buffer that the kernel fills with the records of a directory.
pub(super) struct RecordBlock {
    bytes: Box<[u8]>,
}

impl RecordBlock {
    pub(super) fn new() -> Self {
        Self { bytes: vec![0; BLOCK_BYTES].into() }
    }

    /// Reads the next records of the directory and returns their total size in bytes; 0 at the end.
    pub(super) fn fill(&mut self, directory: BorrowedFd<'_>) -> io::Result<usize> {
        // SAFETY: the kernel writes at most the given number of bytes, which is the size of the
        // buffer.
        let used = unsafe {
            libc::syscall(
                libc::SYS_getdents64,
                directory.as_raw_fd(),
                self.bytes.as_mut_ptr(),
                self.bytes.len(),
            )
        };
        usize::try_from(used).map_err(|_negative| io::Error::last_os_error())
    }

    /// Returns `true` if the kernel may have stopped because the buffer was full, so that there is
    /// probably more.
    pub(super) fn is_full(used: usize) -> bool {
        used > BLOCK_BYTES - RECORD_BYTES_MAX
    }

    /// Returns the names in the first `used` bytes, except `.` and `..`.
    pub(super) fn records(&self, used: usize) -> impl Iterator<Item = (&CStr, FileType)> {
        let mut rest = &self.bytes[..used];
        let records = iter::from_fn(move || {
            let (head, _) = rest.split_first_chunk::<RECORD_HEAD_BYTES>()?;
            let length = usize::from(u16::from_ne_bytes([head[16], head[17]]));
            let (record, behind) = rest.split_at(length);
            rest = behind;
            Some((&record[RECORD_HEAD_BYTES..], head[18]))
        });
        records.filter(|(name, _)| !matches!(name, [b'.', 0, ..] | [b'.', b'.', 0, ..])).map(
            |(name, kind)| {
                let name = CStr::from_bytes_until_nul(name).expect("names end with a zero byte");
                (name, kind_of(kind))
            },
        )
    }
}

fn kind_of(d_type: u8) -> FileType {
    match d_type {
        libc::DT_DIR => FileType::Directory,
        libc::DT_REG => FileType::RegularFile,
        libc::DT_UNKNOWN => FileType::Unknown,
        // The remaining types are all treated alike.
        _ => FileType::Symlink,
    }
}
