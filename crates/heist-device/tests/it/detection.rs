//! Finds the device of a file on fake systems, one for every layout in the documentation. The tests
//! check which files share a device, which device that is, and of what kind.

use crate::fake_system::{FakeSystem, id, number};
use heist_device::{Detector, DeviceKind, DeviceMap, MountTable, PhysicalDevice};

#[track_caller]
fn check(device: &PhysicalDevice, expected_id: &str, kind: DeviceKind, name: &str) {
    let expected = (id(expected_id), kind, name);
    assert_eq!((device.id, device.kind, device.name.as_str()), expected, "{device:?}");
}

#[test]
fn partitions_of_a_sata_disk_are_the_disk() {
    let system = FakeSystem::new();
    system.sata("sda", "8:0").partition("sda", "sda1", "8:1").partition("sda", "sda2", "8:2");
    system.sata("sdb", "8:16").partition("sdb", "sdb1", "8:17");
    for files in ["8:0", "8:1", "8:2"] {
        check(&system.detect(files), "8:0", DeviceKind::Rotational, "sda");
    }
    check(&system.detect("8:17"), "8:16", DeviceKind::Rotational, "sdb");
}

#[test]
fn partitions_of_an_nvme_disk_are_the_disk() {
    let system = FakeSystem::new();
    system.nvme("nvme0n1", "259:0");
    system.partition("nvme0n1", "nvme0n1p1", "259:1").partition("nvme0n1", "nvme0n1p2", "259:2");
    for files in ["259:0", "259:1", "259:2"] {
        check(&system.detect(files), "259:0", DeviceKind::Nvme, "nvme0n1");
    }
}

#[test]
fn a_disk_that_does_not_rotate_is_an_ssd() {
    let system = FakeSystem::new();
    system.sata("sda", "8:0").write("sda", "queue/rotational", "0");
    check(&system.detect("8:0"), "8:0", DeviceKind::Ssd, "sda");
}

#[test]
fn rotational_virtio_and_xen_disks_are_of_unknown_kind() {
    let system = FakeSystem::new();
    system.disk("pci0000:00/virtio1", "vda", "254:0", "1").partition("vda", "vda1", "254:1");
    system.disk("vbd-51712", "xvda", "202:0", "1");
    check(&system.detect("254:1"), "254:0", DeviceKind::Unknown, "vda");
    check(&system.detect("202:0"), "202:0", DeviceKind::Unknown, "xvda");

    // A virtual disk reports 0 only if its hypervisor was configured to do so.
    system.write("vda", "queue/rotational", "0");
    check(&system.detect("254:1"), "254:0", DeviceKind::Ssd, "vda");
}

#[test]
fn a_hypervisor_is_recognised_by_vendor_or_model() {
    let virtual_disks = [
        ("QEMU    ", "QEMU HARDDISK   "),
        ("ATA     ", "QEMU HARDDISK   "),
        ("ATA     ", "VBOX HARDDISK   "),
        ("Msft    ", "Virtual Disk    "),
        ("VMware  ", "Virtual disk    "),
        ("Google  ", "PersistentDisk  "),
        ("NUTANIX ", "VDISK           "),
    ];
    for (vendor, model) in virtual_disks {
        let system = FakeSystem::new();
        system.sata("sda", "8:0").partition("sda", "sda1", "8:1");
        assert_eq!(system.detect("8:1").kind, DeviceKind::Rotational, "the model of a real disk");
        system.write("sda", "device/vendor", vendor).write("sda", "device/model", model);
        check(&system.detect("8:1"), "8:0", DeviceKind::Unknown, "sda");
    }
}

