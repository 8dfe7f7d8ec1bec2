//! The implementation for Linux: `openat`, `getdents64` and `statx`, relative to the parent's
//! descriptor.
//!
//! Invariant: no call resolves a symbolic link unless the caller asks to follow that link. If a
//! link replaces a directory during the walk, the walk reports an error instead of leaving its
//! root.

mod limits;
mod name_queue;

pub(crate) use limits::{descriptors_available, raise_descriptor_limit, time_computed};
pub(crate) use name_queue::NameQueue;

use crate::metadata::{FileIdentity, FileKind, Metadata};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawDir, RawDirEntry, Statx, StatxFlags};
use rustix::io::Errno;
use std::ffi::{CStr, OsStr};
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The name of an entry, as the kernel wants it.
pub(crate) type Name = CStr;

/// Returns the name as the standard library represents it.
pub(crate) fn os_str(name: &Name) -> &OsStr {
    OsStr::from_bytes(name.to_bytes())
}

/// Returns the name in this layer's representation, or `None` if no entry can have this name.
pub(crate) fn boxed_name(name: &OsStr) -> Option<Box<Name>> {
    std::ffi::CString::new(name.as_bytes()).ok().map(std::ffi::CString::into_boxed_c_str)
}

/// How to open a directory. `NONBLOCK` is there in case a named pipe has replaced it.
const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// How to open a file, with `NONBLOCK` for the same reason.
const FILE: OFlags =
    OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// The types of file systems whose contents the kernel makes up, from `linux/magic.h`. The others
/// are file systems of disks, of memory or of servers.
const PSEUDO: [u32; 21] = [
    0x0000_9fa0, // proc
    0x6265_6572, // sysfs
    0x0027_e0eb, // cgroup
    0x6367_7270, // cgroup2
    0x6462_6720, // debugfs
    0x7472_6163, // tracefs
    0x7363_6673, // securityfs
    0x0000_1cd1, // devpts
    0xcafe_4a11, // bpf
    0x6165_676c, // pstore
    0x6265_6570, // configfs
    0xf97c_ff8c, // selinuxfs
    0x4341_5d53, // smackfs
    0xde5e_81e4, // efivarfs
    0x4249_4e4d, // binfmt_misc
    0x1980_0202, // mqueue
    0x6573_5543, // fusectl
    0x6e73_6673, // nsfs
    0x0765_5821, // resctrl
    0x6759_6969, // rpc_pipefs
    0x6e66_7364, // nfsd
];

/// Asking for less saves nothing: the kernel fills in the whole record.
const WANTED: StatxFlags = StatxFlags::BASIC_STATS;

/// The buffer of one worker for `getdents64`. Larger ones did not help, because the kernel's work
/// per entry dominates.
#[derive(Debug)]
pub(crate) struct ReadBuffer(Box<[MaybeUninit<u8>]>);

/// Room for about a thousand entries.
const BUFFER_BYTES: usize = 64 << 10;

impl ReadBuffer {
    pub(crate) fn new() -> Self {
        Self(Box::new_uninit_slice(BUFFER_BYTES))
    }
}

/// Makes a system call. It retries after a signal, and lets the tests inject faults.
macro_rules! call {
    ($name:ident, $call:expr) => {
        rustix::io::retry_on_intr(|| {
            #[cfg(test)]
            crate::sys::fault::check(crate::sys::fault::Call::$name)?;
            $call
        })
    };
}

/// An open directory.
#[derive(Debug)]
pub(crate) struct Dir(OwnedFd);

impl Dir {
    /// Opens a root.
    pub(crate) fn open_root(path: &Path, follow: bool) -> io::Result<Self> {
        let nofollow = if follow { OFlags::empty() } else { OFlags::NOFOLLOW };
        let fd = call!(Open, rustix::fs::openat(CWD, path, DIRECTORY | nofollow, Mode::empty()))?;
        Ok(Self(fd))
    }

    /// Opens a directory in this one.
    pub(crate) fn open_child(&self, name: &Name, follow: bool) -> io::Result<Self> {
        let nofollow = if follow { OFlags::empty() } else { OFlags::NOFOLLOW };
        let fd =
            call!(Open, rustix::fs::openat(&self.0, name, DIRECTORY | nofollow, Mode::empty()))?;
        Ok(Self(fd))
    }

    /// Returns the metadata of this directory.
    pub(crate) fn metadata(&self) -> io::Result<Metadata> {
        let flags = AtFlags::EMPTY_PATH;
        let record = call!(Stat, rustix::fs::statx(&self.0, c"", flags, WANTED))?;
        Ok(metadata_from(&record))
    }

    /// Returns `true` if this directory is in a file system that the kernel makes up.
    pub(crate) fn is_pseudo_file_system(&self) -> bool {
        // The type of the field differs between architectures; the numbers have 32 bits.
        rustix::fs::fstatfs(&self.0).is_ok_and(|info| PSEUDO.contains(&(info.f_type as u32)))
    }

    /// Returns the identity of this directory.
    pub(crate) fn identity(&self) -> io::Result<Option<FileIdentity>> {
        Ok(self.metadata()?.identity())
    }

    /// Returns the metadata of an entry in this directory.
    #[inline(always)]
    pub(crate) fn metadata_of(&self, name: &Name, follow: bool) -> io::Result<Metadata> {
        let flags = if follow { AtFlags::empty() } else { AtFlags::SYMLINK_NOFOLLOW };
        let flags = flags | AtFlags::NO_AUTOMOUNT;
        let record = call!(Stat, rustix::fs::statx(&self.0, name, flags, WANTED))?;
        Ok(metadata_from(&record))
    }

