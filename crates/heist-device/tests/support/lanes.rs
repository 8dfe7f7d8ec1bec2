//! Consumers of lanes over a pool of jobs.

use super::{Job, job};
use heist_device::{DeviceSlotPermit, DeviceTurn};
use std::sync::Arc;

/// Makes the job that runs one job of a lane.
pub(crate) fn run_by<T: Send + 'static>(
    each: impl Fn(T, DeviceSlotPermit) + Send + Sync + 'static,
) -> impl Fn(DeviceTurn<T>) -> Job + Send + Sync + 'static {
    let each = Arc::new(each);
    move |turn| {
        let each = Arc::clone(&each);
        job(move |_ctx| {
            turn.run(|item, slot| each(item, slot));
        })
    }
}
