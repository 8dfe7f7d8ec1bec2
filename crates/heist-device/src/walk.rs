//! The way from a place down to the hardware: through mounts, partitions, stacks and backing files.
//!
//! Invariants: each device is examined once, even if several paths lead to it, and the walk ends. A
//! device that occurs below itself, or a stack that is too deep, ends the walk as [`Tangled`], and
//! the caller falls back to the device number. Otherwise an overlay whose layers seem to lie in
//! itself, as within a container, would be followed forever.

use super::block::{BlockFolder, links_in};
use super::detector::Detector;
use super::mounts::os_string;
use super::place::FilePlace;
use super::{DeviceKind, DeviceNumber, Mount, PhysicalDevice};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The maximum depth of stacked devices, since the walk recurses and its stack is finite. A loop
/// device on btrfs on LVM on dm-crypt on md on partitions is 7 deep.
const DEPTH_MAX: usize = 32;

/// File systems in memory, and those whose files the kernel generates as they are read.
const MEMORY_FILE_SYSTEMS: [&str; 16] = [
    "tmpfs",
    "ramfs",
    "devtmpfs",
    "hugetlbfs",
    "proc",
    "sysfs",
    "devpts",
    "mqueue",
    "cgroup",
    "cgroup2",
    "debugfs",
    "tracefs",
    "securityfs",
    "configfs",
    "bpf",
    "rootfs",
];

/// File systems on another machine.
const NETWORK_FILE_SYSTEMS: [&str; 16] = [
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "smbfs",
    "9p",
    "ceph",
    "afs",
    "lustre",
    "fuse.sshfs",
    "fuse.ceph",
    "fuse.glusterfs",
    "fuse.rclone",
    "fuse.s3fs",
    "fuse.gcsfuse",
    "fuse.davfs",
];

/// The devices form a cycle, or are stacked too deep.
#[derive(Debug)]
pub(super) struct Tangled;

/// One question to a [`Detector`].
pub(super) struct Walk<'a> {
    detector: &'a Detector,
    /// The result for each device; `None` for those above the current one.
    seen: HashMap<DeviceNumber, Option<PhysicalDevice>>,
    /// The number of devices above the current one.
    depth: usize,
}

type Found = Result<PhysicalDevice, Tangled>;

impl<'a> Walk<'a> {
    pub(super) fn new(detector: &'a Detector) -> Self {
        Self { detector, seen: HashMap::new(), depth: 0 }
    }

    /// Returns the device of the files at `place`.
    pub(super) fn place(&mut self, place: FilePlace) -> Found {
        if !place.number.is_anonymous() {
            return self.block_numbered(place.number);
        }
        match self.detector.mount_of(place) {
            Some(mount) => self.mount(mount),
            None => Ok(PhysicalDevice::unresolved(place.number)),
        }
    }

    /// Examines what is below the device `number`, unless that was done before.
    fn below(&mut self, number: DeviceNumber, look: impl FnOnce(&mut Self) -> Found) -> Found {
        match self.seen.get(&number) {
            Some(Some(found)) => return Ok(found.clone()),
            Some(None) => return Err(Tangled),
            None if self.depth == DEPTH_MAX => return Err(Tangled),
            None => {}
        }
        self.seen.insert(number, None);
        self.depth += 1;
        let found = look(self)?;
        self.depth -= 1;
        self.seen.insert(number, Some(found.clone()));
        Ok(found)
    }

    /// Returns the device of a mounted file system.
    fn mount(&mut self, mount: &Mount) -> Found {
        if !mount.number.is_anonymous() {
            return self.block_numbered(mount.number);
        }
        let kind = match mount.file_system.as_str() {
            "btrfs" => return self.below(mount.number, |walk| walk.btrfs(mount)),
            "overlay" => return self.below(mount.number, |walk| walk.overlay(mount)),
            "zfs" => return Ok(self.zfs(mount)),
            memory if MEMORY_FILE_SYSTEMS.contains(&memory) => DeviceKind::Memory,
            network if NETWORK_FILE_SYSTEMS.contains(&network) => DeviceKind::Network,
            _ => return self.below(mount.number, |walk| walk.sources(mount)),
        };
        Ok(PhysicalDevice::new(mount.number, kind, name_of(mount)))
    }

    /// btrfs does not show its disks in `stat`, but lists all of them in sysfs.
    fn btrfs(&mut self, mount: &Mount) -> Found {
        let source = self.device_named(Path::new(&mount.source));
        let mut file_systems: Vec<(PathBuf, Vec<PathBuf>)> = Vec::new();
        for file_system in links_in(&self.detector.sysfs.join("fs/btrfs")) {
            let devices = links_in(&file_system.join("devices"));
            if !devices.is_empty() {
                file_systems.push((file_system, devices));
            }
        }
        let is_source = |link: &PathBuf| match &source {
            Some(source) => link.canonicalize().is_ok_and(|path| path == source.path),
            None => false,
        };
        let of_source = file_systems.iter().position(|(_, devices)| devices.iter().any(is_source));
        let chosen = match (of_source, &source) {
            (Some(index), _) => Some(index),
            // A source such as `/dev/root` does not name a device. If there is only one btrfs, use
            // that one.
            (None, None) if file_systems.len() == 1 => Some(0),
            (None, _) => None,
        };
        if let Some(index) = chosen {
            let (file_system, devices) = file_systems.swap_remove(index);
            let uuid = shown(file_system.file_name().unwrap_or_default());
            return self.stack(mount.number, format!("btrfs {uuid}"), &devices);
        }
        // btrfs on one disk is by far the most common.
        match source {
            Some(source) => self.block(source),
            None => Ok(PhysicalDevice::unresolved(mount.number)),
        }
    }

