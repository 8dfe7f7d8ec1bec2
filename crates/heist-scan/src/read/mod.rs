//! Reading: buffers, the window that moves over an object, and what its first bytes say.

mod buffer;
mod probe;
mod window;

pub(crate) use probe::is_binary;
pub(crate) use window::{Overlaps, Window};

use std::fs::File;
use std::io;

/// Reads at an offset, without moving anybody's position: several workers read one file at a time.
pub(crate) fn read_at(file: &File, offset: u64, into: &mut [u8]) -> io::Result<usize> {
    #[cfg(unix)]
    {
        std::os::unix::fs::FileExt::read_at(file, into, offset)
    }
    #[cfg(windows)]
    {
        std::os::windows::fs::FileExt::seek_read(file, into, offset)
    }
    #[cfg(not(any(unix, windows)))]
    {
        // Another worker may move the position meanwhile, so each reader has one of its own.
        let mut own = file.try_clone()?;
        io::Seek::seek(&mut own, io::SeekFrom::Start(offset))?;
        io::Read::read(&mut own, into)
    }
}
