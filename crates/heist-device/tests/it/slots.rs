//! Proves that the slots of a device limit how many jobs use it at once, that devices do not wait
//! for each other, and that devices which come and go leave nothing behind.

use crate::support::queued::{Log, Wakes};
use crate::support::{job, start_jobs, watched, workers};
use heist::AcquireError;
use heist::rng::XorShift64;
use heist_device::{
    Detector, DeviceId, DeviceKind, DeviceSlotPermit, DeviceSlots, DeviceSlotsConfig, MountTable,
};
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::thread;
use std::time::Duration;

fn device(number: u64) -> DeviceId {
    DeviceId::from_raw(number)
}

#[test]
fn a_permit_is_small() {
    assert!(size_of::<DeviceSlotPermit>() <= 48);
}

#[test]
fn devices_do_not_share_their_slots() {
    let slots = DeviceSlots::uniform(1).unwrap();
    let first = slots.try_acquire(device(1)).unwrap();
    assert!(slots.try_acquire(device(1)).is_none());
    let second = slots.try_acquire(device(2)).unwrap();
    assert_eq!((first.device(), second.device()), (device(1), device(2)));
    assert_eq!(format!("{first:?}"), format!("DeviceSlotPermit {{ device: {:?}, .. }}", device(1)));
    assert_eq!((slots.available(device(1)), slots.available(device(2))), (Some(0), Some(0)));
    drop(first);
    assert_eq!((slots.available(device(1)), slots.available(device(2))), (Some(1), Some(0)));
    assert!(slots.try_acquire(device(2)).is_none());
    assert_eq!(slots.active_device_count(), 2);
}

#[test]
fn all_unknown_devices_share_their_slots() {
    let slots = DeviceSlots::uniform(2).unwrap();
    let nowhere = Path::new("/does/not/exist");
    let first = slots.try_acquire(DeviceId::UNKNOWN).unwrap();
    let second = slots.try_acquire_for_path(nowhere).unwrap();
    assert!(second.device().is_unknown());
    assert!(slots.try_acquire_for_path(&nowhere.join("either")).is_none());
    assert!(slots.try_acquire(device(1)).is_some(), "a known device has its own slots");
    drop((first, second));
    assert_eq!(slots.available(DeviceId::UNKNOWN), Some(2));
}

#[test]
fn a_device_may_have_its_own_number_of_slots() {
    let config = DeviceSlotsConfig::uniform(2).with_device(device(7), 1).with_device(device(8), 5);
    let slots = DeviceSlots::new(config).unwrap();
    let total = |number| slots.total(device(number));
    assert_eq!((total(7), total(8), total(9)), (1, 5, 2));
    assert_eq!(slots.active_device_count(), 0, "reading a number of slots creates no budget");
    assert_eq!(slots.available(device(7)), None);
    let held: Vec<_> = (0..5).map(|_| slots.try_acquire(device(8)).unwrap()).collect();
    assert!(slots.try_acquire(device(8)).is_none());
    assert_eq!((slots.available(device(8)), held.len()), (Some(0), 5));
}

#[test]
fn a_kind_of_device_may_have_its_own_number_of_slots() {
    let mounts = MountTable::parse(
        b"40 27 0:52 / /home rw - nfs4 server:/home rw,vers=4.2\n41 27 0:53 / /tmp rw - tmpfs tmpfs rw\n",
    );
    let detector = Detector::new("/no/sysfs/here".into(), mounts);
    let network = DeviceId::from(heist_device::DeviceNumber::new(0, 52));
    let memory = DeviceId::from(heist_device::DeviceNumber::new(0, 53));
    let config = DeviceSlotsConfig::by_kind()
        .with_kind(DeviceKind::Network, 3)
        .with_device(device(1), 6)
        .with_detector(detector);
    let slots = DeviceSlots::new(config).unwrap();
    assert_eq!(slots.total(network), 3, "the number that was set");
    assert_eq!(slots.total(memory), DeviceKind::Memory.default_slots());
    assert_eq!(slots.total(DeviceId::UNKNOWN), DeviceKind::Unknown.default_slots());
    assert_eq!(slots.total(device(1)), 6, "the number for a device takes precedence");
    let defaults = DeviceKind::FROM_SLOWEST.iter().map(|kind| kind.default_slots());
    assert_eq!(defaults.collect::<Vec<_>>(), [2, 8, 4, 4, 8, 8]);
}

