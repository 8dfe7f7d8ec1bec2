//! The mount table: which file system is mounted where, from which source, with which options.
//!
//! Reads the text of Linux's `mountinfo` (`man 5 proc_pid_mountinfo`). Its paths are bytes, and
//! stay bytes until they are used as paths.
//!
//! Invariants: any bytes can be parsed; lines that cannot be parsed are skipped and counted. Not
//! guaranteed: that the table is up to date. Mounts come and go, and the kernel reuses their ids.

use super::DeviceNumber;
use super::number::parse_digits;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Where Linux shows the mounts that this process sees.
const OWN_MOUNTS: &str = "/proc/self/mountinfo";

/// One mount: a line of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mount {
    /// The mount's id, as in `statx`.
    pub id: u64,
    /// The device number of its file system: one per superblock, so all mounts of one btrfs have
    /// the same.
    pub number: DeviceNumber,
    /// Where it is mounted.
    pub mount_point: PathBuf,
    /// The file system's type: `ext4`, `btrfs`, `fuse.sshfs`.
    pub file_system: String,
    /// The source of the mount: the path of a device, `server:/export`, or any word for file
    /// systems that have no source.
    pub source: OsString,
    /// The file system's own options, still escaped: that is how a comma within a value differs
    /// from a comma between two options.
    options: Vec<u8>,
}

impl Mount {
    /// Returns the value of the first option `name=value`.
    #[must_use]
    pub fn option(&self, name: &str) -> Option<OsString> {
        self.options.split(|&byte| byte == b',').find_map(|option| {
            let value = option.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?;
            Some(os_string(unescape(value)))
        })
    }

    /// Parses one line; `None` if it is not a line of a mount table.
    fn parse(line: &[u8]) -> Option<Self> {
        // Exactly one space separates two fields, and a source may be empty: do not merge spaces.
        let mut fields = line.split(|&byte| byte == b' ');
        let id = parse_digits(fields.next()?)?;
        let _parent: u64 = parse_digits(fields.next()?)?;
        let number = DeviceNumber::parse(fields.next()?)?;
        let _root = fields.next()?;
        let mount_point = PathBuf::from(os_string(unescape(fields.next()?)));
        let _mount_options = fields.next()?;
        // Any number of optional fields (`shared:1 master:2`), then the separator.
        fields.find(|&field| field == b"-")?;
        let file_system = String::from_utf8_lossy(&unescape(fields.next()?)).into_owned();
        let source = os_string(unescape(fields.next()?));
        let options = fields.next()?.to_vec();
        Some(Self { id, number, mount_point, file_system, source, options })
    }
}

/// The mounts of a system, or of a test.
///
/// ```
/// use heist_device::{DeviceNumber, MountTable};
/// use std::path::Path;
///
/// let table = MountTable::parse(
///     b"27 1 8:2 / / rw,relatime shared:1 - ext4 /dev/sda2 rw\n\
///       31 27 8:17 / /mnt/two\\040words rw - xfs /dev/sdb1 rw\n",
/// );
/// let mount = table.containing(Path::new("/mnt/two words/file")).unwrap();
/// assert_eq!(mount.number, DeviceNumber::new(8, 17));
/// assert_eq!(table.skipped_lines(), 0);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MountTable {
    mounts: Vec<Mount>,
    skipped_lines: usize,
}

impl MountTable {
    /// Reads the mounts that this process sees. Empty outside Linux.
    ///
    /// # Errors
    ///
    /// The kernel's table cannot be read: `/proc` is not mounted, or is hidden from this process.
    pub fn system() -> io::Result<Self> {
        if !cfg!(target_os = "linux") {
            return Ok(Self::default());
        }
        let text = fs::read(OWN_MOUNTS).map_err(|error| {
            let message = format!("cannot read the mount table {OWN_MOUNTS}: {error}");
            io::Error::new(error.kind(), message)
        })?;
        Ok(Self::parse(&text))
    }

    /// Parses the text of a `mountinfo`. Lines that cannot be parsed are skipped and counted.
    #[must_use]
    pub fn parse(text: &[u8]) -> Self {
        let mut table = Self::default();
        for line in text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
            match Mount::parse(line) {
                Some(mount) => table.mounts.push(mount),
                None => table.skipped_lines += 1,
            }
        }
        table
    }

    /// Returns all mounts, in the order of the text.
    #[must_use]
    pub fn mounts(&self) -> &[Mount] {
        &self.mounts
    }

    /// Returns how many lines could not be parsed.
    #[must_use]
    pub const fn skipped_lines(&self) -> usize {
        self.skipped_lines
    }

    /// Returns the mount with this id, as `statx` reports it.
    #[must_use]
    pub fn by_id(&self, id: u64) -> Option<&Mount> {
        self.mounts.iter().find(|mount| mount.id == id)
    }

    /// Returns a mount of the file system with this number. For btrfs, `stat` reports other numbers
    /// than the table.
    #[must_use]
    pub fn by_number(&self, number: DeviceNumber) -> Option<&Mount> {
        self.mounts.iter().find(|mount| mount.number == number)
    }

    /// Returns the mount that contains `path`, by its name: the longest mount point above it, and
    /// the last one mounted there.
    ///
    /// `path` must be absolute and free of symbolic links and `..`. If a mount hides others below
    /// it, the answer may be a hidden one.
    #[must_use]
    pub fn containing(&self, path: &Path) -> Option<&Mount> {
        let above = self.mounts.iter().filter(|mount| path.starts_with(&mount.mount_point));
        // Among equals, `max_by_key` returns the last.
        above.max_by_key(|mount| mount.mount_point.components().count())
    }
}

