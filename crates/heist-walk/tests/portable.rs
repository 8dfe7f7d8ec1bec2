//! What systems other than Linux get: built on Linux with `--cfg heist_portable` (`ci/portable.sh`).
#![cfg(not(all(target_os = "linux", not(heist_portable))))]

mod support;

use heist_device::{Detector, DeviceId, DeviceKind, DeviceMap, DeviceSlots, PhysicalDevice};
use heist_walk::Walk;
use std::path::Path;

/// One device for all, and no look at the path.
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
fn slots_of_the_unknown_device_are_shared_by_all_paths() {
    let slots = DeviceSlots::uniform(1).unwrap();
    let held = slots.try_acquire(DeviceId::from_path(Path::new("/"))).unwrap();
    assert!(slots.try_acquire(DeviceId::from_path(Path::new("."))).is_none());
    drop(held);
}

/// A disk of unknown kind is good for as many threads as one without moving parts.
#[test]
fn a_walk_takes_an_unknown_disk_for_one_without_moving_parts() {
    let dir = tempfile::tempdir().unwrap();
    support::make(dir.path(), &["a/b", "c"]);
    let walked = Walk::new(dir.path()).run(|_worker| support::Log::default()).unwrap();
    assert_eq!(walked.totals.entries(), 4);
    assert!(walked.threads >= 32, "{}", walked.threads);
}
