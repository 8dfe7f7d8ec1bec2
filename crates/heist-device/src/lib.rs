//! Disks: which one a file is on, slots and lanes for the jobs that use it, and which sources need them.
//!
//! Work on storage wants a limit per *device*: eight readers are right for an NVMe disk and far too many for one with a
//! moving head. What `stat` calls a device is a file system: two partitions of one disk are two of them, and every
//! btrfs subvolume is another. This module goes on from there to the hardware. A [`DeviceId`] is the same for all that
//! shares a disk. [`DeviceSlots`] are the limit, [`DeviceLanes`] put jobs on an executor as it allows, and an
//! [`IoModel`] says whether a source of data needs a slot at all.
//!
//! ```
//! use heist_device::{DeviceId, DeviceMap};
//! use std::path::Path;
//!
//! // One path, now and then. It costs a `statx` and reads files below `/sys` and `/proc`.
//! let device = DeviceId::from_path(Path::new("."));
//!
//! // Many paths: a `statx` each, and the rest once per file system.
//! let mut devices = DeviceMap::system();
//! for path in [".", "..", "does not exist"] {
//!     let device = devices.id_of(Path::new(path));
//!     # let _ = device;
//! }
//! # let _ = device;
//! ```
//!
//! Look when a file is discovered, and keep the id with its task: a `DeviceId` is one word.
//!
//! # How a file is mapped (Linux)
//!
//! | what the file is on | device | kind |
//! |---|---|---|
//! | a partition, or a whole disk | the disk | what its driver says, see [`DeviceKind`] |
//! | device-mapper (LVM, dm-crypt), md, bcache: all on one disk | that disk | the disk's |
//! | the same on several disks | the stack, with its own number | the slowest of its disks |
//! | a loop device | the device of its backing file | that device's |
//! | btrfs on one disk | that disk | the disk's |
//! | btrfs on several disks | the file system, one id for all its subvolumes | the slowest of its disks |
//! | overlayfs | the device of `upperdir`, else of the topmost `lowerdir` | that device's |
//! | ZFS | the pool, with the lowest number of its mounts | unknown |
//! | tmpfs, ramfs, and what the kernel makes up (`/proc`, `/sys`) | the mount's file system | memory |
//! | NFS, CIFS, 9p, Ceph, sshfs and their like | the mount's file system | network |
//! | anything else, and whatever cannot be read | what `stat` says | unknown |
//!
//! *One disk* is meant recursively: a logical volume on an md array is that array, because the array is what all
//! volumes on it share.
//!
//! # What it cannot know
//!
//! - **Disks shared by several stacks.** Two logical volumes that each span the same two disks are two devices, and a
//!   partition beside them is a third. [`PhysicalDevice::members`] tells which disks a stack is on; an id cannot.
//! - **What is behind a controller or a fabric.** A hardware RAID, a disk reached by iSCSI, Fibre Channel or NVMe over
//!   TCP, and a cloud's volume all look like one local disk. Two namespaces of one NVMe controller look like two.
//! - **What is behind a hypervisor.** Virtual disks say *rotational* by default, so from them it counts for nothing.
//! - **The host, from within a container.** The layers of an overlay and the files behind a loop device are named by
//!   paths of the host. Where these cannot be seen, the overlay or the loop device is a device of its own, of unknown
//!   kind. Where another file has the same path, that file's device is taken for it.
//! - **The members of a ZFS pool**, which the kernel does not list; and those of a btrfs where `/sys/fs/btrfs` cannot
//!   be read: it then counts as the disk that it was mounted from.
//! - **Change.** The mount table is read once per [`Detector`]. What is mounted later is found by its device number
//!   alone (all that a disk needs). Numbers are used again after an unmount: take a new detector for a new run.
//!
//! On other systems everything is [`DeviceId::UNKNOWN`], one device for all: too careful on a machine with many disks,
//! but never too many readers on one. The mapping for macOS and Windows is not there yet.
//!
//! Invariants: nothing here panics, fails or runs for ever because of what sysfs or the mount table say. The only error
//! is a path that cannot be looked up. An id never names more than one disk, unless it names their stack.

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