#[test]
fn memory_and_network_block_devices_are_recognised_by_name() {
    let system = FakeSystem::new();
    let named = [
        ("zram0", "253:0", DeviceKind::Memory),
        ("ram3", "1:3", DeviceKind::Memory),
        ("pmem0", "259:9", DeviceKind::Memory),
        ("nbd0", "43:0", DeviceKind::Network),
        ("rbd1", "252:0", DeviceKind::Network),
    ];
    for (name, number, kind) in named {
        system.disk("virtual", name, number, "0");
        check(&system.detect(number), number, kind, name);
    }
    // Names that only have the same beginning.
    system.disk("platform", "ramses", "240:0", "0").disk("platform", "mdisk", "240:1", "0");
    check(&system.detect("240:0"), "240:0", DeviceKind::Ssd, "ramses");
    check(&system.detect("240:1"), "240:1", DeviceKind::Ssd, "mdisk");
}

#[test]
fn volumes_on_an_array_of_two_disks_are_the_array() {
    let system = FakeSystem::new();
    system.sata("sda", "8:0").partition("sda", "sda1", "8:1");
    system.sata("sdb", "8:16").partition("sdb", "sdb1", "8:17");
    system.stack("md0", "9:0", &["sda1", "sdb1"]);
    system.stack("dm-0", "253:0", &["md0"]).stack("dm-1", "253:1", &["md0"]);
    for files in ["9:0", "253:0", "253:1"] {
        let device = system.detect(files);
        check(&device, "9:0", DeviceKind::Rotational, "md0");
        assert_eq!(device.members, [id("8:0"), id("8:16")]);
    }
}

#[test]
fn a_stack_has_the_kind_of_its_slowest_disk() {
    let system = FakeSystem::new();
    system.sata("sda", "8:0").nvme("nvme0n1", "259:0").disk("pci/virtio1", "vda", "254:0", "1");
    system.stack("bcache0", "252:0", &["nvme0n1", "sda"]);
    check(&system.detect("252:0"), "252:0", DeviceKind::Rotational, "bcache0");
    system.stack("md0", "9:0", &["nvme0n1", "vda"]);
    check(&system.detect("9:0"), "9:0", DeviceKind::Unknown, "md0");
}

#[test]
fn volumes_on_one_disk_are_the_disk() {
    let system = FakeSystem::new();
    system.nvme("nvme0n1", "259:0");
    system.partition("nvme0n1", "nvme0n1p2", "259:2").partition("nvme0n1", "nvme0n1p3", "259:3");
    // One volume spans both partitions. Another one belongs to a thin pool, whose data and metadata
    // are volumes themselves.
    system.stack("dm-0", "253:0", &["nvme0n1p2", "nvme0n1p3"]);
    system.stack("dm-1", "253:1", &["nvme0n1p3"]).stack("dm-2", "253:2", &["nvme0n1p3"]);
    system.stack("dm-3", "253:3", &["dm-1", "dm-2"]).stack("dm-4", "253:4", &["dm-3"]);
    for files in ["253:0", "253:4"] {
        let device = system.detect(files);
        check(&device, "259:0", DeviceKind::Nvme, "nvme0n1");
        assert!(device.members.is_empty(), "{device:?}");
    }
}

#[test]
fn an_encrypted_partition_is_its_disk() {
    let system = FakeSystem::new();
    system.sata("sda", "8:0").partition("sda", "sda3", "8:3").stack("dm-0", "253:0", &["sda3"]);
    check(&system.detect("253:0"), "8:0", DeviceKind::Rotational, "sda");
}

#[test]
fn btrfs_on_two_disks_is_one_device_with_all_its_subvolumes() {
    let mut system = FakeSystem::new();
    system.sata("sda", "8:0").partition("sda", "sda2", "8:2").sata("sdb", "8:16");
    system.nvme("nvme0n1", "259:0");
    system.btrfs("1111", &["nvme0n1"]).btrfs("2222", &["sda2", "sdb"]);
    system
        .mount("27 1 0:25 /root / rw shared:1 - btrfs /dev/sda2 rw,subvolid=256,subvol=/root")
        .mount("40 27 0:25 /home /home rw - btrfs /dev/sdb rw,subvolid=257,subvol=/home")
        .mount("50 27 0:31 / /fast rw - btrfs /dev/nvme0n1 rw,subvolid=5,subvol=/");
    // The numbers of the mounted subvolumes are not in the table, nor is that of a subvolume nested
    // in the first.
    for (files, mount) in [("0:26", 27), ("0:28", 40), ("0:29", 27)] {
        let device = system.detect_in(files, mount);
        check(&device, "0:25", DeviceKind::Rotational, "btrfs 2222");
        assert_eq!(device.members, [id("8:0"), id("8:16")]);
    }
    check(&system.detect_in("0:32", 50), "259:0", DeviceKind::Nvme, "nvme0n1");
}

