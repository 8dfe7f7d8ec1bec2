//! Proves that every error can be shared between threads, and so become a boxed error of any kind.
//! `tidy` requires that none is left out.

use heist_device::DeviceSlotsError;
use std::error::Error;

fn assert_shared<E: Error + Send + Sync + 'static>() {}

#[test]
fn every_error_can_be_shared() {
    assert_shared::<DeviceSlotsError>();
}