    /// An overlay keeps its files in the layers that its options name: new ones in the upper layer,
    /// old ones in the lower layers.
    fn overlay(&mut self, mount: &Mount) -> Found {
        let upper = mount.option("upperdir").map(PathBuf::from);
        // Since Linux 6.8, each lower layer can have its own option.
        let lower = mount.option("lowerdir").or_else(|| mount.option("lowerdir+"));
        let lower = lower.map(|layers| topmost_layer(&layers));
        for layer in [upper, lower].into_iter().flatten() {
            if let Some(place) = self.detector.place_of_named(&layer) {
                return self.place(place);
            }
        }
        Ok(PhysicalDevice::unresolved(mount.number))
    }

    /// All datasets of a pool are on the same disks, and each is a file system of its own. The pool
    /// gets the lowest number among them.
    fn zfs(&self, mount: &Mount) -> PhysicalDevice {
        let pool_of = |mount: &Mount| {
            let dataset = shown(&mount.source);
            dataset.split('/').next().unwrap_or_default().to_owned()
        };
        let pool = pool_of(mount);
        let mounts = self.detector.mounts.mounts().iter();
        let of_pool = mounts.filter(|other| other.file_system == "zfs" && pool_of(other) == pool);
        let number = of_pool.map(|other| other.number).min().unwrap_or(mount.number);
        PhysicalDevice::new(number, DeviceKind::Unknown, pool)
    }

    /// An unknown file system may still name its disks, as bcachefs does: `/dev/sda1:/dev/sdb1`.
    fn sources(&mut self, mount: &Mount) -> Found {
        let source = shown(&mount.source);
        let mut members = Vec::new();
        for device_file in source.split(':') {
            let Some(device) = self.device_named(Path::new(device_file)) else {
                return Ok(PhysicalDevice::new(mount.number, DeviceKind::Unknown, name_of(mount)));
            };
            members.push(Some(self.block(device)?));
        }
        Ok(PhysicalDevice::stack(mount.number, source, members))
    }

    fn block_numbered(&mut self, number: DeviceNumber) -> Found {
        match BlockFolder::numbered(&self.detector.sysfs, number) {
            Some(device) => self.block(device),
            None => Ok(PhysicalDevice::unresolved(number)),
        }
    }

    /// Returns the hardware below a block device.
    fn block(&mut self, device: BlockFolder) -> Found {
        self.below(device.number, |walk| {
            if let Some(disk) = device.disk() {
                return walk.block(disk);
            }
            let members = device.member_links();
            if !members.is_empty() {
                return walk.stack(device.number, device.name, &members);
            }
            if let Some(file) = device.backing_file() {
                // A loop device may be set up on another block device; its data is then not where
                // the device file is.
                if let Some(backing) = walk.device_named(&file) {
                    return walk.block(backing);
                }
                if let Some(place) = walk.detector.place_of_named(&file) {
                    return walk.place(place);
                }
            }
            Ok(PhysicalDevice::new(device.number, device.kind(), device.name))
        })
    }

    /// Returns the device that the members behind `links` form.
    fn stack(&mut self, number: DeviceNumber, name: String, links: &[PathBuf]) -> Found {
        let mut members = Vec::with_capacity(links.len());
        for link in links {
            members.push(match BlockFolder::linked(link) {
                Some(member) => Some(self.block(member)?),
                None => None,
            });
        }
        Ok(PhysicalDevice::stack(number, name, members))
    }

    /// Returns the block device of a path below `/dev`.
    fn device_named(&self, device_file: &Path) -> Option<BlockFolder> {
        let sysfs = &self.detector.sysfs;
        BlockFolder::named(sysfs, device_file)
            .or_else(|| BlockFolder::named(sysfs, &self.detector.device_file(device_file)))
    }
}

/// Returns the first of an overlay's lower layers. Colons separate them; a colon within a path
/// follows a backslash.
fn topmost_layer(layers: &OsStr) -> PathBuf {
    let mut path = Vec::new();
    let mut bytes = layers.as_encoded_bytes().iter();
    while let Some(&byte) = bytes.next() {
        match byte {
            b':' => break,
            b'\\' => path.extend(bytes.next()),
            _ => path.push(byte),
        }
    }
    os_string(path).into()
}

/// Returns the source of the mount or, if it has no name, the type of the file system.
fn name_of(mount: &Mount) -> String {
    if mount.source.is_empty() { mount.file_system.clone() } else { shown(&mount.source) }
}

fn shown(text: &OsStr) -> String {
    text.to_string_lossy().into_owned()
}

#[cfg(all(test, not(heist_loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_topmost_layer_ends_at_a_plain_colon() {
        for (layers, expected) in [
            ("/a", "/a"),
            ("/a:/b", "/a"),
            (r"/a\:b:/c", "/a:b"),
            (r"/a\\:/b", r"/a\"),
            ("", ""),
            (r"\", ""),
        ] {
            assert_eq!(topmost_layer(OsStr::new(layers)), Path::new(expected), "{layers}");
        }
    }

    #[test]
    fn no_file_system_is_both_in_memory_and_remote() {
        for memory in MEMORY_FILE_SYSTEMS {
            assert!(!NETWORK_FILE_SYSTEMS.contains(&memory), "{memory}");
        }
    }
}