#[test]
fn btrfs_on_one_disk_is_the_disk() {
    let mut system = FakeSystem::new();
    system.sata("sda", "8:0").partition("sda", "sda1", "8:1").partition("sda", "sda2", "8:2");
    system.stack("dm-0", "253:0", &["sda2"]).write("dm-0", "dm/name", "luks-home");
    system.btrfs("1111", &["dm-0"]).btrfs("2222", &["sda1"]);
    system
        .mount("40 27 0:25 / /home rw - btrfs /dev/mapper/luks-home rw")
        .mount("27 1 0:35 / / rw - btrfs /dev/sda1 rw");
    for (files, mount) in [("0:26", 40), ("0:29", 40), ("0:36", 27), ("8:1", 27)] {
        check(&system.detect_in(files, mount), "8:0", DeviceKind::Rotational, "sda");
    }
}

#[test]
fn the_only_btrfs_is_found_without_a_source() {
    let mut system = FakeSystem::new();
    system.nvme("nvme0n1", "259:0").nvme("nvme1n1", "259:1").btrfs("1111", &["nvme0n1"]);
    system.mount("27 1 0:25 / / rw - btrfs /dev/root rw");
    check(&system.detect_in("0:26", 27), "259:0", DeviceKind::Nvme, "nvme0n1");

    system.btrfs("2222", &["nvme1n1"]);
    check(&system.detect_in("0:26", 27), "0:25", DeviceKind::Unknown, "0:25");
}

#[test]
fn an_overlay_is_on_the_device_of_its_upper_layer() {
    let mut system = FakeSystem::new();
    system.sata("sda", "8:0").partition("sda", "sda1", "8:1").nvme("nvme0n1", "259:0");
    system
        .mount("27 1 8:1 / / rw - ext4 /dev/sda1 rw")
        .mount("28 27 259:0 / /var/lib/layers\\040here rw - xfs /dev/nvme0n1 rw")
        .mount(
            "90 27 0:50 / /merged rw - overlay overlay \
             rw,lowerdir=/images/b:/images/a,upperdir=/var/lib/layers\\040here/up,workdir=/w",
        )
        .mount("91 27 0:51 / /only-lower ro - overlay overlay ro,lowerdir=/images/b:/images/a")
        .mount("92 27 0:52 / /on-overlay rw - overlay none rw,lowerdir=/x,upperdir=/merged/up");
    check(&system.detect_in("0:50", 90), "259:0", DeviceKind::Nvme, "nvme0n1");
    check(&system.detect_in("0:51", 91), "8:0", DeviceKind::Rotational, "sda");
    check(&system.detect_in("0:52", 92), "259:0", DeviceKind::Nvme, "nvme0n1");
    // A file of a lower layer on another file system has a different number in the same mount.
    check(&system.detect_in("0:99", 90), "259:0", DeviceKind::Nvme, "nvme0n1");
}

#[test]
fn an_overlay_whose_layers_are_not_visible_is_its_own_device() {
    let mut system = FakeSystem::new();
    // As within a container: the paths are the host's, but seem to lie in the overlay itself.
    system.mount("90 27 0:50 / / rw - overlay overlay rw,lowerdir=/l,upperdir=/host/up,workdir=/w");
    // The path is relative to a directory that is not in the table.
    system.mount("91 27 0:51 / /a rw - overlay overlay rw,lowerdir=l/ABC:l/DEF");
    check(&system.detect_in("0:50", 90), "0:50", DeviceKind::Unknown, "0:50");
    check(&system.detect_in("0:77", 90), "0:50", DeviceKind::Unknown, "0:50");
    check(&system.detect_in("0:51", 91), "0:51", DeviceKind::Unknown, "0:51");
}