/// Undoes the kernel's escapes: a backslash and three octal digits stand for a byte. Everything
/// else stays.
pub(super) fn unescape(field: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let [first, after @ ..] = rest {
        let escaped = match after {
            [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ..] if *first == b'\\' => {
                Some(((a - b'0') << 6) | ((b - b'0') << 3) | (c - b'0'))
            }
            _ => None,
        };
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &after[3..] } else { after };
    }
    bytes
}

/// Converts bytes to the system's kind of string.
#[cfg(unix)]
pub(super) fn os_string(bytes: Vec<u8>) -> OsString {
    std::os::unix::ffi::OsStringExt::from_vec(bytes)
}

/// Converts bytes to the system's kind of string. Such a system has no mount table; that of a test
/// is plain text.
#[cfg(not(unix))]
pub(super) fn os_string(bytes: Vec<u8>) -> OsString {
    let lossy =
        |error: std::string::FromUtf8Error| String::from_utf8_lossy(error.as_bytes()).into_owned();
    String::from_utf8(bytes).unwrap_or_else(lossy).into()
}

#[cfg(all(test, not(heist_loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_example_of_the_manual_is_parsed() {
        let line = b"36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 shared:7 - ext3 /dev/root rw,errors=continue";
        let mount = Mount::parse(line).unwrap();
        assert_eq!(mount.id, 36);
        assert_eq!(mount.number, DeviceNumber::new(98, 0));
        assert_eq!(mount.mount_point, Path::new("/mnt2"));
        assert_eq!(mount.file_system, "ext3");
        assert_eq!(mount.source, "/dev/root");
        assert_eq!(mount.option("errors").unwrap(), "continue");
        assert_eq!(mount.option("rw"), None, "it has no value");
        assert_eq!(mount.option("error"), None, "only a part of the name");
    }

    #[test]
    fn optional_fields_may_be_missing_and_a_source_empty() {
        let mount = Mount::parse(b"1 0 0:9 / /a rw - tmpfs  rw,size=1k").unwrap();
        assert_eq!((mount.file_system.as_str(), mount.source.len()), ("tmpfs", 0));
        assert_eq!(mount.option("size").unwrap(), "1k");
    }

    #[test]
    fn escapes_stand_for_bytes() {
        assert_eq!(unescape(br"a\040b\011c\012d\134e\043"), b"a b\tc\nd\\e#");
        assert_eq!(unescape(br"\377"), b"\xff");
        for unchanged in [&br"\"[..], br"\0", br"\04", br"\08a", br"\400", br"\x41", br"tail\13"] {
            assert_eq!(unescape(unchanged), unchanged);
        }
    }

    #[test]
    fn an_escaped_comma_does_not_end_an_option() {
        let line =
            br"5 1 0:9 / / rw - overlay o rw,lowerdir=/a\054b:/c,upperdir=/u\040p,workdir=/w";
        let mount = Mount::parse(line).unwrap();
        assert_eq!(mount.option("lowerdir").unwrap(), "/a,b:/c");
        assert_eq!(mount.option("upperdir").unwrap(), "/u p");
    }

    #[test]
    fn garbage_is_skipped_and_counted() {
        let table = MountTable::parse(
            b"27 1 8:2 / / rw - ext4 /dev/sda2 rw\n\
              no mount at all\n\
              \n\
              28 27 8:3 / /no-separator rw ext4 /dev/sda3 rw\n\
              29 27 8-4 / /no-number rw - ext4 /dev/sda4 rw\n\
              30 27 8:5 / /no-options rw - ext4\n\
              31 27 8:6 / /home rw - ext4 /dev/sda6 rw",
        );
        let ids: Vec<_> = table.mounts().iter().map(|mount| mount.id).collect();
        assert_eq!(ids, [27, 31]);
        assert_eq!(table.skipped_lines(), 4);
    }

    #[test]
    fn the_nearest_and_newest_mount_contains_a_path() {
        let table = MountTable::parse(
            b"1 0 8:1 / / rw - ext4 /dev/sda1 rw\n\
              2 1 8:2 / /home rw - ext4 /dev/sda2 rw\n\
              3 2 8:3 / /home rw - ext4 /dev/sda3 rw\n\
              4 1 8:4 / /homestead rw - ext4 /dev/sda4 rw\n",
        );
        let of = |path: &str| table.containing(Path::new(path)).map(|mount| mount.id);
        assert_eq!(of("/etc/passwd"), Some(1));
        assert_eq!(of("/home/me"), Some(3), "the last one mounted there");
        assert_eq!(of("/homeless"), Some(1), "a name with the same beginning");
        assert_eq!(of("relative"), None);
        assert_eq!(table.by_number(DeviceNumber::new(8, 4)).unwrap().id, 4);
        assert_eq!(table.by_id(5), None);
    }

    proptest! {
        /// Escapes the bytes of a field as `mountinfo` does.
        #[test]
        fn every_path_survives_escaping(path in prop::collection::vec(any::<u8>(), 0..40)) {
            let mut escaped = Vec::new();
            for byte in &path {
                match byte {
                    b' ' | b'\t' | b'\n' | b'\\' | b',' => {
                        escaped.extend(format!("\\{byte:03o}").bytes());
                    }
                    _ => escaped.push(*byte),
                }
            }
            prop_assert_eq!(unescape(&escaped), path);
        }
    }
}
