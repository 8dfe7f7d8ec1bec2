//! A directory's records as the kernel writes them.
//!
//! The call is made directly: what wraps it elsewhere does not tell how full the block is, and that decides whether a
//! directory is worth splitting. A directory ends with a block of 0 bytes and not before. Some filesystems end only
//! there, so a block that is not full proves nothing, though on most of them the last call could be saved.

use std::ffi::CStr;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::{io, iter};

use rustix::fs::FileType;

/// Large enough for 2,000 short names, small enough for the second-level cache.
const BLOCK_BYTES: usize = 64 * 1024;

/// The largest record, with a name of 255 bytes.
const RECORD_BYTES_MAX: usize = 280;

/// What a record of `getdents64` has before the name: inode, offset, length and type.
const RECORD_HEAD_BYTES: usize = 19;

/// A reused buffer that the kernel fills with the records of a directory.
pub(super) struct Block {
    bytes: Box<[u8]>,
}

impl Block {
    pub(super) fn new() -> Self {
        Self { bytes: vec![0; BLOCK_BYTES].into() }
    }

    /// Reads on in the directory and says how many bytes of records there are now; 0 at the end.
    pub(super) fn fill(&mut self, directory: BorrowedFd<'_>) -> io::Result<usize> {
        // SAFETY: the kernel writes at most the given number of bytes to a buffer that has as many.
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

    /// Whether the kernel may have stopped for want of room, so that there is probably more.
    pub(super) fn is_full(used: usize) -> bool {
        used > BLOCK_BYTES - RECORD_BYTES_MAX
    }

    /// The names in the first `used` bytes but for `.` and `..`.
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
        // Which of the others it is makes no difference here.
        _ => FileType::Symlink,
    }
}
