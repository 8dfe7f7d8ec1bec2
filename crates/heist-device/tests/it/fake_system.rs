//! A fake system for the device tests: a sysfs in a temporary directory, with the same links as the
//! real one, and a mount table. Nothing here reads the real system.

use heist_device::{Detector, DeviceId, DeviceNumber, MountTable, PhysicalDevice};
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A temporary directory that is removed when it is dropped.
pub(crate) struct TemporaryDirectory(PathBuf);

impl TemporaryDirectory {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("heist-device-{}-{count}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).expect("a temporary directory");
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TemporaryDirectory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Parses a device number such as `8:1`.
pub(crate) fn number(text: &str) -> DeviceNumber {
    let (major, minor) = text.split_once(':').expect("major:minor");
    DeviceNumber::new(major.parse().expect("major"), minor.parse().expect("minor"))
}

/// Returns the id of the device with a number such as `8:1`.
pub(crate) fn id(text: &str) -> DeviceId {
    number(text).into()
}

/// A fake system, built step by step. All names are the kernel's.
pub(crate) struct FakeSystem {
    sysfs: TemporaryDirectory,
    mounts: String,
}

impl FakeSystem {
    pub(crate) fn new() -> Self {
        Self { sysfs: TemporaryDirectory::new(), mounts: String::new() }
    }

    pub(crate) fn sysfs(&self) -> &Path {
        self.sysfs.path()
    }

    /// Returns the directory of a block device.
    pub(crate) fn directory(&self, name: &str) -> PathBuf {
        let link = self.sysfs().join("class/block").join(name);
        link.canonicalize().expect("the device was created before")
    }

    /// Writes a file of sysfs, with the newline that ends it there.
    pub(crate) fn write(&self, name: &str, file: &str, text: &str) -> &Self {
        let path = self.directory(name).join(file);
        fs::create_dir_all(path.parent().expect("the path has a parent")).expect("a directory");
        fs::write(path, format!("{text}\n")).expect("a file of the fake sysfs");
        self
    }

    /// Adds a disk on a bus (`pci0000:00/ata1`), with the properties that its driver reports.
    pub(crate) fn disk(&self, bus: &str, name: &str, number: &str, rotational: &str) -> &Self {
        self.device(&format!("devices/{bus}/block/{name}"), name, number);
        fs::create_dir_all(self.directory(name).join("slaves")).expect("a directory");
        self.write(name, "queue/rotational", rotational)
    }

    /// Adds a rotating SATA disk.
    pub(crate) fn sata(&self, name: &str, number: &str) -> &Self {
        self.disk(&format!("pci0000:00/ata-{name}/host0"), name, number, "1")
            .write(name, "device/vendor", "ATA     ")
            .write(name, "device/model", "WDC WD40EFRX-68N")
    }

    /// Adds an NVMe disk.
    pub(crate) fn nvme(&self, name: &str, number: &str) -> &Self {
        self.disk("pci0000:00/0000:01:00.0/nvme/nvme0", name, number, "0").write(
            name,
            "device/model",
            "Samsung SSD 990 PRO 2TB",
        )
    }

    /// Adds a partition: a directory within the disk's, without a queue.
    pub(crate) fn partition(&self, disk: &str, name: &str, number: &str) -> &Self {
        let directory = self.directory(disk).join(name);
        let root = self.sysfs().canonicalize().expect("the root");
        let below = directory.strip_prefix(&root).expect("the path is below the root").to_owned();
        self.device(below.to_str().expect("UTF-8"), name, number);
        self.write(name, "partition", "1")
    }

    /// Adds a virtual device on members: device-mapper, md, bcache.
    pub(crate) fn stack(&self, name: &str, number: &str, members: &[&str]) -> &Self {
        self.disk("virtual", name, number, "1");
        for member in members {
            self.member(name, member);
        }
        self
    }

    /// Adds a member to a stack.
    pub(crate) fn member(&self, stack: &str, member: &str) -> &Self {
        self.link_to_device(&self.directory(stack).join("slaves").join(member), member);
        self
    }

    /// Adds a file system to `fs/btrfs`.
    pub(crate) fn btrfs(&self, uuid: &str, members: &[&str]) -> &Self {
        // The real sysfs has this directory beside those of the file systems.
        let features = self.sysfs().join("fs/btrfs/features");
        fs::create_dir_all(features).expect("a directory");
        let devices = self.sysfs().join("fs/btrfs").join(uuid).join("devices");
        fs::create_dir_all(&devices).expect("a directory");
        for member in members {
            self.link_to_device(&devices.join(member), member);
        }
        self
    }

    /// Adds a line to the mount table.
    pub(crate) fn mount(&mut self, line: &str) -> &mut Self {
        writeln!(self.mounts, "{line}").expect("writing to a String cannot fail");
        self
    }

    pub(crate) fn detector(&self) -> Detector {
        let mounts = MountTable::parse(self.mounts.as_bytes());
        assert_eq!(mounts.skipped_lines(), 0, "a test's table is well formed: {}", self.mounts);
        Detector::new(self.sysfs().to_owned(), mounts)
    }

    /// Returns the device of the files with this number, which is that of a block device.
    pub(crate) fn detect(&self, number_of_files: &str) -> PhysicalDevice {
        self.detector().detect_at(number(number_of_files), None)
    }

    /// Returns the device of the files with this number in this mount.
    pub(crate) fn detect_in(&self, number_of_files: &str, mount_id: u64) -> PhysicalDevice {
        self.detector().detect_at(number(number_of_files), Some(mount_id))
    }

    /// Creates the directory of a device, and the links to it by number and by name.
    fn device(&self, directory: &str, name: &str, number: &str) {
        fs::create_dir_all(self.sysfs().join(directory)).expect("a directory");
        fs::write(self.sysfs().join(directory).join("dev"), format!("{number}\n")).expect("a file");
        for link in [format!("dev/block/{number}"), format!("class/block/{name}")] {
            let link = self.sysfs().join(link);
            fs::create_dir_all(link.parent().expect("the path has a parent")).expect("a directory");
            symlink(Path::new("../..").join(directory), link).expect("a link");
        }
    }

    /// Creates a link from anywhere below the root to a device's directory: relative, as in the
    /// real sysfs.
    fn link_to_device(&self, link: &Path, device: &str) {
        let root = self.sysfs().canonicalize().expect("the root");
        let directory = link
            .parent()
            .expect("the path has a parent")
            .canonicalize()
            .expect("the directory exists");
        let depth =
            directory.strip_prefix(&root).expect("the path is below the root").components().count();
        let target = self.directory(device);
        let target = target.strip_prefix(&root).expect("the path is below the root");
        let up: PathBuf = std::iter::repeat_n("..", depth).collect();
        symlink(up.join(target), link).expect("a link");
    }
}
