//! heist's `CountBudget` with owned and with borrowed permits, and the slots of one device, which
//! look up the device's budget first.

use std::hint::black_box;
use std::sync::Arc;

use ::heist::CountBudget;
use heist_device::{DeviceId, DeviceSlots};

use super::BudgetPeer;

pub(crate) struct Budget(CountBudget);

impl BudgetPeer for Budget {
    fn new(total: usize) -> Self {
        Self(CountBudget::new(total as u64).expect("a small number"))
    }

    #[inline]
    fn try_once(&self) -> bool {
        black_box(self.0.try_acquire(1)).is_ok()
    }

    #[inline]
    fn once(&self) {
        drop(black_box(self.0.acquire(1).expect("open, and no worker")));
    }
}

/// The same budget with borrowed permits.
pub(crate) struct Borrowed(CountBudget);

impl BudgetPeer for Borrowed {
    fn new(total: usize) -> Self {
        Self(CountBudget::new(total as u64).expect("a small number"))
    }

    #[inline]
    fn try_once(&self) -> bool {
        black_box(self.0.try_acquire_ref(1)).is_ok()
    }

    /// `CountBudget` waits only for owned permits, so this takes one.
    #[inline]
    fn once(&self) {
        drop(black_box(self.0.acquire(1).expect("open, and no worker")));
    }
}

/// An arbitrary device.
const DEVICE: DeviceId = DeviceId::from_raw(2);
const DEVICES: u64 = 4;

pub(crate) struct Slots(Arc<DeviceSlots>);

impl BudgetPeer for Slots {
    fn new(total: usize) -> Self {
        let slots = DeviceSlots::uniform(total).expect("at least one");
        for device in 0..DEVICES {
            drop(slots.try_acquire(DeviceId::from_raw(device)));
        }
        Self(slots)
    }

    #[inline]
    fn try_once(&self) -> bool {
        black_box(self.0.try_acquire(black_box(DEVICE))).is_some()
    }

    #[inline]
    fn once(&self) {
        drop(black_box(self.0.acquire(black_box(DEVICE)).expect("no worker")));
    }
}