#[test]
fn an_error_names_the_device_or_kind_with_zero_slots() {
    let none = DeviceSlots::uniform(0).unwrap_err().to_string();
    assert!(none.starts_with("the default has 0 slots"), "{none}");
    let of_device = DeviceSlotsConfig::uniform(1).with_device(device(0x803), 0);
    let of_device = DeviceSlots::new(of_device).unwrap_err();
    assert_eq!(of_device.device(), Some(device(0x803)));
    let of_device = of_device.to_string();
    assert!(of_device.starts_with("device 8:3 has 0 slots"), "{of_device}");
    let of_kind = DeviceSlotsConfig::by_kind().with_kind(DeviceKind::Nvme, 0);
    let of_kind = DeviceSlots::new(of_kind).unwrap_err();
    assert_eq!(of_kind.device(), None);
    let of_kind = of_kind.to_string();
    assert!(of_kind.starts_with("the kind nvme has 0 slots"), "{of_kind}");
    let slots = DeviceSlots::uniform(1).unwrap();
    let later = slots.set_slots(device(0x803), 0).unwrap_err().to_string();
    assert!(later.starts_with("device 8:3 has 0 slots"), "{later}");
    let too_many = slots.set_slots(device(0x803), usize::MAX).unwrap_err().to_string();
    assert!(too_many.starts_with("device 8:3 has more than 4294967295 slots"), "{too_many}");
    assert_eq!(slots.total(device(0x803)), 1, "a refused number changes nothing");
}

#[test]
fn a_thread_waits_for_a_slot_until_its_timeout() {
    watched(|| {
        let slots = DeviceSlots::uniform(1).unwrap();
        let held = slots.acquire(device(1)).unwrap();
        let timeout = Duration::from_millis(10);
        let late = slots.acquire_timeout(device(1), timeout).unwrap_err();
        assert_eq!(late, AcquireError::TimedOut);
        let waiter = {
            let slots = slots.clone();
            thread::spawn(move || slots.acquire(device(1)).unwrap().device())
        };
        thread::sleep(Duration::from_millis(20));
        assert!(!waiter.is_finished());
        drop(held);
        assert_eq!(waiter.join().unwrap(), device(1));
        assert!(slots.acquire_timeout(device(1), timeout).is_ok());
        assert_eq!(slots.available(device(1)), Some(1));
    });
}

#[test]
fn a_worker_must_not_wait_for_a_slot() {
    watched(|| {
        let slots = DeviceSlots::uniform(1).unwrap();
        let executor = start_jobs(workers(1));
        let errors = Log::default();
        let (log, inside) = (errors.clone(), slots.clone());
        executor
            .spawn(job(move |_| {
                let held = inside.acquire(device(1)).expect("a slot is free");
                log.add(inside.acquire(device(1)).unwrap_err());
                let timeout = Duration::from_secs(30);
                log.add(inside.acquire_timeout(device(1), timeout).unwrap_err());
                drop(held);
            }))
            .unwrap();
        executor.join();
        assert_eq!(errors.entries(), [AcquireError::OnWorker; 2]);
    });
}

#[test]
fn a_future_waits_for_a_slot_and_leaves_the_queue_when_dropped() {
    let slots = DeviceSlots::uniform(1).unwrap();
    let wakes = Arc::new(Wakes::default());
    let Poll::Ready(Ok(held)) = wakes.poll(pin!(slots.acquire_async(device(1)))) else {
        panic!("a slot is free");
    };
    let mut first = Box::pin(slots.acquire_async(device(1)));
    let mut second = Box::pin(slots.acquire_async(device(1)));
    assert!(wakes.poll(first.as_mut()).is_pending());
    assert!(wakes.poll(second.as_mut()).is_pending());
    drop(first);
    assert_eq!(wakes.get(), 0);
    drop(held);
    assert_eq!(wakes.get(), 1);
    assert!(slots.try_acquire(device(1)).is_none(), "the slot belongs to the future");
    assert!(matches!(wakes.poll(second.as_mut()), Poll::Ready(Ok(_))));
    assert_eq!(slots.available(device(1)), Some(1));
}

#[test]
fn the_number_of_slots_can_change_while_slots_are_held() {
    let slots = DeviceSlots::uniform(2).unwrap();
    let disk = device(1);
    let mut held: Vec<_> = (0..2).map(|_| slots.try_acquire(disk).unwrap()).collect();
    let wakes = Arc::new(Wakes::default());
    let mut waiting = Box::pin(slots.acquire_async(disk));
    assert!(wakes.poll(waiting.as_mut()).is_pending());

    slots.set_slots(disk, 4).unwrap();
    assert_eq!((slots.total(disk), wakes.get()), (4, 1), "a larger number admits waiting jobs");
    let Poll::Ready(Ok(third)) = wakes.poll(waiting.as_mut()) else {
        panic!("the future was woken")
    };
    held.push(third);
    held.push(slots.try_acquire(disk).unwrap());
    assert!(slots.try_acquire(disk).is_none());

    slots.set_slots(disk, 1).unwrap();
    assert_eq!((slots.total(disk), slots.available(disk)), (1, Some(0)));
    for _ in 0..3 {
        held.pop();
        assert!(
            slots.try_acquire(disk).is_none(),
            "with a smaller number, no job is admitted until enough have ended"
        );
    }
    held.pop();
    assert_eq!(slots.available(disk), Some(1));
    let last = slots.try_acquire(disk).unwrap();
    assert!(slots.try_acquire(disk).is_none());
    assert_eq!(slots.total(device(2)), 2, "other devices keep their number");

    // The number outlives the device's budget.
    drop(last);
    assert_eq!(slots.prune(), 1);
    assert_eq!((slots.available(disk), slots.total(disk)), (None, 1));
    let again = slots.try_acquire(disk).unwrap();
    assert!(slots.try_acquire(disk).is_none());
    drop(again);
}

