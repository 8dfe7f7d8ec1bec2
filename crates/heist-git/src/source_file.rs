//! A file that several threads read at any offset: `pread` where there is one.

use crate::problem::FileProblem;
use std::fs::File;
use std::io;
use std::path::Path;

/// An open regular file of a known length.
#[derive(Debug)]
pub(crate) struct SourceFile {
    file: File,
    len: u64,
    #[cfg(not(any(unix, windows)))]
    position: std::sync::Mutex<()>,
}

impl SourceFile {
    /// Opens a file that the caller found to be a regular one.
    pub(crate) fn open(path: &Path) -> Result<Self, FileProblem> {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(FileProblem::WrongType);
        }
        Ok(Self {
            file,
            len: metadata.len(),
            #[cfg(not(any(unix, windows)))]
            position: std::sync::Mutex::new(()),
        })
    }

    /// Returns the length that the file had when it was opened.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Reads at most `buffer.len()` bytes. 0 means that the file ends there.
    pub(crate) fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.read_once(offset, buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                done => return done,
            }
        }
    }

    #[cfg(unix)]
    fn read_once(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(&self.file, buffer, offset)
    }

    #[cfg(windows)]
    fn read_once(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        std::os::windows::fs::FileExt::seek_read(&self.file, buffer, offset)
    }

    #[cfg(not(any(unix, windows)))]
    fn read_once(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        use std::io::{Read, Seek, SeekFrom};
        let _position = self.position.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let mut file = &self.file;
        file.seek(SeekFrom::Start(offset))?;
        file.read(buffer)
    }

    /// Fills the buffer.
    ///
    /// # Errors
    /// `UnexpectedEof` if the file ends before that.
    pub(crate) fn read_exact_at(&self, mut offset: u64, mut buffer: &mut [u8]) -> io::Result<()> {
        while !buffer.is_empty() {
            let read = self.read_at(offset, buffer)?;
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            offset += read as u64;
            buffer = &mut buffer[read..];
        }
        Ok(())
    }

    /// Returns a reader from the beginning.
    pub(crate) fn reader(&self) -> impl io::Read {
        FileReader { file: self, offset: 0 }
    }
}

struct FileReader<'a> {
    file: &'a SourceFile,
    offset: u64,
}

impl io::Read for FileReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(self.offset, buffer)?;
        self.offset += read as u64;
        Ok(read)
    }
}