#[test]
fn file_systems_in_memory_have_no_disk() {
    let mut system = FakeSystem::new();
    system
        .mount("25 24 0:23 / /dev/shm rw - tmpfs shm rw,size=24682416k")
        .mount("26 24 0:24 / /tmp rw - tmpfs tmpfs rw")
        .mount("27 24 0:28 / /nameless rw - tmpfs  rw")
        .mount("22 27 0:21 / /proc rw - proc proc rw");
    check(&system.detect_in("0:28", 27), "0:28", DeviceKind::Memory, "tmpfs");
    check(&system.detect_in("0:23", 25), "0:23", DeviceKind::Memory, "shm");
    check(&system.detect_in("0:24", 26), "0:24", DeviceKind::Memory, "tmpfs");
    check(&system.detect_in("0:21", 22), "0:21", DeviceKind::Memory, "proc");
    // Without a mount id, the number is sufficient.
    check(&system.detect("0:24"), "0:24", DeviceKind::Memory, "tmpfs");
}

#[test]
fn a_remote_file_system_is_one_device_per_superblock() {
    let mut system = FakeSystem::new();
    system
        .mount("40 27 0:52 / /home rw - nfs4 server:/export/home rw,vers=4.2")
        .mount("41 27 0:52 /sub /elsewhere rw - nfs4 server:/export/home rw,vers=4.2")
        .mount("42 27 0:53 / /media rw - cifs //nas/media rw")
        .mount("43 27 0:54 / /host rw - 9p host rw")
        .mount("44 27 0:55 / /mnt rw - fuse.sshfs me@there: rw");
    check(&system.detect_in("0:52", 40), "0:52", DeviceKind::Network, "server:/export/home");
    check(&system.detect_in("0:52", 41), "0:52", DeviceKind::Network, "server:/export/home");
    check(&system.detect_in("0:53", 42), "0:53", DeviceKind::Network, "//nas/media");
    check(&system.detect_in("0:54", 43), "0:54", DeviceKind::Network, "host");
    check(&system.detect_in("0:55", 44), "0:55", DeviceKind::Network, "me@there:");
}

#[test]
fn a_zfs_pool_is_one_device() {
    let mut system = FakeSystem::new();
    system
        .mount("40 27 0:61 / /tank/home rw - zfs tank/home rw")
        .mount("41 27 0:60 / /tank rw - zfs tank rw")
        .mount("42 27 0:59 / /tanker rw - zfs tanker rw");
    for (files, mount) in [("0:61", 40), ("0:60", 41)] {
        check(&system.detect_in(files, mount), "0:60", DeviceKind::Unknown, "tank");
    }
    check(&system.detect_in("0:59", 42), "0:59", DeviceKind::Unknown, "tanker");
}

#[test]
fn an_unknown_file_system_may_name_its_disks() {
    let mut system = FakeSystem::new();
    system.sata("sda", "8:0").partition("sda", "sda1", "8:1").partition("sda", "sda2", "8:2");
    system.nvme("nvme0n1", "259:0");
    system
        .mount("40 27 0:61 / /a rw - bcachefs /dev/sda1:/dev/sda2 rw")
        .mount("41 27 0:62 / /b rw - bcachefs /dev/sda1:/dev/nvme0n1 rw")
        .mount("42 27 0:63 / /c rw - fuse.archive archive.zip ro");
    check(&system.detect_in("0:61", 40), "8:0", DeviceKind::Rotational, "sda");
    let both = system.detect_in("0:62", 41);
    check(&both, "0:62", DeviceKind::Rotational, "/dev/sda1:/dev/nvme0n1");
    check(&system.detect_in("0:63", 42), "0:63", DeviceKind::Unknown, "archive.zip");
}

