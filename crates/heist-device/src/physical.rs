//! The properties of a device: its id, its kind, its name, and its members.
//!
//! Invariant: a kind other than *unknown* is what the kernel's drivers report, and never a guess.
//! Not guaranteed: that the drivers are right. A disk behind a controller, a fabric or a hypervisor
//! reports what these tell it to.

use super::{DeviceId, DeviceNumber};
use std::fmt;

/// What a device is made of, as far as it decides how many jobs should use it at once. Ordered from
/// the slowest to the fastest, like [`FROM_SLOWEST`](Self::FROM_SLOWEST).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum DeviceKind {
    /// A disk with a moving head: each further reader adds seeks.
    Rotational,
    /// Storage of another machine, behind a network file system or a network block device.
    Network,
    /// Unknown. This includes virtual disks that report *rotational*, which is the default of
    /// hypervisors and means nothing.
    #[default]
    Unknown,
    /// A disk without moving parts that is not NVMe: SATA and SAS SSDs, memory cards, and virtual
    /// disks whose hypervisor reports one.
    Ssd,
    /// An NVMe disk: made for many requests at once.
    Nvme,
    /// Main memory: tmpfs (which may be swapped out), RAM disks, zram, persistent memory, and files
    /// that the kernel generates as they are read.
    Memory,
}

impl DeviceKind {
    /// All kinds, from the slowest to the fastest.
    ///
    /// *Unknown* comes before *SSD*, because it may be anything: treating a slow disk as fast may
    /// overload it, while treating a fast disk as slow only loses some speed. It comes after
    /// *rotational*, which is known to be slow.
    pub const FROM_SLOWEST: &'static [Self] =
        &[Self::Rotational, Self::Network, Self::Unknown, Self::Ssd, Self::Nvme, Self::Memory];

    /// Returns the slowest of `kinds`, which is the kind of a stack on them: a request that touches
    /// all members waits for the slowest one, and that member is overloaded first.
    /// [`Unknown`](Self::Unknown) if `kinds` is empty.
    pub(super) fn slowest(kinds: impl IntoIterator<Item = Self>) -> Self {
        kinds.into_iter().min().unwrap_or_default()
    }
}

impl fmt::Display for DeviceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Rotational => "rotational",
            Self::Ssd => "ssd",
            Self::Nvme => "nvme",
            Self::Memory => "memory",
            Self::Network => "network",
            Self::Unknown => "unknown",
        })
    }
}

/// A device that several file systems may share: a disk, a stack on several disks, or a file system
/// without a disk.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PhysicalDevice {
    /// Equal for everything on this device.
    pub id: DeviceId,
    /// What it is made of.
    pub kind: DeviceKind,
    /// A name for people: the kernel's name of a disk (`sda`, `nvme0n1`, `md0`), or the source of
    /// the mount (`server:/export`).
    pub name: String,
    /// The disks below a stack on several of them, in ascending order; empty for everything else.
    /// Stacks with common members have different ids but still slow each other down.
    pub members: Vec<DeviceId>,
}

impl PhysicalDevice {
    /// Returns the device of all files whose device is unknown.
    #[must_use]
    pub const fn unknown() -> Self {
        let (id, kind) = (DeviceId::UNKNOWN, DeviceKind::Unknown);
        Self { id, kind, name: String::new(), members: Vec::new() }
    }

    /// Creates a device without members.
    pub(super) fn new(number: DeviceNumber, kind: DeviceKind, name: String) -> Self {
        Self { id: number.into(), kind, name, members: Vec::new() }
    }

    /// Creates a device that sysfs says nothing about.
    pub(super) fn unresolved(number: DeviceNumber) -> Self {
        Self::new(number, DeviceKind::Unknown, number.to_string())
    }

