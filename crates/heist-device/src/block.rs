//! Block devices in sysfs: their folders, how they are stacked, and what kind a disk is.
//!
//! The layout, with `8:1` as an example: `dev/block/8:1` is a symbolic link to `devices/.../block/sda/sda1`. A
//! partition's folder has a file `partition`, and its parent is the disk's folder. A stack has its members as links in
//! `slaves`, a loop device its file's path in `loop/backing_file`. `class/block` has a link for every device by name.
//!
//! Invariant: anything that cannot be read counts as absent. Not guaranteed: anything that the
//! driver gets wrong.

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

/// The folder of a block device, all symbolic links resolved.
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

    /// Returns the device whose folder `link` is or leads to.
    pub(super) fn linked(link: &Path) -> Option<Self> {
        let path = link.canonicalize().ok()?;
        let number = DeviceNumber::parse(&read_line(&path.join("dev"))?)?;
        Some(Self { number, name: name_of(&path)?, path })
    }

    /// Returns the device that a path below `/dev` stands for, by its name alone: `/dev/sda1`,
    /// `/dev/mapper/volume`.
    pub(super) fn named(sysfs: &Path, device_file: &Path) -> Option<Self> {
        let name = device_file.strip_prefix("/dev").ok()?.to_str()?;
        let class = sysfs.join("class/block");
        if let Some(mapped) = name.strip_prefix("mapper/") {
            // Names of device-mapper can only be found by looking at all of its devices.
            return links_in(&class).into_iter().find_map(|link| {
                let named = read_line(&link.join("dm/name"))?;
                (named == mapped.as_bytes()).then(|| Self::linked(&link)).flatten()
            });
        }
        // A slash in a device's name is an exclamation mark in sysfs.
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

    /// Returns the kind of this disk, which is not a partition and has no known device below it.
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

/// Returns the entries of a folder, sorted by name so that answers do not depend on the folder's
/// order. Empty if it cannot be read.
pub(super) fn links_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
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

/// Returns the kernel's name of the device in this folder.
fn name_of(folder: &Path) -> Option<String> {
    Some(folder.file_name()?.to_string_lossy().into_owned())
}
