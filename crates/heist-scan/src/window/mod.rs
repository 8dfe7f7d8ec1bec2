//! The part of an object that is in memory.
//!
//! | file | idea |
//! |---|---|
//! | `sliding` | the window, which moves over the object |
//! | `buffer` | the page-aligned memory behind it |
//! | `probe` | tells from the first bytes whether an object is binary |

mod buffer;
mod probe;
mod sliding;

pub(crate) use probe::is_binary;
pub(crate) use sliding::{SurroundingBytes, Window};

use std::fs::File;
use std::io;

/// Reads at an offset without using the file's position, so that several workers can read one file
/// at the same time.
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
        // Another worker may move the file's position, so each read uses its own handle.
        let mut own = file.try_clone()?;
        io::Seek::seek(&mut own, io::SeekFrom::Start(offset))?;
        io::Read::read(&mut own, into)
    }
}