    /// Returns the device that `members` form: if they are all the same device, that one; else a
    /// device of its own, with `number` and `name`. A member that could not be identified may be
    /// any disk, so it also makes a device of its own.
    pub(super) fn stack(number: DeviceNumber, name: String, members: Vec<Option<Self>>) -> Self {
        let mut known: Vec<Self> = Vec::new();
        let mut kinds: Vec<DeviceKind> = Vec::new();
        for member in &members {
            kinds.push(member.as_ref().map_or(DeviceKind::Unknown, |member| member.kind));
        }
        let all_known = members.iter().all(Option::is_some);
        for member in members.into_iter().flatten() {
            if known.iter().all(|other| other.id != member.id) {
                known.push(member);
            }
        }
        if all_known && known.len() == 1 {
            return known.remove(0);
        }
        // A member that is itself a stack is replaced by its disks.
        let mut disks: Vec<DeviceId> = Vec::new();
        for member in known {
            if member.members.is_empty() {
                disks.push(member.id);
            }
            disks.extend(member.members);
        }
        disks.sort_unstable();
        disks.dedup();
        Self { id: number.into(), kind: DeviceKind::slowest(kinds), name, members: disks }
    }
}

#[cfg(all(test, not(heist_loom)))]
mod tests {
    use super::*;

    fn disk(minor: u32, kind: DeviceKind) -> PhysicalDevice {
        PhysicalDevice::new(DeviceNumber::new(8, minor), kind, format!("disk{minor}"))
    }

    fn stack(members: Vec<Option<PhysicalDevice>>) -> PhysicalDevice {
        PhysicalDevice::stack(DeviceNumber::new(253, 0), "dm-0".to_owned(), members)
    }

    #[test]
    fn a_stack_is_as_slow_as_its_slowest_member() {
        use DeviceKind::{Memory, Network, Nvme, Rotational, Ssd, Unknown};
        let cases: [(&[DeviceKind], DeviceKind); 6] = [
            (&[Ssd, Ssd], Ssd),
            (&[Nvme, Ssd], Ssd),
            (&[Ssd, Unknown], Unknown),
            (&[Unknown, Rotational, Nvme], Rotational),
            (&[Memory, Network], Network),
            (&[], Unknown),
        ];
        for (kinds, expected) in cases {
            assert_eq!(DeviceKind::slowest(kinds.iter().copied()), expected, "{kinds:?}");
        }
    }

    #[test]
    fn kinds_are_ordered_by_speed() {
        assert!(DeviceKind::FROM_SLOWEST.is_sorted());
        // The last kind in the list is the last one declared, so a new kind must be added to the
        // list.
        let places = DeviceKind::FROM_SLOWEST.iter().map(|kind| *kind as usize);
        assert_eq!(
            places.collect::<Vec<_>>(),
            (0..=DeviceKind::Memory as usize).collect::<Vec<_>>()
        );
    }

    #[test]
    fn members_on_one_disk_are_that_disk() {
        let one = disk(0, DeviceKind::Nvme);
        assert_eq!(stack(vec![Some(one.clone()), Some(one.clone())]), one);
    }

    #[test]
    fn members_on_several_disks_form_a_separate_device() {
        let (one, two) = (disk(16, DeviceKind::Nvme), disk(0, DeviceKind::Ssd));
        let both = stack(vec![Some(one.clone()), Some(two.clone())]);
        assert_eq!(both.id, DeviceNumber::new(253, 0).into());
        assert_eq!(both.kind, DeviceKind::Ssd);
        assert_eq!(both.members, [two.id, one.id]);

        let three = disk(32, DeviceKind::Ssd);
        let nested = stack(vec![Some(both), Some(three.clone())]);
        assert_eq!(nested.members, [two.id, one.id, three.id]);
    }

    #[test]
    fn an_unknown_member_may_be_any_disk() {
        let one = disk(0, DeviceKind::Nvme);
        let half_known = stack(vec![Some(one.clone()), None]);
        assert_eq!(half_known.id, DeviceNumber::new(253, 0).into());
        assert_eq!(half_known.kind, DeviceKind::Unknown);
        assert_eq!(half_known.members, [one.id]);
    }

    #[test]
    fn kinds_respect_the_width_of_a_column() {
        assert_eq!(format!("[{:>6}]", DeviceKind::Ssd), "[   ssd]");
    }
}
