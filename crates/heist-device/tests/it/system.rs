//! Finds devices on the system that runs the tests, whatever it is, and on systems that make no
//! sense.

use crate::fake_system::{FakeSystem, TemporaryDirectory, id, number};
use heist_device::{Detector, DeviceId, DeviceMap, DeviceNumber, MountTable};
use proptest::prelude::*;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

#[test]
fn every_mount_of_this_system_has_a_device() {
    let detector = Detector::system();
    assert!(!detector.mounts().mounts().is_empty(), "at least the root");
    assert_eq!(detector.mounts().skipped_lines(), 0, "the kernel's lines are understood");
    let mut devices = DeviceMap::new(detector.clone());
    for mount in detector.mounts().mounts() {
        let path = &mount.mount_point;
        // A mount may be hidden from this process, or was unmounted in the meantime.
        let Ok(found) = fs::metadata(path) else { continue };
        let device = detector.detect(path).expect("a path that was looked up just now");
        assert!(!device.id.is_unknown(), "{}: {device:?}", path.display());
        assert!(!device.name.is_empty(), "{}: {device:?}", path.display());
        assert_eq!(devices.device_of(path).unwrap().id, device.id, "{}", path.display());
        assert_eq!(DeviceId::from_path(path), device.id, "{}", path.display());

        // The device must not be a partition, because its disk would be below it.
        let partition = format!("/sys/dev/block/{}/partition", device.id);
        assert!(!Path::new(&partition).exists(), "{}: {device:?}", path.display());
        // The device of files on a disk is found without a mount table, unless the disk is backed
        // by a file.
        let st_dev = DeviceNumber::from_st_dev(found.dev());
        let without = Detector::new("/sys".into(), MountTable::default()).detect_at(st_dev, None);
        let on_files = without.name.starts_with("loop") || !without.members.is_empty();
        assert!(st_dev.is_anonymous() || on_files || without == device, "{device:?} {without:?}");
    }
    assert!(!devices.devices().is_empty());
}

#[test]
fn files_of_the_root_mount_have_the_device_of_the_root() {
    let detector = Detector::system();
    let root = DeviceId::try_from_path(Path::new("/")).unwrap();
    let mut agreed = 0;
    for entry in fs::read_dir("/").unwrap().flatten() {
        let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
        let mount = detector.mounts().containing(&entry.path());
        if !is_link && mount.is_some_and(|mount| mount.mount_point == Path::new("/")) {
            assert_eq!(DeviceId::from_path(&entry.path()), root, "{}", entry.path().display());
            agreed += 1;
        }
    }
    assert!(agreed > 0, "the root directory appears to be empty");
}

#[test]
fn files_of_one_directory_have_one_device_and_links_are_followed() {
    let directory = TemporaryDirectory::new();
    let (one, two) = (directory.path().join("one"), directory.path().join("two"));
    fs::write(&one, "1").unwrap();
    fs::write(&two, "2").unwrap();
    let link = directory.path().join("link");
    std::os::unix::fs::symlink("/proc/self/status", &link).unwrap();

    let mut devices = DeviceMap::system();
    let device = devices.id_of(directory.path());
    assert!(!device.is_unknown());
    assert_eq!(devices.id_of(&one), device);
    assert_eq!(devices.id_of(&two), device);
    assert_eq!(devices.devices().len(), 1);
    assert_eq!(devices.id_of(&link), devices.id_of(Path::new("/proc")));

    fs::remove_file(&one).unwrap();
    assert_eq!(devices.id_of(&one), DeviceId::UNKNOWN);
    let error = devices.device_of(&one).unwrap_err();
    assert!(error.to_string().contains(one.to_str().unwrap()), "{error}");
}

