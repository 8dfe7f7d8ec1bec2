//! What systems other than Linux get. Built on Linux with `--cfg heist_portable`
//! (`ci/portable.sh`).
#![cfg(not(all(target_os = "linux", not(heist_portable))))]

use crate::support;
use heist_device::{Detector, DeviceKind, DeviceMap, PhysicalDevice};
use heist_device::{DeviceId, DeviceSlots};
use heist_walk::Walk;
use std::path::Path;

/// There is one device for all paths, and the path does not have to exist.
#[test]
fn every_path_is_on_the_unknown_device() {
    for path in ["/", ".", "/proc", "/does/not/exist"].map(Path::new) {
        assert_eq!(DeviceId::from_path(path), DeviceId::UNKNOWN);
        assert_eq!(DeviceId::try_from_path(path).unwrap(), DeviceId::UNKNOWN);
        assert_eq!(Detector::system().detect(path).unwrap(), PhysicalDevice::unknown());
    }
    let mut map = DeviceMap::system();
    assert_eq!(map.device_of(Path::new("/")).unwrap().kind, DeviceKind::Unknown);
    assert_eq!(map.id_of(Path::new("/does/not/exist")), DeviceId::UNKNOWN);
    assert_eq!(map.devices(), [PhysicalDevice::unknown()], "one device, once");
}

#[test]
fn all_paths_share_the_device_slots_of_the_unknown_device() {
    let slots = DeviceSlots::uniform(1).unwrap();
    let held = slots.try_acquire(DeviceId::from_path(Path::new("/"))).unwrap();
    assert!(slots.try_acquire(DeviceId::from_path(Path::new("."))).is_none());
    drop(held);
}

/// A disk of unknown kind gets the same number of threads as one without moving parts.
#[test]
fn a_walk_treats_an_unknown_disk_like_one_without_moving_parts() {
    let dir = tempfile::tempdir().unwrap();
    support::make(dir.path(), &["a/b", "c"]);
    let report = Walk::new(dir.path()).run(|_thread| support::Log::default()).unwrap();
    assert_eq!(report.totals.entries(), 4);
    assert!(report.threads >= 32, "{}", report.threads);
}
