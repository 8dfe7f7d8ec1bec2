//! Proves that the documented defaults of device slots are the real ones.

use heist_device::{DeviceKind, DeviceSlotsConfig};

/// Returns the first two columns of every row in the guide's tables of knobs.
fn documented_knobs() -> Vec<(&'static str, &'static str)> {
    include_str!("../../src/lib.rs")
        .lines()
        .filter_map(|line| line.strip_prefix("//! | `")?.split_once("` | "))
        .filter_map(|(field, rest)| Some((field, rest.split_once(" | ")?.0)))
        .collect()
}

#[test]
fn the_documented_defaults_are_the_real_ones() {
    let documented = documented_knobs();
    let slots = DeviceSlotsConfig::default();
    assert!(slots.device_overrides.is_empty());
    let of = |kind| slots.slots_by_kind[&kind];
    let by_kind = format!(
        "{} rotational, {} SSD, {} NVMe, {} network, {} memory, {} unknown",
        of(DeviceKind::Rotational),
        of(DeviceKind::Ssd),
        of(DeviceKind::Nvme),
        of(DeviceKind::Network),
        of(DeviceKind::Memory),
        of(DeviceKind::Unknown),
    );
    assert_eq!(slots.slots_by_kind.len(), 6, "a new kind must be added here, and so to the guide");
    let expected = [
        ("DeviceSlotsConfig::default_slots", slots.default_slots.to_string()),
        ("DeviceSlotsConfig::slots_by_kind", by_kind),
        ("DeviceSlotsConfig::device_overrides", "none".to_owned()),
    ];
    for (knob, default) in expected {
        assert!(documented.contains(&(knob, default.as_str())), "{knob}: {default}");
    }
}
