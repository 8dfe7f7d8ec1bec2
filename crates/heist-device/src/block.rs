//! Block devices in sysfs: their directories, how they are stacked, and the kind of each disk.
//!
//! The layout, with `8:1` as an example: `dev/block/8:1` is a symbolic link to
//! `devices/.../block/sda/sda1`. A partition's directory contains a file `partition`, and its
//! parent is the disk's directory. A stack lists its members as links in `slaves`, and a loop
//! device has the path of its file in `loop/backing_file`. `class/block` contains a link for every
//! device by name.
//!
//! Invariant: anything that cannot be read counts as absent. Not guaranteed: that the driver's
//! values are right.

use super::mounts::os_string;
use super::{DeviceKind, DeviceNumber};
use std::fs;
use std::path::{Path, PathBuf};

/// Words in a disk's vendor or model that identify a hypervisor: QEMU and KVM, VirtualBox, Hyper-V
/// and Azure (`Msft Virtual Disk`), VMware (`Virtual disk`), Google's (`PersistentDisk`), Amazon's,
/// Nutanix's (`VDISK`) and Xen's volumes.
///
/// Such a disk reports *rotational* because the kernel assumes it for a SCSI or ATA disk that does
/// not state its rate. The comparison ignores case.
const VIRTUAL_DISK_WORDS: [&str; 9] =
    ["qemu", "vbox", "msft", "vmware", "google", "amazon", "xen", "virtual", "vdisk"];

/// The directory of a block device, with all symbolic links resolved.
#[derive(Clone, Debug)]
pub(super) struct BlockFolder {
    pub(super) number: DeviceNumber,
    /// The kernel's name: `sda1`.
    pub(super) name: String,
    pub(super) path: PathBuf,
}

impl BlockFolder {
    /// Returns the device with this number.
    pub(super) fn numbered(sysfs: &Path, number: DeviceNumber) -> Option<Self> {
        let path = sysfs.join("dev/block").join(number.to_string()).canonicalize().ok()?;
        Some(Self { number, name: name_of(&path)?, path })
    }

    /// Returns the device whose directory `link` is or leads to.
    pub(super) fn linked(link: &Path) -> Option<Self> {
        let path = link.canonicalize().ok()?;
        let number = DeviceNumber::parse(&read_line(&path.join("dev"))?)?;
        Some(Self { number, name: name_of(&path)?, path })
    }

    /// Returns the device that a path below `/dev` stands for, judging by the name alone:
    /// `/dev/sda1`, `/dev/mapper/volume`.
    pub(super) fn named(sysfs: &Path, device_file: &Path) -> Option<Self> {
        let name = device_file.strip_prefix("/dev").ok()?.to_str()?;
        let class = sysfs.join("class/block");
        if let Some(mapped) = name.strip_prefix("mapper/") {
            // A device-mapper name can only be found by searching all device-mapper devices.
            return links_in(&class).into_iter().find_map(|link| {
                let named = read_line(&link.join("dm/name"))?;
                (named == mapped.as_bytes()).then(|| Self::linked(&link)).flatten()
            });
        }
        // In sysfs, an exclamation mark replaces a slash in a device's name.
        Self::linked(&class.join(name.replace('/', "!")))
    }

    /// Returns the disk, if this is a partition.
    pub(super) fn disk(&self) -> Option<Self> {
        if !self.path.join("partition").exists() {
            return None;
        }
        Self::linked(self.path.parent()?)
    }

    /// Returns the devices that this one is stacked on, as links that may be broken.
    pub(super) fn member_links(&self) -> Vec<PathBuf> {
        links_in(&self.path.join("slaves"))
    }

    /// Returns the backing file of a loop device.
    pub(super) fn backing_file(&self) -> Option<PathBuf> {
        let path = read_line(&self.path.join("loop/backing_file"))?;
        (!path.is_empty()).then(|| os_string(path).into())
    }

    /// Returns the kind of this disk. It must not be a partition, nor be stacked on a known device.
    pub(super) fn kind(&self) -> DeviceKind {
        let numbered = |prefixes: &[&str]| {
            let mut rests = prefixes.iter().filter_map(|prefix| self.name.strip_prefix(prefix));
            rests.any(|rest| rest.starts_with(|next: char| next.is_ascii_digit()))
        };
        if numbered(&["zram", "ram", "pmem"]) {
            return DeviceKind::Memory;
        }
        if numbered(&["nbd", "rbd"]) {
            return DeviceKind::Network;
        }
        // These inherit the flag from disks that this process cannot see, and whose vendor it
        // cannot check.
        if numbered(&["dm-", "md", "bcache", "loop"]) {
            return DeviceKind::Unknown;
        }
        match read_line(&self.path.join("queue/rotational")).as_deref() {
            Some(b"0") if self.name.starts_with("nvme") => DeviceKind::Nvme,
            Some(b"0") => DeviceKind::Ssd,
            Some(b"1") if !self.is_virtual() => DeviceKind::Rotational,
            _ => DeviceKind::Unknown,
        }
    }

    /// Returns `true` if the disk belongs to a hypervisor: virtio (`vda`), Xen (`xvda`), or by
    /// vendor and model.
    fn is_virtual(&self) -> bool {
        let lettered = |prefix: &str| {
            let rest = self.name.strip_prefix(prefix);
            rest.is_some_and(|rest| rest.starts_with(|next: char| next.is_ascii_lowercase()))
        };
        lettered("vd") || lettered("xvd") || {
            ["device/vendor", "device/model"].iter().any(|file| {
                let text = read_line(&self.path.join(file)).unwrap_or_default();
                let text = String::from_utf8_lossy(&text).to_lowercase();
                VIRTUAL_DISK_WORDS.iter().any(|word| text.contains(word))
            })
        }
    }
}

/// Returns the entries of a directory, sorted by name so that results do not depend on the
/// directory's order. Empty if it cannot be read.
pub(super) fn links_in(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut links: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    links.sort_unstable();
    links
}

/// Returns the text of a sysfs file without the newline at its end; `None` if it cannot be read.
fn read_line(path: &Path) -> Option<Vec<u8>> {
    let mut line = fs::read(path).ok()?;
    if line.last() == Some(&b'\n') {
        line.pop();
    }
    Some(line)
}

/// Returns the kernel's name of the device in this directory.
fn name_of(directory: &Path) -> Option<String> {
    Some(directory.file_name()?.to_string_lossy().into_owned())
}
