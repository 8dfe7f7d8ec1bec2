//! Finds the disk behind a file, and limits how many jobs use each disk at a time.
//!
//! A limit on storage work belongs to a *device*: eight readers suit an NVMe disk and are far too
//! many for a disk with a moving head. The device number in `stat` names a file system instead: two
//! partitions of one disk have two numbers, and so has every btrfs subvolume. This crate follows
//! the number to the hardware. Files that share a disk have the same [`DeviceId`]. [`DeviceSlots`]
//! hold the limits, [`DeviceLanes`] run jobs on an executor as the limits allow, and an [`IoModel`]
//! says whether a source of data needs a slot at all.
//!
//! ```
//! use heist_device::{DeviceId, DeviceMap};
//! use std::path::Path;
//!
//! // For a single path: one `statx`, and reads of files below `/sys` and `/proc`.
//! let device = DeviceId::from_path(Path::new("."));
//!
//! // For many paths: a `statx` each, and the rest once per file system.
//! let mut devices = DeviceMap::system();
//! for path in [".", "..", "does not exist"] {
//!     let device = devices.id_of(Path::new(path));
//!     # let _ = device;
//! }
//! # let _ = device;
//! ```
//!
//! Look up the device when you discover a file, and keep the id with its task: a `DeviceId` is one
//! word.
//!
//! # The knobs
//!
//! | knob | default | change it |
//! |---|---|---|
//! | `DeviceSlotsConfig::default_slots` | 4 | for devices whose kind has no number and which have no override |
//! | `DeviceSlotsConfig::slots_by_kind` | 2 rotational, 4 SSD, 8 NVMe, 8 network, 8 memory, 4 unknown | to what your disks can take: measure it |
//! | `DeviceSlotsConfig::device_overrides` | none | for a disk that differs from others of its kind |
//!
//! # How a file is mapped (Linux)
//!
//! | what the file is on | device | kind |
//! |---|---|---|
//! | a partition, or a whole disk | the disk | what its driver reports, see [`DeviceKind`] |
//! | device-mapper (LVM, dm-crypt), md, bcache: all on one disk | that disk | the disk's |
//! | the same on several disks | the stack, with its own number | the slowest of its disks |
//! | a loop device | the device of its backing file | that device's |
//! | btrfs on one disk | that disk | the disk's |
//! | btrfs on several disks | the file system, one id for all its subvolumes | the slowest of its disks |
//! | overlayfs | the device of `upperdir`, else of the topmost `lowerdir` | that device's |
//! | ZFS | the pool, with the lowest number of its mounts | unknown |
//! | tmpfs, ramfs, and the kernel's own file systems (`/proc`, `/sys`) | the mount's file system | memory |
//! | NFS, CIFS, 9p, Ceph, sshfs and similar | the mount's file system | network |
//! | anything else, and anything that cannot be read | the number in `stat` | unknown |
//!
//! *One disk* applies recursively: a logical volume on an md array is that array, because all
//! volumes on the array share it.
//!
//! # What it cannot know
//!
//! - **Disks shared by several stacks.** Two logical volumes that each span the same two disks are
//!   two devices, and a partition beside them is a third. [`PhysicalDevice::members`] lists the
//!   disks of a stack; an id cannot.
//! - **What is behind a controller or a fabric.** A hardware RAID, a disk reached by iSCSI, Fibre
//!   Channel or NVMe over TCP, and a cloud volume all look like one local disk. Two namespaces of
//!   one NVMe controller look like two disks.
//! - **What is behind a hypervisor.** Virtual disks report *rotational* by default, so for them the
//!   crate ignores it.
//! - **The host, from within a container.** The kernel names the layers of an overlay and the file
//!   behind a loop device by paths of the host. If such a path does not exist in the container, the
//!   overlay or loop device is a device of its own, of unknown kind. If another file has that path,
//!   the crate takes that file's device.
//! - **The members of a ZFS pool**, which the kernel does not list, and those of a btrfs whose
//!   `/sys/fs/btrfs` cannot be read: it then counts as the disk that it was mounted from.
//! - **Change.** A [`Detector`] reads the mount table once. It finds later mounts by their device
//!   number alone, which is enough for disks. The kernel reuses numbers after an unmount: create a
//!   new detector for a new run.
//!
//! On other systems every file is on [`DeviceId::UNKNOWN`], one device for all: too careful on a
//! machine with many disks, but never too many readers on one. There is no mapping for macOS and
//! Windows yet.
//!
//! Invariants: the contents of sysfs or the mount table never make this crate panic, fail or loop
//! forever. The only error is a path that cannot be looked up. An id never names more than one
//! disk, unless it names their stack.

#![forbid(unsafe_code)]

mod block;
mod detector;
mod id;
mod io_model;
mod lanes;
mod map;
mod mounts;
mod number;
mod physical;
mod place;
mod slots;
mod slots_config;
mod walk;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;

pub use detector::Detector;
pub use id::DeviceId;
pub use io_model::IoModel;
pub use lanes::{DeviceLanes, DeviceTurn};
pub use map::DeviceMap;
pub use mounts::{Mount, MountTable};
pub use number::DeviceNumber;
pub use physical::{DeviceKind, PhysicalDevice};
pub use slots::{DeviceSlotPermit, DeviceSlots};
pub use slots_config::{DeviceSlotsConfig, DeviceSlotsError};