/// Generates text that resembles a mount table: the words of one, in any order.
fn nearly_a_table() -> impl Strategy<Value = Vec<u8>> {
    let words = [
        " ",
        " ",
        " ",
        " ",
        "\n",
        "27",
        "1",
        "8:1",
        "0:25",
        "0:26",
        "/",
        "/a\\040b",
        "rw",
        "-",
        " - ",
        "btrfs",
        "overlay",
        "zfs",
        "nfs4",
        "upperdir=/",
        "lowerdir=/:",
        ",",
        "\\",
        "\\13",
        "/dev/sda1",
        "/dev/mapper/x",
        "shared:1",
        "+1",
        "99999999999999999999",
        "27 1 0:25 / / rw - overlay o rw,upperdir=/\n",
        "28 1 0:26 / /x rw - btrfs /dev/x rw\n",
    ];
    prop::collection::vec(prop::sample::select(words.to_vec()), 0..60)
        .prop_map(|words| words.concat().into_bytes())
}

/// Checks that every line of a table is parsed or counted, and that every query returns an answer.
fn ask_about(text: &[u8]) {
    let table = MountTable::parse(text);
    let lines = text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).count();
    assert_eq!(table.mounts().len() + table.skipped_lines(), lines);
    let _ = table.containing(Path::new("/a b/c"));
    let mounts = table.mounts().to_vec();
    let detector = Detector::new("/does/not/exist".into(), table);
    for mount in mounts {
        let _ = (mount.option("upperdir"), mount.option(""));
        assert!(!detector.detect_at(mount.number, Some(mount.id)).id.is_unknown());
        assert!(!detector.detect_at(DeviceNumber::new(0, 7), Some(mount.id)).id.is_unknown());
    }
}

proptest! {
    #![proptest_config(crate::support::cases(256))]

    #[test]
    fn any_bytes_can_be_parsed_as_a_mount_table(
        text in prop::collection::vec(any::<u8>(), 0..400),
    ) {
        ask_about(&text);
    }

    #[test]
    fn any_text_that_resembles_a_mount_table_can_be_parsed(text in nearly_a_table()) {
        // None of these words contains a number as large as `UNKNOWN`.
        ask_about(&text);
    }
}

/// A slow, obvious version of `detect_at` for a stack: returns the disks that can be reached, or
/// `None` if there is a cycle.
fn disks_below(node: usize, below: &[Vec<usize>], above: &mut Vec<usize>) -> Option<Vec<usize>> {
    if above.contains(&node) {
        return None;
    }
    if below[node].is_empty() {
        return Some(vec![node]);
    }
    above.push(node);
    let mut disks = Vec::new();
    for &member in &below[node] {
        disks.extend(disks_below(member, below, above)?);
    }
    above.pop();
    disks.sort_unstable();
    disks.dedup();
    Some(disks)
}

proptest! {
    #![proptest_config(crate::support::cases(64))]

    /// Six devices, each on any number of the others.
    #[test]
    fn a_stack_is_on_the_disks_below_it(
        below in prop::collection::vec(prop::collection::btree_set(0_usize..6, 0..3), 6),
    ) {
        let below: Vec<Vec<usize>> =
            below.into_iter().map(|members| members.into_iter().collect()).collect();
        let system = FakeSystem::new();
        let name = |node: usize| format!("disk{node}");
        for node in 0..below.len() {
            system.disk("virtual", &name(node), &format!("8:{node}"), "0");
        }
        for (node, members) in below.iter().enumerate() {
            for &member in members {
                system.member(&name(node), &name(member));
            }
        }
        for node in 0..below.len() {
            let device = system.detect(&format!("8:{node}"));
            let Some(disks) = disks_below(node, &below, &mut Vec::new()) else {
                prop_assert_eq!(device.id, id(&format!("8:{node}")), "a cycle falls back to the device number");
                prop_assert_eq!(device.kind, heist_device::DeviceKind::Unknown);
                continue;
            };
            let ids: Vec<DeviceId> =
                disks.iter().map(|disk| number(&format!("8:{disk}")).into()).collect();
            if ids.len() == 1 {
                prop_assert_eq!(device.id, ids[0]);
                prop_assert!(device.members.is_empty());
            } else {
                prop_assert_eq!(device.members, ids);
            }
        }
    }
}