#[test]
fn a_loop_device_is_on_the_device_of_its_file() {
    let mut system = FakeSystem::new();
    system.sata("sda", "8:0").partition("sda", "sda1", "8:1").nvme("nvme0n1", "259:0");
    system.disk("virtual", "loop0", "7:0", "1").partition("loop0", "loop0p1", "259:7");
    system.write("loop0", "loop/backing_file", "/images/with space.img");
    system.disk("virtual", "loop1", "7:1", "0");
    system.write("loop1", "loop/backing_file", "/dev/nvme0n1");
    system.disk("virtual", "loop2", "7:2", "0");
    system
        .mount("27 1 8:1 / / rw - ext4 /dev/sda1 rw")
        .mount("24 27 0:6 / /dev rw - devtmpfs devtmpfs rw");
    check(&system.detect("7:0"), "8:0", DeviceKind::Rotational, "sda");
    check(&system.detect("259:7"), "8:0", DeviceKind::Rotational, "sda");
    // The device file is in memory, but the device is not.
    check(&system.detect("7:1"), "259:0", DeviceKind::Nvme, "nvme0n1");
    check(&system.detect("7:2"), "7:2", DeviceKind::Unknown, "loop2");
}

#[test]
fn without_sysfs_the_device_number_is_used() {
    let mounts = MountTable::parse(b"27 1 0:25 / / rw - btrfs /dev/sda2 rw\n");
    let detector = Detector::new("/does/not/exist".into(), mounts);
    check(&detector.detect_at(number("8:1"), None), "8:1", DeviceKind::Unknown, "8:1");
    check(&detector.detect_at(number("0:26"), Some(27)), "0:25", DeviceKind::Unknown, "0:25");
    check(&detector.detect_at(number("0:99"), Some(99)), "0:99", DeviceKind::Unknown, "0:99");
    check(&detector.detect_at(number("0:99"), None), "0:99", DeviceKind::Unknown, "0:99");
}

#[test]
fn a_partly_readable_sysfs_is_never_an_error() {
    let system = FakeSystem::new();
    // The number of the partition's disk cannot be read, so the partition's own number is used.
    system.sata("sda", "8:0").partition("sda", "sda1", "8:1");
    std::fs::remove_file(system.directory("sda").join("dev")).unwrap();
    assert_eq!(system.detect("8:1").id, id("8:1"));

    // A disk whose `rotational` file is neither 0 nor 1.
    system.sata("sdb", "8:16").write("sdb", "queue/rotational", "maybe");
    check(&system.detect("8:16"), "8:16", DeviceKind::Unknown, "sdb");

    // A stack with a member that does not exist, and one whose list of members is not a directory.
    system.nvme("nvme0n1", "259:0").nvme("nvme1n1", "259:1");
    system.stack("md0", "9:0", &["nvme0n1", "nvme1n1"]);
    std::fs::remove_dir_all(system.directory("nvme1n1")).unwrap();
    let device = system.detect("9:0");
    check(&device, "9:0", DeviceKind::Unknown, "md0");
    assert_eq!(device.members, [id("259:0")]);
    system.stack("md1", "9:1", &[]);
    std::fs::remove_dir(system.directory("md1").join("slaves")).unwrap();
    system.write("md1", "slaves", "not a directory");
    check(&system.detect("9:1"), "9:1", DeviceKind::Unknown, "md1");

    // A link to itself.
    let link = system.sysfs().join("dev/block/8:32");
    std::os::unix::fs::symlink("8:32", link).unwrap();
    check(&system.detect("8:32"), "8:32", DeviceKind::Unknown, "8:32");
}

