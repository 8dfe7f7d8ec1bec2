//! Runs the jobs of lanes on a pool of jobs.

use super::{Job, job};
use heist_device::{DeviceSlotPermit, DeviceTurn};
use std::sync::Arc;

/// Returns a function that makes a pool's job from a turn: it runs one job of the lane.
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