    /// Reads a small file in this directory. Returns `None` if it does not exist or is not a
    /// regular file.
    pub(crate) fn read_file(&self, name: &Name) -> io::Result<Option<Vec<u8>>> {
        let opened = call!(OpenFile, rustix::fs::openat(&self.0, name, FILE, Mode::empty()));
        let file = match opened {
            Ok(fd) => File::from(fd),
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        if !file.metadata()?.is_file() {
            return Ok(None);
        }
        let mut contents = Vec::new();
        io::Read::read_to_end(&mut &file, &mut contents)?;
        Ok(Some(contents))
    }

    /// Opens a file in this directory for reading.
    #[inline]
    pub(crate) fn open_file(&self, name: &Name, follow: bool) -> io::Result<File> {
        let flags = if follow { FILE } else { FILE | OFlags::NOFOLLOW };
        Ok(File::from(call!(OpenFile, rustix::fs::openat(&self.0, name, flags, Mode::empty()))?))
    }

    /// Lists the entries, starting where the last listing of this directory stopped.
    pub(crate) fn list<'a>(&'a self, buffer: &'a mut ReadBuffer) -> RawEntries<'a> {
        RawEntries { raw: RawDir::new(self.0.as_fd(), &mut buffer.0) }
    }
}

/// Opens a root that is a file for reading.
pub(crate) fn open_root_file(path: &Path, follow: bool) -> io::Result<File> {
    let flags = if follow { FILE } else { FILE | OFlags::NOFOLLOW };
    Ok(File::from(call!(OpenFile, rustix::fs::openat(CWD, path, flags, Mode::empty()))?))
}

/// Returns the metadata of `path`.
pub(crate) fn metadata_of_root(path: &Path, follow: bool) -> io::Result<Metadata> {
    let flags = if follow { AtFlags::empty() } else { AtFlags::SYMLINK_NOFOLLOW };
    let record = call!(Stat, rustix::fs::statx(CWD, path, flags, WANTED))?;
    Ok(metadata_from(&record))
}

/// The entries of a directory, as the kernel returns them.
pub(crate) struct RawEntries<'a> {
    raw: RawDir<'a, rustix::fd::BorrowedFd<'a>>,
}

/// An entry of a directory.
pub(crate) struct RawEntry<'a>(RawDirEntry<'a>);

impl RawEntry<'_> {
    pub(crate) fn name(&self) -> &Name {
        self.0.file_name()
    }

    /// Returns the kind, if the file system stores it beside the name.
    pub(crate) fn kind(&self) -> Option<FileKind> {
        kind_from(self.0.file_type())
    }

    /// Returns `true` for `.` and `..`.
    pub(crate) fn is_dot(&self) -> bool {
        matches!(self.name().to_bytes(), b"." | b"..")
    }
}

impl RawEntries<'_> {
    /// Returns the next entry, or `None` at the end of the directory.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Option<io::Result<RawEntry<'_>>> {
        #[cfg(test)]
        if self.is_block_done()
            && let Err(error) = crate::sys::fault::check(crate::sys::fault::Call::List)
        {
            return Some(Err(error.into()));
        }
        match self.raw.next()? {
            Ok(entry) => Some(Ok(RawEntry(entry))),
            // The directory was removed after it was opened. Only empty directories can be removed,
            // so nothing is missing, and POSIX treats this as the end as well.
            Err(Errno::NOENT) => None,
            Err(error) => Some(Err(error.into())),
        }
    }

    /// Returns `true` if the next entry comes from the next block, which another worker may read.
    pub(crate) fn is_block_done(&self) -> bool {
        self.raw.is_buffer_empty()
    }
}

fn kind_from(file_type: FileType) -> Option<FileKind> {
    Some(match file_type {
        FileType::Directory => FileKind::Directory,
        FileType::RegularFile => FileKind::File,
        FileType::Symlink => FileKind::Symlink,
        FileType::Fifo => FileKind::Fifo,
        FileType::Socket => FileKind::Socket,
        FileType::CharacterDevice => FileKind::CharacterDevice,
        FileType::BlockDevice => FileKind::BlockDevice,
        FileType::Unknown => return None,
    })
}

/// The unit of `st_blocks`, whatever the block size of the file system is.
const BLOCK_BYTES: u64 = 512;

#[inline(always)]
fn metadata_from(record: &Statx) -> Metadata {
    let file_type = FileType::from_raw_mode(record.stx_mode.into());
    Metadata {
        kind: kind_from(file_type).unwrap_or(FileKind::Other),
        len: record.stx_size,
        allocated: record.stx_blocks.saturating_mul(BLOCK_BYTES),
        device: rustix::fs::makedev(record.stx_dev_major, record.stx_dev_minor),
        inode: record.stx_ino,
        links: record.stx_nlink.into(),
        mode: record.stx_mode.into(),
        modified: system_time(record.stx_mtime.tv_sec, record.stx_mtime.tv_nsec),
    }
}

/// Converts seconds since 1970, which may be negative, and nanoseconds. Returns `None` if
/// [`SystemTime`] cannot represent the time.
fn system_time(seconds: i64, nanoseconds: u32) -> Option<SystemTime> {
    let whole = Duration::from_secs(seconds.unsigned_abs());
    let time =
        if seconds < 0 { UNIX_EPOCH.checked_sub(whole) } else { UNIX_EPOCH.checked_add(whole) };
    time?.checked_add(Duration::from_nanos(nanoseconds.into()))
}