#[test]
fn the_number_of_slots_can_be_set_before_a_device_is_used() {
    let slots = DeviceSlots::uniform(2).unwrap();
    slots.set_slots(device(1), 1).unwrap();
    assert_eq!((slots.total(device(1)), slots.active_device_count()), (1, 0));
    let _held = slots.try_acquire(device(1)).unwrap();
    assert!(slots.try_acquire(device(1)).is_none());
}

#[test]
fn jobs_never_exceed_the_slots_of_a_device() {
    const DEVICES: usize = 3;
    const ROUNDS: usize = 3_000;
    watched(|| {
        let config =
            DeviceSlotsConfig::uniform(1).with_device(device(1), 2).with_device(device(2), 3);
        let slots = DeviceSlots::new(config).unwrap();
        let using: Arc<[AtomicUsize; DEVICES]> = Arc::default();
        let most: Arc<[AtomicUsize; DEVICES]> = Arc::default();
        let threads: Vec<_> = (0..6)
            .map(|thread| {
                let slots = slots.clone();
                let (using, most) = (Arc::clone(&using), Arc::clone(&most));
                thread::spawn(move || {
                    let mut random = XorShift64::for_worker(7, thread);
                    for _ in 0..ROUNDS {
                        let number = random.below_usize(DEVICES);
                        let id = device(number as u64);
                        let slot = match random.below(3) {
                            0 => slots.try_acquire(id),
                            1 => slots.acquire_timeout(id, Duration::from_micros(50)).ok(),
                            _ => slots.acquire(id).ok(),
                        };
                        if let Some(_slot) = slot {
                            let now = using[number].fetch_add(1, Ordering::AcqRel) + 1;
                            most[number].fetch_max(now, Ordering::Relaxed);
                            thread::yield_now();
                            using[number].fetch_sub(1, Ordering::AcqRel);
                        }
                        if random.below(100) == 0 {
                            slots.prune();
                        }
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        for (number, most) in most.iter().enumerate() {
            let (most, limit) = (most.load(Ordering::Relaxed), number + 1);
            assert!(most <= limit, "device {number}: {most} at a time, not {limit}");
            let free = slots.available(device(number as u64));
            assert!(free.is_none_or(|free| free == limit), "device {number}: {free:?}");
        }
    });
}

/// Removable disks and network shares disappear, and their budgets are forgotten.
#[test]
fn ten_thousand_devices_come_and_go() {
    watched(|| {
        let slots = DeviceSlots::uniform(1).unwrap();
        let lasting: Vec<_> = (0..3).map(|number| slots.acquire(device(number)).unwrap()).collect();
        let mut most = 0;
        for number in 10..10_010 {
            let slot = slots.acquire(device(number)).unwrap();
            most = most.max(slots.active_device_count());
            drop(slot);
        }
        assert!(most <= 200, "{most} devices at a time");
        for slot in &lasting {
            assert_eq!(slots.available(slot.device()), Some(0), "a device in use is not forgotten");
        }
        slots.prune();
        assert_eq!(slots.active_device_count(), 3);
        drop(lasting);
        assert_eq!(slots.prune(), 3);
        assert_eq!(slots.active_device_count(), 0);
    });
}

/// With many devices in use at once, pruning stays cheap, and all of them are forgotten in the end.
#[test]
fn ten_thousand_devices_at_once_are_forgotten_afterwards() {
    watched(|| {
        let slots = DeviceSlots::uniform(1).unwrap();
        let held: Vec<_> = (0..10_000).map(|n| slots.acquire(device(n)).unwrap()).collect();
        assert_eq!(slots.active_device_count(), 10_000);
        assert!(held.iter().all(|slot| slots.try_acquire(slot.device()).is_none()));
        drop(held);
        // New devices displace the old ones.
        for number in 20_000..40_000 {
            drop(slots.acquire(device(number)));
        }
        assert!(slots.active_device_count() <= 200, "{} devices", slots.active_device_count());
    });
}