#[test]
fn a_cycle_of_stacks_falls_back_to_the_device_number() {
    let system = FakeSystem::new();
    system.sata("sda", "8:0").stack("dm-0", "253:0", &["sda"]).stack("dm-1", "253:1", &["dm-0"]);
    check(&system.detect("253:1"), "8:0", DeviceKind::Rotational, "sda");
    system.member("dm-0", "dm-1");
    check(&system.detect("253:0"), "253:0", DeviceKind::Unknown, "253:0");
    check(&system.detect("253:1"), "253:1", DeviceKind::Unknown, "253:1");

    system.stack("dm-2", "253:2", &[]).member("dm-2", "dm-2");
    check(&system.detect("253:2"), "253:2", DeviceKind::Unknown, "253:2");
}

#[test]
fn a_loop_device_below_itself_falls_back_to_the_device_number() {
    let mut system = FakeSystem::new();
    system.disk("virtual", "loop0", "7:0", "0").write("loop0", "loop/backing_file", "/mnt/image");
    system.mount("27 1 7:0 / /mnt rw - ext4 /dev/loop0 rw");
    check(&system.detect("7:0"), "7:0", DeviceKind::Unknown, "7:0");
}

#[test]
fn a_stack_that_is_too_deep_falls_back_to_the_device_number() {
    let system = FakeSystem::new();
    system.nvme("nvme0n1", "259:0").stack("dm-0", "253:0", &["nvme0n1"]);
    for level in 1..40 {
        let below = format!("dm-{}", level - 1);
        system.stack(&format!("dm-{level}"), &format!("253:{level}"), &[&below]);
    }
    // The disk and 31 volumes are 32 devices deep.
    check(&system.detect("253:30"), "259:0", DeviceKind::Nvme, "nvme0n1");
    check(&system.detect("253:31"), "253:31", DeviceKind::Unknown, "253:31");
    check(&system.detect("253:39"), "253:39", DeviceKind::Unknown, "253:39");
}

#[test]
fn a_device_that_can_be_reached_in_many_ways_is_examined_once() {
    let system = FakeSystem::new();
    system.nvme("nvme0n1", "259:0");
    system.stack("md0", "9:0", &["nvme0n1"]).stack("md1", "9:1", &["nvme0n1"]);
    // A ladder: each level can be reached in twice as many ways as the one above, and the lowest in
    // 2^25. Following all of them would take half an hour.
    for level in 1..26 {
        let (left, right) = (format!("md{}", 2 * level - 2), format!("md{}", 2 * level - 1));
        for side in [2 * level, 2 * level + 1] {
            system.stack(&format!("md{side}"), &format!("9:{side}"), &[&left, &right]);
        }
    }
    check(&system.detect("9:51"), "259:0", DeviceKind::Nvme, "nvme0n1");
}

#[test]
fn a_map_reads_sysfs_once_per_place() {
    let mut system = FakeSystem::new();
    system.sata("sda", "8:0").partition("sda", "sda1", "8:1").partition("sda", "sda2", "8:2");
    system.mount("26 24 0:24 / /tmp rw - tmpfs tmpfs rw");
    let mut devices = DeviceMap::new(system.detector());
    let disk = devices.device_at(number("8:1"), Some(30)).clone();
    check(&disk, "8:0", DeviceKind::Rotational, "sda");
    assert_eq!(devices.device_at(number("8:0"), None), &disk);
    check(devices.device_at(number("0:24"), Some(26)), "0:24", DeviceKind::Memory, "tmpfs");

    // After the sysfs is deleted, the map still remembers the devices it has seen, in any mount. It
    // cannot find others.
    drop(system);
    assert_eq!(devices.device_at(number("8:1"), Some(31)), &disk);
    check(devices.device_at(number("8:2"), None), "8:2", DeviceKind::Unknown, "8:2");
    let met: Vec<_> = devices.devices().iter().map(|device| device.id).collect();
    assert_eq!(met, [id("8:0"), id("0:24"), id("8:2")]);
    assert_eq!(devices.get(id("8:0")), Some(&disk));
    assert_eq!(devices.get(id("8:1")), None);
}
